"""The store spread over the nodes of a Citus cluster, beside the same on one server: where the server offers Citus."""

from collections.abc import Callable
from itertools import count
from typing import Any

import psycopg
from psycopg.conninfo import make_conninfo

from cluster import Cluster, execute

from ..harness import Bench, at_least
from ..samples import sample

SHARDS = 32
EXECUTIONS = 200
# All nodes and the client are on this machine, and wait for no disk: what is compared is the processor's time.
PARAMETERS = "1 KB, 3 nodes on one machine, fsync off"


def nodes(bench: Bench) -> None:
    """Commits and loads by way of the coordinator, and on the node that owns the row."""
    if not execute(bench.server.dsn, "SELECT 1 FROM pg_available_extensions WHERE name = 'citus'"):
        print(f"{bench.current}: this server has no Citus: let HAREL_PG_BIN name one that has")
        return
    data = sample().model_dump_json()
    with Cluster() as cluster:
        distributed = cluster.create_database("distributed")
        for dsn in (distributed, single := _single(cluster)):
            execute(dsn, "CREATE EXTENSION harel")
        execute(distributed, "SELECT harel_distribute(%s)", SHARDS)
        ids = [f"execution-{n}" for n in range(bench.size(EXECUTIONS, 20))]
        for dsn in (distributed, single):
            for id in ids:
                execute(dsn, "SELECT harel_commit_cas(%s, 'orders', %s, 0)", id, data)
        placed = execute(
            distributed,
            """
            SELECT i.id FROM unnest(%s::text[]) AS i (id)
            JOIN pg_dist_placement p ON p.shardid = get_shard_id_for_distribution_column('executions', i.id)
            JOIN pg_dist_node n ON n.groupid = p.groupid AND n.nodename = %s
            """,
            ids, str(cluster.servers[1].folder),
        )  # fmt: skip
        mine = [id for (id,) in placed]
        owner = make_conninfo(cluster.dsns[1], dbname="distributed")
        with (
            psycopg.connect(single, autocommit=True) as on_one,
            psycopg.connect(distributed, autocommit=True) as on_coordinator,
            psycopg.connect(owner, autocommit=True) as on_owner,
        ):
            for what, call, goal in (("harel_commit_cas()", _commit, 0.4), ("harel_load()", _load, None)):
                one = bench.rate(call(on_one, ids, data))
                for way, session, some in (("the owner", on_owner, mine), ("the coordinator", on_coordinator, ids)):
                    bench.compare(
                        f"{what} on {way}", bench.rate(call(session, some, data)), "one server", one,
                        parameters=PARAMETERS, rounds=2,
                        goal=at_least(goal) if goal and session is on_owner else None,
                    )  # fmt: skip


def _single(cluster: Cluster) -> str:
    execute(cluster.dsns[0], "CREATE DATABASE single")
    return make_conninfo(cluster.dsns[0], dbname="single")


def _commit(session: "psycopg.Connection[Any]", ids: list[str], data: str) -> Callable[[], None]:
    """The next commit of one of the executions, each after the other."""
    turns = count()
    versions = dict(session.execute("SELECT id, version FROM executions WHERE id = ANY (%s)", [ids]).fetchall())

    def commit() -> None:
        id = ids[next(turns) % len(ids)]
        version = versions[id]
        row = session.execute(
            "SELECT harel_commit_cas(%s, 'orders', %s, %s, %s)", [id, data, version, f"event {version}"]
        ).fetchone()
        assert row == (True,)
        versions[id] = version + 1

    return commit


def _load(session: "psycopg.Connection[Any]", ids: list[str], data: str) -> Callable[[], None]:
    turns = count()

    def load() -> None:
        row = session.execute("SELECT harel_load(%s)", [ids[next(turns) % len(ids)]]).fetchone()
        assert row == (data,)

    return load
