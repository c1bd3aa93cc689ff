"""Logs applied by workers over several nodes of a Citus cluster, while nodes are killed and shards are moved."""

import asyncio
import json
import os
import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from wire import opened, until_blocked

from cluster import Cluster, execute
from harel import Event, Execution, PostgresStore, PostgresTransport
from harel.machine import Step
from harel.worker import Worker

from .checks import check
from .clients import InThread, Task, notes, run_worker, until
from .disturbances import Disturbance
from .run import DEADLINE, drained, publish, slice_of_log

SEED = int(os.environ.get("HAREL_FAULT_SEED") or random.randrange(10**6))
SHARDS = 8


@pytest.fixture(scope="module")
def cluster(citus: None) -> Iterator[Cluster]:
    """Four nodes, of which three have shards, and which may be killed at any moment."""
    settings = {"citus.recover_2pc_interval": "1s", "citus.distributed_deadlock_detection_factor": "1"}
    with Cluster(nodes=4, settings=settings) as cluster:
        dsn = cluster.create_database("template")
        execute(dsn, "CREATE EXTENSION harel")
        execute(dsn, "SELECT harel_distribute(%s)", SHARDS)
        yield cluster


@contextmanager
def database(cluster: Cluster) -> Iterator[str]:
    name = f"harel_{uuid4().hex}"
    yield cluster.copy_database("template", name)
    cluster.drop_database(name)


class OfCluster(Disturbance):
    """One that knows the nodes."""

    cluster: Cluster

    def nodes(self) -> list[str]:
        """The DSN of the database on each node."""
        name = conninfo_to_dict(self.dsn)["dbname"]
        return [make_conninfo(dsn, dbname=name) for dsn in self.cluster.dsns]


class KillNode(OfCluster):
    """A node that has shards is stopped at once, as by a crash, and started again."""

    times = 2

    def disturb(self) -> None:
        self.kill(self.chance.randrange(1, len(self.cluster.servers)))

    def kill(self, number: int) -> None:
        self.cluster.servers[number].stop("immediate")
        self._rest(self.chance.uniform(0, 0.3))
        self.cluster.servers[number].start()
        self.tally["crashes"] += 1


class KillCoordinator(KillNode):
    """The same of the coordinator."""

    def disturb(self) -> None:
        self.kill(0)


class MoveShards(OfCluster):
    """Shards move from node to node, with those of the other tables that belong to them."""

    times = 3

    def disturb(self) -> None:
        with psycopg.connect(self.dsn, autocommit=True) as session:
            shards = session.execute(
                "SELECT shardid, n.nodename FROM pg_dist_shard JOIN pg_dist_placement USING (shardid) "
                "JOIN pg_dist_node n USING (groupid) WHERE logicalrelid = 'executions'::regclass ORDER BY 1"
            ).fetchall()
            shard, source = self.chance.choice(shards)
            hosts = [name for (name,) in session.execute("SELECT nodename FROM pg_dist_node WHERE shouldhaveshards")]
            target = self.chance.choice(sorted(set(hosts) - {source}))
            mode = self.chance.choice(["force_logical", "block_writes"])
            session.execute(
                "SELECT citus_move_shard_placement(%s, %s, 5432, %s, 5432, %s::citus.shard_transfer_mode)",
                [shard, source, target, mode],
            )
            self.tally[f"moves by {mode}"] += 1


class TerminateAnywhere(OfCluster):
    """pg_terminate_backend() of backends on any node."""

    def disturb(self) -> None:
        dsn = self.chance.choice(self.nodes())
        with suppress(psycopg.OperationalError), psycopg.connect(dsn, autocommit=True) as session:
            pids = [
                pid
                for (pid,) in session.execute(
                    "SELECT pid FROM pg_stat_activity WHERE datname = current_database() "
                    "AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
                )
            ]
            for pid in self.chance.sample(pids, min(len(pids), self.chance.randint(1, 3))):
                session.execute("SELECT pg_terminate_backend(%s::integer)", [pid])
                self.tally["terminations"] += 1


KINDS: dict[str, Callable[[random.Random], OfCluster]] = {
    kind.__name__: kind for kind in (KillNode, KillCoordinator, MoveShards, TerminateAnywhere)
}


def where(cluster: Cluster, dsn: str, number: int) -> str:
    """How a worker connects: to a node of its own, and one of four to any of them."""
    name = conninfo_to_dict(dsn)["dbname"]
    if number % 4 < 3:
        return make_conninfo(cluster.dsns[number % 4], dbname=name)
    hosts = ",".join(str(server.folder) for server in cluster.servers)
    ports = ",".join("5432" for _ in cluster.servers)
    return make_conninfo(cluster.dsns[0], dbname=name, host=hosts, port=ports, load_balance_hosts="random")


