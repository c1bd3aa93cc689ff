"""A store over the nodes of a Citus cluster: how it comes about, who may use it, and what a commit costs."""

import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, LiteralString
from uuid import uuid4

import psycopg
import pytest
from filled import contents, fill, works_on
from psycopg import sql
from psycopg.conninfo import make_conninfo
from wire import KINDS, opened, opened_transport, until

from cluster import Cluster, execute
from harel import Completion, Event, Execution, PostgresStore, PostgresTransport, TimerOp, install_script

SHARDS = 8


@pytest.fixture(scope="module")
def cluster(citus: None) -> Iterator[Cluster]:
    """Three nodes, of which two have shards; each logs who asks it for what."""
    with Cluster(settings={"log_statement": "all", "log_line_prefix": "%a|%d|"}) as cluster:
        cluster.create_database("empty")
        execute(cluster.copy_database("empty", "single"), "CREATE EXTENSION harel")
        spread = cluster.copy_database("single", "spread")
        execute(spread, "SELECT harel_distribute(%s)", SHARDS)
        yield cluster


@contextmanager
def copy_of(cluster: Cluster, template: str) -> Iterator[str]:
    name = f"harel_{uuid4().hex}"
    yield cluster.copy_database(template, name)
    cluster.drop_database(name)


@pytest.fixture
def empty(cluster: Cluster) -> Iterator[str]:
    """The DSN of a database without a store, on the coordinator."""
    with copy_of(cluster, "empty") as dsn:
        yield dsn


@pytest.fixture
def single(cluster: Cluster) -> Iterator[str]:
    """The DSN of a store that is on the coordinator alone."""
    with copy_of(cluster, "single") as dsn:
        yield dsn


@pytest.fixture
def spread(cluster: Cluster) -> Iterator[str]:
    """The DSN of a store that was distributed while it was empty, on the coordinator."""
    with copy_of(cluster, "spread") as dsn:
        yield dsn


def on(cluster: Cluster, node: int, dsn: str) -> str:
    """The DSN of the same database on another node; that on the coordinator is 0."""
    with psycopg.connect(dsn) as session:
        return make_conninfo(cluster.dsns[node], dbname=session.info.dbname)


def distribute(dsn: str, shards: int | None = SHARDS, schema: str = "public") -> None:
    execute(dsn, sql.SQL("SELECT {}.harel_distribute(%s)").format(sql.Identifier(schema)), shards)


@contextmanager
def refused(code: str, detail: str | None = None) -> Iterator[None]:
    with pytest.raises(psycopg.Error, match=detail) as raised:
        yield
    assert raised.value.sqlstate == code
    assert raised.value.diag.message_primary
    assert raised.value.diag.message_detail
    assert raised.value.diag.message_hint


# What cannot be distributed


def test_without_citus_a_store_cannot_be_distributed(dsn: str) -> None:
    execute(dsn, "CREATE EXTENSION harel")
    with refused("ST017", "citus is not in this database"):
        distribute(dsn)
    execute(dsn, "SELECT harel_commit_cas('a', 'd', '{}', 0)")


@pytest.mark.parametrize("shards", [None, 0, -1, 64001])
def test_a_number_of_shards_that_cannot_be_is_refused(dsn: str, shards: int | None) -> None:
    execute(dsn, "CREATE EXTENSION harel")
    with refused("ST008"):
        distribute(dsn, shards)


def test_a_store_by_the_plain_script_cannot_be_distributed(single: str) -> None:
    # A database holds an extension once, and the script takes it where it can.
    execute(single, install_script("harel"))
    with refused("ST017", "plain script"):
        distribute(single, schema="harel")


def test_only_the_coordinator_distributes_a_store(cluster: Cluster, single: str) -> None:
    with refused("ST017", "not the coordinator"):
        distribute(on(cluster, 1, single))


def test_a_store_is_distributed_once(cluster: Cluster, spread: str) -> None:
    with refused("ST017", "distributed already"):
        distribute(spread)
    with refused("ST017", "not the coordinator"):
        distribute(on(cluster, 2, spread))


