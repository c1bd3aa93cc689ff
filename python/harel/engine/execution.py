"""An execution (a running instance of a definition) and what a listing shows of it."""

from enum import StrEnum
from typing import Annotated, Any
from uuid import uuid4

from pydantic import BaseModel, ConfigDict, Field


class Status(StrEnum):
    """Where an execution is in its life. DONE, CANCELLED and FAILED are final."""

    PENDING = "PENDING"
    RUNNING = "RUNNING"
    DONE = "DONE"
    CANCELLED = "CANCELLED"
    SUSPENDED = "SUSPENDED"
    CANCELLING = "CANCELLING"
    FAILED = "FAILED"


class ChildState(BaseModel):
    """What a parent knows of one child: it joins when each of its children has finished."""

    model_config = ConfigDict(extra="allow", ser_json_inf_nan="constants")

    root_path: str
    finished: bool = False
    outcome: str | None = None
    result: dict[str, Any] = Field(default_factory=dict)


class Execution(BaseModel):
    """A running instance of a definition.

    `version` counts the commits: 0 before the first one. It is set by the store, as is its copy in the stored text.
    Fields that this class does not know (a newer writer's) survive a load and a save.
    """

    # NaN is written as such, and so refused, rather than turned into null.
    model_config = ConfigDict(extra="allow", ser_json_inf_nan="constants")

    id: str = Field(default_factory=lambda: uuid4().hex)
    definition_id: str
    definition_fqn: str | None = None
    root_path: str = ""
    status: Status = Status.PENDING
    outcome: str | None = None
    error: str | None = None
    active_path: str | None = None
    history: dict[str, Any] = Field(default_factory=dict)
    context: dict[str, Any] = Field(default_factory=dict)
    children: dict[str, ChildState] = Field(default_factory=dict)
    parent_id: str | None = None
    child_id: str | None = None
    invoke_seq: dict[str, int] = Field(default_factory=dict)
    version: int = 0


class ExecutionSummary(BaseModel):
    """An execution as a listing shows it, without its data.

    `status` is a plain text where it is none of Status, and None where the data names none. `finished_at` is the time,
    in seconds since the epoch, of the commit that brought the execution to a final status.
    """

    id: str
    definition_id: str
    status: Annotated[Status | str | None, Field(union_mode="left_to_right")] = None
    outcome: str | None = None
    active_path: str | None = None
    version: int = 0
    parent_id: str | None = None
    finished_at: float | None = None


class ExecutionPage(BaseModel):
    """A page of a listing; `next_cursor` brings the next one and is None on the last."""

    items: list[ExecutionSummary] = Field(default_factory=list)
    next_cursor: str | None = None