def run(cluster: Cluster, disturbance: OfCluster, *, workers: int, events: int) -> Counter[str]:
    """The log of the help desk through workers on different nodes; fails where check() does."""
    with tempfile.TemporaryDirectory(prefix="harel-") as name, database(cluster) as dsn:
        folder = Path(name)
        log = slice_of_log(disturbance.chance, events, folder)
        disturbance.cluster = cluster
        tasks = [
            Task("worker", log.path, where(cluster, dsn, n), dsn, 0, folder / f"{n}.journal") for n in range(workers)
        ]
        members = [InThread(lambda task=task: run_worker(task)) for task in tasks]
        try:
            disturbance.begin(cluster.servers[0], dsn, None, members, log)  # type: ignore[arg-type]
            try:
                publish(log, dsn)

                def done() -> bool:
                    # A worker that has ended by an error says so.
                    for member in members:
                        member.ended()
                    return drained(log, dsn)

                until(done, DEADLINE, "the queue is not drained")
            finally:
                disturbance.end()
        finally:
            tasks[0].stop.touch()
        until(lambda: all(member.ended() for member in members), DEADLINE, "the workers have not ended")
        assert disturbance.tally.total(), "all was done before it was disturbed"
        check(log, dsn, notes(folder))
    return Counter({"runs": 1, "events": log.events}) + disturbance.tally


def one(cluster: Cluster, kind: str, workers: int, seed: int, events: int) -> Counter[str]:
    began = time.monotonic()
    try:
        counted = run(cluster, KINDS[kind](random.Random(f"{kind} {seed}")), workers=workers, events=events)
    except BaseException as error:
        error.add_note(f"run: {kind}, seed {seed}")
        raise
    print(f"{kind}, seed {seed}: {dict(counted)}, {time.monotonic() - began:.1f} s")
    return counted


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_lost_or_done_twice(cluster: Cluster, kind: str) -> None:
    one(cluster, kind, 4 if kind == "MoveShards" else 2, SEED, 60)


@pytest.mark.soak
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_lost_or_done_twice_time_and_again(cluster: Cluster, kind: str) -> None:
    total = sum((one(cluster, kind, 4, SEED + number, 300) for number in range(5)), Counter())
    print(f"in all: {dict(total)}")


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_a_store_waits_for_a_node_and_finds_out_what_became_of_its_commit_there(cluster: Cluster, kind: str) -> None:
    with database(cluster) as dsn, opened(kind, dsn, connect_retries=400, retry_delay=0.05) as store:
        exe = Execution(id="a", definition_id="d")
        store.save(exe)
        [(number,)] = execute(dsn, OWNER, "a")
        node = make_conninfo(cluster.dsns[number], dbname=conninfo_to_dict(dsn)["dbname"])
        with ThreadPoolExecutor(1) as threads, closing(psycopg.connect(node)) as other:
            other.execute("SELECT 1 FROM executions WHERE id = 'a' FOR UPDATE")
            saved = threads.submit(store.save, exe)
            until_blocked(node, saved)
            cluster.servers[number].stop("immediate")
            # What a commit asks then is answered by the coordinator, who cannot reach the node.
            with pytest.raises(psycopg.Error):
                execute(dsn, "SELECT harel_load('a')")
            cluster.servers[number].start()
            saved.result(30)
        assert exe.version == 2
        assert store.load("a") == exe


def test_workers_go_on_while_a_node_is_added_and_takes_over_shards(cluster: Cluster) -> None:
    with tempfile.TemporaryDirectory(prefix="harel-") as name, database(cluster) as dsn:
        folder = Path(name)
        log = slice_of_log(random.Random(SEED), 60, folder)
        tasks = [Task("worker", log.path, where(cluster, dsn, n), dsn, 0, folder / f"{n}.journal") for n in range(2)]
        members = [InThread(lambda task=task: run_worker(task)) for task in tasks]
        try:
            publish(log, dsn)
            server = cluster.start_node()
            try:
                database_name = str(conninfo_to_dict(dsn)["dbname"])
                execute(server.dsn, sql.SQL("CREATE DATABASE {}").format(sql.Identifier(database_name)))
                # A copy says of itself that it is this one.
                execute(server.dsn, "CREATE DATABASE template")
                node = make_conninfo(server.dsn, dbname=database_name)
                execute(node, "CREATE EXTENSION citus")
                execute(dsn, "SELECT citus_add_node(%s, 5432)", str(server.folder))
                execute(dsn, "SELECT rebalance_table_shards(shard_transfer_mode => 'block_writes')")
                groups = (
                    "SELECT count(*) FROM pg_dist_placement JOIN pg_dist_node n USING (groupid) WHERE n.nodename = %s"
                )
                assert execute(dsn, groups, str(server.folder)) > [(0,)]
                until(
                    lambda: not any(member.ended() for member in members) and drained(log, dsn), DEADLINE, "the queue"
                )
                # What the new node commits itself has numbers of its own.
                with psycopg.connect(node, autocommit=True) as session:
                    store = PostgresStore(session)
                    ids = (f"id {n}" for n in range(1000))
                    id = next(id for id in ids if execute(dsn, HOST, id) == [(str(server.folder),)])
                    [seq] = store.commit(Execution(id=id, definition_id="d"), [(None, Event(kind="k"))])
                    assert seq > 1 << 48
                    store.purge(id, 1)
                    store.ack_outbox(seq)
                tasks[0].stop.touch()
                until(lambda: all(member.ended() for member in members), DEADLINE, "the workers have not ended")
                check(log, dsn, notes(folder))
            finally:
                cluster.servers.remove(server)
                cluster.dsns.remove(server.dsn)
        finally:
            tasks[0].stop.touch()