# Distribution with rows


def test_every_row_is_there_afterwards_and_works_on(single: str) -> None:
    lease = fill(single)
    before = contents(single)
    nobody = execute(single, "SELECT count(*) FROM outbox WHERE source_id IS NULL")
    distribute(single)
    assert contents(single) == before
    assert nobody == [(0,)]
    groups = (
        "SELECT DISTINCT groupid FROM pg_dist_shard JOIN pg_dist_placement USING (shardid) "
        "WHERE logicalrelid = %s::regclass ORDER BY 1"
    )
    for table in before:
        assert execute(single, groups, table) == [(1,), (2,)]
    works_on(single, lease, exact=False)


def test_an_event_of_nobody_goes_with_the_others(single: str) -> None:
    execute(single, "INSERT INTO outbox (source_id, version, ord, target_id, event) VALUES (NULL, 1, 0, 'a', '{}')")
    distribute(single)
    assert execute(single, "SELECT source_id, target_id FROM outbox") == [("", "a")]
    assert execute(single, "SELECT source_id, target_id FROM harel_take_outbox(5)") == [(None, "a")]


@pytest.mark.parametrize("kind", KINDS)
def test_clients_that_were_there_before_go_on(single: str, kind: str) -> None:
    with opened(kind, single) as store, opened_transport(kind, single) as transport:
        exe = Execution(id="a", definition_id="d")
        seqs: list[int] = []

        def work(number: int) -> None:
            store.save(exe)
            seqs.extend(
                store.commit(
                    exe, [(None, Event(kind="Told"))], f"event {number}", [TimerOp("schedule", "/t", 4e9)],
                    [(f"child {number}", "/r", {})], {"n": number},
                )
            )  # fmt: skip
            assert store.load("a") == exe
            assert store.load_for_event("a", f"event {number}") == (exe, True)
            transport.publish("a", Event(id=f"message {number}", kind="k"))
            [delivery] = transport.next("w", 60.0, 1)
            assert delivery.lease.event.id == f"message {number}"
            assert transport.finish([Completion(delivery.lease)])[0].result == "finished"

        # So often that the server has made plans for all calls.
        for number in range(12):
            work(number)
        distribute(single)
        for number in range(12, 24):
            work(number)
        assert len(set(seqs)) == 24
        assert [entry["n"] for entry in store.read_trace("a")] == list(range(24))
        assert [entry.seq for entry in store.pending_outbox()] == seqs


# What goes wrong on the way


@contextmanager
def held_up(cluster: Cluster, dsn: str) -> Iterator["psycopg.Connection[Any]"]:
    """A session in which the store is being distributed, and a node waits in the middle of it: six tables are done."""
    node = on(cluster, 1, dsn)
    waiting = (
        "SELECT pid FROM pg_stat_activity WHERE query LIKE '%add_partition_metadata%trace%' AND wait_event = 'relation'"
    )
    with (
        ThreadPoolExecutor(1) as threads,
        psycopg.connect(node, autocommit=True) as observer,
        psycopg.connect(node) as other,
        psycopg.connect(dsn, autocommit=True) as session,
    ):
        other.execute("LOCK TABLE trace")
        working = threads.submit(session.execute, "SELECT harel_distribute(8)")
        until(lambda: working.done() or observer.execute(waiting).fetchall())
        assert not working.done()
        yield session
        with pytest.raises(psycopg.Error):
            working.result(30)
        # The node may have been killed.
        with suppress(psycopg.OperationalError):
            other.rollback()


def cancelled(cluster: Cluster, dsn: str) -> None:
    with held_up(cluster, dsn) as session:
        assert execute(dsn, "SELECT pg_cancel_backend(%s::integer)", session.info.backend_pid) == [(True,)]


def terminated(cluster: Cluster, dsn: str) -> None:
    with held_up(cluster, dsn) as session:
        assert execute(dsn, "SELECT pg_terminate_backend(%s::integer)", session.info.backend_pid) == [(True,)]


