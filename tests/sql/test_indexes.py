"""Each index is used by the function that it names, also on a deep page, after many calls and on a large table.

The plans are those that the functions really ran: auto_explain reports each statement inside a function as a notice.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import LiteralString

import psycopg
import pytest
from psycopg import sql
from wire import LEAVE_FLOOR

import calls

pytestmark = pytest.mark.one_server("the plans are those of one server")

ROWS = 20000
OTHERS = 4000
# PL/pgSQL plans a statement for its arguments five times, and then may keep one plan for all arguments.
CALLS = 8
BIG = (
    "executions",
    "processed_events",
    "outbox",
    "spawns",
    "timers",
    "trace",
    "transport_groups",
    "transport_messages",
    "dead_letters",
)

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
"""
ANALYZE_STORE: LiteralString = "ANALYZE executions, processed_events, outbox, spawns, timers, trace;"
# A session keeps the plans that it made while the tables were empty, until they are analyzed again.
STORES = ["planned when full", "planned when empty"]
ANALYZE_EMPTY: LiteralString = f"""
    ALTER TABLE executions SET (autovacuum_enabled = off);
    ALTER TABLE processed_events SET (autovacuum_enabled = off);
    ALTER TABLE outbox SET (autovacuum_enabled = off);
    ALTER TABLE spawns SET (autovacuum_enabled = off);
    ALTER TABLE timers SET (autovacuum_enabled = off);
    ALTER TABLE trace SET (autovacuum_enabled = off);
    {ANALYZE_STORE}
"""
EMPTY: LiteralString = """
    DELETE FROM executions;
    DELETE FROM processed_events;
    DELETE FROM outbox;
    DELETE FROM spawns;
    DELETE FROM timers;
    DELETE FROM trace;
"""

