"""A store with a row of every kind, all that it holds, and the proof that it works on."""

from typing import Any

import psycopg
from psycopg.conninfo import make_conninfo
from psycopg.sql import SQL, Identifier

from harel import Completion, Event, Execution, Lease, PostgresStore, PostgresTransport, Status, TimerOp

TABLES = (
    "executions", "outbox", "processed_events", "timers", "spawns", "trace",
    "transport_groups", "transport_messages", "dead_letters",
)  # fmt: skip

# JSON that no jsonb can hold, as a step in another language may write it.
ODD = '{"status": "RUNNING", "version": 1, "context": {"nul": "\\u0000", "half": "\\ud800", "great": 1e400}}'

WAITING = tuple(f"waiting {n}" for n in range(5))
FAR = 4e9


def fill(dsn: str, schema: str | None = None) -> Lease:
    """Fills a store, which is created if need be. Returns the lease of a message that a worker is at."""
    store = PostgresStore.from_dsn(dsn, schema=schema)
    transport = PostgresTransport.from_dsn(dsn, schema=schema)
    for status in Status:
        store.save(Execution(id=f"is {status}", definition_id="d", status=status, outcome="o", active_path="/a"))
    # One is parked, and the other, whose execution does not exist, becomes a dead letter.
    transport.publish_many([("is SUSPENDED", Event(kind="Parked")), ("dead", Event(kind="Dead"))])
    assert transport.next("w", 60.0, 2) == []
    for n, id in enumerate(WAITING):
        exe = Execution(
            id=id, definition_id="d", status=Status.RUNNING, context={"text": "a\u00e4\u20ac\U0001f600\n\\" * 900}
        )
        for step in range(3):
            store.commit(
                exe,
                [("is RUNNING", Event(kind="Relayed")), (None, Event(kind="Told"))],
                f"handled {step}",
                [TimerOp("schedule", "/due", 1e9 / 3), TimerOp("schedule", "/far", FAR)],
                [(f"{id} child {step}", "/r", {"n": step})],
                {"step": step},
            )
        transport.publish_many([(id, Event(id=f"{n} {kind}", kind=kind)) for kind in ("First", "Second")])
    transport.publish("is PENDING", Event(id="leased", kind="Leased"), 3)
    lease = transport.claim("w", 3600.0, 3)
    assert lease is not None
    assert lease.event.id == "leased"
    transport.publish("is RUNNING", Event(id="urgent", kind="Urgent"), 4)
    # The greatest numbers are gone, and must not be given again.
    store.ack_outbox(store.pending_outbox()[-1].seq)
    store.ack_spawn(store.pending_spawns()[-1].seq)
    store.close()
    transport.close()
    with psycopg.connect(dsn) as session:
        _search(session, schema)
        session.execute("SELECT harel_commit_cas('odd', 'd', %s, 0)", (ODD,))
        session.execute("SELECT harel_publish('later', 'x', 0, %s)", (FAR,))
    assert all(contents(dsn, schema).values())
    return lease


def contents(dsn: str, schema: str | None = None) -> dict[str, list[str]]:
    """Every row of every table, as text."""
    with psycopg.connect(make_conninfo(dsn, options="-c timezone=UTC")) as session:
        _search(session, schema)
        return {
            table: [
                row for (row,) in session.execute(SQL("SELECT t::text FROM {} t ORDER BY 1").format(Identifier(table)))
            ]
            for table in TABLES
        }


def works_on(dsn: str, lease: Lease, schema: str | None = None, *, exact: bool = True) -> None:
    """Proves that nothing of what fill() left is lost to a worker, and that no number is given to two rows.

    exact: whether the sequences are where they were, so that no number is left out or given again at all.
    """
    store = PostgresStore.from_dsn(dsn, schema=schema, create_schema=False)
    transport = PostgresTransport.from_dsn(dsn, schema=schema, create_schema=False)
    # There were thirty events and fifteen children, and the last of each went.
    (told,) = store.commit(Execution(definition_id="d"), [(None, Event(kind="Told"))], spawns=[("new", "", {})])
    seqs = {entry.seq: entry.child_id for entry in store.pending_spawns()}
    spawns = sorted(seqs)
    (new,) = (seq for seq, child_id in seqs.items() if child_id == "new")
    spawns.remove(new)
    assert (told, new) == (31, 16) if exact else told >= 30 and new >= 15
    assert spawns == [*range(1, 15)]
    tick = transport.tick()
    assert (tick.spawned, tick.relayed, tick.fired) == (15, 15, 5)
    handled: dict[str, list[str]] = {}
    while deliveries := transport.next("w", 60.0, 50):
        for delivery in deliveries:
            handled.setdefault(delivery.lease.group_id, []).append(delivery.lease.event.kind)
            assert delivery.execution is not None
        done = transport.finish([Completion(delivery.lease, delivery.execution) for delivery in deliveries])
        assert {completed.result for completed in done} == {"finished"}
    assert [handled[id] for id in WAITING] == [["First", "Second", "Timeout"]] * len(WAITING)
    assert sorted(handled["is RUNNING"]) == ["Relayed"] * 15 + ["Urgent"]
    children = [id for id in handled if "child" in id or id == "new"]
    assert len(children) == 15
    assert set(handled) == {*WAITING, "is RUNNING", *children}
    # Whoever had a message in hand can finish it.
    assert transport.finish([Completion(lease)])[0].result == "finished"
    assert store.due_timers(FAR) == [(id, "/far", FAR) for id in WAITING]
    assert [letter.group_id for letter in transport.dead_letters()] == ["dead"]
    transport.redrive()
    store.resume("is SUSPENDED")
    assert [delivery.lease.event.kind for delivery in transport.next("w", 60.0, 9)] == ["Parked"]
    with psycopg.connect(dsn) as session:
        _search(session, schema)
        assert session.execute("SELECT data FROM executions WHERE id = 'odd'").fetchall() == [(ODD,)]
        assert session.execute("SELECT group_id FROM transport_groups WHERE available_at = %s", (FAR,)).fetchall() == [
            ("later",)
        ]
    store.close()
    transport.close()


def _search(session: "psycopg.Connection[Any]", schema: str | None) -> None:
    if schema is not None:
        session.execute(SQL("SET search_path = {}").format(Identifier(schema)))
