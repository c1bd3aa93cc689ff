"""Connections that are not there yet, lost, cut off in the middle of a call or cancelled: the next call works."""

import asyncio
import socket
import tempfile
import time
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from wire import DEADLINE, KINDS, Beside, opened, until, until_blocked

from harel import AsyncPostgresStore, Execution, ExecutionStore, PostgresStore, TimerOp
from harel.embedded import EmbeddedServer

# What a call of a store is cut off in, and how it is written down.
COMMITS: dict[str, Callable[[ExecutionStore, Execution], Any]] = {
    "fast path": lambda store, exe: store.save(exe),
    "complex path": lambda store, exe: store.commit(
        exe, [], "event", timers=[TimerOp("schedule", "path", 1.0)], trace={"event": "Paid"}
    ),
}


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder for a server's socket: those of pytest may have too long a path."""
    with tempfile.TemporaryDirectory(prefix="harel-") as name:
        yield Path(name)


@pytest.fixture
def beside(store_dsn: str) -> Iterator[Beside]:
    with Beside(store_dsn) as beside:
        yield beside


@contextmanager
def locked(dsn: str) -> Iterator[psycopg.Connection[Any]]:
    """A session on whose lock every call of a store waits until the end of the block."""
    with psycopg.connect(dsn) as session:
        session.execute("LOCK TABLE executions IN ACCESS EXCLUSIVE MODE")
        yield session
        session.rollback()


