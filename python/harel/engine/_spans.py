"""Where the spans of calls and steps begin and end. There are none until harel.telemetry.instrument() was called.

Nothing here knows OpenTelemetry, and no method does more than one comparison while there are no spans.
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from ..spec.states import Event

if TYPE_CHECKING:
    from .transport import Completion, Delivery, Lease

Result = TypeVar("Result")

# The member of an event, beside its id and kind, that carries the trace context: a dict of texts, as W3C defines them.
MEMBER = "trace_context"


class Spans(Protocol):
    """What makes spans. It raises nothing of its own: what goes wrong with spans is no fault of the call or step."""

    def call(
        self, method: Callable[..., Any], arguments: tuple[Any, ...], options: Mapping[str, Any]
    ) -> AbstractContextManager[Callable[[Any], Any]]:
        """The span of a call of a client's method; what it gives is called with the result and returns it."""

    def step(self, delivery: "Delivery") -> AbstractContextManager[Any]:
        """Begins the span of a step, current within the block and in what is begun there; step_ended() ends it."""

    def step_failed(self, lease: "Lease", error: BaseException) -> None:
        """Records what the step raised."""

    def step_ended(self, lease: "Lease", result: str, completion: "Completion | None") -> None:
        """Ends the span of a step, if it has one."""

    def carried(self, event: Any, lease: "Lease | None" = None) -> Any:
        """The event with the trace context of the step that has this lease, or the current one; a copy if need be."""

    def close(self) -> None:
        """Ends the spans of steps that have not ended."""


current: Spans | None = None


def step(delivery: "Delivery") -> AbstractContextManager[Any]:
    return nullcontext() if current is None else current.step(delivery)


def step_failed(lease: "Lease", error: BaseException) -> None:
    if current is not None:
        current.step_failed(lease, error)


def step_ended(lease: "Lease", result: str, completion: "Completion | None" = None) -> None:
    if current is not None:
        current.step_ended(lease, result, completion)


def carried(event: Event) -> Event:
    return event if current is None else current.carried(event)


def emitted(lease: "Lease", emits: Iterable[tuple[str | None, Event]]) -> Iterable[tuple[str | None, Event]]:
    """What a step emits, with the trace context of that step."""
    spans = current
    return emits if spans is None else [(target, spans.carried(event, lease)) for target, event in emits]
