"""A store with executions of others in it, and what must hold of it whatever a call is given."""

from typing import Any, LiteralString

import psycopg
from psycopg import sql
from values import Value

from calls import FUNCTIONS, STORE, call

# Of everything something that is due, and something that is not.
BYSTANDERS: LiteralString = """
    SELECT harel_commit_cas('by-1', 'by', '{"status": "RUNNING", "version": 1}', 0);
    SELECT harel_commit(
        'by-1', 'by', '{"status": "RUNNING", "version": 2, "active_path": "/a"}', 1, 'ev', '{by-2,NULL}', '{a,b}',
        '{by-child}', '{/r}', '{"{}"}', '{schedule,schedule}', '{due,later}', '{1,4e9}', 'step', 2
    );
    SELECT harel_commit_cas('by-2', 'by', '{"status": "PENDING", "version": 1, "priority": 2}', 0);
    SELECT harel_commit_cas('by-leased', 'by', '{"status": "RUNNING", "version": 1}', 0);
    SELECT harel_commit_cas('by-suspended', 'by', '{"status": "SUSPENDED", "version": 1}', 0);
    SELECT harel_commit_cas('by-done', 'by', '{"status": "DONE", "version": 1, "parent_id": "by-1"}', 0);
    SELECT harel_publish('by-leased', 'x');
    SELECT harel_claim('other', 1e6);
    SELECT harel_publish('by-1', '{"id": "ev"}'), harel_publish('by-2', 'y', 2), harel_publish('by-suspended', 'z');
    INSERT INTO dead_letters (group_id, seq, event, reason, attempts, published_at)
    VALUES ('by-2', 0, 'dead', 'r', 1, now());
"""
# Each table, and the column that says whose a row is.
OWNERS = {
    "executions": "id",
    "outbox": "source_id",
    "processed_events": "execution_id",
    "timers": "execution_id",
    "spawns": "parent_id",
    "trace": "execution_id",
    "transport_groups": "group_id",
    "transport_messages": "group_id",
    "dead_letters": "group_id",
}
# What acts on rows that the call does not name by their execution.
SWEEPS = {
    "harel_ack_outbox",
    "harel_settle_outbox",
    "harel_ack_spawn",
    "harel_settle_spawns",
    "harel_claim",
    "harel_next",
    "harel_redrive",
    "harel_relay",
    "harel_relay_spawns",
    "harel_fire_timers",
    "harel_tick",
    "harel_suspend_all",
    "harel_resume_all",
    "harel_cancel_all",
    "harel_purge_finished",
    "harel_purge_processed",
}
# Refused by the types of the arguments: no such number, uuid, array or text.
OF_A_TYPE = {"22P02", "22003", "22021", "2202E"}

# What a call that is undone has left there: a sequence knows no rollback.
REGISTERS: LiteralString = """
    SELECT setval('transport_floor', -9223372036854775807), setval('transport_tend_at', 0),
        setval('transport_lift_at', 0), setval('transport_asleep_until', 0)
"""

_ROWS = sql.SQL(" UNION ALL ").join(
    sql.SQL(
        "SELECT {0}, md5(string_agg(t::text, ' ' ORDER BY t::text)),"
        " md5(string_agg(t::text, ' ' ORDER BY t::text) FILTER (WHERE starts_with({1}, 'by-'))) FROM {2} t"
    ).format(sql.Literal(table), sql.Identifier(owner), sql.Identifier(table))
    for table, owner in OWNERS.items()
)


def content(session: "psycopg.Connection[Any]") -> dict[str, tuple[str, str]]:
    """By table, a checksum of all rows and one of those of the bystanders."""
    return {table: (every, others) for table, every, others in session.execute(_ROWS)}


def others(rows: dict[str, tuple[str, str]]) -> dict[str, str]:
    """Of the checksums those of the bystanders."""
    return {table: of_others for table, (_, of_others) in rows.items()}