# A queue of which nearly all can be claimed, for executions that each have one child; few groups have a priority. What
# was analyzed must not matter: the tables hold much in one minute and nothing in the next.
QUEUE_TABLES: LiteralString = """
    ALTER TABLE transport_groups SET (autovacuum_enabled = off);
    ALTER TABLE transport_messages SET (autovacuum_enabled = off);
    ALTER TABLE dead_letters SET (autovacuum_enabled = off);
    CREATE TEMP SEQUENCE turn;
"""
QUEUE_ROWS: LiteralString = f"""
    INSERT INTO executions (id, definition_id, data, version, status, parent_id)
    SELECT
        'q' || n, 'd', format('{{"status": "RUNNING", "version": 1, "parent_id": %s}}', coalesce(to_json(p), 'null')),
        1, 'RUNNING', p
    FROM generate_series(1, {ROWS}) n,
        LATERAL (SELECT CASE WHEN n > {ROWS // 2} THEN 'q' || n - {ROWS // 2} END) AS c (p);
    UPDATE outbox SET target_id = NULL WHERE seq % {OTHERS} BETWEEN 1 AND {OTHERS * 3 // 4};
    UPDATE outbox SET target_id = 'q' || seq % {ROWS}, source_id = 'q' || seq % {ROWS} WHERE target_id IS NOT NULL;
"""
QUEUE: LiteralString = f"{QUEUE_TABLES} {QUEUE_ROWS} ANALYZE executions, outbox;"
# A dozen of everything.
FEW: dict[str, LiteralString] = {
    "executions": """
        INSERT INTO executions (id, definition_id, data, version, status, parent_id)
        SELECT
            'q' || n, 'd', '{"status": "RUNNING", "version": 1}', 1, 'RUNNING', CASE WHEN n > 6 THEN 'q' || n - 6 END
        FROM generate_series(1, 12) n
    """,
    "processed_events": "INSERT INTO processed_events SELECT 'q' || n, 'ev' FROM generate_series(1, 12) n",
    "outbox": """
        INSERT INTO outbox (target_id, event, source_id) SELECT 'q' || n, 'e', 'q' || n FROM generate_series(1, 12) n
    """,
    "spawns": """
        INSERT INTO spawns (parent_id, child_id, root_path, context)
        SELECT 'q' || n, 'c' || n, 'p', '{}' FROM generate_series(1, 12) n
    """,
    "timers": "INSERT INTO timers SELECT 'q' || n, 'p', 1000000 + n FROM generate_series(1, 12) n",
    "trace": "INSERT INTO trace SELECT 'q' || n, 0, 'entry' FROM generate_series(1, 12) n",
    "transport_groups": """
        INSERT INTO transport_groups (group_id, available_at, head, tail, priority)
        SELECT 'q' || n, n, 1, 1, n % 5 FROM generate_series(1, 12) n
    """,
    "transport_messages": """
        INSERT INTO transport_messages (group_id, seq, event) SELECT 'q' || n, 1, '{}' FROM generate_series(1, 12) n
    """,
    "dead_letters": """
        INSERT INTO dead_letters (group_id, seq, event, reason, attempts, published_at)
        VALUES ('q7', 1, 'e', 'r', 1, now())
    """,
}
GROUPS: LiteralString = f"""
    INSERT INTO transport_groups (group_id, available_at, head, tail, priority)
    SELECT
        'q' || n, extract(epoch FROM now()) - {ROWS * 2} + n * CASE WHEN n % 50 = 0 THEN 100 ELSE 1 END, 1, 3,
        CASE WHEN n % 100 = 0 THEN 1 + n / 100 % 4 ELSE 0 END
    FROM generate_series(1, {ROWS}) n;
    INSERT INTO transport_groups (group_id, available_at, head, tail, priority)
    SELECT 'suspended' || n, 'Infinity', 1, 1, n % 5 FROM generate_series(1, {OTHERS}) n;
    INSERT INTO transport_messages (group_id, seq, event)
    SELECT 'q' || n, seq, '{{}}' FROM generate_series(1, {ROWS}) n, generate_series(1, 3) seq;
    INSERT INTO dead_letters (group_id, seq, event, reason, attempts, published_at, dead_at)
    SELECT 'q' || n % {OTHERS}, n, 'e', 'r', 1, now(), now() + n * interval '1 ms' FROM generate_series(1, {ROWS}) n;
"""
ANALYZE: LiteralString = "ANALYZE transport_groups, transport_messages, dead_letters;"
STATISTICS: dict[str, LiteralString] = {
    "of a full queue": GROUPS + ANALYZE,
    "of an empty queue": ANALYZE + GROUPS,
    "of a queue of urgent groups": f"""
        {GROUPS} UPDATE transport_groups SET priority = 1 + ascii(right(group_id, 1)) % 4; {ANALYZE}
        TRUNCATE transport_groups, transport_messages, dead_letters; {GROUPS}
    """,
}

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

    def of(self, call: LiteralString | sql.Composed) -> list[str]:
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
def explained(postgresql: psycopg.Connection) -> psycopg.Connection:
    try:
        postgresql.execute("LOAD 'auto_explain'")
    except psycopg.Error as error:
        postgresql.rollback()
        pytest.fail(f"the server must have auto_explain (contrib) to prove which index is used: {error}")
    return postgresql


@pytest.fixture(params=STORES)
def plans(request: pytest.FixtureRequest, explained: psycopg.Connection) -> Iterator[Plans]:
    postgresql = explained
    if request.param == "planned when empty":
        postgresql.execute(ANALYZE_EMPTY)
        # Which tells all sessions, this one too, to plan anew.
        postgresql.commit()
        postgresql.execute(f"SELECT harel_commit_cas({AN_ID}, 'd', '{{}}', 0)")
        calls = [f"SELECT * FROM harel_list({filters}, 10, {DEEP})" for _, filters, _, _ in LISTINGS]
        calls += [call for _, call, _, _ in CASES + SHARD_READS]
        for call in [*calls, FAST_COMMIT, COMPLEX_COMMIT] * CALLS:
            postgresql.execute(call)
        postgresql.execute(EMPTY + FILL)
    else:
        postgresql.execute(FILL + ANALYZE_STORE)
    postgresql.commit()
    yield listen(postgresql)
    postgresql.rollback()