def query(dsn: str, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
    with psycopg.connect(dsn, autocommit=True) as session:
        return session.execute(sql, parameters).fetchall()


def backends(dsn: str) -> list[int]:
    """Those that stores have in this database."""
    found = query(
        dsn, "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'harel'"
    )
    return [pid for (pid,) in found]


def terminate(dsn: str, pids: list[int]) -> None:
    """Ends backends and waits until they are gone."""
    for pid in pids:
        # One that was about to end by itself is none any more.
        ended = query(dsn, "SELECT pg_terminate_backend(%s::integer, 10000)", pid)
        assert ended == [(True,)] or pid not in backends(dsn)


def written(dsn: str) -> list[tuple[Any, ...]]:
    return query(
        dsn,
        """
        SELECT (SELECT sum(version) FROM executions), (SELECT count(*) FROM processed_events),
            (SELECT count(*) FROM timers), (SELECT count(*) FROM trace)
        """,
    )


@pytest.mark.parametrize("kind", KINDS)
def test_from_dsn_waits_for_a_server_that_is_not_there_yet(folder: Path, kind: str) -> None:
    server = EmbeddedServer(folder)
    with ThreadPoolExecutor(1) as threads:
        # Its data has to be created first, which takes far longer than a first attempt to connect.
        started = threads.submit(server.start)
        with opened(kind, server.dsn, connect_retries=10_000, retry_delay=0.05) as store:
            assert store.load("nowhere") is None
        started.result(DEADLINE)
    server.stop("immediate")


@pytest.mark.parametrize("kind", KINDS)
def test_from_dsn_stops_no_other_thread_while_it_waits_for_an_answer(folder: Path, kind: str) -> None:
    dsn = make_conninfo(host=str(folder), connect_timeout=2)

    def connect() -> None:
        with pytest.raises(psycopg.OperationalError), opened(kind, dsn, connect_retries=0):
            pass

    with socket.socket(socket.AF_UNIX) as mute, ThreadPoolExecutor(1) as threads:
        mute.bind(str(folder / ".s.PGSQL.5432"))
        mute.listen()

        def longest_gap() -> float:
            """Seconds for which this thread did not run while the other waited."""
            connecting = threads.submit(connect)
            longest, before = 0.0, time.monotonic()
            while not connecting.done():
                now = time.monotonic()
                longest, before = max(longest, now - before), now
            connecting.result()
            return longest

        # A machine that stands still for a moment does so once, a thread that holds the interpreter each time.
        assert any(longest_gap() < 1.0 for _ in range(5))


@pytest.mark.parametrize("kind", KINDS)
def test_from_dsn_waits_for_a_server_that_does_not_take_connections_yet(folder: Path, kind: str) -> None:
    # A standby that is closed to clients answers as one that is starting does.
    server = EmbeddedServer(folder, settings={"hot_standby": "off"})
    server.start()
    server.stop()
    standby = folder / "data" / "standby.signal"
    standby.touch()
    log = folder / "server.log"
    log.write_text("")

    def use() -> bool:
        with opened(kind, server.dsn, connect_retries=10_000, retry_delay=0.05) as store:
            return store.load("nowhere") is None

    with ThreadPoolExecutor(1) as threads:
        with server:
            used = threads.submit(use)
            until(lambda: "FATAL:  the database system is" in log.read_text())
        standby.unlink()
        with server:
            assert used.result(DEADLINE)


@pytest.mark.parametrize("kind", KINDS)
def test_from_dsn_fails_at_once_where_the_server_refuses(store_dsn: str, kind: str) -> None:
    start = time.monotonic()
    with (
        pytest.raises(psycopg.OperationalError, match="does not exist"),
        opened(kind, make_conninfo(store_dsn, dbname="nowhere"), connect_retries=1000, retry_delay=60.0),
    ):
        pass
    assert time.monotonic() - start < 30.0


@pytest.mark.parametrize("kind", KINDS)
def test_from_dsn_gives_up_after_its_retries(folder: Path, kind: str) -> None:
    start = time.monotonic()
    with (
        pytest.raises(psycopg.OperationalError),
        opened(kind, make_conninfo(host=str(folder)), connect_retries=4, retry_delay=0.05),
    ):
        pass
    assert time.monotonic() - start >= 4 * 0.05


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_call_after_its_backend_was_terminated_works(store_dsn: str, kind: str) -> None:
    with opened(kind, store_dsn) as store:
        exe = Execution(definition_id="orders")
        store.save(exe)
        for commit in COMMITS.values():
            terminate(store_dsn, backends(store_dsn))
            assert store.load(exe.id) == exe
            terminate(store_dsn, backends(store_dsn))
            commit(store, exe)
        assert exe.version == 3


def test_the_first_call_after_all_connections_of_a_pool_were_terminated_works_at_once(
    store_dsn: str, beside: Beside
) -> None:
    size = 10
    with opened("async", store_dsn, pool_size=size) as store:
        exe = Execution(definition_id="orders")
        store.save(exe)
        with locked(store_dsn):
            loads = [beside.blocked(store.load, exe.id) for _ in range(size)]
        assert [load.result(DEADLINE) for load in loads] == [exe] * size
        terminate(store_dsn, backends(store_dsn))
        start = time.monotonic()
        assert store.load(exe.id) == exe
        # Nothing is waited for but a new connection, and not 30 s as where there is none.
        assert time.monotonic() - start < 15.0


@pytest.fixture(scope="module")
def own_server() -> Iterator[EmbeddedServer]:
    """A server that a test may stop."""
    with EmbeddedServer() as server:
        yield server


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_call_after_the_server_crashed_and_came_back_works(own_server: EmbeddedServer, kind: str) -> None:
    with opened(kind, own_server.dsn) as store:
        exe = Execution(definition_id="orders")
        store.save(exe)
        own_server.stop("immediate")
        own_server.start()
        store.save(exe)
        assert store.load(exe.id) == exe
        assert exe.version == 2


@pytest.mark.parametrize("kind", KINDS)
def test_a_call_waits_for_a_server_that_is_down(own_server: EmbeddedServer, kind: str) -> None:
    with opened(kind, own_server.dsn, connect_retries=10_000, retry_delay=0.05) as store:
        exe = Execution(definition_id="orders")
        store.save(exe)
        own_server.stop("immediate")
        with ThreadPoolExecutor(1) as threads:
            saved = threads.submit(store.save, exe)
            own_server.start()
            saved.result(DEADLINE)
        assert store.load(exe.id) == exe


@pytest.mark.parametrize("commit", COMMITS.values(), ids=COMMITS)
@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize("kind", KINDS)
def test_a_commit_whose_connection_is_cut_is_made_again_on_another_and_committed_once(
    store_dsn: str, beside: Beside, kind: str, version: int, commit: Callable[[ExecutionStore, Execution], Any]
) -> None:
    with opened(kind, store_dsn) as store:
        exe = Execution(definition_id="orders")
        for _ in range(version):
            store.save(exe)
        with locked(store_dsn):
            attempt = beside.blocked(commit, store, exe)
            for _ in range(2):
                terminate(store_dsn, until_blocked(store_dsn, attempt))
            until_blocked(store_dsn, attempt)
        attempt.result(DEADLINE)
        assert exe.version == version + 1
        assert store.load(exe.id) == exe
        assert written(store_dsn) == [(version + 1, *(3 * [int(commit is not COMMITS["fast path"])]))]


@pytest.mark.parametrize("kind", KINDS)
def test_a_read_whose_connection_is_cut_fails_and_the_next_one_works(store_dsn: str, beside: Beside, kind: str) -> None:
    with opened(kind, store_dsn) as store:
        exe = Execution(definition_id="orders")
        store.save(exe)
        with locked(store_dsn):
            attempt = beside.blocked(store.load, exe.id)
            terminate(store_dsn, until_blocked(store_dsn, attempt))
            with pytest.raises(psycopg.OperationalError):
                attempt.result(DEADLINE)
        assert store.load(exe.id) == exe


@pytest.mark.parametrize(
    ("setting", "error"),
    # That of statements holds for those that nobody holds up, too.
    [("statement_timeout=5s", psycopg.errors.QueryCanceled), ("lock_timeout=300ms", psycopg.errors.LockNotAvailable)],
)
@pytest.mark.parametrize("commit", COMMITS.values(), ids=COMMITS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_commit_that_times_out_writes_nothing_and_the_next_one_works(
    store_dsn: str,
    kind: str,
    commit: Callable[[ExecutionStore, Execution], Any],
    setting: str,
    error: type[psycopg.Error],
) -> None:
    with opened(kind, make_conninfo(store_dsn, options=f"-c {setting}")) as store:
        exe = Execution(definition_id="orders")
        store.save(exe)
        with psycopg.connect(store_dsn) as other:
            other.execute("SELECT FROM executions FOR UPDATE")
            with pytest.raises(error):
                commit(store, exe)
        assert exe.version == 1
        assert written(store_dsn) == [(1, 0, 0, 0)]
        commit(store, exe)
        assert exe.version == 2


@pytest.mark.parametrize("kind", KINDS)
def test_close_ends_the_connections_of_the_store(store_dsn: str, kind: str) -> None:
    with opened(kind, store_dsn) as store:
        store.load("nowhere")
        assert backends(store_dsn)
    until(lambda: not backends(store_dsn))


def test_close_leaves_a_connection_that_was_given(store_dsn: str) -> None:
    with psycopg.connect(store_dsn) as connection:
        PostgresStore(connection).close()
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_close_leaves_an_asynchronous_connection_that_was_given(store_dsn: str) -> None:
    async def use() -> None:
        async with await psycopg.AsyncConnection.connect(store_dsn) as connection:
            store = AsyncPostgresStore(connection)
            assert await store.load("nowhere") is None
            await store.close()
            assert await (await connection.execute("SELECT 1")).fetchone() == (1,)

    asyncio.run(use())


async def assert_whole(dsn: str, store: AsyncPostgresStore, size: int) -> None:
    """All connections of the pool can be used at once, and there are no others."""
    with locked(dsn):
        loads = [asyncio.ensure_future(store.load("nowhere")) for _ in range(size)]
        await asyncio.to_thread(until_blocked, dsn, *loads)
        await asyncio.to_thread(until, lambda: len(backends(dsn)) == size)
    assert await asyncio.gather(*loads) == [None] * size


def test_a_cancelled_call_leaves_the_execution_and_the_pool_whole(store_dsn: str) -> None:
    size = 2

    async def use() -> None:
        store = await AsyncPostgresStore.from_dsn(store_dsn, size)
        exe = Execution(definition_id="orders")
        await store.save(exe)
        calls: list[Callable[[], Any]] = [
            lambda: store.load(exe.id),
            lambda: store.save(exe),
            lambda: store.commit(exe, [], "event", trace={"event": "Paid"}),
        ]
        with locked(store_dsn):
            for call in calls * size:
                task = asyncio.ensure_future(call())
                await asyncio.to_thread(until_blocked, store_dsn, task)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
        assert exe.version == 1
        assert written(store_dsn) == [(1, 0, 0, 0)]
        await assert_whole(store_dsn, store, size)
        await store.save(exe)
        assert exe.version == 2
        await store.close()

    asyncio.run(use())


def test_a_call_may_be_cancelled_at_any_point(store_dsn: str) -> None:
    size = 2

    async def cancelled(call: Coroutine[Any, Any, Any], after: int) -> bool:
        """Whether the call was cancelled after so many turns of the loop, or else was done by then."""
        task = asyncio.ensure_future(call)
        for _ in range(after):
            await asyncio.sleep(0)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        return task.cancelled()

    async def use() -> None:
        store = await AsyncPostgresStore.from_dsn(store_dsn, size, trace_max=0)
        exe = Execution(definition_id="orders")
        await store.save(exe)
        after = 0
        # A turn later each time, until the call is done before its time has come.
        while True:
            before = exe.version
            if not await cancelled(store.commit(exe, [], trace={"turns": after}), after):
                break
            assert exe.version == before
            loaded = await store.load(exe.id)
            assert loaded is not None
            # The answer may be what was cut off.
            assert loaded.version in (before, before + 1)
            exe = loaded
            after += 1
        assert after > 1
        assert len(await store.read_trace(exe.id)) == exe.version - 1
        await assert_whole(store_dsn, store, size)
        await store.close()

    asyncio.run(use())


def test_a_call_that_waits_for_a_connection_can_be_cancelled(store_dsn: str) -> None:
    size = 2

    async def use() -> None:
        store = await AsyncPostgresStore.from_dsn(store_dsn, size)
        with locked(store_dsn):
            served = [asyncio.ensure_future(store.load("nowhere")) for _ in range(size)]
            await asyncio.to_thread(until_blocked, store_dsn, *served)
            waiting = [asyncio.ensure_future(store.load("nowhere")) for _ in range(size)]
            await asyncio.sleep(0)
            for task in waiting:
                task.cancel()
            cancelled = await asyncio.gather(*waiting, return_exceptions=True)
        assert [type(result) for result in cancelled] == [asyncio.CancelledError] * size
        assert await asyncio.gather(*served) == [None] * size
        await assert_whole(store_dsn, store, size)
        await store.close()

    asyncio.run(use())


def test_more_tasks_than_connections_all_succeed(store_dsn: str) -> None:
    size, tasks = 3, 60

    async def use() -> None:
        store = await AsyncPostgresStore.from_dsn(store_dsn, size)
        executions = [Execution(definition_id="orders") for _ in range(tasks)]
        await asyncio.gather(*[store.save(exe) for exe in executions])
        assert [exe.version for exe in executions] == [1] * tasks
        assert await asyncio.gather(*[store.load(exe.id) for exe in executions]) == executions
        # That of a connection that has ended may take a moment to go.
        await asyncio.to_thread(until, lambda: len(backends(store_dsn)) <= size)
        await store.close()

    asyncio.run(use())


def test_threads_share_a_store(store_dsn: str) -> None:
    def work(store: PostgresStore, number: int) -> int:
        exe = Execution(id=f"execution-{number}", definition_id="d", context={"text": "x" * 20_000})
        for _ in range(100):
            store.save(exe)
            assert store.load(exe.id) == exe
        return exe.version

    with closing(PostgresStore.from_dsn(store_dsn)) as store, ThreadPoolExecutor(8) as threads:
        assert list(threads.map(lambda number: work(store, number), range(8))) == [100] * 8


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("given", "idle"), [("", "30"), (" keepalives_idle=7", "7")])
def test_a_host_that_goes_away_silently_is_given_up_in_time(store_dsn: str, kind: str, given: str, idle: str) -> None:
    with opened(kind, store_dsn + given) as store:
        connections = [store._connection] if kind == "sync" else list(store._client._connection._pool)
        assert connections
        for connection in connections:
            parameters = connection.info.get_parameters()
            assert parameters["keepalives_idle"] == idle
            assert parameters["tcp_user_timeout"] == "60000"
