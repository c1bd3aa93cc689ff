"""Events."""

from datetime import datetime
from typing import Any
from uuid import uuid4

from pydantic import BaseModel, ConfigDict, Field


class Event(BaseModel):
    """Something that an execution reacts to.

    `id` (by default a uuid in hex) is the dedupe key: an execution handles each id once.
    """

    # NaN is written as such, and so refused, rather than turned into null.
    model_config = ConfigDict(extra="allow", ser_json_inf_nan="constants")

    id: str = Field(default_factory=lambda: uuid4().hex)
    kind: str
    created_time: datetime | None = None
    received_time: datetime | None = None
    data: dict[str, Any] = Field(default_factory=dict)
