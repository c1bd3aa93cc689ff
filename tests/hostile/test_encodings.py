"""Databases of other encodings and orders, and connections of other encodings."""

from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo
from test_sql_functions import signatures
from values import hostile
from watch import OF_A_TYPE, Watch

from harel import Event, Execution, InvalidArgument, TimerOp

DATABASES = {
    "latin1": "ENCODING 'LATIN1' LOCALE 'C'",
    "sql_ascii": "ENCODING 'SQL_ASCII' LOCALE 'C'",
    "swedish": "ENCODING 'UTF8' LOCALE 'C' LOCALE_PROVIDER icu ICU_LOCALE 'sv'",
}
# What reads texts, breaks fields out of them, or makes new ones of them.
ESSENTIAL = ["harel_commit_cas", "harel_list", "harel_ids_with_prefix", "harel_publish"]

Database = Callable[[str], str]


@pytest.fixture
def database(dsn: str) -> Iterator[Database]:
    """Makes a database like one of DATABASES, with a store in it; gives its DSN."""
    made: list[sql.Identifier] = []
    with psycopg.connect(dsn, autocommit=True) as session:

        def make(kind: str) -> str:
            name = f"{session.info.dbname}_{kind}"
            try:
                session.execute(f'CREATE DATABASE "{name}" TEMPLATE template0 {DATABASES[kind]}')
            except (psycopg.errors.SyntaxError, psycopg.errors.FeatureNotSupported, psycopg.errors.DataError) as error:
                pytest.skip(f"this server has no such database: {error}")
            made.append(sql.Identifier(name))
            with psycopg.connect(dsn, dbname=name) as store:
                store.execute("CREATE EXTENSION harel")
            return make_conninfo(dsn, dbname=name)

        yield make
        for name in made:
            session.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(name))


@pytest.mark.parametrize("kind", DATABASES)
def test_each_argument_may_be_anything(database: Database, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Nor is a text that the encoding of the database has no character for.
    monkeypatch.setattr("watch.OF_A_TYPE", OF_A_TYPE | {"22P05"})
    with psycopg.connect(database(kind), client_encoding="utf8") as session:
        watch = Watch(session)
        for name in ESSENTIAL:
            for argument, type in signatures(session)[name].items():
                for value in hostile(argument, type) if type == "text" else ():
                    watch.try_out(name, {argument: value})
        session.rollback()
    assert not watch.faults, "\n".join(watch.faults[:20])
    assert watch.accepted > 100


def test_bytes_of_no_encoding_stop_nobody(database: Database) -> None:
    with psycopg.connect(database("sql_ascii"), autocommit=True) as session:
        session.execute(
            r"""
            SELECT harel_commit(
                'a' || b, 'd', '{"status": "RUNNING"}', 0, p_emit_targets => ARRAY[b], p_emit_events => ARRAY[b],
                p_spawn_children => ARRAY['c' || b], p_spawn_root_paths => ARRAY[b], p_spawn_contexts => '{0}',
                p_timer_actions => '{schedule}', p_timer_paths => ARRAY[b], p_timer_fire_ats => '{1}', p_trace => b
            ), harel_commit_cas('b', 'd', '{"status": "RUNNING"}', 0)
            FROM convert_from('\xffe282'::bytea, 'SQL_ASCII') b
            """
        )
        first = "SELECT octet_length(id), next_cursor FROM harel_list(p_limit => 1)"
        assert session.execute(f"SELECT octet_length FROM ({first}) p").fetchall() == [(4,)]
        second = f"SELECT encode(l.id::bytea, 'hex') FROM ({first}) p, harel_list(p_cursor => p.next_cursor) l"
        assert session.execute(second).fetchall() == [(b"62",)]
        assert session.execute("SELECT spawned, relayed, fired FROM harel_tick()").fetchone() == (1, 1, 1)
        given = session.execute(
            "SELECT encode(decode(group_id, 'escape'), 'hex') FROM harel_next('w', 30, 10)"
        ).fetchall()
        assert sorted(given) == [(b"61ffe282",), (b"63ffe282",)]


@pytest.mark.parametrize("kind", ["latin1", "sql_ascii"])
def test_data_keeps_its_status_whatever_it_escapes(database: Database, kind: str) -> None:
    with psycopg.connect(database(kind), autocommit=True, client_encoding="utf8") as session:
        for name, data in {
            "euro": r'{"status": "SUSPENDED", "context": "\u20ac"}',
            "half": r'{"status": "SUSPENDED", "context": "\ud800"}',
            "nul": r'{"status": "SUSPENDED", "context": "\u0000", "active_path": "/\u20ac"}',
        }.items():
            session.execute("SELECT harel_commit_cas(%s, 'd', %s, 0)", (name, data))
            assert session.execute("SELECT harel_load(%s)", (name,)).fetchone() == (data,)
        assert len(session.execute("SELECT id FROM harel_list(p_statuses => '{SUSPENDED}')").fetchall()) == 3
        assert session.execute("SELECT harel_cancel_all(p_statuses => '{SUSPENDED}')").fetchone() == (3,)
        assert len(session.execute("SELECT id FROM harel_list(p_statuses => '{CANCELLED}')").fetchall()) == 3


@pytest.mark.parametrize("kind", DATABASES)
def test_ids_keep_the_order_of_their_bytes(database: Database, kind: str) -> None:
    with psycopg.connect(database(kind), autocommit=True, client_encoding="utf8") as session:
        for id in ("a", "B", "ä", "z", "Z", "_", "ab", "A b"):
            session.execute("SELECT harel_commit_cas(%s, 'd', '{}', 0)", (id,))
        listed = [id for (id,) in session.execute("SELECT id FROM harel_list()")]
        assert listed == ["A b", "B", "Z", "_", "a", "ab", "z", "ä"]


@pytest.mark.parametrize("kind", DATABASES)
def test_the_clients_work_with_what_the_database_can_hold(twin: Any, database: Database, kind: str) -> None:
    where = database(kind)
    store, transport = twin.store(where), twin.transport(where)
    exe = Execution(id="é", definition_id="d", context={"a": "ü\0\ud800"})
    store.commit(exe, [("é", Event(kind="É"))], timers=[TimerOp("schedule", "/ß", 1.0)], trace={"å": "ø"})
    assert store.load("é") == exe
    assert store.read_trace("é") == [{"å": "ø", "index": 0}]
    assert [item.id for item in store.list_executions().items] == ["é"]
    assert transport.tick().relayed == 1
    assert [delivery.execution.id for delivery in transport.next("w", 30.0, 10)] == ["é"]
    owl = Execution(id="🦉", definition_id="d")
    if kind == "latin1":
        with pytest.raises(InvalidArgument, match="ST012"):
            store.save(owl)
        assert owl.version == 0
    else:
        store.save(owl)
        assert store.load("🦉") == owl
    assert store.load("é") == exe


def test_a_connection_of_another_encoding_refuses_what_it_cannot_send(twin: Any, store_dsn: str) -> None:
    """Injected: its encoding is the caller's choice."""
    store = twin.store(twin.connect(store_dsn, client_encoding="latin1"))
    exe = Execution(id="é", definition_id="d")
    store.save(exe)
    with pytest.raises(InvalidArgument, match="ST012"):
        store.save(Execution(id="🦉", definition_id="d"))
    assert store.load("é") == exe


def test_a_client_of_its_own_speaks_utf8_whatever_the_dsn_says(twin: Any, store_dsn: str) -> None:
    store = twin.store(make_conninfo(store_dsn, client_encoding="latin1"))
    exe = Execution(id="🦉", definition_id="d")
    store.save(exe)
    assert store.load("🦉") == exe
