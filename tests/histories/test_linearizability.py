"""Commits of concurrent clients on few executions are linearizable, whatever becomes of connections meanwhile."""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from itertools import chain, count
from math import inf
from threading import Barrier
from time import monotonic
from typing import Any, NamedTuple, Protocol

import psycopg
import pytest
from linearizability import Operation, Read, State, Swap, Violation, violation
from psycopg.conninfo import make_conninfo
from wire import DEADLINE, KINDS, opened

from cluster import nodes_of
from harel import CommitOutcomeUnknown, Execution, StoreConflict

Session = psycopg.Connection[Any]

# A history of one execution, made by hand: the first state is version 1 with the value "a".
FIRST = Swap(0, 1, 0, "a")


@pytest.mark.parametrize(
    "history",
    [
        pytest.param([Read(2, 3, State(1, "a"))], id="a read after the write"),
        pytest.param([Read(0, 3, State())], id="a read from before the write"),
        pytest.param([Swap(2, 3, 1, "b"), Read(2, 3, State(1, "a"))], id="a read beside a write sees the old state"),
        pytest.param([Swap(2, 3, 1, "b"), Read(2, 3, State(2, "b"))], id="a read beside a write sees the new state"),
        pytest.param([Swap(2, 3, 1, "b"), Swap(2, 3, 2, "c"), Swap(2, 3, 3, "d")], id="writes at once, one on another"),
        pytest.param([Swap(2, 3, 1, "b"), Swap(2, 3, 1, "c", False, 2)], id="one of two wins"),
        pytest.param([Swap(2, 3, 1, "b"), Swap(4, 5, 1, "c", False)], id="a late one loses"),
        pytest.param([Swap(0, 3, 1, "c", False, 0)], id="a swap of what does not exist yet loses"),
        pytest.param([Swap(2, inf, 1, "b"), Read(3, 4, State(1, "a"))], id="an unknown outcome that was none"),
        pytest.param([Swap(2, inf, 1, "b"), Read(3, 4, State(2, "b"))], id="an unknown outcome that was one"),
        pytest.param(
            [Swap(2, inf, 1, "b"), Read(3, 4, State(1, "a")), Read(5, 6, State(2, "b"))],
            id="an unknown outcome that comes late",
        ),
        pytest.param(
            [Swap(2, inf, 1, "b"), Swap(3, 4, 1, "c", False, 2), Swap(5, 6, 2, "d")], id="a loser to an unknown outcome"
        ),
        pytest.param(
            [Swap(2, inf, 1, "b"), Swap(2, inf, 2, "c"), Read(3, 4, State(3, "c"))], id="two unknown outcomes in a row"
        ),
        pytest.param(
            [Swap(2, inf, 1, "b"), Swap(2, inf, 1, "c"), Read(3, 4, State(2, "c"))], id="one of two unknown outcomes"
        ),
    ],
)
def test_a_history_that_one_order_explains_is_linearizable(history: list[Operation]) -> None:
    assert violation([FIRST, *history]) is None


@pytest.mark.parametrize(
    "history",
    [
        pytest.param([Swap(2, 3, 1, "b"), Read(4, 5, State(1, "a"))], id="a stale read"),
        pytest.param([Swap(2, 5, 1, "b"), Read(2, 3, State(2, "b")), Read(4, 5, State(1, "a"))], id="a read goes back"),
        pytest.param([Read(2, 3, State(2, "b")), Swap(4, 5, 1, "b")], id="a read of what is not written yet"),
        pytest.param([Read(2, 3, State(1, "b"))], id="a value that nobody wrote"),
        pytest.param([Swap(2, 3, 1, "b"), Read(4, 5, State(2, "c"))], id="a lost update"),
        pytest.param([Swap(2, 3, 1, "b"), Swap(2, 3, 1, "c")], id="two winners of one version"),
        pytest.param([Swap(2, 3, 1, "b"), Swap(4, 5, 1, "c")], id="a second winner, later"),
        pytest.param([Swap(0, 3, 0, "b")], id="two first saves"),
        pytest.param([Swap(2, 3, 2, "b")], id="a winner of a version to come"),
        pytest.param([Swap(2, 3, 1, "b", False)], id="nobody to lose to"),
        pytest.param([Swap(2, 3, 1, "b"), Swap(4, 5, 1, "c", False, 3)], id="lost to a version that never was"),
        pytest.param([Swap(2, 3, 1, "b", False, 2), Swap(4, 5, 1, "c")], id="lost to a later winner"),
        pytest.param([Swap(4, inf, 1, "b"), Read(2, 3, State(2, "b"))], id="an unknown outcome before its start"),
        pytest.param(
            [Swap(2, inf, 1, "b"), Read(3, 4, State(2, "b")), Read(5, 6, State(1, "a"))],
            id="an unknown outcome that is taken back",
        ),
        pytest.param(
            [Swap(2, inf, 1, "b"), Swap(3, 4, 1, "c"), Read(5, 6, State(3, "b"))],
            id="an unknown outcome on a later one",
        ),
        pytest.param(
            [Swap(2, inf, 1, "b"), Swap(3, 4, 1, "c", False), Read(5, 6, State(1, "a"))],
            id="a loser to an unknown outcome that was none",
        ),
    ],
)
def test_a_history_that_no_order_explains_is_not_linearizable(history: list[Operation]) -> None:
    found = violation([FIRST, *history])
    assert found is not None
    assert found.operation in [FIRST, *history]