def node_killed(cluster: Cluster, dsn: str) -> None:
    with held_up(cluster, dsn):
        cluster.servers[1].stop("immediate")
    cluster.servers[1].start()


def node_absent(cluster: Cluster, dsn: str) -> None:
    cluster.servers[2].stop()
    with refused("ST017", str(cluster.servers[2].folder)):
        distribute(dsn)
    cluster.servers[2].start()


def node_without_extension(cluster: Cluster, dsn: str) -> None:
    node = make_conninfo(on(cluster, 2, dsn), options="-c citus.enable_ddl_propagation=off")
    execute(node, "DROP EXTENSION harel; CREATE TABLE executions ()")
    with refused("ST017", str(cluster.servers[2].folder)):
        distribute(dsn)
    execute(node, "DROP TABLE executions")


@pytest.mark.parametrize("fail", [cancelled, terminated, node_killed, node_absent, node_without_extension])
def test_a_distribution_that_failed_leaves_the_store_as_it_was_and_can_be_made_again(
    cluster: Cluster, single: str, fail: Callable[[Cluster, str], None]
) -> None:
    lease = fill(single)
    before = contents(single)
    fail(cluster, single)
    assert contents(single) == before
    assert execute(single, "SELECT count(*) FROM pg_dist_partition") == [(0,)]
    execute(single, "SELECT harel_commit_cas('as before', 'd', '{}', 0)")
    before = contents(single)
    distribute(single)
    assert contents(single) == before
    works_on(single, lease, exact=False)


def test_a_node_with_an_earlier_version_gets_that_of_the_coordinator(cluster: Cluster, single: str) -> None:
    lease = fill(single)
    node = make_conninfo(on(cluster, 2, single), options="-c citus.enable_ddl_propagation=off")
    execute(node, "DROP EXTENSION harel; CREATE EXTENSION harel VERSION '1.0'")
    distribute(single)
    assert execute(node, "SELECT harel_version()") == execute(single, "SELECT harel_version()")
    works_on(single, lease, exact=False)


def test_executions_that_somebody_distributed_by_hand_stay_as_they_are(single: str) -> None:
    lease = fill(single)
    before = contents(single)
    execute(single, "SELECT create_distributed_table('executions', 'id', shard_count => 4)")
    distribute(single)
    assert contents(single) == before
    assert execute(single, "SELECT logicalrelid, count(*) FROM pg_dist_shard GROUP BY 1 HAVING count(*) <> 4") == []
    works_on(single, lease, exact=False)


@pytest.mark.parametrize(
    "by_hand",
    [
        "create_distributed_table('timers', 'execution_id', shard_count => 4)",
        "create_distributed_table('timers', 'path', shard_count => 4)",
        "create_reference_table('timers')",
    ],
)
def test_a_table_that_somebody_distributed_in_another_way_is_named(single: str, by_hand: LiteralString) -> None:
    fill(single)
    before = contents(single)
    execute(single, "SELECT " + by_hand)
    with refused("ST017", "timers"):
        distribute(single)
    assert contents(single) == before


# Who may use it


@pytest.fixture
def role(cluster: Cluster) -> Iterator[str]:
    name = f"harel_{uuid4().hex}"
    for dsn in cluster.dsns:
        execute(dsn, sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(name)))
    yield name
    for dsn in cluster.dsns:
        execute(dsn, sql.SQL("DROP ROLE {}").format(sql.Identifier(name)))


