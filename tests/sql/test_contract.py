"""What the catalog must say of the extension: its tables, its functions, and who may do what."""

import re
from contextlib import suppress
from pathlib import Path
from typing import Any, LiteralString

import psycopg
import pytest
from psycopg import sql

from calls import FUNCTIONS, STORE, call
from cluster import SHARDS

INDEXES = Path(__file__).parents[2] / "extension/sql/21_indexes.sql"

COLUMNS = {
    "executions": {"id": "text", "definition_id": "text", "data": "text", "version": "integer"},
    "outbox": {"seq": "bigint", "target_id": "text", "event": "text"},
    "processed_events": {"execution_id": "text", "event_id": "text"},
    "timers": {"execution_id": "text", "path": "text", "fire_at": "double precision"},
    "spawns": {"seq": "bigint", "parent_id": "text", "child_id": "text", "root_path": "text", "context": "text"},
    "trace": {"execution_id": "text", "idx": "integer", "entry": "text"},
    "transport_groups": {"group_id": "text", "available_at": "double precision", "head": "bigint", "tail": "bigint"},
    "transport_messages": {"group_id": "text", "seq": "bigint", "event": "text"},
    "dead_letters": {"group_id": "text", "id": "uuid", "seq": "bigint", "event": "text", "reason": "text"},
    "shards": {"name": "text", "is_here": "boolean", "joined_at": "timestamp with time zone"},
    "shard_receipts": {
        "sender": "text",
        "seq": "bigint",
        "receipt": "uuid",
        "received_at": "timestamp with time zone",
    },
}
NULLABLE = {("outbox", "target_id"), ("shards", "joined_at")}
PRIMARY_KEYS = {
    "executions": ["id"],
    "outbox": ["seq"],
    "processed_events": ["execution_id", "event_id"],
    "timers": ["execution_id", "path"],
    "spawns": ["seq"],
    "trace": ["execution_id", "idx"],
    "transport_groups": ["group_id"],
    "transport_messages": ["group_id", "seq"],
    "dead_letters": ["id"],
    "shards": ["name"],
    "shard_receipts": ["sender", "seq", "receipt"],
}
# On several nodes a key holds the column by which rows are spread.
SPREAD_KEYS = {
    "outbox": ["source_id", "version", "ord", "seq"],
    "spawns": ["parent_id", "version", "ord", "seq"],
    "dead_letters": ["group_id", "id"],
}
SPREAD_INDEXES = {"outbox_by_seq", "spawns_by_seq"}
EXTRA = {
    "executions": {
        "status": "text",
        "outcome": "text",
        "active_path": "text",
        "parent_id": "text",
        "priority": "smallint",
        "created_at": "timestamp with time zone",
        "updated_at": "timestamp with time zone",
        "finished_at": "timestamp with time zone",
        "commit_id": "uuid",
    },
    "outbox": {"source_id": "text", "shard": "text"},
    "spawns": {"shard": "text"},
    "transport_groups": {
        "priority": "smallint",
        "attempts": "integer",
        "token": "uuid",
        "worker": "text",
        "claimed_at": "timestamp with time zone",
    },
    "transport_messages": {"published_at": "timestamp with time zone"},
    "dead_letters": {
        "attempts": "integer",
        "published_at": "timestamp with time zone",
        "delivered_at": "timestamp with time zone",
        "dead_at": "timestamp with time zone",
    },
}
# Their values are good for the server that they are on: a store restored from a dump begins anew.
REGISTERS = {"transport_floor", "transport_tend_at", "transport_lift_at", "transport_asleep_until"}

READERS = {name for name, function in FUNCTIONS.items() if function.volatility != "v"}
OWNERS = {"harel_grant", "harel_adopt", "harel_protect", "harel_distribute"}
WORKERS = set(FUNCTIONS) - OWNERS

# Only functions that pin it call these; to set it again costs as much as the rest of the call.
UNPINNED = {"harel__swap", "harel__commit", "harel__push_trace"}

ROLES = pytest.mark.one_server("other nodes see a role once it is committed, and not in the transaction of the test")

MEMBERS: LiteralString = """
    SELECT d.objid FROM pg_depend d JOIN pg_extension e ON d.refobjid = e.oid
    WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e' AND e.extname = 'harel'
"""


def rows(connection: psycopg.Connection, query: LiteralString) -> list[tuple[Any, ...]]:
    return connection.execute(query).fetchall()


def functions(connection: psycopg.Connection, column: LiteralString) -> dict[str, object]:
    """One column of pg_proc for each function of the extension. No two have one name."""
    found = rows(
        connection, f"SELECT p.proname, {column} FROM pg_proc p WHERE p.oid IN ({MEMBERS}) AND p.proname ~ '^harel_'"
    )
    names = [name for name, _ in found]
    assert len(names) == len(set(names)) >= len(FUNCTIONS)
    return dict(found)


