"""Large data, long lists, long keys, and numbers at the end of their range."""

import json
import random
import string
from typing import Any

import psycopg
import pytest
from watch import BYSTANDERS, complaints

from harel import Event, Execution, PostgresStore, PostgresTransport, TimerOp

LARGE = [20, pytest.param(100, marks=pytest.mark.soak)]
MANY = [20_000, pytest.param(100_000, marks=pytest.mark.soak)]
BATCH = [5_000, pytest.param(50_000, marks=pytest.mark.soak)]


@pytest.fixture
def session(postgresql: "psycopg.Connection[Any]") -> "psycopg.Connection[Any]":
    postgresql.autocommit = True
    postgresql.execute(BYSTANDERS)
    return postgresql


def refused(session: "psycopg.Connection[Any]", code: str, query: str, *parameters: object) -> None:
    with pytest.raises(psycopg.Error) as caught:
        session.execute(query, parameters)
    assert (caught.value.sqlstate, complaints(caught.value)) == (code, [])


@pytest.mark.parametrize("megabytes", LARGE)
@pytest.mark.parametrize(
    ("before", "filler", "after"),
    [
        ('"odd": "\\u0000", "context": "', "x", '"'),
        ('"context": [', '"x",', "1]"),
        pytest.param('"odd": "\\u0000", "context": "', "\\\\", '"', marks=pytest.mark.soak),
        pytest.param('"odd": "\\ud800", "context": "', "x", '"', marks=pytest.mark.soak),
    ],
    ids=["odd text", "strings", "backslashes", "half a character"],
)
def test_large_data_is_stored_whole_and_listed(
    session: "psycopg.Connection[Any]", megabytes: int, before: str, filler: str, after: str
) -> None:
    data = '{"status": "RUNNING", ' + before + megabytes * 1_000_000 // len(filler) * filler + after + "}"
    for version in (0, 1):
        assert session.execute("SELECT harel_commit_cas('e', 'd', %s, %s)", (data, version)).fetchone() == (True,)
    (committed,) = session.execute(
        "SELECT committed FROM harel_commit('e', 'd', %s, 2, p_trace => 'step')", (data,)
    ).fetchone()
    assert committed
    assert session.execute("SELECT harel_load('e') = %s", (data,)).fetchone() == (True,)
    assert ("e", "RUNNING") in session.execute("SELECT id, status FROM harel_list()").fetchall()
    session.execute("SELECT harel_publish('e', %s)", (data,))
    assert ("e", len(data)) in session.execute("SELECT group_id, length(data) FROM harel_next('w', 30, 10)").fetchall()


def test_large_data_can_be_suspended_and_cancelled(session: "psycopg.Connection[Any]") -> None:
    data = '{"status": "RUNNING", "version": 1, "context": {"a": "' + 2_000_000 * "x" + '"}}'
    session.execute("SELECT harel_commit_cas('e', 'd', %s, 0)", (data,))
    assert session.execute("SELECT harel_suspend('e'), harel_cancel('e')").fetchone() == (True, True)
    stored = data.replace("RUNNING", "CANCELLED").replace('"version": 1', '"version": 3')
    assert session.execute("SELECT harel_load('e') = %s", (stored,)).fetchone() == (True,)


@pytest.mark.parametrize("megabytes", LARGE)
def test_the_client_stores_large_data(twin: Any, store_dsn: str, megabytes: int) -> None:
    store = twin.store(store_dsn)
    exe = Execution(id="e", definition_id="d", context={"a": megabytes * 1_000_000 * "x"})
    store.commit(exe, [(None, Event(kind="k", data=exe.context))], trace={"a": 1})
    assert store.load("e") == exe
    assert store.pending_outbox()[0].event.data == exe.context


@pytest.mark.parametrize("count", MANY)
def test_one_commit_causes_very_much(twin: Any, store_dsn: str, count: int) -> None:
    store, transport = twin.store(store_dsn), twin.transport(store_dsn)
    exe = Execution(id="e", definition_id="d")
    seqs = store.commit(
        exe,
        [(f"t{place % 1_000}", Event(id=str(place), kind="k")) for place in range(count)],
        "cause",
        [TimerOp("schedule", f"/{place}", place) for place in range(count)],
        [(f"c{place}", "/r", {}) for place in range(count)],
        {"a": 1},
    )
    assert seqs == sorted(seqs)
    assert len(seqs) == count
    assert len(store.due_timers(count)) == count
    # A tick does no more than it is told to.
    tick = transport.tick(1_000)
    assert (tick.spawned, tick.relayed, tick.fired) == (1_000, 1_000, 1_000)
    store.commit(exe, [], timers=[TimerOp("cancel", f"/{place}") for place in range(count)])
    assert store.due_timers(count) == []


@pytest.mark.parametrize("count", BATCH)
def test_a_batch_takes_very_many_commits(session: "psycopg.Connection[Any]", count: int) -> None:
    for version in (0, 1):
        committed, seqs = session.execute(
            """
            SELECT count(*) FILTER (WHERE committed), sum(cardinality(outbox_seqs))
            FROM (
                SELECT array_agg('e' || i ORDER BY i) AS ids, array_agg(text 'd' ORDER BY i) AS defns,
                    array_agg(text '{"status": "RUNNING"}' ORDER BY i) AS datas,
                    array_agg(%s::bigint ORDER BY i) AS olds,
                    array_agg(i ORDER BY i) AS places, array_agg(text '/p' ORDER BY i) AS paths,
                    array_agg(text 'schedule' ORDER BY i) AS actions, array_agg(i::double precision ORDER BY i) AS times
                FROM generate_series(1, %s) i
            ) g, harel_commit_batch(
                ids, defns, datas, olds, ids, places, ids, datas, places, ids, paths, datas,
                places, actions, paths, times
            )
            """,
            (version, count),
        ).fetchone()
        assert (committed, seqs) == (count, count)