def listen(connection: psycopg.Connection) -> Plans:
    """The plans of what the connection runs from now on."""
    notices: list[str] = []
    connection.add_notice_handler(lambda notice: notices.append(notice.message_primary or ""))
    connection.execute(SETTINGS)
    return Plans(connection, notices)


@pytest.fixture(params=STATISTICS)
def queue(request: pytest.FixtureRequest, plans: Plans) -> Plans:
    plans.connection.execute("SET client_min_messages = warning")
    plans.connection.execute(QUEUE)
    plans.connection.execute(STATISTICS[request.param])
    # No claim of these is also the one that lifts what others, with clocks of their own, have put below the floor.
    plans.connection.execute("SELECT setval('transport_lift_at', 9000000000000000)")
    plans.connection.commit()
    plans.connection.execute("SET client_min_messages = notice")
    return plans


def most_rows(lines: list[str], node: str) -> int:
    """The greatest number of rows that a node of this kind gave, over all its loops."""
    found = [re.search(rf"{node}.*actual rows=([\d.]+) loops=(\d+)", line) for line in lines]
    return max((round(float(match[1]) * int(match[2])) for match in found if match), default=0)


# The column that a search of the index must name: without it all of the index is read.
LEADING = {
    "processed_events_pkey": "execution_id",
    "timers_pkey": "execution_id",
    "trace_pkey": "execution_id",
    "transport_messages_pkey": "group_id",
}


def check(lines: list[str], index: str, read_at_most: int) -> None:
    shown = "\n".join(lines)
    for place, line in enumerate(lines):
        if scan := re.search(rf"Index (Only )?Scan .*using ({'|'.join(LEADING)})\b", line):
            condition = next((line for line in lines[place + 1 : place + 3] if line.startswith("Index Cond")), "")
            assert LEADING[scan[2]] in condition, shown
    access = r"Index (Only )?Scan (Backward )?using|Bitmap Index Scan on|Conflict Arbiter Indexes:"
    assert re.search(rf"({access}) {index}\b", shown), shown
    assert not re.search(rf"Seq Scan on ({'|'.join(BIG)})\b", shown), shown
    assert most_rows(lines, "Sort") <= read_at_most, shown
    assert most_rows(lines, "(?<!Function )Scan ") <= read_at_most, shown
    removed = [int(match[1]) for line in lines if (match := re.search(r"Rows Removed by .*: (\d+)", line))]
    assert max(removed, default=0) <= read_at_most, shown


QUEUE_INDEXES = ["transport_groups_by_available", "transport_groups_pkey", "transport_messages_pkey"]
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
    ("timeline", "SELECT * FROM harel_timeline(md5('7'))", "trace_pkey", 100),
    ("end of a timeline", "SELECT * FROM harel_timeline(md5('7'), NULL, 3)", "trace_pkey", 4),
    ("timeline after an entry", "SELECT * FROM harel_timeline(md5('7'), 97)", "trace_pkey", 3),
    ("tree", f"SELECT * FROM harel_tree({AN_ID}, 3)", "executions_by_parent", 9),
    # Of 2801 in four levels below it; no level needs more than the children of twenty.
    ("top of a tree", "SELECT * FROM harel_tree(md5('1'), 20)", "executions_by_parent", 400),
    ("timers of one", "SELECT * FROM harel_timers(md5('7'), 10)", "timers_pkey", 2),
    ("first timers of all", "SELECT * FROM harel_timers(NULL, 10)", "timers_by_fire_at", 10),
    ("definitions", "SELECT * FROM harel_definitions()", "executions_by_definition", ROWS),
    ("flow", "SELECT * FROM harel_flow('d1', 5)", "executions_by_definition", 100),
    ("traces of a flow", "SELECT * FROM harel_flow('d1', 5)", "trace_pkey", 100),
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


