"""What the arguments of a call must be: found out before anything is sent."""

import inspect
from collections.abc import Callable
from decimal import Decimal
from functools import wraps
from numbers import Integral, Real
from types import UnionType
from typing import Any, get_args

from pydantic import BaseModel

from ._base import InvalidArgument

# Of these types the server has values of its own, and would take an argument of another for another function.
_KINDS: dict[Any, tuple[type, ...]] = {
    str: (str,),
    bool: (bool,),
    int: (int, Integral),
    float: (float, int, Real, Decimal),
}


def check(name: str, value: Any, annotation: Any) -> None:
    """Raises TypeError for a value that is not of the plain type, or the model, that an annotation names.

    None is always let through: the store knows where it means something.
    """
    kinds = _kinds(annotation)
    is_flag = isinstance(value, bool) and bool not in kinds
    if kinds and value is not None and (is_flag or not isinstance(value, kinds)):
        raise TypeError(f"{name} must be {_name(annotation)}, not {type(value).__name__}")


def checked(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method that check()s each of its arguments, which are given by position."""
    parameters = list(inspect.signature(method).parameters.values())[1:]
    checks = [
        (place, parameter.name, parameter.annotation, _kinds(parameter.annotation))
        for place, parameter in enumerate(parameters)
        if _kinds(parameter.annotation)
    ]

    @wraps(method)
    def call(self: Any, *arguments: Any) -> Any:
        for place, name, annotation, kinds in checks:
            value = arguments[place]
            # The usual types first: to ask for more costs more.
            if value is not None and type(value) not in kinds:
                check(name, value, annotation)
        return method(self, *arguments)

    return call


def key(what: str, id: str) -> str:
    """An id by which a cluster finds the node of a call. None is refused as by the store: Citus (13.2) would crash."""
    if id is None:
        raise InvalidArgument(
            "ST001",
            f"the {what} must be a text of 1 to 1000 bytes",
            f"The {what} is NULL.",
            "Pass the same non-empty text each time; a longer key can be replaced by a hash of it.",
        )
    return id


def _kinds(annotation: Any) -> tuple[type, ...]:
    if isinstance(annotation, UnionType):
        members = [member for member in get_args(annotation) if member is not type(None)]
        return _kinds(members[0]) if len(members) == 1 else ()
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return (BaseModel,)
    return _KINDS.get(annotation, ())


def _name(annotation: Any) -> str:
    return annotation.__name__ if isinstance(annotation, type) else str(annotation)
