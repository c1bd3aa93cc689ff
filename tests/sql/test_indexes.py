"""Each index is used by the function that it names, also on a deep page, after many calls and on a large table.

The plans are those that the functions really ran: auto_explain reports each statement inside a function as a notice.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import LiteralString

import psycopg
import pytest

ROWS = 20000
OTHERS = 4000
# PL/pgSQL plans a statement for its arguments five times, and then may keep one plan for all arguments.
CALLS = 8
BIG = ("executions", "processed_events", "outbox", "spawns", "timers", "trace")

FILL: LiteralString = f"""
    INSERT INTO executions (id, definition_id, data, version, status, parent_id, updated_at)
    SELECT
        md5(n::text), 'd' || n % 4, format('{{"n": %s, "filler": "%s"}}', n, repeat('x', 200)), 1,
        CASE WHEN n % 100 < 90 THEN 'DONE' WHEN n % 100 < 98 THEN 'RUNNING' WHEN n % 100 < 99 THEN 'FAILED' ELSE '' END,
        CASE WHEN n % 10 < 7 THEN md5((n / 10)::text) END, now()
    FROM generate_series(1, {ROWS}) n;
    INSERT INTO processed_events (execution_id, event_id)
    SELECT md5((n % 2000)::text), 'ev' || n FROM generate_series(1, {OTHERS}) n;
    INSERT INTO outbox (target_id, event, source_id) SELECT md5(n::text), 'e', 'e' FROM generate_series(1, {OTHERS}) n;
    INSERT INTO spawns (parent_id, child_id, root_path, context)
    SELECT md5(n::text), 'c' || n, 'p', '{{}}' FROM generate_series(1, {OTHERS}) n;
    INSERT INTO timers SELECT md5((n % 2000)::text), 'p' || n, 1000000 + n FROM generate_series(1, {OTHERS}) n;
    INSERT INTO trace SELECT md5((n % 40)::text), n / 40, 'entry' FROM generate_series(1, {OTHERS}) n;
    ANALYZE executions, processed_events, outbox, spawns, timers, trace;
"""

SETTINGS: LiteralString = """
    SET client_min_messages = notice;
    SET auto_explain.log_min_duration = 0;
    SET auto_explain.log_nested_statements = on;
    SET auto_explain.log_analyze = on;
    SET auto_explain.log_timing = off;
    SET auto_explain.log_level = notice;
    SET auto_explain.log_format = text;
"""

AN_ID: LiteralString = "md5('4711')"
DEEP: LiteralString = "(SELECT harel__cursor('f'))"


@dataclass
class Plans:
    connection: psycopg.Connection
    notices: list[str]

    def of(self, call: LiteralString) -> list[str]:
        """The plans of the statements that a call runs inside, by line, without that of the call itself."""
        self.notices.clear()
        self.connection.execute(call)
        nested = [
            text
            for text in self.notices
            if not re.search(r"^Query Text:\s+SELECT [^;]*\bharel_(?!_)", text, re.MULTILINE)
        ]
        return [line.strip() for text in nested for line in text.splitlines()]


@pytest.fixture
def plans(postgresql: psycopg.Connection) -> Iterator[Plans]:
    try:
        postgresql.execute("LOAD 'auto_explain'")
    except psycopg.Error as error:
        postgresql.rollback()
        pytest.fail(f"the server must have auto_explain (contrib) to prove which index is used: {error}")
    postgresql.execute(FILL)
    postgresql.commit()
    notices: list[str] = []
    postgresql.add_notice_handler(lambda notice: notices.append(notice.message_primary or ""))
    postgresql.execute(SETTINGS)
    yield Plans(postgresql, notices)
    postgresql.rollback()


def most_rows(lines: list[str], node: str) -> int:
    """The greatest number of rows that a node of this kind gave, over all its loops."""
    found = [re.search(r"actual rows=([\d.]+) loops=(\d+)", line) for line in lines if node in line]
    return max((round(float(match[1]) * int(match[2])) for match in found if match), default=0)


def check(lines: list[str], index: str, read_at_most: int) -> None:
    shown = "\n".join(lines)
    assert re.search(rf"Index (Only )?Scan (Backward )?using {index}\b|Bitmap Index Scan on {index}\b", shown), shown
    assert not re.search(rf"Seq Scan on ({'|'.join(BIG)})\b", shown), shown
    assert most_rows(lines, "Sort") <= read_at_most, shown
    assert most_rows(lines, "Scan ") <= read_at_most, shown
    removed = [int(match[1]) for line in lines if (match := re.search(r"Rows Removed by .*: (\d+)", line))]
    assert max(removed, default=0) <= read_at_most, shown


LOADED: LiteralString = f"(SELECT version FROM executions WHERE id = {AN_ID})"
FAST_COMMIT: LiteralString = f"SELECT harel_commit_cas({AN_ID}, 'd', '{{}}', {LOADED}, gen_random_uuid()::text)"
COMPLEX_COMMIT: LiteralString = f"""
    SELECT harel_commit(
        {AN_ID}, 'd', '{{}}', {LOADED}, gen_random_uuid()::text, '{{x}}', '{{a}}', '{{c}}', '{{p}}', '{{k}}',
        '{{schedule,cancel}}', '{{a,a}}', '{{1,1}}', 'step', 2
    )