NEXT_Q: LiteralString = "'q' || nextval('turn')"
LEASES: LiteralString = """
    SELECT array_agg(group_id) AS groups, array_agg(token) AS tokens, array_agg(n::integer) AS places
    FROM harel_next('w', 30, 10) WITH ORDINALITY AS n (group_id, seq, event, token, d, a, de, da, v, s, p, n)
"""
FINISH: LiteralString = f"""
    SELECT f.result FROM ({LEASES}) l, harel_finish(
        l.groups, l.tokens, array_fill('d'::text, '{{10}}'), array_fill('{{}}'::text, '{{10}}'),
        array_fill(1::bigint, '{{10}}'), array_fill('ev'::text, '{{10}}'),
        l.places, ARRAY(SELECT 'q' || 900 + n FROM generate_series(1, 10) n), array_fill('{{}}'::text, '{{10}}'),
        l.places, ARRAY(SELECT gen_random_uuid()::text FROM generate_series(1, 10)),
        array_fill('p'::text, '{{10}}'), array_fill('{{}}'::text, '{{10}}'),
        l.places, array_fill('schedule'::text, '{{10}}'), array_fill('a'::text, '{{10}}'),
        array_fill(1e9::double precision, '{{10}}'), array_fill('step'::text, '{{10}}'), 1
    ) f
"""
CLOCK: LiteralString = "extract(epoch FROM clock_timestamp())"

# A row that was changed again and again in this transaction has that many entries in its index.
VERSIONS = 100

