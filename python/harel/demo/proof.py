"""The proof, a query for each claim: the store holds what the outside world knows, and each step what led to it."""

from typing import Any, LiteralString

import psycopg
from psycopg import sql

from ..engine.store._install import find_store, not_installed
from ..replay.proof import Check
from .world import World

# What the world knows, and the traces as tables.
_PREPARE = """
CREATE TEMPORARY TABLE ordered (id text COLLATE "C", amount integer) ON COMMIT DROP;
CREATE TEMPORARY TABLE published (
    place bigserial, execution_id text COLLATE "C", event_id text, kind text
) ON COMMIT DROP;
CREATE TEMPORARY TABLE books (order_id text COLLATE "C", request_id text, answer text, amount integer) ON COMMIT DROP;

CREATE TEMPORARY TABLE steps ON COMMIT DROP AS
SELECT execution_id, idx, entry ->> 'event' AS kind, entry ->> 'event_id' AS event_id, entry ->> 'from' AS state_before,
    entry ->> 'to' AS state, (entry ->> 'at')::float8 AS at, entry -> 'data' AS data, entry -> 'sent' AS sent,
    entry -> 'timers' AS timers
FROM (SELECT execution_id, idx, entry::json AS entry FROM {schema}.trace) read;

CREATE TEMPORARY TABLE sent ON COMMIT DROP AS
SELECT s.execution_id AS source, s.idx, e.place, e.event ->> 'target' AS target, e.event ->> 'id' AS event_id,
    e.event ->> 'kind' AS kind
FROM pg_temp.steps s, json_array_elements(s.sent) WITH ORDINALITY AS e (event, place);

CREATE TEMPORARY TABLE timer_ops ON COMMIT DROP AS
SELECT s.execution_id, s.idx, t.op ->> 'action' AS action, t.op ->> 'path' AS path,
    (t.op ->> 'fire_at')::float8 AS fire_at
FROM pg_temp.steps s, json_array_elements(s.timers) AS t (op);
"""

