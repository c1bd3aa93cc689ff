"""Runs a StateChart of the package python-statemachine 3 as a machine (extra `harel[statemachine]`).

    machines = {"order": machine(OrderChart)}

Each step builds the chart anew in the configuration that the execution is in and lets the package's own engine handle
the event: its kind is the name, its data the keyword arguments. What survives from step to step:

- `machine.model` in callbacks, a Context whose attributes are the execution's context. Attributes of the chart itself
  do not survive.
- the active states, the history states and the delayed events, in the execution's `history`.

A delayed event becomes a durable timer. As in SCXML, one sent with `send(..., delay=)` is cancelled by
`cancel_event(send_id)` and by the end of the chart, not by leaving the state; that of `invoke=timeout(seconds, on=...)`
(statemachine.contrib.timeout) is cancelled when its state is left. Nothing else can be invoked: no thread outlives a
step.

An exception leaves the step unless the chart takes a transition on the `error.execution` that it causes.
"""

import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from functools import cache
from types import SimpleNamespace
from typing import Any, Literal

from pydantic_core import to_jsonable_python
from statemachine import State, StateChart
from statemachine.contrib.timeout import _Timeout
from statemachine.engines.async_ import AsyncEngine
from statemachine.engines.base import BaseEngine
from statemachine.engines.sync import SyncEngine
from statemachine.event import BoundEvent
from statemachine.event import Event as ChartEvent
from statemachine.event_data import TriggerData
from statemachine.exceptions import InvalidDefinition
from statemachine.invoke import InvokeManager
from statemachine.orderedset import OrderedSet

from .engine.execution import ChildState, Execution, Status
from .engine.store import TimerOp
from .machine import Machine, Step
from .spec.states import Event

_ERROR = "error.execution"


class Context(SimpleNamespace):
    """The model of a chart: its attributes are the execution's context, and must be values that JSON has.

    Subclass it for defaults (class attributes) and for guards and actions that belong to the data.
    """

    __slots__ = ("_configuration",)  # the package keeps the active states on the model; a slot is not in vars()


class Effects:
    """What a callback gets as its argument `harel`: what happens, and the ways to act on other executions."""

    def __init__(self, execution: Execution, event: Event) -> None:
        self.execution = execution
        self.event = event
        self.emits: list[tuple[str | None, Event]] = []
        self.spawns: list[tuple[str, str, dict[str, Any]]] = []

    def emit(self, target: str | None, kind: str, data: Mapping[str, Any] | None = None) -> None:
        """Sends an event to the execution `target`; None: to whoever reads the outbox."""
        self.emits.append((target, Event(kind=kind, data=dict(data or {}))))

    def spawn(self, child_id: str, root_path: str, context: Mapping[str, Any] | None = None) -> None:
        """Forks a child execution, whose chart is the one that machine(children=...) names for `root_path`.

        `child_id` is its id among all executions: derive it from `harel.execution.id`. When it is done, an event
        `Finished` (child_id, outcome, result: its context) comes back.
        """
        self.execution.children[child_id] = ChildState(root_path=root_path)
        self.spawns.append((child_id, root_path, dict(context or {})))

    def finish(self, event: Event) -> bool:
        """Takes note of a child that has finished; whether it is one of ours."""
        child = self.execution.children.get(event.data.get("child_id", ""))
        if child is None:
            return False
        child.finished, child.outcome, child.result = True, event.data.get("outcome"), event.data.get("result") or {}
        return True

    @property
    def joined(self) -> bool:
        """Whether every child has finished."""
        return all(child.finished for child in self.execution.children.values())


class _Injection:
    """A listener that adds `harel` to the arguments of every callback."""

    def __init__(self, effects: Effects) -> None:
        self._effects = effects

    def prepare_event(self) -> dict[str, Any]:
        return {"harel": self._effects}


class _Timeouts(InvokeManager):
    """Makes a timer of an invoked timeout()."""

    def _spawn_one_sync(self, callback: Any, **kwargs: Any) -> None:
        state: State = kwargs["state"]
        handler = self._resolve_handler(callback.meta.func)
        if not isinstance(handler, _Timeout):
            raise InvalidDefinition(f"state {state.id} invokes {callback.meta}: only timeout() outlives a step")
        engine: Any = self._engine
        engine.delay(handler.on or f"done.invoke.{state.id}", handler.duration, state=_path(state))

    _spawn_one_async = _spawn_one_sync

    def cancel_for_state(self, state: State) -> None:
        super().cancel_for_state(state)
        engine: Any = self._engine
        engine.cancel("state", _path(state))