# The indexes that a call must use, and how many rows any step of it may read.
QUEUE_CASES: list[tuple[str, LiteralString, list[str], int]] = [
    (
        "claim",
        "SELECT * FROM harel_claim('w', 30, 10)",
        ["transport_groups_by_available", "transport_messages_pkey"],
        10,
    ),
    (
        "claim with a clock",
        f"SELECT * FROM harel_claim('w', 30, 10, p_now => {CLOCK})",
        ["transport_groups_by_available"],
        10,
    ),
    ("claim urgent", "SELECT * FROM harel_claim('w', 30, 10, 1)", ["transport_groups_by_priority"], 10),
    ("claim most urgent", "SELECT * FROM harel_claim('w', 30, 10, 4)", ["transport_groups_by_priority"], 10),
    (
        "next",
        "SELECT * FROM harel_next('w', 30, 10)",
        [
            "transport_groups_by_available",
            "transport_groups_by_priority",
            "transport_messages_pkey",
            "executions_pkey",
            "processed_events_pkey",
        ],
        10,
    ),
    ("next urgent", "SELECT * FROM harel_next('w', 30, 10, 1)", ["transport_groups_by_priority"], 10),
    (
        "next of unknown executions",
        "SELECT harel_publish('unknown', 'a', 4, 0), harel_next('w', 30, 1, 4, p_now => 1)",
        ["spawns_by_child", "transport_messages_pkey"],
        VERSIONS,
    ),
    ("publish", f"SELECT harel_publish({NEXT_Q}, 'a')", ["transport_groups_pkey"], 0),
    (
        "publish many",
        f"SELECT harel_publish_many(ARRAY(SELECT {NEXT_Q} FROM generate_series(1, 9)), array_fill('a'::text, '{{9}}'))",
        ["transport_groups_pkey"],
        10,
    ),
    ("send", f"SELECT harel_send({NEXT_Q}, 'a')", ["executions_pkey"], 1),
    (
        "ack",
        "SELECT harel_ack(group_id, token) FROM harel_claim('w', 30)",
        ["transport_groups_pkey", "transport_messages_pkey"],
        VERSIONS,
    ),
    ("nack", "SELECT harel_nack(group_id, token) FROM harel_claim('w', 30)", ["transport_groups_pkey"], VERSIONS),
    (
        "last nack",
        "SELECT harel_nack(group_id, token, 0, '', 1) FROM harel_claim('w', 30)",
        ["transport_groups_pkey", "transport_messages_pkey"],
        VERSIONS,
    ),
    ("extend", f"SELECT harel_extend(groups, tokens, 60) FROM ({LEASES}) l", ["transport_groups_pkey"], 10),
    (
        "finish",
        FINISH,
        ["executions_pkey", "transport_groups_pkey", "transport_messages_pkey", "outbox_by_target"],
        VERSIONS,
    ),
    (
        "relay",
        "SELECT harel_relay(10)",
        ["outbox_targeted", "outbox_pkey", "transport_groups_pkey", "executions_pkey"],
        10,
    ),
    ("relay spawns", "SELECT harel_relay_spawns(10)", ["spawns_pkey", "executions_pkey"], 10),
    ("no timers to fire", "SELECT harel_fire_timers(5)", ["timers_by_fire_at"], 0),
    ("timers to fire", "SELECT harel_fire_timers(2000000, 3)", ["timers_by_fire_at", "transport_groups_pkey"], 3),
    (
        "tick",
        "SELECT * FROM harel_tick(10, 1000000)",
        ["timers_by_fire_at", "transport_groups_by_available", "outbox_targeted", "spawns_pkey"],
        10,
    ),
    ("take outbox", "SELECT * FROM harel_take_outbox(10)", ["outbox_pkey"], 10),
    ("settle outbox", "SELECT harel_settle_outbox('{1,2,3}')", ["outbox_pkey"], 3),
    ("queue", "SELECT * FROM harel_queue(NULL, NULL, 10)", QUEUE_INDEXES, 10),
    ("waiting groups", "SELECT * FROM harel_queue(NULL, 'waiting', 10)", QUEUE_INDEXES, 10),
    ("suspended groups", "SELECT * FROM harel_queue(NULL, 'held', 10)", QUEUE_INDEXES, 10),
    ("one group", "SELECT * FROM harel_queue('q7')", ["transport_groups_pkey", "transport_messages_pkey"], 1),
    ("dead letters", "SELECT * FROM harel_dead_letters(NULL, 10)", ["dead_letters_by_time"], 10),
    ("dead letters of a group", "SELECT * FROM harel_dead_letters('q7')", ["dead_letters_by_group"], 5),
    ("redrive some", "SELECT harel_redrive(p_limit => 10)", ["dead_letters_by_time"], 10),
    ("redrive a group", f"SELECT harel_redrive({NEXT_Q})", ["dead_letters_by_group"], 10),
    (
        "redrive one",
        "SELECT harel_redrive(p_id => (SELECT id FROM dead_letters ORDER BY dead_at DESC LIMIT 1))",
        ["dead_letters_pkey"],
        1,
    ),
    ("redrive none", "SELECT harel_redrive(p_id => gen_random_uuid())", ["dead_letters_pkey"], 0),
    (
        "suspend",
        f"SELECT harel_suspend({NEXT_Q})",
        ["executions_pkey", "executions_by_parent", "transport_groups_pkey"],
        VERSIONS,
    ),
    (
        "resume",
        "SELECT harel_resume('q' || currval('turn'))",
        ["transport_groups_pkey", "executions_by_parent"],
        VERSIONS,
    ),
    (
        "cancel",
        f"SELECT harel_cancel({NEXT_Q})",
        ["executions_pkey", "executions_by_parent", "transport_messages_pkey", "timers_pkey", "spawns_by_parent"],
        VERSIONS,
    ),
    (
        "purge",
        "SELECT harel_purge(id, version) FROM executions WHERE id = 'q' || (SELECT nextval('turn'))",
        [
            "executions_pkey",
            "transport_groups_pkey",
            "transport_messages_pkey",
            "dead_letters_by_group",
            "timers_pkey",
            "trace_pkey",
            "processed_events_pkey",
            "spawns_by_parent",
            "outbox_by_target",
        ],
        VERSIONS,
    ),
    ("ids with prefix", "SELECT * FROM harel_ids_with_prefix('7f')", ["executions_pkey"], 200),
    ("ids with prefix, limit", "SELECT * FROM harel_ids_with_prefix('q', 10)", ["executions_pkey"], 60),
]