# Each query compares: the id, whether all is well, and what is not.
CLAIMS: dict[str, LiteralString] = {
    "each order is an execution with two regions": """
        SELECT coalesce(o.id, e.id) AS id,
            o.id IS NOT NULL AND e.id IS NOT NULL AND c.regions IS NOT DISTINCT FROM '{{payment,shipping}}' AS ok,
            CASE WHEN o.id IS NULL THEN 'was never placed' WHEN e.id IS NULL THEN 'has no execution'
                ELSE 'has the regions ' || coalesce(c.regions::text, '(none)') END AS what
        FROM pg_temp.ordered o
        FULL JOIN (SELECT id FROM {schema}.executions WHERE parent_id IS NULL) e ON e.id = o.id
        LEFT JOIN (
            SELECT parent_id, array_agg(data::json ->> 'root_path' ORDER BY id) AS regions
            FROM {schema}.executions
            GROUP BY parent_id
        ) c ON c.parent_id = e.id
    """,
    "each order is DONE or CANCELLED, and both regions with it": """
        SELECT o.id,
            (e.status, e.outcome, p.status, p.outcome, s.status, s.outcome) IN (
                ('DONE', 'delivered', 'DONE', 'settled', 'DONE', 'delivered'),
                ('CANCELLED', 'cancelled', 'CANCELLED', 'refunded', 'CANCELLED', 'stopped'),
                ('CANCELLED', 'cancelled', 'CANCELLED', 'void', 'CANCELLED', 'stopped')
            ) AS ok,
            format('is %s %s, its payment %s %s, its shipping %s %s',
                e.status, e.outcome, p.status, p.outcome, s.status, s.outcome) AS what
        FROM pg_temp.ordered o
        LEFT JOIN {schema}.executions e ON e.id = o.id
        LEFT JOIN {schema}.executions p ON p.id = o.id || '/payment'
        LEFT JOIN {schema}.executions s ON s.id = o.id || '/shipping'
    """,
    "each event published was applied once, in order": """
        SELECT coalesce(p.execution_id, s.execution_id) AS id,
            p.event_id IS NOT NULL AND s.event_id IS NOT NULL AND p.kind = s.kind AND
                row_number() OVER (PARTITION BY p.execution_id, s.event_id IS NULL ORDER BY p.place)
                = row_number() OVER (PARTITION BY p.execution_id, s.event_id IS NULL ORDER BY s.idx) AS ok,
            CASE WHEN s.event_id IS NULL THEN 'has not handled '
                WHEN p.event_id IS NULL THEN 'has handled what nobody published, '
                ELSE 'has handled in another order ' END || coalesce(p.kind, s.kind) AS what
        FROM pg_temp.published p
        FULL JOIN (
            SELECT execution_id, idx, event_id, kind
            FROM pg_temp.steps
            WHERE kind NOT IN ('Start', 'Timeout') AND event_id NOT IN (SELECT event_id FROM pg_temp.sent)
        ) s ON s.execution_id = p.execution_id AND s.event_id = p.event_id
    """,
    "each event sent between executions was applied once, in order": """
        SELECT x.target AS id,
            s.event_id IS NOT NULL AND s.kind = x.kind AND
                row_number() OVER (PARTITION BY x.source, x.target, s.event_id IS NULL ORDER BY x.idx, x.place)
                = row_number() OVER (PARTITION BY x.source, x.target, s.event_id IS NULL ORDER BY s.idx) AS ok,
            CASE WHEN s.event_id IS NULL THEN 'has not handled ' ELSE 'has handled in another order ' END
                || x.kind || ' of ' || x.source AS what
        FROM pg_temp.sent x
        LEFT JOIN pg_temp.steps s ON s.execution_id = x.target AND s.event_id = x.event_id
        WHERE x.target IS NOT NULL
    """,
    "each event in a ledger is one step of its execution": """
        SELECT coalesce(p.execution_id, s.execution_id) AS id, p.event_id IS NOT NULL AND s.steps = 1 AS ok,
            format('has %s steps and %s marks for %s', coalesce(s.steps, 0), count(p.event_id) OVER one, event_id)
                AS what
        FROM {schema}.processed_events p
        FULL JOIN (
            SELECT execution_id, event_id, count(*) AS steps FROM pg_temp.steps GROUP BY execution_id, event_id
        ) s USING (event_id, execution_id)
        WINDOW one AS (PARTITION BY execution_id, event_id)
    """,
    "each version counts the creation and the steps, none missing": """
        SELECT coalesce(e.id, s.execution_id) AS id, (e.version = s.steps + 1 AND s.last = s.steps - 1) AS ok,
            format('has version %s after %s steps, the last numbered %s', e.version, s.steps, s.last) AS what
        FROM {schema}.executions e
        FULL JOIN (
            SELECT execution_id, count(*) AS steps, max(idx) AS last FROM pg_temp.steps GROUP BY execution_id
        ) s ON s.execution_id = e.id
    """,
    "each step starts in the state that the one before ended in": """
        SELECT execution_id AS id,
            state_before IS NOT DISTINCT FROM lag(state) OVER own AND
                (lead(idx) OVER own IS NOT NULL OR state = e.active_path) AS ok,
            format('step %s leads from %s to %s', idx, state_before, state) AS what
        FROM pg_temp.steps s
        JOIN {schema}.executions e ON e.id = s.execution_id
        WINDOW own AS (PARTITION BY execution_id ORDER BY idx)
    """,
    "each timer fired once, or was disarmed": """
        SELECT coalesce(a.execution_id, t.execution_id) AS id,
            a.path IS NOT NULL AND (t.event_id IS NOT NULL OR a.disarmed)
                AND count(*) OVER (PARTITION BY a.execution_id, a.path, a.fire_at) = 1 AS ok,
            CASE WHEN a.path IS NULL THEN 'got a Timeout of no timer, '
                WHEN t.event_id IS NULL THEN 'never got the Timeout of '
                ELSE 'got more than once the Timeout of ' END
                || coalesce(a.path, t.data ->> 'path', '(none)') AS what
        FROM (
            SELECT s.*, EXISTS (
                SELECT FROM pg_temp.timer_ops d
                WHERE d.action = 'cancel' AND (d.execution_id, d.path) = (s.execution_id, s.path) AND d.idx > s.idx
            ) AS disarmed
            FROM pg_temp.timer_ops s
            WHERE s.action = 'schedule'
        ) a
        FULL JOIN (SELECT * FROM pg_temp.steps WHERE kind = 'Timeout') t
            ON t.execution_id = a.execution_id AND t.data ->> 'path' = a.path
            AND (t.data ->> 'fire_at')::float8 = a.fire_at
    """,
    "each request of a payment is in the provider's books, once": """
        SELECT coalesce(x.source, b.order_id) AS id, x.event_id IS NOT NULL AND b.request_id IS NOT NULL AS ok,
            CASE WHEN b.request_id IS NULL THEN 'was never heard asking to ' || x.kind
                ELSE 'got what it never asked for, ' || b.answer END AS what
        FROM (SELECT * FROM pg_temp.sent WHERE kind IN ('Charge', 'Refund')) x
        FULL JOIN pg_temp.books b ON b.request_id = x.event_id
    """,
    "each order paid and kept is shipped after that, and no other": """
        SELECT o.id,
            (shipped.at IS NOT NULL) = (paid.at IS NOT NULL AND e.status = 'DONE')
                AND (shipped.at < paid.at) IS NOT TRUE AS ok,
            format('is %s, paid at %s and shipped at %s', e.status, paid.at, shipped.at) AS what
        FROM pg_temp.ordered o
        JOIN {schema}.executions e ON e.id = o.id
        LEFT JOIN (
            SELECT execution_id, min(at) AS at FROM pg_temp.steps WHERE kind = 'Charged' GROUP BY execution_id
        ) paid ON paid.execution_id = o.id || '/payment'
        LEFT JOIN (
            SELECT execution_id, min(at) AS at FROM pg_temp.steps WHERE state = '/shipping/in transit'
            GROUP BY execution_id
        ) shipped ON shipped.execution_id = o.id || '/shipping'
    """,
    "each order delivered is charged once, each other one refunded": """
        SELECT coalesce(o.id, b.order_id) AS id,
            CASE e.status
                WHEN 'DONE' THEN (charges, charged, refunds) = (1, o.amount, 0)
                WHEN 'CANCELLED' THEN charges <= 1 AND charges = refunds AND charged = refunded
            END AS ok,
            format('is %s: %s of %s charged by %s charges, %s refunded', e.status, charged, o.amount, charges, refunded)
                AS what
        FROM pg_temp.ordered o
        JOIN {schema}.executions e ON e.id = o.id
        FULL JOIN (
            SELECT order_id,
                count(*) FILTER (WHERE answer = 'Charged') AS charges,
                coalesce(sum(amount) FILTER (WHERE answer = 'Charged'), 0) AS charged,
                count(*) FILTER (WHERE answer = 'Refunded') AS refunds,
                coalesce(sum(amount) FILTER (WHERE answer = 'Refunded'), 0) AS refunded
            FROM pg_temp.books
            GROUP BY order_id
        ) b ON b.order_id = o.id
    """,
    "no message, event to send, spawn, timer or dead letter is left": """
        SELECT group_id AS id, false AS ok, 'has a message' AS what FROM {schema}.transport_messages
        UNION ALL SELECT group_id, false, 'is still a group' FROM {schema}.transport_groups
        UNION ALL SELECT source_id, false, 'has an event to send' FROM {schema}.outbox
        UNION ALL SELECT parent_id, false, 'has a child to create' FROM {schema}.spawns
        UNION ALL SELECT execution_id, false, 'has a timer ' || path FROM {schema}.timers
        UNION ALL SELECT group_id, false, 'has a dead letter: ' || reason FROM {schema}.dead_letters
    """,
}