@pytest.mark.parametrize("count", BATCH)
def test_very_many_messages_are_published_and_claimed_at_once(store_dsn: str, count: int) -> None:
    store, transport = PostgresStore.from_dsn(store_dsn), PostgresTransport.from_dsn(store_dsn)
    with psycopg.connect(store_dsn) as session:
        session.execute(
            "SELECT harel_commit_cas('e' || i, 'd', '{\"id\": \"e' || i || '\", \"definition_id\": \"d\"}', 0)"
            " FROM generate_series(1, %s) i",
            (count,),
        )
    assert transport.publish_many([(f"e{place}", Event(kind="k")) for place in range(1, count + 1)]) == count
    assert len(transport.claim_many("w", 300.0, count)) == count
    store.close()
    transport.close()


def test_the_last_version_is_reached_and_not_passed(session: "psycopg.Connection[Any]") -> None:
    session.execute("SELECT harel_commit_cas('e', 'd', '{}', 0)")
    session.execute("UPDATE executions SET version = 2147483645 WHERE id = 'e'")
    commit = "SELECT harel_commit_cas('e', 'd', '{}', %s)"
    assert session.execute(commit, (2147483645,)).fetchone() == (True,)
    assert session.execute(commit, (2147483645,)).fetchone() == (False,)
    assert session.execute(commit, (2147483646,)).fetchone() == (True,)
    assert session.execute("SELECT version FROM harel_load_for_event('e', NULL)").fetchone() == (2147483647,)
    refused(session, "ST002", commit, 2147483647)
    assert session.execute(commit, (2147483648,)).fetchone() == (False,)
    assert session.execute(commit, (2**63 - 1,)).fetchone() == (False,)
    refused(session, "ST002", "SELECT harel_commit('e', 'd', '{}', 2147483647)")
    refused(session, "ST002", "SELECT harel_suspend('e')")
    refused(session, "ST002", "SELECT harel_suspend_all()")
    assert session.execute("SELECT harel_suspend_all('by')").fetchone() == (3,)
    assert session.execute("SELECT harel_purge('e', 2147483647)").fetchone() == (True,)


def test_numbers_of_rows_go_beyond_32_bits(twin: Any, session: "psycopg.Connection[Any]", store_dsn: str) -> None:
    session.execute("SELECT setval('outbox_seq_seq', 2147483647), setval('spawns_seq_seq', 4294967295)")
    store, transport = twin.store(store_dsn), twin.transport(store_dsn)
    exe = Execution(id="e", definition_id="d")
    (seq,) = store.commit(exe, [(None, Event(kind="k"))], spawns=[("c", "/r", {})])
    assert seq == 2**31
    spawn = next(entry for entry in store.pending_spawns() if entry.parent_id == "e")
    assert spawn.seq == 2**32
    assert (store.ack_outbox(seq), store.ack_spawn(spawn.seq)) == (True, True)
    transport.publish("e", Event(kind="k"))
    session.execute("UPDATE transport_groups SET head = 2 ^ 62, tail = 2 ^ 62 WHERE group_id = 'e'")
    session.execute("UPDATE transport_messages SET seq = 2 ^ 62 WHERE group_id = 'e'")
    assert transport.publish("e", Event(kind="k")) == 2**62 + 1
    (delivery,) = [each for each in transport.next("w", 30.0, 10) if each.lease.group_id == "e"]
    assert delivery.lease.seq == 2**62
    assert transport.ack(delivery.lease)


def test_the_longest_keys_go_everywhere_together(session: "psycopg.Connection[Any]") -> None:
    """Of random letters, which no index can compress."""
    chance = random.Random(7)
    (me, target, child, definition, event, path) = (
        "".join(chance.choices(string.ascii_letters + string.digits, k=1_000)) for _ in range(6)
    )
    session.execute(
        "SELECT harel_commit(%s, %s, %s, 0, %s, ARRAY[%s], '{e}', ARRAY[%s], '{r}', '{0}',"
        " '{schedule}', ARRAY[%s], '{1}', 'step')",
        (me, definition, json.dumps({"status": 200 * "s", "parent_id": target}), event, target, child, path),
    )
    assert session.execute("SELECT spawned, fired FROM harel_tick()").fetchone() == (2, 2)
    given = session.execute("SELECT group_id, token FROM harel_next('w', 30, 10)").fetchall()
    token = dict(given)[me]
    (result,) = session.execute(
        "SELECT result FROM harel_finish("
        "ARRAY[%s], ARRAY[%s], ARRAY[%s], '{0}', '{1}', ARRAY[%s], '{1}', ARRAY[%s], '{e}')",
        (me, token, definition, event, target),
    ).fetchone()
    assert result == "finished"
    assert session.execute("SELECT count(*) FROM harel_list(%s)", (definition,)).fetchone() == (2,)