SHARDS: LiteralString = f"""
    INSERT INTO shards VALUES ('here', true, now()), ('there', false, now()), ('nowhere', false, now());
    UPDATE outbox SET shard = CASE WHEN seq % 4 = 0 THEN 'nowhere' ELSE 'there' END WHERE seq % 2 = 0;
    UPDATE spawns SET shard = 'there' WHERE seq % 2 = 0;
    INSERT INTO shard_receipts (sender, seq, receipt, received_at)
    SELECT 'there', n, md5(n::text)::uuid, to_timestamp(n) FROM generate_series(1, {ROWS}) n;
    ANALYZE shards, shard_receipts, spawns;
"""
RECEIVE: LiteralString = (
    "SELECT harel_receive_events('there', array_agg(n), array_agg(id), array_agg('e'::text))"
    " FROM (SELECT n, id FROM generate_series(1, 1000) n, LATERAL (SELECT 'r' || n) AS i (id)"
    " WHERE harel_shard_of(id) = 'here' LIMIT 9) e"
)
SHARD_READS: list[tuple[str, LiteralString, list[str], int]] = [
    ("waiting shards", "SELECT * FROM harel_waiting_shards()", ["outbox_targeted", "spawns_by_shard"], 2),
    ("foreign outbox", "SELECT * FROM harel_foreign_outbox('there', 10)", ["outbox_targeted", "spawns_by_child"], 10),
    ("none of the foreign outbox", "SELECT * FROM harel_foreign_outbox('else')", ["outbox_targeted"], 0),
    ("foreign spawns", "SELECT * FROM harel_foreign_spawns('there', 10)", ["spawns_by_shard", "executions_pkey"], 20),
]
SHARD_CASES: list[tuple[str, LiteralString, list[str], int]] = [
    *SHARD_READS,
    # Each of ten is compared with each of their groups.
    ("relay", "SELECT harel_relay(10)", ["outbox_targeted"], 100),
    ("relay spawns", "SELECT harel_relay_spawns(10)", ["spawns_pkey"], 100),
    ("receive events", RECEIVE, ["shard_receipts_pkey", "transport_groups_pkey"], 100),
    ("settle spawns", "SELECT harel_settle_spawns('{1,2,3}')", ["spawns_pkey"], 3),
    ("purge receipts", "SELECT harel_purge_receipts(0, 10)", ["shard_receipts_by_time"], 10),
    ("suspend tree", "SELECT * FROM harel_suspend_tree(ARRAY[md5('1999')])", ["executions_by_parent"], 20),
]


def test_shards(plans: Plans) -> None:
    plans.connection.execute("SET client_min_messages = warning")
    plans.connection.execute(SHARDS)
    plans.connection.commit()
    plans.connection.execute("SET client_min_messages = notice")
    check_cases(plans, SHARD_CASES)


def check_cases(plans: Plans, cases: list[tuple[str, LiteralString, list[str], int]]) -> None:
    for _ in range(CALLS):
        for name, call, indexes, limit in cases:
            lines = plans.of(call)
            for index in indexes:
                check([f"Call: {name}", *lines], index, limit)


