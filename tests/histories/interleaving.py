"""Two sessions, each in a transaction of one call, stopped and let go on at each lock that the calls take.

A step of a session is its call or the end of its transaction. All orders of the steps are gone through, and in each of
them, a third session may hold a row: its gate. Whoever comes to the gate stops there, in the middle of its call, until
the gate opens. A step that must wait for another session stays behind until that lets it go on.
"""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import psycopg
from content import TABLES, Content, clear, content
from wire import until

Session = psycopg.Connection[Any]
Rows = list[tuple[Any, ...]]


@dataclass(frozen=True)
class Plan:
    """Two calls, and the store that they find.

    Statements of SQL all. gates: rows to come that the calls may meet, each as a statement that inserts it; every row
    that `setup` leaves is a gate as well. passes: the answer with which a call that waits for nobody (1 or 2) passes
    over what another has locked.
    """

    setup: str
    first: str
    second: str
    gates: tuple[str, ...] = ()
    passes: dict[int, Rows] = field(default_factory=dict)


class Outcome(NamedTuple):
    """What the two were told, and what they left."""

    first: Rows
    second: Rows
    left: Content


# The token of the leases that a plan begins with.
TOKEN = "00000000-0000-4000-8000-000000000001"
# Stands for the answer of a transaction that the server has undone, at a stricter isolation level.
UNDONE: Rows = [("undone",)]


class Player:
    """A session that plays its steps one after the other, in a thread of its own."""

    def __init__(self, session: Session, threads: ThreadPoolExecutor) -> None:
        self.pid = session.info.backend_pid
        self.answer: Any = None
        self._session = session
        self._threads = threads
        self._steps: list[str] = []
        self._playing: Future[Rows] | None = None

    def begin(self, level: str) -> None:
        self.answer = None
        self._session.execute(f"BEGIN ISOLATION LEVEL {level}")
        # The snapshot of a stricter level is taken now.
        self._session.execute("SELECT")

    def add(self, step: str) -> None:
        self._steps.append(step)

    def go_on(self) -> bool:
        """Begins the next step if the one before is done; False where there is none, or that one still waits."""
        if self._playing is not None:
            if not self._playing.done():
                return False
            self._playing.result()
            self._playing = None
        if not self._steps:
            return False
        self._playing = self._threads.submit(self._play, self._steps.pop(0))
        return True

    @property
    def running(self) -> bool:
        return self._playing is not None and not self._playing.done()

    @property
    def over(self) -> bool:
        return not self._steps and not self.running

    def _play(self, step: str) -> None:
        try:
            cursor = self._session.execute(step)
        except psycopg.errors.SerializationFailure:
            self._session.execute("ROLLBACK")
            self.answer = UNDONE
            self._steps.clear()
            return
        if cursor.description is not None:
            self.answer = cursor.fetchall()


class Stage:
    """Where plans are played: three sessions of one database, and one that watches them."""

    def __init__(self, dsn: str) -> None:
        self._closing = ExitStack()
        threads = self._closing.enter_context(ThreadPoolExecutor(2))
        connections = [
            self._closing.enter_context(psycopg.connect(dsn, autocommit=True, options="-c deadlock_timeout=50ms"))
            for _ in range(4)
        ]
        self._gate, self._watch = connections[2:]
        self._players = [Player(connection, threads) for connection in connections[:2]]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.close()

    def gates(self, plan: Plan) -> list[str]:
        """The gates at which one of the two calls stops."""
        self._set(plan)
        rows = [
            f"SELECT FROM {table} ORDER BY {key} OFFSET {place} LIMIT 1 FOR UPDATE"
            for table, key in TABLES.items()
            for place in range(self._count(table))
        ]
        return [gate for gate in (*rows, *plan.gates) if self._stops(plan, gate)]

    def serial(self, plan: Plan, ends: tuple[str, str], level: str) -> list[Outcome]:
        """The outcomes of the two orders in which one call comes after the other, and of those without a call."""
        outcomes = [self.play(plan, order, ends, level) for order in ("1122", "2211")]
        for passing, answer in plan.passes.items():
            alone = self.play(plan, str(3 - passing) * 2, ends, level)
            outcomes.append(alone._replace(**{("first", "second")[passing - 1]: answer}))
        if len(plan.passes) == 2:
            outcomes.append(self.play(plan, "", ends, level)._replace(first=plan.passes[1], second=plan.passes[2]))
        return outcomes

    def play(self, plan: Plan, order: str, ends: tuple[str, str], level: str, gate: str | None = None) -> Outcome:
        """Plays the steps of 1 and 2 in an order; a G in it opens the gate, which is closed before."""
        self._set(plan)
        if gate:
            self._gate.execute("BEGIN")
            self._gate.execute(gate)
        scripts = {"1": [plan.first, ends[0]], "2": [plan.second, ends[1]]}
        for player in self._players:
            player.begin(level)
        for step in order:
            if step == "G":
                self._gate.execute("ROLLBACK")
            else:
                self._players[int(step) - 1].add(scripts[step].pop(0))
            self._go_on()
        until(lambda: self._go_on() or all(player.over for player in self._players))
        first, second = self._players
        # One that had no step in this order has a transaction all the same.
        for player in self._players:
            player.add("ROLLBACK")
        self._go_on()
        return Outcome(first.answer, second.answer, _comparable(content(self._watch)))

    def _count(self, table: str) -> int:
        ((count,),) = self._watch.execute(f"SELECT count(*) FROM {table}")
        return int(count)

    def _set(self, plan: Plan) -> None:
        clear(self._watch)
        self._watch.execute(plan.setup)

    def _stops(self, plan: Plan, gate: str) -> bool:
        for number, player in enumerate(self._players):
            self._set(plan)
            self._gate.execute("BEGIN")
            self._gate.execute(gate)
            player.begin("READ COMMITTED")
            player.add((plan.first, plan.second)[number])
            self._go_on()
            stopped = player.running
            self._gate.execute("ROLLBACK")
            player.add("ROLLBACK")
            until(lambda player=player: self._go_on() or player.over)
            if stopped:
                return True
        return False

    def _go_on(self) -> None:
        """Lets each session play on until it has nothing left to do, or waits for a lock."""
        # A list, so that both go on.
        while any([player.go_on() for player in self._players]):  # noqa: C419
            until(lambda: not any(player.running and not self._waits(player) for player in self._players))

    def _waits(self, player: Player) -> bool:
        ((waits,),) = self._watch.execute("SELECT cardinality(pg_blocking_pids(%s)) > 0", (player.pid,))
        return bool(waits)


def orders(*steps: str) -> Iterator[str]:
    """All orders that keep each of these texts in its own order."""
    if not any(steps):
        yield ""
    for n, own in enumerate(steps):
        if own:
            for order in orders(*steps[:n], own[1:], *steps[n + 1 :]):
                yield own[0] + order


def _comparable(left: Content) -> Content:
    """Without what is nobody's promise.

    The numbers of the outbox tell of what was undone, tokens are drawn, and there is no order between two sources.
    """
    groups = {
        id: group._replace(token="drawn" if group.token not in (None, TOKEN) else group.token)
        for id, group in left.groups.items()
    }
    outbox = sorted(((0, *row[1:]) for row in left.outbox), key=lambda row: row[3])
    return left._replace(outbox=outbox, spawns=sorted(left.spawns, key=lambda row: row[0]), groups=groups)