_COUNT: LiteralString = """
SELECT count(*), count(*) FILTER (WHERE ok IS NOT TRUE), min(id || ' ' || what) FILTER (WHERE ok IS NOT TRUE)
FROM ({claim}) compared
"""


def located(connection: "psycopg.Connection[Any]", schema: str | None) -> sql.Identifier:
    """The schema that the store is in. Raises StoreNotInstalled."""
    call = find_store(schema)
    found = call.decode(connection.execute(call.sql, call.params).fetchall())
    if found is None:
        raise not_installed(schema)
    return sql.Identifier(found)


def prove(connection: "psycopg.Connection[Any]", schema: str | None, world: World) -> list[Check]:
    """Compares what the store holds with what the world knows, by queries in one transaction."""
    place = located(connection, schema)
    with connection.transaction():
        connection.execute(sql.SQL(_PREPARE).format(schema=place))
        known: dict[LiteralString, list[tuple[Any, ...]]] = {
            "ordered (id, amount)": [(plan.order, plan.amount) for plan in world.plans.values()],
            "published (execution_id, event_id, kind)": [(*ids, kind) for ids, kind in world.published.items()],
            "books (order_id, request_id, answer, amount)": [
                (entry.order, id, entry.answer, entry.amount) for id, entry in world.books.items()
            ],
        }
        for table, rows in known.items():
            with connection.cursor() as cursor, cursor.copy(f"COPY pg_temp.{table} FROM STDIN") as copy:
                for values in rows:
                    copy.write_row(values)
        checks = []
        for claim, query in CLAIMS.items():
            counting = sql.SQL(_COUNT).format(claim=sql.SQL(query).format(schema=place))
            row = connection.execute(counting).fetchone()
            assert row is not None
            checks.append(Check(claim, *row))
    return checks
