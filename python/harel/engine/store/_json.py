"""JSON text of models and dicts: exact, and never with a NaN turned into null."""

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import PydanticSerializationError, to_json

from ...spec.states import Event
from .. import _spans
from ._base import InvalidArgument


def dump_model(model: BaseModel, what: str) -> str:
    """The model as JSON text.

    Raises InvalidArgument (ST003), naming `what`, where it holds a NaN or an infinity or is nested too deep, and
    TypeError for what is no model.
    """
    if not isinstance(model, BaseModel):
        raise TypeError(f"{what} must be a pydantic model, not {type(model).__name__}")
    try:
        text = model.model_dump_json()
    except PydanticSerializationError:
        # Half of a surrogate pair is no UTF-8, but JSON can escape it.
        return _dump_escaped(lambda: model.model_dump(mode="json"), what)
    if type(model).model_config.get("ser_json_inf_nan") != "constants" or _may_hold_nan(text):
        _dump_escaped(model.model_dump, what)
    return text


def dump_event(event: Event, what: str) -> str:
    """The event as JSON text, with the trace context of the call where there is one; raises like dump_model()."""
    return dump_model(_spans.carried(event), what)


def dump_dict(value: Any, what: str) -> str:
    """The dict as JSON text; raises like dump_model()."""
    if not isinstance(value, Mapping):
        raise TypeError(f"{what} must be a mapping, not {type(value).__name__}")
    try:
        text = to_json(value, inf_nan_mode="constants").decode()
    except PydanticSerializationError:
        return _dump_escaped(lambda: value, what)
    if _may_hold_nan(text):
        _dump_escaped(lambda: value, what)
    return text


Model = TypeVar("Model", bound=BaseModel)


def load_model(model_type: type[Model], text: str, where: str) -> Model:
    """A model from JSON text. A ValidationError says `where` the text stood."""
    try:
        return model_type.model_validate_json(text)
    except ValidationError as error:
        # The parser of the standard library takes what that of pydantic does not, such as half a surrogate pair.
        try:
            return model_type.model_validate(json.loads(text))
        except ValueError:
            error.add_note(where)
            raise error from None


def load_event(event_type: type[Model], text: str, where: str) -> Model:
    """An event from JSON text; one of a type that forbids members unknown to it, without its trace context."""
    strict = event_type.model_config.get("extra") == "forbid"
    if strict and _spans.MEMBER in text and _spans.MEMBER not in event_type.model_fields:
        with suppress(ValueError):
            value = json.loads(text)
            if isinstance(value, dict):
                value.pop(_spans.MEMBER, None)
                text = json.dumps(value)
    return load_model(event_type, text, where)


def load_entry(text: str) -> dict[str, Any]:
    """A trace entry from its text; `{"entry": ...}` for one of another writer that is no JSON object."""
    try:
        value = json.loads(text)
    except ValueError:
        value = text
    return value if isinstance(value, dict) else {"entry": value}


def _may_hold_nan(text: str) -> bool:
    return "NaN" in text or "Infinity" in text


def _dump_escaped(get: Callable[[], Any], what: str) -> str:
    try:
        return json.dumps(get(), allow_nan=False, default=str, skipkeys=True, separators=(",", ":"))
    except (ValueError, RecursionError) as error:
        raise InvalidArgument(
            "ST003",
            f"{what} must be JSON",
            f"{str(error).partition(chr(10))[0]}.",
            "NaN and Infinity are not JSON, nor is what is nested without end.",
        ) from None