# Events from one node to another

RING = [f"member {n}" for n in range(6)]
ROUNDS = 3
OWNER = """
    SELECT groupid FROM pg_dist_placement
    WHERE shardid = get_shard_id_for_distribution_column('executions', %s::text)
"""
HOST = """
    SELECT n.nodename FROM pg_dist_placement JOIN pg_dist_node n USING (groupid)
    WHERE shardid = get_shard_id_for_distribution_column('executions', %s::text)
"""
HANDLED = "SELECT sum(version - 1) FROM executions"


def passes_on(exe: Execution, event: Event) -> Step:
    """Each member counts the tokens, in the order in which its neighbour has sent them, and passes each on."""
    seen = exe.context.setdefault("seen", [])
    seen.append(event.data["nth"])
    emits: list[tuple[str | None, Event]] = []
    if event.data["left"] > 0:
        next_one = RING[(RING.index(exe.id) + 1) % len(RING)]
        token = {"nth": event.data["nth"], "left": event.data["left"] - 1}
        emits = [(next_one, Event(id=f"{exe.id} {event.id}"[-900:], kind="Token", data=token))]
    return Step(exe, emits)


class Ring:
    """Workers on all nodes, and tokens that go round among executions of different nodes."""

    def __init__(self, dsns: list[str]) -> None:
        self._workers: list[Worker] = []
        self._members = [InThread(lambda dsn=dsn: self._work(dsn)) for dsn in dsns]

    def _work(self, dsn: str) -> None:
        async def run() -> None:
            worker = Worker(dsn, {"ring": passes_on}, visibility=1.0, poll=0.2, batch=5, concurrency=10)
            self._workers.append(worker)
            await worker.run()

        asyncio.run(run())

    def check(self) -> None:
        """Fails where one has ended."""
        for member in self._members:
            assert not member.ended()

    def stop(self) -> None:
        for worker in self._workers:
            worker._stopping.set()
            worker._awake.set()


@pytest.mark.parametrize("kind", ["KillNode", "TerminateAnywhere"])
def test_an_event_for_an_execution_on_another_node_arrives_once_and_in_its_order(cluster: Cluster, kind: str) -> None:
    tokens, hops = 10, ROUNDS * len(RING)
    with database(cluster) as dsn:
        store, transport = PostgresStore.from_dsn(dsn), PostgresTransport.from_dsn(dsn)
        for member in RING:
            store.save(Execution(id=member, definition_id="ring"))
        owners = {owner for member in RING for owner in execute(dsn, OWNER, member)}
        assert len(owners) == 3, "all members are on one node"
        for nth in range(tokens):
            transport.publish(RING[0], Event(id=f"token {nth}", kind="Token", data={"nth": nth, "left": hops - 1}))
        store.close()
        transport.close()
        name = conninfo_to_dict(dsn)["dbname"]
        ring = Ring([make_conninfo(node, dbname=name) for node in cluster.dsns])
        disturbance = KINDS[kind](random.Random(f"{kind} {SEED}"))
        disturbance.cluster, disturbance.times = cluster, 3
        log = type("Ringed", (), {"events": tokens * hops, "definition_id": "ring"})()
        try:
            disturbance.begin(cluster.servers[0], dsn, None, [], log)  # type: ignore[arg-type]
            try:

                def done() -> bool:
                    ring.check()
                    with suppress(psycopg.Error):
                        return execute(dsn, HANDLED) == [(tokens * hops,)]
                    return False

                until(done, DEADLINE, "the tokens have not gone round")
            finally:
                disturbance.end()
        finally:
            ring.stop()
        for member, data in execute(dsn, "SELECT id, data FROM executions"):
            # Each sends in the order in which it has received, so none overtakes another.
            assert json.loads(data)["context"]["seen"] == [*range(tokens)] * ROUNDS, member
        for table in ("outbox", "transport_groups", "transport_messages", "dead_letters"):
            assert execute(dsn, f"SELECT count(*) FROM {table}".encode()) == [(0,)], table  # type: ignore[arg-type]
