"""What a worker calls for each event, and what it gets back."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .engine.execution import Execution
from .engine.store import TimerOp
from .spec.states import Event


@dataclass
class Step:
    """The execution after an event, and everything that the event caused: a worker commits it as one.

    emits: (target id, event) each; None is a broadcast, which stays in the outbox.
    spawns: (child id, root path, context) each; the child has the definition of its parent.
    trace: an entry for the execution's trace.
    """

    execution: Execution
    emits: Sequence[tuple[str | None, Event]] = ()
    timers: Sequence[TimerOp] = ()
    spawns: Sequence[tuple[str, str, dict[str, Any]]] = ()
    trace: Mapping[str, Any] | None = None


# Decides the step that an event causes; None where it changes nothing. The execution that it is given is its own to
# change.
Machine = Callable[[Execution, Event], Step | Awaitable[Step | None] | None]
