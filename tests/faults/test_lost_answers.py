"""A commit whose answer is lost is committed once or not at all, and the client says which."""

import asyncio
import inspect
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import psycopg
import psycopg_pool
import pytest
from wire import KINDS, opened

from harel import (
    AsyncPostgresStore,
    CommitOutcomeUnknown,
    Event,
    Execution,
    InvalidArgument,
    PostgresStore,
    StoreConflict,
    TimerOp,
)

from .proxy import Cut, Proxy

# A commit of what happened before the connection was lost, and of what happened after the commit itself.
LOST = [Cut.BEFORE, Cut.SENT, Cut.AFTER, Cut.MIDDLE]
COMMITTED = [Cut.AFTER, Cut.MIDDLE]

COMMIT = "harel_commit"


@pytest.fixture
def proxy(store_dsn: str) -> Iterator[Proxy]:
    with Proxy(store_dsn) as proxy:
        yield proxy


def query(dsn: str, sql: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(dsn, autocommit=True) as session:
        return session.execute(sql.encode()).fetchall()


def commit_again(dsn: str) -> None:
    """Commits what each execution is as its next version."""
    with psycopg.connect(dsn, autocommit=True) as session:
        for row in session.execute("SELECT id, data, version FROM executions").fetchall():
            session.execute("SELECT harel_commit_cas(%s, 'd', %s, %s)", row)


def everything(store: Any, exe: Execution, event_id: str | None) -> list[int]:
    emits = [(None, Event(kind="Told")), ("other", Event(kind="Asked"))]
    timers, trace = [TimerOp("schedule", "waiting", 1.0)], {"event": "Paid"}
    return store.commit(exe, emits, event_id, timers, [("child", "", {})], trace)


WRITTEN = """
    SELECT (SELECT sum(version) FROM executions), (SELECT count(*) FROM processed_events),
        (SELECT array_agg(seq ORDER BY seq) FROM outbox), (SELECT count(*) FROM spawns),
        (SELECT count(*) FROM timers), (SELECT count(*) FROM trace)
"""


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize("event_id", [None, "event"])
@pytest.mark.parametrize("cut", LOST, ids=lambda cut: cut.name)
@pytest.mark.parametrize("kind", KINDS)
def test_a_commit_is_carried_out_once_wherever_the_connection_is_cut(
    proxy: Proxy, store_dsn: str, kind: str, cut: Cut, event_id: str | None, version: int
) -> None:
    with opened(kind, proxy.dsn) as store:
        exe = Execution(id="cut", definition_id="orders")
        for _ in range(version):
            store.save(exe)
        proxy.once(cut, COMMIT)
        seqs = everything(store, exe, event_id)
        assert proxy.cuts == [cut]
        assert exe.version == version + 1
        assert len(seqs) == 2
        assert query(store_dsn, WRITTEN) == [(version + 1, int(event_id is not None), seqs, 1, 1, 1)]
        proxy.once(cut, COMMIT)
        store.save(exe)
        assert (exe.version, store.load(exe.id)) == (version + 2, exe)


@pytest.mark.parametrize("kind", KINDS)
def test_one_connection_after_the_other_may_be_cut(proxy: Proxy, store_dsn: str, kind: str) -> None:
    with opened(kind, proxy.dsn) as store:
        exe = Execution(id="cut", definition_id="orders")
        proxy.once(Cut.AFTER, "", times=9)
        seqs = everything(store, exe, None)
        assert len(proxy.cuts) == 9
        assert query(store_dsn, WRITTEN) == [(1, 0, seqs, 1, 1, 1)]


@pytest.mark.parametrize("kind", KINDS)
def test_of_two_commits_of_the_same_bytes_the_one_that_lost_is_told_so(proxy: Proxy, store_dsn: str, kind: str) -> None:
    with opened(kind, proxy.dsn) as store, opened(kind, store_dsn) as other:
        exe = Execution(id="account", definition_id="accounts", context={"balance": 50})
        store.save(exe)
        exe.context["balance"] = 60
        same = exe.model_copy(deep=True)

        def paid_by_another(sql: str) -> Cut | None:
            if COMMIT not in sql or same.version > 1:
                return None
            other.save(same)
            return Cut.BEFORE

        proxy.decide = paid_by_another
        with pytest.raises(StoreConflict) as conflict:
            store.save(exe)
        assert proxy.cuts == [Cut.BEFORE]
        assert (conflict.value.expected, conflict.value.found, exe.version) == (1, 2, 1)
        assert other.load("account") == same


def gone_on(proxy: Proxy, store_dsn: str, commit_first: bool) -> None:
    """The next commit is cut off, and before it is made again others commit, from the version it leads to or led to."""
    cut = Cut.AFTER if commit_first else Cut.BEFORE
    requests = 0

    def decide(sql: str) -> Cut | None:
        nonlocal requests
        if COMMIT not in sql:
            return None
        requests += 1
        if requests == 1:
            return cut
        if requests == 2:
            commit_again(store_dsn)
            if not commit_first:
                commit_again(store_dsn)
        return None

    proxy.decide = decide


@pytest.mark.parametrize("committed", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_what_others_have_gone_on_from_is_unknown_without_an_event(
    proxy: Proxy, store_dsn: str, kind: str, committed: bool
) -> None:
    with opened(kind, proxy.dsn) as store:
        exe = Execution(id="cut", definition_id="orders")
        store.save(exe)
        gone_on(proxy, store_dsn, committed)
        with pytest.raises(CommitOutcomeUnknown, match="the connection was lost in the commit of") as unknown:
            store.save(exe)
        assert (unknown.value.execution_id, unknown.value.expected, exe.version) == ("cut", 1, 1)
        assert isinstance(unknown.value.__cause__, psycopg.OperationalError)
        exe = store.load("cut")
        assert exe is not None
        assert exe.version == 3
        store.save(exe)


@pytest.mark.parametrize("committed", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_what_others_have_gone_on_from_is_a_conflict_with_an_event_and_the_ledger_tells(
    proxy: Proxy, store_dsn: str, kind: str, committed: bool
) -> None:
    with opened(kind, proxy.dsn) as store:
        exe = Execution(id="cut", definition_id="orders")
        store.save(exe)
        gone_on(proxy, store_dsn, committed)
        with pytest.raises(StoreConflict):
            store.commit(exe, [], "event")
        _, already_processed = store.load_for_event("cut", "event")
        assert already_processed is committed


@pytest.mark.parametrize("cut", [Cut.BEFORE, Cut.AFTER], ids=lambda cut: cut.name)
@pytest.mark.parametrize("kind", KINDS)
def test_without_a_server_the_outcome_is_unknown_and_trying_again_with_the_event_is_safe(
    proxy: Proxy, store_dsn: str, kind: str, cut: Cut
) -> None:
    with opened(kind, proxy.dsn, connect_retries=0) as store:
        exe = Execution(id="cut", definition_id="orders")
        store.save(exe)
        if kind == "async":
            # How long the pool waits for a connection.
            store._client._connection.timeout = 0.5
        proxy.decide = lambda sql: cut if COMMIT in sql else Cut.BEFORE
        with pytest.raises(CommitOutcomeUnknown):
            store.commit(exe, [], "event")
        proxy.release()
        if kind == "async":
            store._client._connection.timeout = 30.0
        assert exe.version == 1
        loaded, already_processed = store.load_for_event("cut", "event")
        assert already_processed is (cut is Cut.AFTER)
        if not already_processed:
            store.commit(loaded, [], "event")
        assert query(store_dsn, WRITTEN) == [(2, 1, None, 0, 0, 0)]


@pytest.mark.parametrize("kind", KINDS)
def test_a_mistake_is_a_mistake_also_on_the_second_connection(proxy: Proxy, kind: str) -> None:
    with opened(kind, proxy.dsn) as store:
        exe = Execution(id="cut", definition_id="orders")
        proxy.once(Cut.BEFORE, COMMIT)
        with pytest.raises(InvalidArgument):
            store.commit(exe, [], timers=[TimerOp("snooze", "path")])
        assert exe.version == 0


class Injected:
    """A store of either kind over a connection, or a pool of them, that is the caller's."""

    def __init__(self, kind: str, dsn: str, **options: Any) -> None:
        self._runner = asyncio.Runner()
        self._kind = kind
        if kind == "sync":
            self.connection: Any = psycopg.connect(dsn, **options)
            self._store: Any = PostgresStore(self.connection)
        else:
            self.connection = self._runner.run(psycopg.AsyncConnection.connect(dsn, **options))
            self._store = AsyncPostgresStore(self.connection)

    def execute(self, sql: str) -> None:
        self._call(self.connection.execute, sql)

    def commit(self, exe: Execution) -> Any:
        return self._call(everything, self._store, exe, None)

    def close(self) -> None:
        self._call(self.connection.close)
        self._runner.close()

    def _call(self, function: Any, *args: Any) -> Any:
        result = function(*args)
        return self._runner.run(result) if inspect.iscoroutine(result) else result


@pytest.mark.parametrize("cut", LOST, ids=lambda cut: cut.name)
@pytest.mark.parametrize("kind", KINDS)
def test_a_single_connection_of_the_callers_leaves_the_outcome_unknown(
    proxy: Proxy, store_dsn: str, kind: str, cut: Cut
) -> None:
    with closing(Injected(kind, proxy.dsn, autocommit=True)) as store:
        exe = Execution(id="cut", definition_id="orders")
        store.commit(exe)
        proxy.once(cut, COMMIT)
        with pytest.raises(CommitOutcomeUnknown) as unknown:
            store.commit(exe)
        assert isinstance(unknown.value.__cause__, psycopg.OperationalError)
        assert exe.version == 1


@pytest.mark.parametrize("cut", LOST, ids=lambda cut: cut.name)
@pytest.mark.parametrize("kind", KINDS)
def test_before_a_connection_of_the_callers_was_told_to_commit_nothing_was_written(
    proxy: Proxy, store_dsn: str, kind: str, cut: Cut
) -> None:
    with closing(Injected(kind, proxy.dsn)) as store:
        exe = Execution(id="cut", definition_id="orders")
        store.commit(exe)
        proxy.once(cut, COMMIT)
        with pytest.raises(psycopg.OperationalError):
            store.commit(exe)
        assert exe.version == 1
        assert query(store_dsn, "SELECT version FROM executions") == [(1,)]


@pytest.mark.parametrize("cut", LOST, ids=lambda cut: cut.name)
@pytest.mark.parametrize("kind", KINDS)
def test_once_a_connection_of_the_callers_was_told_to_commit_the_outcome_is_unknown(
    proxy: Proxy, kind: str, cut: Cut
) -> None:
    with closing(Injected(kind, proxy.dsn)) as store:
        exe = Execution(id="cut", definition_id="orders")
        store.commit(exe)
        proxy.once(cut, "COMMIT")
        with pytest.raises(CommitOutcomeUnknown):
            store.commit(exe)
        assert exe.version == 1


@pytest.mark.parametrize("autocommit", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_in_a_transaction_of_the_callers_the_error_of_the_driver_comes_through(
    proxy: Proxy, store_dsn: str, kind: str, autocommit: bool
) -> None:
    with closing(Injected(kind, proxy.dsn, autocommit=autocommit)) as store:
        exe = Execution(id="cut", definition_id="orders")
        store.execute("BEGIN" if autocommit else "SELECT 1")
        proxy.once(Cut.AFTER, COMMIT)
        with pytest.raises(psycopg.OperationalError):
            store.commit(exe)
        assert exe.version == 0
        assert query(store_dsn, "SELECT version FROM executions") == []


def test_a_pool_of_the_callers_serves_to_find_out(proxy: Proxy, store_dsn: str) -> None:
    async def use() -> None:
        async with psycopg_pool.AsyncConnectionPool(proxy.dsn, min_size=1, max_size=2, open=False) as pool:
            store = AsyncPostgresStore(pool)
            exe = Execution(id="cut", definition_id="orders")
            await store.save(exe)
            for word in (COMMIT, "COMMIT"):
                version = exe.version
                # Loss before COMMIT is sent is an error of the driver, as on a single connection.
                proxy.once(Cut.AFTER, word)
                if word == COMMIT:
                    with pytest.raises(psycopg.OperationalError):
                        await store.save(exe)
                    assert exe.version == version
                else:
                    await store.save(exe)
                    assert exe.version == version + 1
        assert query(store_dsn, "SELECT version FROM executions") == [(2,)]

    asyncio.run(use())
