"""The page on migrating: the tables of a home-made system, taken over while they are in use."""

import random
from concurrent.futures import ThreadPoolExecutor
from threading import Event as Flag
from typing import Any

import psycopg
import pytest
from pages import Page, run_until
from wire import until

from harel import PostgresStore

ORDERS = 3000
NEXT = {"awaiting_payment": ("paid", "expired"), "paid": ("shipped",)}


def trade(dsn: str, seed: int, over: Flag) -> int:
    """What the old program does to its tables, until its column is gone: orders come and move on."""
    dice, done = random.Random(seed), 0
    with psycopg.connect(dsn, autocommit=True) as session:
        while not over.is_set():
            order = dice.randint(1, ORDERS + 200)
            try:
                with session.transaction():
                    session.execute("INSERT INTO orders (id, amount) VALUES (%s, 5) ON CONFLICT DO NOTHING", [order])
                    status = session.execute("SELECT status FROM orders WHERE id = %s FOR UPDATE", [order]).fetchone()
                    assert status is not None
                    if status[0] not in NEXT:
                        continue
                    new = dice.choice(NEXT[status[0]])
                    session.execute("UPDATE orders SET status = %s, updated_at = now() WHERE id = %s", [new, order])
                    if new == "paid":
                        session.execute("INSERT INTO order_outbox (order_id, kind) VALUES (%s, 'Ship')", [order])
                    done += 1
            except psycopg.errors.UndefinedColumn:
                break
    return done


def changes(session: "psycopg.Connection[Any]") -> int:
    return number(session, "SELECT count(*) FROM orders WHERE status <> 'awaiting_payment'")


def number(session: "psycopg.Connection[Any]", query: str) -> int:
    row = session.execute(query).fetchone()
    assert row is not None
    return int(row[0])


@pytest.mark.page("docs/how-to/migrate.md", "python", "sql")
def test_a_system_in_use_is_taken_over_without_losing_an_event(page: Page, dsn: str) -> None:
    tables, trigger, copy, compare, cut_over, view, _ = page.blocks("sql")
    (machines,) = page.blocks("python")
    names: dict[str, Any] = {}
    exec(compile(machines, page.path, "exec"), names)
    machines, seed, over = names["machines"], random.randrange(2**32), Flag()
    print("seed", seed)

    with psycopg.connect(dsn, autocommit=True) as session, ThreadPoolExecutor() as pool:
        session.execute(tables)
        session.execute("INSERT INTO orders (id, amount) SELECT n, n FROM generate_series(1, %s) n", [ORDERS])
        session.execute("CREATE SCHEMA harel; CREATE EXTENSION harel SCHEMA harel")
        program = pool.submit(trade, dsn, seed, over)
        try:
            until(lambda: changes(session) > 20)
            session.execute(trigger)
            while number(session, copy) > 0:
                pass
            copied = changes(session)
            until(lambda: changes(session) > copied + 200)
            run_until(dsn, machines, lambda worker: worker.tally["finished"] > 50)
            # What the sender has sent before it was stopped.
            session.execute("UPDATE order_outbox SET sent_at = '2020-01-01' WHERE id % 2 = 0")
            session.execute(cut_over)
            program.result()
        finally:
            over.set()

        waiting = number(session, "SELECT min(id) FROM orders WHERE status_before_harel = 'awaiting_payment'")
        session.execute(
            "SELECT harel.harel_publish(%s, %s)", [f"order-{waiting}", '{"id": "payment-17", "kind": "Paid"}']
        )
        run_until(dsn, machines, lambda _: number(session, "SELECT queued + outbox FROM harel.harel_stats()") == 0)
        assert session.execute("SELECT * FROM harel.harel_dead_letters()").fetchall() == []

        after = compare.replace("o.status", "o.status_before_harel").replace("interval '5 minutes'", "interval '0'")
        assert session.execute(after).fetchall() == [(waiting, "awaiting_payment", "/paid")]
        assert number(session, "SELECT count(*) FROM order_outbox WHERE sent_at IS NULL") == 0
        unsent = "SELECT 'order-' || order_id FROM order_outbox WHERE sent_at > '2020-01-01'"
        to_ship = {order for (order,) in session.execute(unsent)} | {f"order-{waiting}"}
        store = PostgresStore.from_dsn(dsn, schema="harel")
        warehouse = store.load("warehouse")
        store.close()
        assert sorted(warehouse.context["to_ship"]) == sorted(to_ship)
        session.execute(view)
        assert session.execute("SELECT status FROM order_states WHERE id = %s", [waiting]).fetchone() == ("paid",)


@pytest.mark.page("docs/how-to/migrate.md", "sql")
def test_tables_of_the_contract_are_adopted(page: Page, dsn: str) -> None:
    adopt = page.blocks("sql")[-1]
    with psycopg.connect(dsn, autocommit=True) as session:
        session.execute(
            "CREATE TABLE executions (id text, definition_id text, data text, version int);"
            "CREATE TABLE outbox (seq bigserial, target_id text, event text);"
            "CREATE TABLE processed_events (execution_id text, event_id text);"
            "CREATE TABLE timers (execution_id text, path text, fire_at double precision);"
            "CREATE TABLE spawns (seq bigserial, parent_id text, child_id text, root_path text, context text);"
            "CREATE TABLE trace (execution_id text, idx int, entry text);"
            "INSERT INTO executions VALUES ('theirs', 'd', '{}', 3)"
        )
        session.execute(adopt)
        assert session.execute("SELECT id, version FROM harel.executions").fetchall() == [("theirs", 3)]