def test_public_functions_are_those_of_the_contract(postgresql: psycopg.Connection) -> None:
    assert {name for name in functions(postgresql, "1") if not name.startswith("harel__")} == set(FUNCTIONS)


def test_every_function_of_the_extension_bears_its_name(postgresql: psycopg.Connection) -> None:
    strangers = f"SELECT p.proname FROM pg_proc p WHERE p.oid IN ({MEMBERS}) AND p.proname !~ '^harel_'"
    assert rows(postgresql, strangers) == []


def test_every_function_has_a_comment_of_a_sentence(postgresql: psycopg.Connection) -> None:
    comments = functions(postgresql, "obj_description(p.oid, 'pg_proc')")
    bare = [name for name, comment in comments.items() if not re.match(r"\S+ .* .*\.$", str(comment), re.DOTALL)]
    assert bare == []


def test_every_search_path_is_pinned(postgresql: psycopg.Connection) -> None:
    settings = functions(postgresql, "coalesce(p.proconfig, '{}')")
    pinned = {name for name, config in settings.items() if "search_path=pg_catalog, pg_temp" in list(config)}  # type: ignore[call-overload]
    assert set(settings) - pinned == UNPINNED


def test_readers_are_stable_and_writers_volatile(postgresql: psycopg.Connection) -> None:
    volatilities = functions(postgresql, "p.provolatile")
    assert {name: volatilities[name] for name in FUNCTIONS} == {
        name: function.volatility for name, function in FUNCTIONS.items()
    }


def test_what_catches_errors_is_kept_out_of_parallel_plans(postgresql: psycopg.Connection) -> None:
    """To catch an error is to begin a subtransaction, which PostgreSQL refuses in a parallel plan before version 17."""
    # Texts name functions without calling them.
    bodies = {name: re.sub(r"--.*|'[^']*'", "", str(body)) for name, body in functions(postgresql, "p.prosrc").items()}
    catching = {name for name, body in bodies.items() if "EXCEPTION WHEN" in body}
    found: set[str] = set()
    while catching - found:
        found |= catching
        calls = re.compile(rf"\.({'|'.join(found)})\(")
        catching = {name for name, body in bodies.items() if calls.search(body)}
    labels = functions(postgresql, "p.proparallel")
    assert {name: labels[name] for name in found} == dict.fromkeys(found, "u")


def test_no_function_is_strict_or_security_definer(postgresql: psycopg.Connection) -> None:
    assert set(functions(postgresql, "p.proisstrict OR p.prosecdef").values()) == {False}


def test_public_has_no_privilege(postgresql: psycopg.Connection) -> None:
    executable = functions(postgresql, "has_function_privilege('public', p.oid, 'EXECUTE')")
    assert [name for name, granted in executable.items() if granted] == []
    relations = f"""
        SELECT c.relname, a.privilege_type
        FROM pg_class c, aclexplode(coalesce(c.relacl, acldefault(c.relkind::"char", c.relowner))) a
        WHERE c.oid IN ({MEMBERS}) AND a.grantee = 0
    """
    assert rows(postgresql, relations) == []


def test_every_table_and_sequence_is_dumped_but_for_the_registers(postgresql: psycopg.Connection) -> None:
    relations = f"SELECT c.relname FROM pg_class c WHERE c.oid IN ({MEMBERS}) AND c.relkind IN ('r', 'S')"
    dumped = "SELECT c.relname FROM pg_class c, pg_extension e WHERE c.oid = ANY (e.extconfig) AND e.extname = 'harel'"
    conditions = "SELECT DISTINCT unnest(extcondition) FROM pg_extension WHERE extname = 'harel'"
    names = {name for (name,) in rows(postgresql, relations)}
    assert names == {*COLUMNS, "outbox_seq_seq", "spawns_seq_seq", "shards_joined", *REGISTERS}
    assert {name for (name,) in rows(postgresql, dumped)} == names - REGISTERS
    assert rows(postgresql, conditions) == [("",)]