LEVELS = ("read committed", "repeatable read", "serializable")


class Attempt(NamedTuple):
    """A commit that a client is about to try."""

    id: str
    expected: int
    value: str

    def execution(self, version: int) -> Execution:
        return Execution(id=self.id, definition_id="d", context={"value": self.value}, version=version)

    @property
    def data(self) -> str:
        return self.execution(self.expected + 1).model_dump_json()


class Answer(NamedTuple):
    swapped: bool
    found: int | None = None


class Client(Protocol):
    """Whoever reads and commits. A batch is the greatest number of commits that it can try in one call."""

    batch: int

    def read(self, id: str) -> State: ...
    def swap(self, attempts: list[Attempt]) -> list[Answer]: ...
    def close(self) -> None: ...


class Caller:
    """Calls the functions of the extension, over a connection that it opens again when it was lost."""

    def __init__(self, dsn: str, commit: Callable[[Session, list[Attempt]], list[Answer]], batch: int = 1) -> None:
        self.batch = batch
        self._dsn = dsn
        self._commit = commit
        self._session = psycopg.connect(dsn, autocommit=True)

    def read(self, id: str) -> State:
        (data,) = self._connected().execute("SELECT harel_load(%s)", (id,)).fetchone()
        return State() if data is None else seen(Execution.model_validate_json(data))

    def swap(self, attempts: list[Attempt]) -> list[Answer]:
        return self._commit(self._connected(), attempts)

    def close(self) -> None:
        self._session.close()

    def _connected(self) -> Session:
        if self._session.closed:
            self._session = psycopg.connect(self._dsn, autocommit=True)
        return self._session


class Store:
    """One of the Python clients. A commit with a trace entry takes the complex path."""

    batch = 1

    def __init__(self, kind: str, dsn: str) -> None:
        self._closing = ExitStack()
        self._store = self._closing.enter_context(opened(kind, dsn))

    def read(self, id: str) -> State:
        exe = self._store.load(id)
        return State() if exe is None else seen(exe)

    def swap(self, attempts: list[Attempt]) -> list[Answer]:
        (attempt,) = attempts
        exe = attempt.execution(attempt.expected)
        try:
            self._store.commit(exe, [], trace={"value": attempt.value} if attempt.expected % 2 else None)
        except StoreConflict as conflict:
            return [Answer(False, conflict.found)]
        return [Answer(True)]

    def close(self) -> None:
        self._closing.close()


def seen(exe: Execution) -> State:
    return State(exe.version, exe.context["value"])


def by_commit_cas(session: Session, attempts: list[Attempt]) -> list[Answer]:
    (attempt,) = attempts
    query = "SELECT harel_commit_cas(%s, 'd', %s, %s, %s)"
    return [Answer(*row) for row in session.execute(query, (attempt.id, attempt.data, attempt.expected, attempt.value))]