def works_as(dsn: str, role: str, execution_id: str) -> None:
    """Every kind of work, whichever nodes it is done on."""
    dsn = make_conninfo(dsn, user=role)
    store, transport = PostgresStore.from_dsn(dsn), PostgresTransport.from_dsn(dsn)
    try:
        exe = Execution(id=execution_id, definition_id="d")
        store.save(exe)
        store.commit(
            exe, [("target", Event(kind="Told"))], "event", [TimerOp("schedule", "/t", 1.0)],
            [(f"child of {execution_id}", "/r", {})], {"n": 1},
        )  # fmt: skip
        assert store.load(execution_id) == exe
        transport.publish(execution_id, Event(kind="Come"))
        tick = transport.tick()
        assert (tick.spawned, tick.relayed, tick.fired) == (1, 1, 1)
        while deliveries := transport.next("w", 60.0, 10):
            done = transport.finish([Completion(delivery.lease, delivery.execution) for delivery in deliveries])
            assert {completed.result for completed in done} == {"finished"}
        store.suspend(execution_id)
        store.resume(execution_id)
    finally:
        store.close()
        transport.close()


def denied(dsn: str, role: str, statement: LiteralString) -> None:
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        execute(make_conninfo(dsn, user=role), statement)


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_worker_works_on_every_node_until_it_is_shut_out(cluster: Cluster, role: str, single: str, when: str) -> None:
    if when == "before":
        execute(single, "SELECT harel_grant(%s)", role)
    distribute(single)
    if when == "after":
        execute(single, "SELECT harel_grant(%s)", role)
    execute(single, "SELECT harel_commit_cas('target', 'd', '{}', 0)")
    nodes = [on(cluster, node, single) for node in range(3)]
    for number, node in enumerate(nodes):
        works_as(node, role, f"of node {number}")
        denied(node, role, "SELECT harel_grant(current_user)")
        denied(node, role, "SELECT harel_distribute(4)")
    execute(single, "SELECT harel_grant(%s, 'none')", role)
    for node in nodes:
        denied(node, role, "SELECT harel_load('target')")
        denied(node, role, "SELECT harel_commit_cas('new', 'd', '{}', 0)")
        denied(node, role, "SELECT nextval('outbox_seq_seq')")
        denied(node, role, "SELECT FROM executions")
        denied(node, role, "SELECT FROM harel_next('w', 60.0)")


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_reader_reads_on_every_node_and_writes_on_none(cluster: Cluster, role: str, single: str, when: str) -> None:
    if when == "before":
        execute(single, "SELECT harel_grant(%s, 'reader')", role)
    distribute(single)
    if when == "after":
        execute(single, "SELECT harel_grant(%s, 'reader')", role)
    execute(single, "SELECT harel_commit_cas('a', 'd', '{}', 0)")
    for number in range(3):
        node = on(cluster, number, single)
        as_reader = make_conninfo(node, user=role)
        for id in "abcdef":
            assert execute(as_reader, "SELECT harel_load(%s)", id) == [("{}" if id == "a" else None,)]
        assert execute(as_reader, "SELECT entry FROM harel_read_trace('a')") == []
        denied(node, role, "SELECT harel_commit_cas('b', 'd', '{}', 0)")
        denied(node, role, "SELECT harel_publish('b', '{}')")
        denied(node, role, "DELETE FROM executions")


def test_access_is_not_changed_where_a_node_cannot_be_reached(cluster: Cluster, role: str, spread: str) -> None:
    cluster.servers[2].stop()
    with refused("ST009", str(cluster.servers[2].folder)):
        execute(spread, "SELECT harel_grant(%s)", role)
    cluster.servers[2].start()
    denied(spread, role, "SELECT harel_load('a')")
    execute(spread, "SELECT harel_grant(%s)", role)
    works_as(spread, role, "a")


# What it costs


