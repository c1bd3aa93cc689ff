"""The proof, by queries, that a store holds exactly what a log says."""

from dataclasses import dataclass
from typing import LiteralString

import psycopg
from psycopg import sql

from ..engine.store._install import find_store, not_installed
from .log import Log, records


class ProofFailed(Exception):
    """The store does not hold what the log says. `checks` are all of them, those that failed and those that did not."""

    def __init__(self, checks: "list[Check]") -> None:
        super().__init__(checks)
        self.checks = checks

    def __str__(self) -> str:
        failed = [check for check in self.checks if not check.holds]
        return "; ".join(f"not true: {check.claim} ({check.wrong} differ, such as {check.example})" for check in failed)


@dataclass(frozen=True)
class Check:
    """A claim about what the store holds: how many things were compared, how many differ, and an example of those."""

    claim: str
    compared: int
    wrong: int
    example: str | None

    @property
    def holds(self) -> bool:
        """Whether nothing differs."""
        return self.wrong == 0


_LINES = """
CREATE TEMPORARY TABLE log_lines (
    line bigserial, case_id text COLLATE "C", activity text, lifecycle text, "timestamp" text, resource text
) ON COMMIT DROP
"""

_PREPARE = """
CREATE TEMPORARY TABLE log_rows ON COMMIT DROP AS
SELECT case_id, idx::integer, case_id || '#' || idx AS event_id, state,
    lag(state) OVER (PARTITION BY case_id ORDER BY idx) AS state_before, "timestamp", resource
FROM (
    SELECT *, row_number() OVER (PARTITION BY case_id ORDER BY line) - 1 AS idx,
        CASE lifecycle WHEN '' THEN activity ELSE activity || '/' || lifecycle END AS state
    FROM pg_temp.log_lines
) numbered;

CREATE TEMPORARY TABLE log_cases ON COMMIT DROP AS
SELECT case_id, count(*)::integer AS rows, (array_agg(state ORDER BY idx DESC))[1] AS last_state
FROM pg_temp.log_rows
GROUP BY case_id;

-- What the log is answerable for: its cases, and whatever calls itself an execution of its definition.
CREATE TEMPORARY TABLE ours ON COMMIT DROP AS
SELECT case_id AS id FROM pg_temp.log_cases
UNION
SELECT id FROM {schema}.executions WHERE definition_id = {definition};

ANALYZE pg_temp.log_rows;
ANALYZE pg_temp.log_cases;
ANALYZE pg_temp.ours;
"""