def by_commit(session: Session, attempts: list[Attempt]) -> list[Answer]:
    (attempt,) = attempts
    query = """
        SELECT committed, stored_version
        FROM harel_commit(%s, 'd', %s, %s, %s, ARRAY[NULL], ARRAY['{}'], p_trace => '{}', p_trace_max => 3)
    """
    return [Answer(*row) for row in session.execute(query, (attempt.id, attempt.data, attempt.expected, attempt.value))]


def by_batch(session: Session, attempts: list[Attempt]) -> list[Answer]:
    query = """
        SELECT committed, stored_version
        FROM harel_commit_batch(%s, array_fill('d'::text, ARRAY[%s]), %s, %s)
    """
    columns = ([a.id for a in attempts], len(attempts), [a.data for a in attempts], [a.expected for a in attempts])
    return [Answer(*row) for row in session.execute(query, columns)]


CLIENTS: dict[str, Callable[[str], Client]] = {
    "harel_commit_cas": lambda dsn: Caller(dsn, by_commit_cas),
    "harel_commit": lambda dsn: Caller(dsn, by_commit),
    "harel_commit_batch": lambda dsn: Caller(dsn, by_batch, batch=3),
    **{kind: partial(Store, kind) for kind in KINDS},
}


class Recorder:
    """A client that notes what it does, and when, in the history of each execution.

    Now and then it terminates the backend of another, and sends a commit without waiting for its answer.
    """

    def __init__(
        self, name: str, client: Client, dsn: str, level: str, seed: int, histories: dict[str, list[Operation]]
    ) -> None:
        self._name = name
        self._client = client
        # There PostgreSQL undoes a transaction for what others did to other rows, too: it may have lost to nobody.
        self._loses_to_nobody = level == "serializable"
        self._dsn = dsn
        self._random = random.Random(f"{seed}-{name}")
        self._histories = histories
        self._versions = dict.fromkeys(histories, 0)
        self._values = count()

    def run(self, operations: int, faults: float) -> None:
        for _ in range(operations):
            if self._random.random() < faults:
                self._terminate_another()
            if self._random.random() < faults:
                self._swap_unanswered()
            if self._random.random() < 0.3:
                self._read()
            else:
                self._swap()

    def _read(self) -> None:
        id = self._random.choice(list(self._histories))
        start = monotonic()
        try:
            state = self._client.read(id)
        except (psycopg.OperationalError, CommitOutcomeUnknown):
            return
        self._histories[id].append(Read(start, monotonic(), state))
        self._versions[id] = state.version

    def _swap(self) -> None:
        ids = self._random.sample(list(self._histories), self._random.randint(1, self._batch()))
        attempts = [self._attempt(id) for id in ids]
        start = monotonic()
        try:
            answers = self._client.swap(attempts)
        except psycopg.errors.SerializationFailure:
            return
        except (psycopg.OperationalError, CommitOutcomeUnknown):
            for attempt in attempts:
                self._note(attempt, start, inf, Answer(True))
            return
        end = monotonic()
        for attempt, answer in zip(attempts, answers, strict=True):
            self._note(attempt, start, end, answer)

    def _batch(self) -> int:
        return min(self._client.batch, len(self._histories))

    def _attempt(self, id: str) -> Attempt:
        """A commit of what it takes for the next version: mostly right, unless another was faster."""
        expected = max(self._versions[id] + self._random.choice((0, 0, 0, 0, 0, 0, -1, 1)), 0)
        return Attempt(id, expected, f"{self._name}-{next(self._values)}")

    def _note(self, attempt: Attempt, start: float, end: float, answer: Answer) -> None:
        swapped, found = answer
        if swapped or found is not None or not self._loses_to_nobody:
            swap = Swap(start, end, attempt.expected, attempt.value, swapped, None if swapped else found)
            self._histories[attempt.id].append(swap)
        if swapped:
            self._versions[attempt.id] = attempt.expected + 1
        elif found is not None:
            self._versions[attempt.id] = found

    def _swap_unanswered(self) -> None:
        attempt = self._attempt(self._random.choice(list(self._histories)))
        with psycopg.connect(self._dsn, autocommit=True) as session:
            start = monotonic()
            parameters = [str(part).encode() for part in (attempt.id, attempt.data, attempt.expected)]
            session.pgconn.send_query_params(b"SELECT harel_commit_cas($1, 'd', $2, $3::text::bigint)", parameters)
            session.pgconn.flush()
            session.pgconn.finish()
        self._note(attempt, start, inf, Answer(True))

    def _terminate_another(self) -> None:
        with psycopg.connect(self._dsn, autocommit=True) as session:
            session.execute("""
                SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                WHERE datname = current_database() AND application_name = 'recorded'
                ORDER BY random()
                LIMIT 1
            """)