class Statements:
    """What the nodes are asked by a session on one of them."""

    def __init__(self, cluster: Cluster, session: "psycopg.Connection[Any]") -> None:
        self._logs = [server.folder / "server.log" for server in cluster.servers]
        [(gpid,)] = session.execute("SELECT citus_backend_gpid()").fetchall()
        self._entry = re.compile(
            rf"^citus_internal gpid={gpid}\|[^|]*\|LOG:  (?:statement|execute [^:]*): (?P<text>.*)\n"
            r"(?:.*\|DETAIL: .*\n)?"
            # A statement that a function gives there was not sent.
            r"(?!.*\|CONTEXT: )",
            re.MULTILINE,
        )

    def of(self, work: Callable[[], object]) -> list[tuple[int, str]]:
        """Each statement with the number of the node that gets it."""
        starts = [log.stat().st_size for log in self._logs]
        work()
        found = []
        for number, (log, start) in enumerate(zip(self._logs, starts, strict=True)):
            text = re.sub(r"\n\t", " ", log.read_bytes()[start:].decode())
            found += [(number, entry["text"]) for entry in self._entry.finditer(text)]
        return found


OWNER = """
    SELECT n.groupid
    FROM pg_dist_placement p
    JOIN pg_dist_node n USING (groupid)
    WHERE p.shardid = get_shard_id_for_distribution_column('executions', %s::text)
"""


def id_on(node: int, dsn: str) -> str:
    """An id whose rows are on that node."""
    for _ in range(1000):
        id = uuid4().hex
        if execute(dsn, OWNER, id) == [(node,)]:
            return id
    raise AssertionError(f"no id is of node {node}")


DATA = '{"status": "RUNNING", "version": 1, "context": {}}'
EVENT = '{"id": "e", "kind": "k"}'

# Each is one call for one execution, as SQL of its own.
CALLS: dict[str, tuple[LiteralString, tuple[Any, ...]]] = {
    "commit_cas": ("SELECT harel_commit_cas(%s, 'd', %s, 0)", (DATA,)),
    "commit": (
        "SELECT * FROM harel_commit(%s, 'd', %s, 0, 'e', ARRAY['t', NULL], ARRAY[%s, %s], ARRAY['c'], ARRAY['/'], "
        "ARRAY['{}'], ARRAY['schedule'], ARRAY['/t'], ARRAY[1.0::double precision], '{}', 5)",
        (DATA, EVENT, EVENT),
    ),
    "commit as a scalar": ("SELECT harel_commit(%s, 'd', %s, 0)", (DATA,)),
    "named arguments": ("SELECT harel_commit_cas(p_old => 0, p_data => %s, p_defn => 'd', p_id => %s)", (DATA,)),
    "load": ("SELECT * FROM harel_load(%s)", ()),
    "load_for_event": ("SELECT * FROM harel_load_for_event(%s, 'e')", ()),
    "is_processed": ("SELECT harel_is_processed(%s, 'e')", ()),
    "append_trace": ("SELECT harel_append_trace(%s, '{}', 5)", ()),
    "read_trace": ("SELECT * FROM harel_read_trace(%s)", ()),
    "publish": ("SELECT harel_publish(%s, %s)", (EVENT,)),
    "ack": ("SELECT harel_ack(%s, %s::uuid)", (str(uuid4()),)),
    "nack": ("SELECT harel_nack(%s, %s::uuid)", (str(uuid4()),)),
}


@pytest.fixture(scope="module")
def shared(cluster: Cluster) -> Iterator[str]:
    """The DSN of a distributed store that some tests share."""
    with copy_of(cluster, "spread") as dsn:
        yield dsn


@pytest.mark.parametrize("prepare", [False, True], ids=["once", "prepared"])
@pytest.mark.parametrize("call", CALLS)
def test_a_call_for_one_execution_is_one_statement_on_its_node(
    cluster: Cluster, shared: str, call: str, prepare: bool
) -> None:
    statement, rest = CALLS[call]
    for asked in range(3):
        with psycopg.connect(on(cluster, asked, shared), autocommit=True) as session:
            statements = Statements(cluster, session)
            for owner in (1, 2):
                # Of a statement that is called so often, the server would make one plan for all.
                for _ in range(8 if prepare else 1):
                    id = id_on(owner, shared)
                    parameters = (*rest, id) if call == "named arguments" else (id, *rest)
                    sent = statements.of(lambda p=parameters: session.execute(statement, p, prepare=prepare))
                    where = [node for node, _ in sent]
                    assert where == ([] if asked == owner else [owner]), sent