class _DurableEngine(BaseEngine):
    """Keeps delayed events instead of waiting for them, and errors that no transition has handled."""

    def __init__(
        self, chart: "StateChart[Any]", clock: Callable[[], float], delayed: dict[str, dict[str, Any]]
    ) -> None:
        super().__init__(chart)
        self._invoke_manager = _Timeouts(self)
        self._clock = clock
        self.delayed = delayed
        self.errors: list[BaseException] = []
        self.moved = False

    def delay(self, event: str, seconds: float, **record: Any) -> None:
        path = name = record.get("send_id") or event
        count = 1
        while path in self.delayed:
            count += 1
            path = f"{name}#{count}"
        # To the millisecond: no server, however it writes floats, changes so few digits, and the timer is known by it.
        self.delayed[path] = {"event": event, "fire_at": round(self._clock() + seconds, 3), **record}

    def cancel(self, key: str, value: str) -> None:
        self.delayed = {path: record for path, record in self.delayed.items() if record.get(key) != value}

    def put(self, trigger_data: TriggerData, internal: bool = False) -> None:
        event = trigger_data.event
        if event is not None and event.delay:
            # A callback may pass on all the arguments that it has got.
            kwargs = {name: value for name, value in trigger_data.kwargs.items() if name != "harel"}
            sent = to_jsonable_python({"send_id": trigger_data.send_id, "args": trigger_data.args, "kwargs": kwargs})
            self.delay(event.id, event.delay / 1000, **sent)
            return
        error = trigger_data.kwargs.get("error")
        if internal and event == _ERROR and isinstance(error, BaseException):
            self.errors.append(error)
        super().put(trigger_data, internal=internal)

    def cancel_event(self, send_id: str) -> None:
        super().cancel_event(send_id)
        self.cancel("send_id", send_id)

    def microstep(self, transitions: Any, trigger_data: TriggerData) -> Any:
        self.moved = True
        error = trigger_data.kwargs.get("error")
        self.errors = [other for other in self.errors if other is not error]
        return super().microstep(transitions, trigger_data)  # type: ignore[misc]

    def _handle_error(self, error: Exception, trigger_data: TriggerData) -> None:
        # The package only logs an error in the handling of one.
        if trigger_data.event == _ERROR:
            raise error
        super()._handle_error(error, trigger_data)


class _DurableSync(_DurableEngine, SyncEngine):
    pass


class _DurableAsync(_DurableEngine, AsyncEngine):
    pass


@cache
def _paths(chart: "type[StateChart[Any]]") -> dict[str, State]:
    """Each state by its path. The package tells states apart by their value, which is the id unless given."""
    found: dict[str, State] = {}

    def walk(states: Any, parent: str) -> None:
        for state in states:
            path = f"{parent}/{state.id}"
            if chart.states_map[state.value] is not state:
                raise InvalidDefinition(f"{path}: another state of {chart.__name__} has the value {state.value!r}, too")
            found[path] = state
            walk(state.states, path)

    walk(chart.states, "")
    return found


@cache
def _handles_errors(chart: "type[StateChart[Any]]") -> bool:
    return any(transition.match(_ERROR) for state in _paths(chart).values() for transition in state.transitions)


def _path(state: State) -> str:
    return "".join(f"/{one.id}" for one in (*reversed([*state.ancestors()]), state))


def _active_path(states: Any, active: set[Any]) -> str:
    parts = []
    for state in states:
        if state.value in active:
            below = _active_path(state.states, active)
            parts.append(f"{state.id}/{below}" if below else state.id)
    return f"({','.join(parts)})" if len(parts) > 1 else "".join(parts)