class Watch:
    """Makes calls on a store, each undone, and collects what should not have happened."""

    def __init__(self, session: "psycopg.Connection[Any]") -> None:
        self.faults: list[str] = []
        self.accepted = 0
        self.refused = 0
        self._session = session
        session.execute(STORE)
        session.execute(BYSTANDERS)
        self._before = content(self._session)

    def try_out(self, name: str, hostile: dict[str, Value]) -> None:
        """Calls the function with its good arguments but for the hostile ones."""
        what = f"{name}({', '.join(f'{key} => {str(value)[:60]!r}' for key, value in hostile.items())})"
        with self._session.transaction(force_rollback=True):
            try:
                if FUNCTIONS[name].before:
                    self._session.execute(FUNCTIONS[name].before)
                with self._session.transaction():
                    self._session.execute(call(name, {**FUNCTIONS[name].arguments, **hostile})).fetchall()
            except psycopg.Error as error:
                self.refused += 1
                self.faults += [f"{what}: {fault}" for fault in complaints(error)]
                if content(self._session) != self._before:
                    self.faults.append(f"{what}: refused, and rows were changed")
                return
            self.accepted += 1
            after = content(self._session)
            if FUNCTIONS[name].volatility != "v" and after != self._before:
                self.faults.append(f"{what}: a reader changed rows")
            if name not in SWEEPS:
                self._check_bystanders(what, after)
            if after != self._before:
                self._check_that_all_goes_on(what, untouched=name not in SWEEPS)

    def _check_bystanders(self, what: str, after: dict[str, tuple[str, str]]) -> None:
        if others(after) != others(self._before):
            self.faults.append(f"{what}: changed rows of others, now {others(after)}")

    def _check_that_all_goes_on(self, what: str, untouched: bool) -> None:
        self._session.execute(REGISTERS)
        for check in (_everything_is_read, _the_queue_moves_on, _all_can_be_controlled):
            with self._session.transaction(force_rollback=True):
                try:
                    check(self._session, untouched)
                except (psycopg.Error, AssertionError) as error:
                    self.faults.append(f"{what}: afterwards {check.__name__} fails: {str(error)[:400]}")


def complaints(error: psycopg.Error) -> list[str]:
    """What is wrong with an error, for a caller who has to find out what to do."""
    code, diag = error.sqlstate, error.diag
    if code in OF_A_TYPE and "PL/pgSQL" not in (diag.context or ""):
        return []
    if not (code or "").startswith("ST"):
        return [f"{code} {error}"]
    message = diag.message_primary or ""
    return [
        *(["the message is not one line"] if not message or "\n" in message else []),
        *(["no detail, or a very long one"] if not 0 < len(diag.message_detail or "") < 3_000 else []),
        *(["no hint"] if not diag.message_hint else []),
    ]


def _column(session: "psycopg.Connection[Any]", query: LiteralString, *params: object) -> list[Any]:
    return [row[0] for row in session.execute(query, params)]


def _everything_is_read(session: "psycopg.Connection[Any]", untouched: bool) -> None:
    ids = _column(session, "SELECT id FROM executions ORDER BY id")
    for filters in ("", ", p_statuses => ARRAY(SELECT DISTINCT status FROM executions)"):
        listed: list[str] = []
        cursor = None
        while cursor or not listed:
            page = session.execute(
                f"SELECT id, next_cursor FROM harel_list(p_limit => 3, p_cursor => %s{filters})", (cursor,)
            ).fetchall()
            listed += [id for id, _ in page]
            cursor = page[-1][1]
        assert listed == ids
    assert _column(session, "SELECT harel_ids_with_prefix('')") == ids
    session.execute("SELECT length(harel_load(id)) FROM executions").fetchall()
    session.execute("SELECT r.* FROM executions e, harel_read_trace(e.id) r").fetchall()
    session.execute("SELECT s.*, h.* FROM harel_stats() s LEFT JOIN harel_health('1.1', -1e308) h ON true").fetchall()
    for reader, table in {
        "harel_pending_outbox()": "outbox",
        "harel_pending_spawns()": "spawns",
        "harel_due_timers('Infinity')": "timers",
        "harel_dead_letters()": "dead_letters",
    }.items():
        (found,) = _column(session, f"SELECT count(*) FROM {reader}")
        assert [found] == _column(session, f"SELECT count(*) FROM {table}"), reader


def _the_queue_moves_on(session: "psycopg.Connection[Any]", untouched: bool) -> None:
    session.execute("SELECT harel_tick(NULL)")
    claimed = _column(session, "SELECT group_id FROM harel_next('watch', 30, 100000, p_sleep => 1)")
    session.execute("SELECT harel_redrive()")
    session.execute("SELECT harel_claim('watch', 30, 100000)")
    if untouched:
        assert {"by-1", "by-2", "by-child"} <= set(claimed), claimed
        assert _column(session, "SELECT path FROM timers WHERE execution_id = 'by-1'") == ["later"], "timer"
        assert not _column(session, "SELECT seq FROM outbox WHERE source_id = 'by-1' AND target_id IS NOT NULL"), (
            "relay"
        )


def _all_can_be_controlled(session: "psycopg.Connection[Any]", untouched: bool) -> None:
    for verb, status in {"suspend": "SUSPENDED", "resume": "RUNNING", "cancel": "CANCELLED"}.items():
        session.execute(f"SELECT harel_{verb}_all('by')")
        if untouched:
            assert _column(session, "SELECT status FROM executions WHERE id = 'by-1'") == [status], verb
        try:
            with session.transaction():
                session.execute(f"SELECT harel_{verb}_all()")
        except psycopg.Error as error:
            # One that has no room for a status is named.
            if error.sqlstate != "ST003" or complaints(error):
                raise
    if untouched:
        assert _column(session, "SELECT harel_purge(id, version) FROM executions WHERE id = 'by-1'") == [True]