@pytest.mark.parametrize(
    "statement",
    ["SELECT harel_delete_timer(%s, '/t', 1.0)", "SELECT harel_outcome(%s, 0, gen_random_uuid())"],
    ids=["delete_timer", "outcome"],
)
def test_a_call_that_takes_any_id_and_locks_is_a_transaction_of_its_node(
    cluster: Cluster, shared: str, statement: LiteralString
) -> None:
    with psycopg.connect(on(cluster, 0, shared), autocommit=True) as session:
        statements = Statements(cluster, session)
        for owner in (1, 2):
            id = id_on(owner, shared)
            sent = statements.of(lambda id=id: session.execute(statement, [id]))
            assert [node for node, _ in sent] == [owner] * 3
            assert [text.split()[0] for _, text in sent][::2] == ["BEGIN", "COMMIT"]


def test_a_session_of_a_node_does_not_grow_with_what_it_is_asked(cluster: Cluster, shared: str) -> None:
    """Citus would keep a plan of its own for each call of a statement that PostgreSQL plans once: 100 KB a commit."""
    id = id_on(1, shared)
    with psycopg.connect(on(cluster, 1, shared), autocommit=True) as session:

        def work(versions: range) -> int:
            for version in versions:
                session.execute(
                    "SELECT harel_commit(%s, 'd', %s, %s, %s::text, '{x}', '{e}', p_trace => 't', p_trace_max => 5)",
                    (id, DATA, version, version),
                )
                session.execute("SELECT harel_load_for_event(%s, 'e'), harel_publish(%s, %s)", (id, id, EVENT))
            memory = Path(f"/proc/{session.info.backend_pid}/status").read_text()
            found = re.search(r"RssAnon:\s+(\d+) kB", memory)
            assert found
            return int(found[1])

        first = work(range(50))
        assert work(range(50, 250)) - first < 5000


def test_a_client_asks_the_node_of_an_execution_once_for_each_call(cluster: Cluster, spread: str) -> None:
    with psycopg.connect(spread, autocommit=True) as session:
        store, transport = PostgresStore(session), PostgresTransport(session)
        statements = Statements(cluster, session)
        id = id_on(1, spread)
        exe = Execution(id=id, definition_id="d")
        for number in range(10):
            spawns = [(f"child {number} of {id}", "/r", {})]
            for work in (
                lambda: store.save(exe),
                lambda n=number, s=spawns: store.commit(
                    exe, [("t", Event(kind="k"))], f"event {n}", [TimerOp("schedule", "/t", 1.0)], s, {"n": n}
                ),
                lambda: store.load(id),
                lambda n=number: store.load_for_event(id, f"event {n}"),
                lambda: transport.publish(id, Event(kind="k")),
            ):
                sent = statements.of(work)
                assert [node for node, _ in sent] == [1], sent
            # What claims has to ask all nodes.
            lease = transport.claim("w", 60.0)
            assert lease is not None
            sent = statements.of(lambda lease=lease: transport.ack(lease))
            assert [node for node, _ in sent] == [1], sent


def test_what_finishes_one_message_is_one_call_within_a_transaction_of_one_node(cluster: Cluster, spread: str) -> None:
    with psycopg.connect(spread, autocommit=True) as session:
        store, transport = PostgresStore(session), PostgresTransport(session)
        statements = Statements(cluster, session)
        exe = Execution(id=id_on(2, spread), definition_id="d")
        store.save(exe)
        for _ in range(8):
            transport.publish(exe.id, Event(kind="k"))
            [delivery] = transport.next("w", 60.0, 1)
            completion = Completion(delivery.lease, delivery.execution, [("t", Event(kind="k"))])
            sent = statements.of(lambda c=completion: transport.finish([c]))
            assert [node for node, _ in sent] == [2, 2, 2]
            begin, call, commit = (text for _, text in sent)
            assert begin.startswith("BEGIN")
            assert "harel__finish_group" in call
            assert commit == "COMMIT"


