"""Whether what concurrent clients saw of one execution can be put into one order: linearizability of a register.

The register is the row of an execution: a version, 0 where there is none, and a value that no two writes share.
A history is linearizable if each operation can be given a moment between its start and its end so that, in the order of
these moments, each has the answer that the register would have given it.

The search is that of Wing and Gong ("Testing and Verifying Concurrent Objects", 1993) in the form that Lowe calls
just-in-time linearization ("Testing for Linearizability", 2017): the starts and ends are gone through in the order of
time, with all states that the register may be in, and an operation is put into the order no later than at its end.
Two things about this register keep that set small:

- An operation that changes nothing is given its moment as soon as a state agrees with its answer: that closes no way.
- The version only grows, so a swap can take place only once, and never after its version has gone by. An operation of
  unknown outcome is tried while its version is the present one, at any time after its start, and then forgotten.

Histories of several executions are checked one by one: linearizability is local (Herlihy and Wing, 1990).
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import inf
from typing import NamedTuple


class State(NamedTuple):
    """What the register holds."""

    version: int = 0
    value: str | None = None


@dataclass(frozen=True, eq=False)
class Operation(ABC):
    """What a client did between two moments of one clock; the end is infinity where the outcome is unknown."""

    start: float
    end: float

    @abstractmethod
    def after(self, state: State) -> State | None:
        """The state that it leaves, or None where it would have had another answer."""

    @property
    def changes(self) -> bool:
        """Whether it wrote, or may have written."""
        return False


@dataclass(frozen=True, eq=False)
class Read(Operation):
    """The client saw this state."""

    seen: State

    def after(self, state: State) -> State | None:
        return state if state == self.seen else None


@dataclass(frozen=True, eq=False)
class Swap(Operation):
    """The client wanted to write `value` in place of version `expected`.

    swapped: what it was told, and True where the outcome is unknown. found: on a conflict, the version that it was
    told of, or None.
    """

    expected: int
    value: str
    swapped: bool = True
    found: int | None = None

    def after(self, state: State) -> State | None:
        if self.swapped:
            return State(self.expected + 1, self.value) if state.version == self.expected else None
        contradicted = state.version == self.expected or self.found not in (None, state.version)
        return None if contradicted else state

    @property
    def changes(self) -> bool:
        return self.swapped


class Configuration(NamedTuple):
    """One way in which it may have been: the state, and which of the operations under way have had their moments."""

    state: State
    done: frozenset[Operation]


class Violation(NamedTuple):
    """The operation whose answer no order explains, with the states that the register may have been in."""

    operation: Operation
    states: list[State]
    under_way: list[Operation]


def violation(history: Iterable[Operation]) -> Violation | None:
    """The first operation, by its end, at which the history is seen not to be linearizable; None where it is."""
    configurations = {Configuration(State(), frozenset())}
    open_now: set[Operation] = set()
    for operation, begins in _events(history):
        if begins:
            open_now.add(operation)
            continue
        reached = _with(operation, configurations, open_now)
        if not reached:
            return Violation(operation, list({c.state for c in configurations}), list(open_now))
        open_now.remove(operation)
        configurations = {Configuration(state, done - {operation}) for state, done in reached}
        oldest = min(c.state.version for c in configurations)
        open_now = {o for o in open_now if o.end < inf or (isinstance(o, Swap) and o.expected >= oldest)}
    return None


def _events(history: Iterable[Operation]) -> Iterator[tuple[Operation, bool]]:
    """Starts (True) and ends of the operations in the order of time; of one moment, the starts first."""
    events = []
    for place, operation in enumerate(history):
        events.append((operation.start, 0, place, operation))
        if operation.end < inf:
            events.append((operation.end, 1, place, operation))
    for _, ends, _, operation in sorted(events, key=lambda event: event[:3]):
        yield operation, not ends


def _with(operation: Operation, configurations: set[Configuration], open_now: set[Operation]) -> set[Configuration]:
    """The configurations that operations under way lead to from the given ones, up to the moment of this one."""
    reached = set()
    seen = set()
    left = [_settled(configuration, open_now) for configuration in configurations]
    while left:
        configuration = left.pop()
        if configuration in seen:
            continue
        seen.add(configuration)
        if operation in configuration.done:
            reached.add(configuration)
        else:
            left += [_settled(further, open_now) for further in _writes(configuration, open_now)]
    return reached


def _settled(configuration: Configuration, open_now: set[Operation]) -> Configuration:
    """With the moment given to all that change nothing and agree with the state."""
    state, done = configuration
    agreeing = {o for o in open_now - done if not o.changes and o.after(state) == state}
    return Configuration(state, done | agreeing)


def _writes(configuration: Configuration, open_now: set[Operation]) -> Iterator[Configuration]:
    """Each further by one write that is under way."""
    state, done = configuration
    for operation in open_now - done:
        if operation.changes and (after := operation.after(state)) is not None:
            # One of unknown outcome has no end at which to be looked for.
            yield Configuration(after, done if operation.end == inf else done | {operation})