def recorded(
    dsn: str, clients: Sequence[str], executions: int, operations: int, seed: int, level: str, faults: float
) -> dict[str, list[Operation]]:
    """The history of each execution, made by the clients at once."""
    default = level.replace(" ", "\\ ")
    leveled = make_conninfo(dsn, application_name="recorded", options=f"-c default_transaction_isolation={default}")
    histories: dict[str, list[Operation]] = {f"x{n}": [] for n in range(executions)}
    start = Barrier(len(clients))

    def run(name: str, opening: str) -> None:
        client = CLIENTS[opening](leveled)
        try:
            start.wait(DEADLINE)
            Recorder(name, client, dsn, level, seed, histories).run(operations, faults)
        finally:
            client.close()

    with ThreadPoolExecutor(len(clients)) as threads:
        names = [f"{n}-{opening}" for n, opening in enumerate(clients)]
        list(threads.map(run, names, clients))
    return histories


def show(history: list[Operation], found: Violation) -> str:
    """What happened around the operation that no order explains."""
    around = [o for o in history if o.start <= found.operation.end and o.end >= found.operation.start]
    return "\n".join(map(str, [found, *sorted(around, key=lambda operation: operation.start)]))


def outcomes(histories: dict[str, list[Operation]]) -> Counter[str]:
    """How many of each kind of answer there are."""
    kinds: Counter[str] = Counter()
    for operation in chain.from_iterable(histories.values()):
        if isinstance(operation, Swap):
            kinds["unknown" if operation.end == inf else "swapped" if operation.swapped else "lost"] += 1
        else:
            kinds["read"] += 1
    return kinds


def check(histories: dict[str, list[Operation]]) -> None:
    for id, history in histories.items():
        found = violation(history)
        assert found is None, f"{id} is not linearizable:\n{show(history, found)}"


@pytest.mark.parametrize("executions", [1, 4])
@pytest.mark.parametrize("level", LEVELS)
def test_what_concurrent_clients_see_is_linearizable(store_dsn: str, seed: int, level: str, executions: int) -> None:
    histories = recorded(store_dsn, list(CLIENTS), executions, 400, seed, level, faults=0.01)
    check(histories)
    kinds = outcomes(histories)
    assert min(kinds[kind] for kind in ("read", "swapped", "lost", "unknown")) > 0, kinds


@pytest.mark.soak
@pytest.mark.parametrize("executions", [1, 2, 4])
@pytest.mark.parametrize("level", LEVELS)
def test_what_concurrent_clients_see_for_long_is_linearizable(
    store_dsn: str, seed: int, level: str, executions: int
) -> None:
    histories = recorded(store_dsn, [*CLIENTS] * 2, executions, 5000, seed, level, faults=0.005)
    check(histories)
    print(f"{sum(map(len, histories.values()))} operations: {dict(outcomes(histories))}")


@pytest.mark.parametrize(
    ("sound", "broken"),
    [
        pytest.param("AND e.version = p_old;\n    END IF", ";\n    END IF", id="a swap that does not compare"),
        pytest.param("IF NOT FOUND THEN", "IF false THEN", id="a loser that is told that it won"),
        pytest.param("version = p_old + 1", "version = p_old + 2", id="a version that is left out"),
    ],
)
def test_a_store_that_is_not_is_found_out(store_dsn: str, seed: int, sound: str, broken: str) -> None:
    for node in nodes_of(store_dsn):
        # Each node of a cluster is changed for itself.
        with psycopg.connect(node, autocommit=True, options="-c citus.enable_ddl_propagation=off") as session:
            (source,) = session.execute("SELECT pg_get_functiondef('harel__swap'::regproc)").fetchone()
            assert source.count(sound) == 1
            session.execute(source.replace(sound, broken))
    histories = recorded(store_dsn, ["harel_commit_cas"] * 3, 1, 50, seed, LEVELS[0], faults=0.0)
    assert violation(histories["x0"]) is not None