def test_a_transaction_over_one_execution_is_one_of_its_node(cluster: Cluster, spread: str) -> None:
    with psycopg.connect(spread) as session:
        store = PostgresStore(session)
        statements = Statements(cluster, session)
        exe = Execution(id=id_on(1, spread), definition_id="d")
        session.commit()

        def work() -> None:
            with session.transaction():
                for _ in range(3):
                    store.save(exe)

        sent = statements.of(work)
        assert {node for node, _ in sent} == {1}
        first, *calls, last = (text for _, text in sent)
        assert first.startswith("BEGIN")
        assert ["harel_commit_cas" in call for call in calls] == [True] * 3
        assert last == "COMMIT"


def test_a_transaction_over_two_nodes_is_prepared_on_both(cluster: Cluster, spread: str) -> None:
    """That the tests above could see it."""
    with psycopg.connect(spread) as session:
        store = PostgresStore(session)
        statements = Statements(cluster, session)
        session.commit()

        def work() -> None:
            with session.transaction():
                store.save(Execution(id=id_on(1, spread), definition_id="d"))
                store.save(Execution(id=id_on(2, spread), definition_id="d"))

        prepared = [node for node, text in statements.of(work) if text.startswith("PREPARE TRANSACTION")]
        assert sorted(prepared) == [1, 2]


# Events from one node to another


@pytest.mark.parametrize("asked", [0, 1, 2])
def test_events_and_children_for_other_nodes_come_while_workers_sleep(
    cluster: Cluster, spread: str, asked: int
) -> None:
    nodes = [on(cluster, node, spread) for node in range(3)]
    one, other = id_on(1, spread), id_on(2, spread)
    child = id_on(2, spread)
    with ExitStack() as closing:
        transports = [PostgresTransport.from_dsn(node) for node in nodes]
        for transport in transports:
            closing.callback(transport.close)
            # A worker that is asleep is notified.
            assert transport.next("w", 60.0, 1, sleep=60.0) == []
        store = PostgresStore.from_dsn(nodes[asked])
        closing.callback(store.close)
        listener = closing.enter_context(psycopg.connect(nodes[asked], autocommit=True))
        [(channel,)] = listener.execute("SELECT harel_channel()").fetchall()
        listener.execute(sql.SQL("LISTEN {}").format(sql.Identifier(channel)))
        store.save(Execution(id=other, definition_id="d"))
        exe = Execution(id=one, definition_id="d")
        seqs = store.commit(exe, [(other, Event(kind="Told"))], timers=[TimerOp("schedule", "/t", 1.0)],
                            spawns=[(child, "/r", {})])  # fmt: skip
        assert seqs
        tick = transports[asked].tick()
        assert (tick.spawned, tick.relayed, tick.fired) == (1, 1, 1)
        assert list(listener.notifies(timeout=30, stop_after=1))
        transports[asked].publish_many([(one, Event(kind="Many")), (other, Event(kind="Many"))])
        got = []
        while deliveries := transports[asked].next("w", 60.0, 10):
            got += [(delivery.lease.group_id, delivery.lease.event.kind) for delivery in deliveries]
            transports[asked].finish([Completion(delivery.lease) for delivery in deliveries])
        assert sorted(got) == sorted(
            [(one, "Timeout"), (one, "Many"), (other, "Told"), (other, "Many"), (child, "Start")]
        )


def test_events_and_children_of_different_nodes_have_different_numbers(cluster: Cluster, spread: str) -> None:
    ids = [id_on(node, spread) for node in (1, 2)]
    store = PostgresStore.from_dsn(spread)
    try:
        seqs = [
            store.commit(Execution(id=id, definition_id="d"), [(None, Event(kind="k"))], spawns=[(f"of {id}", "/", {})])
            for id in ids
        ]
        assert seqs[0] != seqs[1]
        spawns = store.pending_spawns()
        assert len({spawn.seq for spawn in spawns}) == 2
        assert store.ack_outbox(seqs[0][0])
        assert store.ack_spawn(spawns[0].seq)
        assert [entry.seq for entry in store.pending_outbox()] == seqs[1]
        assert store.pending_spawns() == spawns[1:]
    finally:
        store.close()