@pytest.mark.parametrize(
    ("without", "youngest"),
    [*((table, None) for table in ("nothing", *FEW)), ("outbox", "outbox_by_target"), ("outbox", "outbox_targeted")],
)
def test_queue_with_plans_kept_from_a_small_one(
    explained: psycopg.Connection, without: str, youngest: str | None
) -> None:
    """A session that began when there was next to nothing, and was there when twenty thousand groups came.

    An operator's calls for dead letters may be planned for those that there were. Of indexes that seem equally cheap
    the planner takes the youngest, which an upgrade, a dump and REINDEX change; the outbox is empty whenever it is
    analyzed.
    """
    connection = explained
    if youngest:
        connection.commit()
        connection.autocommit = True
        connection.execute(sql.SQL("REINDEX INDEX CONCURRENTLY {}").format(sql.Identifier(youngest)))
        connection.autocommit = False
    cases = [case for case in QUEUE_CASES if not re.match("dead letters|redrive", case[0])]
    connection.execute(ANALYZE_EMPTY + QUEUE_TABLES + ANALYZE)
    # Which tells all sessions, this one too, to plan anew.
    connection.commit()
    for table, rows in FEW.items():
        if table != without:
            connection.execute(rows)
    connection.commit()
    for _ in range(CALLS):
        for _, call, _, _ in cases:
            # What there is nothing for, such as a lease to finish, is refused.
            with suppress(psycopg.Error), connection.transaction(force_rollback=True):
                connection.execute(call)
    connection.execute(EMPTY)
    connection.execute("DELETE FROM transport_groups; DELETE FROM transport_messages; DELETE FROM dead_letters;")
    connection.execute(FILL + QUEUE_ROWS + GROUPS)
    connection.execute("SELECT setval('transport_lift_at', 9000000000000000), setval('transport_floor', 0)")
    connection.commit()
    check_cases(listen(connection), cases)


def test_queue(queue: Plans) -> None:
    check_cases(queue, QUEUE_CASES)


@pytest.mark.parametrize("priority", [0, 3])
def test_no_claim_steps_over_what_is_gone(queue: Plans, priority: int) -> None:
    """As long as a transaction is open, nobody may remove the index entries of the groups that are deleted in it."""
    queue.connection.execute("UPDATE transport_groups SET priority = %s", [priority])
    queue.connection.execute("DELETE FROM transport_groups")
    queue.connection.execute("SELECT setval('transport_floor', (extract(epoch FROM now()) * 1000000)::bigint)")
    queue.connection.execute("SET LOCAL auto_explain.log_buffers = on")
    for _ in range(CALLS):
        for name in ("harel_claim", "harel_next"):
            for least in (0, 3):
                queue.connection.execute(LEAVE_FLOOR)
                lines = queue.of(f"SELECT * FROM {name}('w', 30, 10, {least})")
                buffers = [int(match[1]) for line in lines if (match := re.search(r"Buffers: shared hit=(\d+)", line))]
                assert 0 < max(buffers) < 20, "\n".join([f"Call: {name} from {least}", *lines])


def test_no_plan_is_compiled(explained: psycopg.Connection) -> None:
    """What is forbidden, and cannot be avoided, costs so much before PostgreSQL 18 that the plan would be compiled."""
    explained.execute(calls.STORE)
    plans = listen(explained)
    explained.execute("SET auto_explain.log_settings = on; SET jit_above_cost = 100000; SET jit = on")
    seen = 0
    for name, function in calls.FUNCTIONS.items():
        # There is nothing to adopt, and nowhere to spread the store over.
        with suppress(psycopg.DatabaseError), explained.transaction(force_rollback=True):
            plans.of(calls.call(name, function.arguments))
        for text in plans.notices:
            seen += 1
            cost = max((float(cost) for cost in re.findall(r"cost=[\d.]+\.\.([\d.]+)", text)), default=0)
            assert cost < 100000 or "jit = 'off'" in text, f"{name}: {text}"
    assert seen > len(calls.FUNCTIONS)


def test_a_plan_without_the_index_is_caught(plans: Plans) -> None:
    plans.connection.execute("ALTER TABLE timers DROP CONSTRAINT timers_pkey")
    plans.connection.execute("UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'timers_by_fire_at'::regclass")
    with pytest.raises(AssertionError, match="Seq Scan on timers"):
        check(plans.of("SELECT * FROM harel_due_timers(5)"), "timers_by_fire_at", 0)