"""

# A page of 10 is eleven rows, of each pair of a status (four occur) and root or not; each of the two steps reads them.
PAGE = 11
LISTINGS: list[tuple[str, LiteralString, str, int]] = [
    ("all", "NULL, NULL, false", "executions_pkey", PAGE),
    ("definition", "'d1', NULL, false", "executions_by_definition", 8 * PAGE),
    ("definition and roots", "'d1', NULL, true", "executions_by_definition", 4 * PAGE),
    ("definition and status", "'d1', '{RUNNING}', false", "executions_by_definition", 2 * PAGE),
    ("definition, status and roots", "'d1', '{RUNNING}', true", "executions_by_definition", PAGE),
    ("definition and statuses", "'d1', '{DONE,RUNNING,FAILED}', false", "executions_by_definition", 6 * PAGE),
    ("definition, statuses and roots", "'d1', '{DONE,RUNNING}', true", "executions_by_definition", 2 * PAGE),
    ("status", "NULL, '{RUNNING}', false", "executions_by_status", 2 * PAGE),
    ("status that most have", "NULL, '{DONE}', false", "executions_by_status", 2 * PAGE),
    ("status that none has", "NULL, '{SUSPENDED}', false", "executions_by_status", 0),
    ("statuses", "NULL, '{DONE,RUNNING,FAILED}', false", "executions_by_status", 6 * PAGE),
    ("status and roots", "NULL, '{RUNNING}', true", "executions_by_status", PAGE),
    ("statuses and roots", "NULL, '{DONE,RUNNING}', true", "executions_by_status", 2 * PAGE),
    ("roots", "NULL, NULL, true", "executions_by_status", 4 * PAGE),
    ("definition that none has", "'unknown', NULL, true", "executions_by_definition", 0),
]


@pytest.mark.parametrize("cursor", ["NULL", DEEP], ids=["first page", "deep page"])
def test_list(plans: Plans, cursor: LiteralString) -> None:
    """Every filter, each many times over, so that plans kept from one filter serve the others."""
    for _ in range(CALLS):
        for name, filters, index, limit in LISTINGS:
            lines = plans.of(f"SELECT * FROM harel_list({filters}, 10, {cursor})")
            check([f"Listing: {name}", *lines], index, max(limit, PAGE))


@pytest.mark.parametrize("listing", LISTINGS, ids=lambda listing: listing[0])
def test_list_with_one_filter(plans: Plans, listing: tuple[str, LiteralString, str, int]) -> None:
    """One filter only, as a session that asks for the same page again and again: the plan kept is for it alone."""
    _, filters, index, limit = listing
    for _ in range(CALLS):
        for cursor in ("NULL", DEEP):
            check(plans.of(f"SELECT * FROM harel_list({filters}, 10, {cursor})"), index, max(limit, PAGE))


CASES: list[tuple[str, LiteralString, str, int]] = [
    ("load", f"SELECT harel_load({AN_ID})", "executions_pkey", 1),
    ("load for event", f"SELECT * FROM harel_load_for_event({AN_ID}, 'ev1')", "executions_pkey", 1),
    ("is processed", "SELECT harel_is_processed(md5('7'), 'ev2007')", "processed_events_pkey", 1),
    ("is not processed", "SELECT harel_is_processed(md5('7'), 'never')", "processed_events_pkey", 1),
    ("pending outbox", "SELECT * FROM harel_pending_outbox(10)", "outbox_pkey", 10),
    ("ack outbox", "SELECT harel_ack_outbox(100)", "outbox_pkey", 1),
    ("pending spawns", "SELECT * FROM harel_pending_spawns(10)", "spawns_pkey", 10),
    ("ack spawn", "SELECT harel_ack_spawn(100)", "spawns_pkey", 1),
    ("no due timers", "SELECT * FROM harel_due_timers(5)", "timers_by_fire_at", 0),
    ("no due timers, limit", "SELECT * FROM harel_due_timers(5, 10)", "timers_by_fire_at", 0),
    ("few due timers", "SELECT * FROM harel_due_timers(1000003)", "timers_by_fire_at", 3),
    ("few of many due timers", "SELECT * FROM harel_due_timers(2000000, 3)", "timers_by_fire_at", 3),
    ("delete timer", "SELECT harel_delete_timer(md5('7'), 'p2007', 1002007)", r"timers_(pkey|by_fire_at)", 1),
    ("read trace", "SELECT * FROM harel_read_trace(md5('7'))", "trace_pkey", 100),
    ("append trace", "SELECT harel_append_trace(md5('7'), 'entry')", "trace_pkey", 1),
    ("append trace at the cap", "SELECT harel_append_trace(md5('7'), 'entry', 100)", "trace_pkey", 110),
    ("conflict", f"SELECT harel_commit_cas({AN_ID}, 'd', '{{}}', 9)", "executions_pkey", 1),
    ("conflict with version", f"SELECT harel_commit({AN_ID}, 'd', '{{}}', 9)", "executions_pkey", 1),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_function(plans: Plans, case: tuple[str, LiteralString, str, int]) -> None:
    _, call, index, limit = case
    for _ in range(CALLS):
        check(plans.of(call), index, limit)


def test_due_timers_after_a_call_without_limit(plans: Plans) -> None:
    """The plan kept from calls that brought everything must not serve the sweep."""
    for _ in range(CALLS):
        plans.of("SELECT * FROM harel_due_timers(2000000)")
    check(plans.of("SELECT * FROM harel_due_timers(1000003, 10)"), "timers_by_fire_at", 3)


def test_commits(plans: Plans) -> None:
    for _ in range(CALLS):
        check(plans.of(FAST_COMMIT), "executions_pkey", 1)
    for _ in range(CALLS):
        lines = plans.of(COMPLEX_COMMIT)
        check(lines, "executions_pkey", 10)
        check(lines, "timers_pkey", 10)
        check(lines, "trace_pkey", 10)


def test_a_plan_without_the_index_is_caught(plans: Plans) -> None:
    plans.connection.execute("ALTER TABLE timers DROP CONSTRAINT timers_pkey")
    plans.connection.execute("UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'timers_by_fire_at'::regclass")
    with pytest.raises(AssertionError, match="Seq Scan on timers"):
        check(plans.of("SELECT * FROM harel_due_timers(5)"), "timers_by_fire_at", 0)