# Shards that move


def move(cluster: Cluster, dsn: str, id: str) -> None:
    """Moves the rows of an execution to the other node that has shards."""
    [(owner,)] = execute(dsn, OWNER, id)
    source, target = (str(cluster.servers[node].folder) for node in (owner, 3 - owner))
    execute(
        dsn,
        "SELECT citus_move_shard_placement(get_shard_id_for_distribution_column('executions', %s::text), "
        "%s, 5432, %s, 5432, 'block_writes')",
        id, source, target,
    )  # fmt: skip
    assert execute(dsn, OWNER, id) == [(3 - owner,)]


@pytest.mark.parametrize("asked", [0, 1, 2])
def test_plans_that_a_session_has_made_find_the_rows_after_they_have_moved(
    cluster: Cluster, spread: str, asked: int
) -> None:
    with psycopg.connect(on(cluster, asked, spread), autocommit=True) as session:
        store, transport = PostgresStore(session), PostgresTransport(session)
        exe = Execution(id="a", definition_id="d")
        numbers = iter(range(100))

        def work() -> None:
            number = next(numbers)
            store.save(exe)
            store.commit(exe, [(None, Event(kind="k"))], f"event {number}", [], [], {"n": number})
            assert store.load("a") == exe
            assert store.is_processed("a", f"event {number}")
            transport.publish("a", Event(id=f"message {number}", kind="k"))
            [delivery] = transport.next("w", 60.0, 1)
            assert delivery.lease.event.id == f"message {number}"
            assert transport.finish([Completion(delivery.lease)])[0].result == "finished"

        for _ in range(3):
            for _ in range(8):
                work()
            move(cluster, spread, "a")
        work()
        assert [entry["n"] for entry in store.read_trace("a")] == list(range(25))
        assert len({entry.seq for entry in store.pending_outbox()}) == 25


# Versions and schemas


def test_a_store_of_an_earlier_version_is_upgraded_on_every_node_and_then_distributed(
    cluster: Cluster, empty: str
) -> None:
    nodes = [on(cluster, node, empty) for node in range(3)]
    execute(empty, "CREATE EXTENSION harel VERSION '1.0'")
    with pytest.raises(psycopg.errors.UndefinedFunction):
        distribute(empty)
    execute(empty, "SELECT harel_commit_cas('of 1.0', 'd', %s, 0)", DATA)
    execute(empty, "ALTER EXTENSION harel UPDATE")
    versions = {str(execute(node, "SELECT harel_version()")) for node in nodes}
    assert len(versions) == 1
    assert versions != {"[('1.0',)]"}
    lease = fill(empty)
    before = contents(empty)
    distribute(empty)
    assert contents(empty) == before
    for node in nodes:
        assert execute(node, "SELECT harel_load('of 1.0')") == [(DATA,)]
    works_on(empty, lease, exact=False)


@pytest.mark.parametrize("schema", ["harel", "a-b", "A b"])
def test_a_store_in_a_schema_of_any_name_is_distributed(cluster: Cluster, empty: str, schema: str) -> None:
    name = sql.Identifier(schema)
    execute(empty, sql.SQL("CREATE SCHEMA {0}; CREATE EXTENSION harel SCHEMA {0}").format(name))
    lease = fill(empty, schema)
    before = contents(empty, schema)
    distribute(empty, schema=schema)
    assert contents(empty, schema) == before
    with psycopg.connect(on(cluster, 2, empty), autocommit=True) as session:
        store = PostgresStore(session, schema=schema)
        exe = Execution(id="by another node", definition_id="d")
        store.save(exe)
        assert store.load(exe.id) == exe
        store.purge(exe.id, 1)
    works_on(empty, lease, schema, exact=False)