# Each query compares: the id, whether all is well, and what is not.
_CLAIMS: dict[str, LiteralString] = {
    "each case is one execution": """
        SELECT coalesce(c.case_id, e.id) AS id,
            c.case_id IS NOT NULL AND e.definition_id IS NOT DISTINCT FROM {definition} AS ok,
            CASE
                WHEN c.case_id IS NULL THEN 'is not in the log'
                WHEN e.id IS NULL THEN 'has no execution'
                ELSE 'is of definition ' || e.definition_id
            END AS what
        FROM pg_temp.log_cases c
        FULL JOIN (SELECT * FROM {schema}.executions WHERE id IN (SELECT id FROM pg_temp.ours)) e ON e.id = c.case_id
    """,
    "each event is marked as processed": """
        SELECT coalesce(l.case_id, p.execution_id) AS id, l.case_id IS NOT NULL AND p.event_id IS NOT NULL AS ok,
            CASE WHEN l.case_id IS NULL THEN 'has a mark of no row, ' || p.event_id
                ELSE 'has no mark of ' || l.event_id END AS what
        FROM pg_temp.log_rows l
        FULL JOIN (
            SELECT * FROM {schema}.processed_events WHERE execution_id IN (SELECT id FROM pg_temp.ours)
        ) p ON p.execution_id = l.case_id AND p.event_id = l.event_id
    """,
    "each version is one more than the number of events: no step was taken twice": """
        SELECT c.case_id AS id, e.version = c.rows + 1 AS ok, 'has version ' || e.version || ' after ' || c.rows AS what
        FROM pg_temp.log_cases c
        JOIN {schema}.executions e ON e.id = c.case_id
    """,
    "each trace entry equals the row at its place in the log": """
        SELECT coalesce(l.case_id, t.execution_id) AS id,
            (l.event_id, l.state_before, l.state, l."timestamp", l.resource)
                IS NOT DISTINCT FROM
            (t.entry ->> 'event_id', t.entry ->> 'from', t.entry ->> 'to', t.entry ->> 'timestamp',
                t.entry ->> 'resource') AS ok,
            CASE
                WHEN l.case_id IS NULL THEN 'has an entry of no row, ' || t.idx
                WHEN t.idx IS NULL THEN 'has no entry ' || l.idx
                ELSE 'has another entry ' || l.idx
            END AS what
        FROM pg_temp.log_rows l
        FULL JOIN (
            SELECT execution_id, idx, entry::json AS entry
            FROM {schema}.trace
            WHERE execution_id IN (SELECT id FROM pg_temp.ours)
        ) t ON t.execution_id = l.case_id AND t.idx = l.idx
    """,
    "each execution is done, in the last state of its case": """
        SELECT c.case_id AS id,
            (e.status, e.outcome, e.active_path, e.data::json -> 'context' ->> 'position')
                IS NOT DISTINCT FROM ('DONE', c.last_state, c.last_state, c.rows::text) AS ok,
            format('is %s in %L, not DONE in %L', e.status, e.active_path, c.last_state) AS what
        FROM pg_temp.log_cases c
        JOIN {schema}.executions e ON e.id = c.case_id
    """,
    "each execution has emitted Finished, once, and nothing else": """
        SELECT c.case_id AS id, count(o.seq) = 1 AND count(o.seq) FILTER (WHERE o.kind = 'Finished') = 1 AS ok,
            format('has emitted %s events, of which Finished: %s', count(o.seq),
                count(o.seq) FILTER (WHERE o.kind = 'Finished')) AS what
        FROM pg_temp.log_cases c
        LEFT JOIN (SELECT seq, source_id, event::json ->> 'kind' AS kind FROM {schema}.outbox) o
            ON o.source_id = c.case_id
        GROUP BY c.case_id
    """,
    "each timer that was armed is disarmed": """
        SELECT coalesce(a.execution_id, t.execution_id) AS id, t.path IS NULL AS ok, 'still waits in ' || t.path AS what
        FROM (
            SELECT execution_id, entry::json ->> 'to' AS path
            FROM {schema}.trace
            WHERE execution_id IN (SELECT id FROM pg_temp.ours) AND entry::json ->> 'timer' IS NOT NULL
        ) a
        FULL JOIN (
            SELECT * FROM {schema}.timers WHERE execution_id IN (SELECT id FROM pg_temp.ours)
        ) t ON t.execution_id = a.execution_id AND t.path = a.path
    """,
    "no message is left in the queue": """
        SELECT group_id AS id, false AS ok, 'still has a message ' || coalesce(m.seq, g.head) AS what
        FROM {schema}.transport_groups g
        FULL JOIN {schema}.transport_messages m USING (group_id)
        WHERE group_id IN (SELECT id FROM pg_temp.ours)
    """,
    "no message became a dead letter": """
        SELECT group_id AS id, false AS ok, 'has a dead letter: ' || reason AS what
        FROM {schema}.dead_letters
        WHERE group_id IN (SELECT id FROM pg_temp.ours)
    """,
    "no spawn is left pending": """
        SELECT parent_id AS id, false AS ok, 'still spawns ' || child_id AS what
        FROM {schema}.spawns
        WHERE parent_id IN (SELECT id FROM pg_temp.ours)
    """,
}

_COUNT: LiteralString = """
SELECT count(*), count(*) FILTER (WHERE ok IS NOT TRUE), min(id || ' ' || what) FILTER (WHERE ok IS NOT TRUE)
FROM ({claim}) compared
"""


def prove(log: Log, dsn: str, schema: str | None = None) -> list[Check]:
    """Compares what the store holds with the file of a log that was replayed, by queries in one snapshot.

    The database reads the file anew and groups and counts its rows by itself. Returns the checks, all of which hold,
    or raises ProofFailed; LogError and StoreNotInstalled where there is nothing to compare.
    """
    with psycopg.connect(dsn, fallback_application_name="harel") as connection:
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        call = find_store(schema)
        found = call.decode(connection.execute(call.sql, call.params).fetchall())
        if found is None:
            raise not_installed(schema)
        names = {"schema": sql.Identifier(found), "definition": sql.Literal(log.definition_id)}
        connection.execute(_LINES)
        with (
            connection.cursor() as cursor,
            cursor.copy(
                'COPY pg_temp.log_lines (case_id, activity, lifecycle, "timestamp", resource) FROM STDIN'
            ) as copy,
        ):
            for _, values in records(log.path):
                copy.write_row(values)
        connection.execute(sql.SQL(_PREPARE).format(**names))
        checks = []
        for claim, query in _CLAIMS.items():
            counting = sql.SQL(_COUNT).format(claim=sql.SQL(query).format(**names))
            row = connection.execute(counting).fetchone()
            assert row is not None
            checks.append(Check(claim, *row))
    if not all(check.holds for check in checks):
        raise ProofFailed(checks)
    return checks