@pytest.mark.parametrize("table", COLUMNS)
def test_tables_have_the_columns_and_keys_of_the_contract(postgresql: psycopg.Connection, table: str) -> None:
    found = postgresql.execute(
        "SELECT a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull FROM pg_attribute a"
        " WHERE a.attrelid = %s::regclass AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum",
        [table],
    ).fetchall()
    types = {name: kind for name, kind, _ in found}
    assert list(types.items())[: len(COLUMNS[table])] == list(COLUMNS[table].items())
    assert types.items() >= EXTRA.get(table, {}).items()
    contract = {name: required for name, _, required in found if name in COLUMNS[table]}
    assert contract == {name: (table, name) not in NULLABLE for name in COLUMNS[table]}
    key = postgresql.execute(
        "SELECT array_agg(a.attname::text ORDER BY k.place) FROM pg_index i"
        " CROSS JOIN unnest(i.indkey) WITH ORDINALITY AS k (attnum, place)"
        " JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum"
        " WHERE i.indrelid = %s::regclass AND i.indisprimary",
        [table],
    ).fetchone()
    assert key == ((SPREAD_KEYS if SHARDS else {}).get(table, PRIMARY_KEYS[table]),)


def test_ids_compare_as_bytes(postgresql: psycopg.Connection) -> None:
    other = f"""
        SELECT c.relname, a.attname FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
        WHERE c.oid IN ({MEMBERS}) AND c.relkind = 'r' AND a.attname ~ '(^|_)id$'
            AND a.attcollation NOT IN (0, '"C"'::regcollation)
    """
    assert rows(postgresql, other) == []


@ROLES
@pytest.mark.parametrize("access", [None, "none", "reader", "worker"])
def test_each_access_allows_its_functions_and_no_others(postgresql: psycopg.Connection, access: str | None) -> None:
    postgresql.execute(STORE)
    postgresql.execute("CREATE ROLE harel_contract_role")
    if access:
        postgresql.execute("SELECT harel_grant('harel_contract_role', %s)", [access])
    allowed: set[str] = set()
    refused: dict[str, str] = {}
    for name, function in FUNCTIONS.items():
        with postgresql.transaction(force_rollback=True):
            if function.before:
                postgresql.execute(function.before)
            postgresql.execute("SET LOCAL ROLE harel_contract_role")
            try:
                postgresql.execute(call(name, function.arguments))
                allowed.add(name)
            except psycopg.errors.InsufficientPrivilege as error:
                refused[name] = str(error)
    postgresql.rollback()
    assert allowed == {"reader": READERS, "worker": WORKERS}.get(access or "", set())
    assert set(refused) == set(FUNCTIONS) - allowed
    assert [
        name for name, message in refused.items() if f"permission denied for function {name}\n" not in f"{message}\n"
    ] == []


TABLE_CALLS: dict[str, LiteralString] = {
    "SELECT": "SELECT * FROM {0}",
    "INSERT": "INSERT INTO {0} SELECT * FROM {0} WHERE false",
    "UPDATE": "UPDATE {0} SET {1} = {1} WHERE false",
    "DELETE": "DELETE FROM {0} WHERE false",
    "TRUNCATE": "TRUNCATE {0}",
    "TRIGGER": "CREATE TRIGGER t BEFORE INSERT ON {0} EXECUTE FUNCTION suppress_redundant_updates_trigger()",
    "ALTER": "ALTER TABLE {0} ADD x int",
    "DROP": "DROP TABLE {0}",
}
SEQUENCE_CALLS: dict[str, LiteralString] = {
    "SELECT": "SELECT last_value FROM {0}",
    "USAGE": "SELECT nextval('{0}')",
    "UPDATE": "SELECT setval('{0}', 5)",
}


@ROLES
@pytest.mark.parametrize("access", [None, "none", "reader", "worker"])
def test_each_access_allows_its_tables_and_sequences_and_no_others(
    postgresql: psycopg.Connection, access: str | None
) -> None:
    postgresql.execute("CREATE ROLE harel_contract_role")
    if access:
        postgresql.execute("SELECT harel_grant('harel_contract_role', %s)", [access])
    sequences = ["outbox_seq_seq", "spawns_seq_seq", "shards_joined", *sorted(REGISTERS)]
    calls = [(table, *item) for table in COLUMNS for item in TABLE_CALLS.items()]
    calls += [(sequence, *item) for sequence in sequences for item in SEQUENCE_CALLS.items()]
    allowed: set[tuple[str, str]] = set()
    postgresql.execute("SET LOCAL ROLE harel_contract_role")
    for relation, action, statement in calls:
        column = sql.Identifier(next(iter(COLUMNS.get(relation, {"": ""}))))
        with suppress(psycopg.errors.InsufficientPrivilege), postgresql.transaction(force_rollback=True):
            postgresql.execute(sql.SQL(statement).format(sql.Identifier(relation), column))
            allowed.add((relation, action))
    postgresql.rollback()
    readable = {(relation, "SELECT") for relation in (*COLUMNS, *sequences)}
    writable = {(table, action) for table in COLUMNS for action in ("INSERT", "UPDATE", "DELETE")}
    writable |= {(sequence, action) for sequence in sequences for action in ("USAGE", "UPDATE")}
    assert allowed == {"reader": readable, "worker": readable | writable}.get(access or "", set())