class _Run:
    """The way of an execution's chart through one event."""

    def __init__(self, chart: "StateChart[Any]", effects: Effects, clock: Callable[[], float]) -> None:
        self._chart = chart
        self._effects = effects
        history = effects.execution.history
        kind = _DurableAsync if isinstance(chart._engine, AsyncEngine) else _DurableSync
        self.engine: Any = kind(chart, clock, history.get("delayed", {}))
        chart._engine = self.engine
        # Where nothing can handle an error, it need not wait for the end of the macrostep.
        chart.catch_errors_as_events = chart.catch_errors_as_events and _handles_errors(type(chart))
        # All of them, in their order: the package goes by it.
        chart.configuration = OrderedSet(self._state(path) for path in history.get("active", ()))
        for name, paths in history.get("recorded", {}).items():
            chart.history_values[name] = [self._state(path) for path in paths]

    def _state(self, path: str) -> State:
        try:
            return _paths(type(self._chart))[path]
        except KeyError:
            where = f"execution {self._effects.execution.id}"
            raise InvalidDefinition(f"{where}: {self._chart.name} has no state {path}, in which it was") from None

    def parts(self) -> Iterator[Any]:
        """Goes through the event. What it yields is to be awaited where the chart is async."""
        event, chart = self._effects.event, self._chart
        if not chart.configuration:
            self.engine.start()
            yield chart.activate_initial_state()
        if event.kind == "Start":
            return
        if event.kind == "Timeout":
            sent = self.engine.delayed.pop(event.data["path"])
            name, delay = sent["event"], 0.0
        else:
            sent = {"kwargs": event.data}
            name, declared = event.kind, getattr(type(chart), event.kind, None)
            delay = declared.delay if isinstance(declared, ChartEvent) else 0.0
        trigger = TriggerData(chart, BoundEvent(name, delay=delay, _sm=chart), sent.get("send_id"))
        trigger.args, trigger.kwargs = tuple(sent.get("args", ())), dict(sent.get("kwargs", {}))
        self.engine.put(trigger)
        yield chart._processing_loop(trigger.future)

    def step(self, before: Execution) -> Step | None:
        """The step that has been made of `before`."""
        if self.engine.errors:
            raise self.engine.errors[0]
        chart, effects, after = self._chart, self._effects, self._effects.execution
        delayed = {} if chart.is_terminated else self.engine.delayed
        after.active_path = "/" + _active_path(type(chart).states, set(chart.configuration_values))
        after.history |= {
            "active": [_path(state) for state in chart.configuration],
            "recorded": {name: [_path(state) for state in states] for name, states in chart.history_values.items()},
            "delayed": delayed,
        }
        if chart.is_terminated:
            after.status = Status.DONE
            after.outcome = ",".join(state.id for state in chart.configuration if state.final and state.is_atomic)
            if after.parent_id is not None:
                child = {"child_id": after.child_id or after.id, "outcome": after.outcome, "result": after.context}
                effects.emit(after.parent_id, "Finished", child)
        elif after.status is Status.PENDING:
            after.status = Status.RUNNING
        if not self.engine.moved and after == before:
            return None
        armed = dict(before.history.get("delayed", {}))
        if effects.event.kind == "Timeout":
            del armed[effects.event.data["path"]]
        timers = [TimerOp("cancel", path) for path in armed if path not in delayed]
        for path, record in delayed.items():
            if path not in armed or armed[path]["fire_at"] != record["fire_at"]:
                timers.append(TimerOp("schedule", path, record["fire_at"]))
        trace = {"event": effects.event.kind, "from": before.active_path, "to": after.active_path}
        return Step(after, effects.emits, timers, effects.spawns, trace)


def _is_due(execution: Execution, event: Event) -> bool:
    """Whether a timer's event is of a delayed event that still waits: not cancelled, nor sent anew since it fired."""
    record = execution.history.get("delayed", {}).get(event.data.get("path"))
    return record is not None and event.data.get("fire_at", record["fire_at"]) == record["fire_at"]


def machine(
    chart: "Callable[..., StateChart[Any]]",
    *,
    children: "Mapping[str, Callable[..., StateChart[Any]]] | None" = None,
    model: Callable[[], Context] = Context,
    unhandled: Literal["ignore", "raise"] | None = None,
    clock: Callable[[], float] = time.time,
) -> Machine:
    """A machine of a chart: its class, or what makes one of `model` and `listeners`.

    children: the chart for each root path that `harel.spawn` names; a child with the root path "" has its parent's.
    unhandled: what becomes of an event that enables no transition: nothing, or the error TransitionNotAllowed.
        None: as the chart's `allow_event_without_transition` says, which a StateChart has True.
    clock: the time in seconds since the epoch.
    """
    charts = {"": chart, **(children or {})}
    for made in charts.values():
        if isinstance(made, type):
            _paths(made)

    def step(execution: Execution, event: Event) -> Step | Awaitable[Step | None] | None:
        over = execution.status in (Status.DONE, Status.CANCELLED, Status.FAILED)
        if over or (event.kind == "Timeout" and not _is_due(execution, event)):
            return None
        effects = Effects(execution.model_copy(deep=True), event)
        data = model()
        vars(data).update(effects.execution.context)
        effects.execution.context = vars(data)
        # In no state at all, rather than in None: a chart in None enters its initial state when it is made.
        data._configuration = OrderedSet()
        root_path = "" if execution.parent_id is None else execution.root_path
        if root_path not in charts:
            raise LookupError(f"execution {execution.id}: no chart for the root path {root_path!r} of a child")
        made = charts[root_path](model=data, state_field="_configuration", listeners=[_Injection(effects)])
        if unhandled is not None:
            made.allow_event_without_transition = unhandled == "ignore"
        if event.kind == "Finished" and effects.finish(event):
            made.allow_event_without_transition = True
        run = _Run(made, effects, clock)
        if not isinstance(run.engine, AsyncEngine):
            for _ in run.parts():
                pass
            return run.step(execution)

        async def asynchronous() -> Step | None:
            for part in run.parts():
                await part
            return run.step(execution)

        return asynchronous()

    return step