@ROLES
@pytest.mark.parametrize("access", [None, "none", "reader", "worker"])
def test_each_access_allows_its_internal_functions_and_no_others(
    postgresql: psycopg.Connection, access: str | None
) -> None:
    postgresql.execute("CREATE ROLE harel_contract_role")
    if access:
        postgresql.execute("SELECT harel_grant('harel_contract_role', %s)", [access])
    executable = functions(postgresql, "has_function_privilege('harel_contract_role', p.oid, 'EXECUTE')")
    volatile = functions(postgresql, "p.provolatile = 'v'")
    internal = {name for name in executable if name.startswith("harel__")}
    expected = {"worker": internal, "reader": {name for name in internal if not volatile[name]}}.get(
        access or "", set()
    )
    assert {name for name in internal if executable[name]} == expected


@ROLES
@pytest.mark.parametrize("access", ["reader", "worker"])
def test_a_grant_leaves_no_function_without_its_helpers(postgresql: psycopg.Connection, access: str) -> None:
    """What a public function calls inside must be executable by whoever may call it: here the raising of errors."""
    mistakes: list[tuple[str, LiteralString]] = [
        ("ST007", "SELECT * FROM harel_list(p_cursor => 'x')"),
        ("ST008", "SELECT * FROM harel_pending_outbox(-1)"),
        ("ST006", "SELECT * FROM harel_due_timers('NaN')"),
        ("ST008", "SELECT * FROM harel_dead_letters(NULL, -1)"),
        ("ST001", "SELECT * FROM harel_ids_with_prefix(NULL)"),
    ]
    if access == "worker":
        mistakes += [
            ("ST001", "SELECT harel_commit_cas('', 'd', '{}', 0)"),
            ("ST003", "SELECT harel_commit_cas('e', 'd', 'x', 0)"),
            ("ST004", "SELECT harel_commit('e', 'd', '{}', 0, NULL, '{x}', '{}')"),
            ("ST001", "SELECT harel_outcome('e', 0, NULL)"),
            ("ST001", "SELECT harel_ack_outbox(NULL)"),
            ("ST008", "SELECT * FROM harel_take_outbox(-1)"),
            ("ST001", "SELECT harel_publish('', 'a')"),
            ("ST003", "SELECT harel_publish_many('{e}', '{NULL}')"),
            ("ST010", "SELECT harel_publish('e', 'a', 5)"),
            ("ST006", "SELECT harel_publish('e', 'a', 0, 'NaN')"),
            ("ST011", "SELECT * FROM harel_claim('w', -1)"),
            ("ST008", "SELECT * FROM harel_next('w', 30, NULL)"),
            ("ST001", "SELECT harel_ack('e', NULL)"),
            ("ST004", "SELECT * FROM harel_finish('{e}', '{}', '{}', '{}', '{}')"),
            ("ST008", "SELECT harel_redrive(p_limit => -1)"),
            ("ST008", "SELECT * FROM harel_tick(-1)"),
            ("ST001", "SELECT harel_cancel(NULL)"),
            ("ST002", "SELECT harel_purge('e', NULL)"),
        ]
    postgresql.execute("CREATE ROLE harel_contract_role")
    postgresql.execute("SELECT harel_grant('harel_contract_role', %s)", [access])
    postgresql.execute("SET LOCAL ROLE harel_contract_role")
    for code, mistake in mistakes:
        with pytest.raises(psycopg.Error) as caught, postgresql.transaction():
            postgresql.execute(mistake)
        assert caught.value.sqlstate == code, mistake
    postgresql.rollback()


def test_every_index_names_the_function_that_it_serves(postgresql: psycopg.Connection) -> None:
    lines = INDEXES.read_text(encoding="utf-8").splitlines()
    served: dict[str, str] = {}
    comment = ""
    for line in lines:
        if match := re.match(r"CREATE (?:UNIQUE )?INDEX (\w+) ", line):
            served[match[1]] = comment
        comment = f"{comment}\n{line}".strip() if line.startswith("-- ") else ""
    unserved = {name: comment for name, comment in served.items() if not re.match(r"-- serves harel_\w+\(\)", comment)}
    assert unserved == {}
    named = {name for comment in served.values() for name in re.findall(r"harel_\w+", comment)}
    assert named <= set(FUNCTIONS)
    existing = f"""
        SELECT i.indexrelid::regclass::text FROM pg_index i WHERE i.indrelid IN ({MEMBERS}) AND NOT i.indisprimary
    """
    assert {name for (name,) in rows(postgresql, existing)} == set(served) | (SPREAD_INDEXES if SHARDS else set())
