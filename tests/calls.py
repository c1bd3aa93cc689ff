"""One good call of each public function, with every argument named, and the store that the calls are for."""

from typing import LiteralString, NamedTuple

from psycopg import sql

# An execution of everything, whose first message is leased by the token of zeroes.
STORE: LiteralString = """
    SELECT harel_commit(
        'e', 'd', '{"status": "RUNNING", "version": 1}', 0, 'ev', '{e,NULL}', '{a,b}', '{c}', '{p}', '{"{}"}',
        '{schedule}', '{a}', '{1}'
    );
    SELECT harel_commit_cas('suspended', 'd', '{"status": "SUSPENDED", "version": 1}', 0);
    SELECT harel_publish('e', 'a'), harel_publish('e', 'b'), harel_publish('unknown', 'c', 1);
    UPDATE transport_groups SET token = '00000000-0000-0000-0000-000000000000', available_at = 1e12
    WHERE group_id = 'e';
    INSERT INTO dead_letters (group_id, seq, event, reason, attempts, published_at) VALUES ('e', 0, 'a', 'r', 1, now());
"""
TOKEN = "00000000-0000-0000-0000-000000000000"


# Makes the store one of two shards, of which the other has a name by which it owns nothing that the calls name.
SHARD: LiteralString = """
    INSERT INTO shards VALUES ('here', true, now()), ('s1079495', false, now());
    SELECT setval('shards_joined', 1);
"""


class Function(NamedTuple):
    """The volatility of a function, and arguments that it accepts, each as PostgreSQL writes it (None: NULL).

    `before` is what its owner must have done to the store.
    """

    volatility: str
    arguments: dict[str, str | None]
    before: LiteralString = ""


_EFFECTS = {
    "p_emit_targets": "{x,NULL}",
    "p_emit_events": "{a,b}",
    "p_spawn_children": "{k}",
    "p_spawn_root_paths": "{p}",
    "p_spawn_contexts": "{0}",
    "p_timer_actions": "{schedule,cancel}",
    "p_timer_paths": "{b,a}",
    "p_timer_fire_ats": "{1,1}",
}
_EFFECTS_OF_MANY = {**_EFFECTS, "p_emit_commits": "{1,1}", "p_spawn_commits": "{1}", "p_timer_commits": "{1,1}"}
_LEASE = {"p_group_id": "e", "p_token": TOKEN}
_LEASES = {"p_group_ids": "{e}", "p_tokens": f"{{{TOKEN}}}"}
_CLAIM = {
    "p_worker": "w",
    "p_visibility": "30",
    "p_limit": "2",
    "p_min_priority": "0",
    "p_max_attempts": "20",
    "p_now": None,
}
_ALL_OF = {"p_definition_id": "d", "p_roots_only": "true", "p_dry_run": "false"}

FUNCTIONS: dict[str, Function] = {
    "harel_load": Function("s", {"p_id": "e"}),
    "harel_load_for_event": Function("s", {"p_id": "e", "p_event_id": "ev"}),
    "harel_is_processed": Function("s", {"p_id": "e", "p_event_id": "ev"}),
    "harel_list": Function(
        "s",
        {
            "p_definition_id": "d",
            "p_statuses": "{RUNNING}",
            "p_roots_only": "true",
            "p_limit": "1",
            "p_cursor": "aDF8GKw+c2Q=",
        },
    ),
    "harel_read_trace": Function("s", {"p_id": "e"}),
    "harel_pending_outbox": Function("s", {"p_limit": "1"}),
    "harel_pending_spawns": Function("s", {"p_limit": "1"}),
    "harel_due_timers": Function("s", {"p_now": "1", "p_limit": "1"}),
    "harel_dead_letters": Function("s", {"p_group_id": "e", "p_limit": "1"}),
    "harel_ids_with_prefix": Function("s", {"p_prefix": "e", "p_limit": "1"}),
    "harel_stats": Function("s", {"p_now": None}),
    "harel_health": Function("s", {"p_client_version": "1.1", "p_client_now": "1", "p_now": None}),
    "harel_timeline": Function("s", {"p_id": "e", "p_after": "0", "p_limit": "1"}),
    "harel_tree": Function("s", {"p_id": "e", "p_limit": "1"}),
    "harel_timers": Function("s", {"p_id": "e", "p_limit": "1"}),
    "harel_queue": Function("s", {"p_id": "e", "p_state": "leased", "p_limit": "1", "p_now": None}),
    "harel_definitions": Function("s", {}),
    "harel_activity": Function("s", {}),
    "harel_flow": Function("s", {"p_definition_id": "d", "p_limit": "1", "p_now": None}),
    "harel_channel": Function("s", {}),
    "harel_cursor": Function("i", {"p_id": "e"}),
    "harel_shards": Function("s", {}),
    "harel_shard_of": Function("s", {"p_id": "e"}),
    "harel_waiting_shards": Function("s", {}),
    "harel_foreign_outbox": Function("s", {"p_shard": "s1079495", "p_limit": "1", "p_without": "{x}"}),
    "harel_foreign_spawns": Function("s", {"p_shard": "s1079495", "p_limit": "1"}),
    "harel_version": Function("i", {}),
    "harel_commit_cas": Function(
        "v", {"p_id": "new", "p_defn": "d", "p_data": "{}", "p_old": "0", "p_event": "ev", "p_commit_id": TOKEN}
    ),
    "harel_commit": Function(
        "v",
        {
            "p_id": "new",
            "p_defn": "d",
            "p_data": '{"x": "\\u0000"}',
            "p_old": "0",
            "p_event": "ev",
            **_EFFECTS,
            "p_trace": "step",
            "p_trace_max": "1",
            "p_commit_id": TOKEN,
        },
    ),
    "harel_commit_batch": Function(
        "v",
        {
            "p_ids": "{new}",
            "p_defns": "{d}",
            "p_datas": "{1}",
            "p_olds": "{0}",
            "p_events": "{ev}",
            **_EFFECTS_OF_MANY,
            "p_traces": "{step}",
            "p_trace_max": "1",
        },
    ),
    "harel_outcome": Function("v", {"p_id": "e", "p_old": "0", "p_commit_id": TOKEN, "p_event": "ev"}),
    "harel_append_trace": Function("v", {"p_id": "e", "p_entry": "step", "p_max": "1"}),
    "harel_ack_outbox": Function("v", {"p_seq": "1"}),
    "harel_take_outbox": Function("v", {"p_limit": "1"}),
    "harel_settle_outbox": Function("v", {"p_seqs": "{1,2}"}),
    "harel_ack_spawn": Function("v", {"p_seq": "1"}),
    "harel_delete_timer": Function("v", {"p_id": "e", "p_path": "a", "p_fire_at": "1"}),
    "harel_publish": Function("v", {"p_group_id": "new", "p_event": "a", "p_priority": "4", "p_now": None}),
    "harel_publish_many": Function(
        "v", {"p_group_ids": "{new,e}", "p_events": "{a,b}", "p_priorities": "{4,0}", "p_now": None}
    ),
    "harel_send": Function("v", {"p_id": "e", "p_event": "c", "p_now": None}),
    "harel_claim": Function("v", _CLAIM),
    "harel_ack": Function("v", {**_LEASE, "p_now": None}),
    "harel_nack": Function("v", {**_LEASE, "p_delay": "0", "p_reason": "broken", "p_max_attempts": "0", "p_now": None}),
    "harel_extend": Function("v", {**_LEASES, "p_visibility": "30", "p_now": None}),
    "harel_next": Function("v", {**_CLAIM, "p_sleep": "1"}),
    "harel_finish": Function(
        "v",
        {
            **_LEASES,
            "p_defns": "{d}",
            "p_datas": "{0}",
            "p_olds": "{1}",
            "p_events": "{ev2}",
            **_EFFECTS_OF_MANY,
            "p_traces": "{step}",
            "p_trace_max": "1",
            "p_now": None,
        },
    ),
    "harel_redrive": Function("v", {"p_group_id": "e", "p_id": None, "p_limit": "1", "p_now": None}),
    "harel_relay": Function("v", {"p_limit": "1", "p_now": None}),
    "harel_relay_spawns": Function("v", {"p_limit": "1", "p_now": None}),
    "harel_fire_timers": Function("v", {"p_now": None, "p_limit": "1"}),
    "harel_tick": Function("v", {"p_limit": "1", "p_now": None}),
    "harel_suspend": Function("v", {"p_id": "e"}),
    "harel_suspend_all": Function("v", {**_ALL_OF, "p_statuses": "{RUNNING}"}),
    "harel_resume": Function("v", {"p_id": "suspended"}),
    "harel_resume_all": Function("v", {**_ALL_OF, "p_statuses": "{SUSPENDED}"}),
    "harel_cancel": Function("v", {"p_id": "e"}),
    "harel_cancel_all": Function("v", {**_ALL_OF, "p_statuses": "{RUNNING}"}),
    "harel_purge": Function("v", {"p_id": "e", "p_expected_version": "1"}),
    "harel_purge_finished": Function("v", {"p_older_than": "0", "p_limit": "1", "p_archive": None, "p_now": None}),
    "harel_purge_processed": Function("v", {"p_older_than": "0", "p_limit": "1", "p_now": None}),
    "harel_name_shard": Function("v", {"p_name": "here"}),
    "harel_join_shards": Function("v", {"p_names": "{here,s1079495}", "p_name": "here"}),
    "harel_receive_events": Function(
        "v",
        {"p_from": "s1079495", "p_seqs": "{1,2}", "p_targets": "{new,e}", "p_events": "{a,b}", "p_now": None},
        SHARD,
    ),
    "harel_receive_spawns": Function(
        "v",
        {
            "p_from": "s1079495",
            "p_seqs": "{1}",
            "p_parents": "{parent}",
            "p_children": "{new}",
            "p_root_paths": "{p}",
            "p_contexts": "{0}",
            "p_defns": "{d}",
            "p_priorities": "{1}",
            "p_statuses": "{RUNNING}",
            "p_now": None,
        },
        SHARD,
    ),
    "harel_settle_spawns": Function("v", {"p_seqs": "{1,2}"}),
    "harel_purge_receipts": Function("v", {"p_older_than": "0", "p_limit": "1", "p_now": None}),
    "harel_suspend_tree": Function("v", {"p_ids": "{e}"}),
    "harel_resume_tree": Function("v", {"p_ids": "{suspended}"}),
    "harel_cancel_tree": Function("v", {"p_ids": "{e}"}),
    "harel_adopt": Function("v", {"p_schema": "another_program", "p_prefix": "their_"}),
    "harel_reset_sequences": Function("v", {}),
    "harel_protect": Function("v", {"p_on": "true"}),
    "harel_distribute": Function("v", {"p_shards": "32"}),
    "harel_grant": Function("v", {"p_role": "pg_monitor", "p_access": "reader"}),
}


def call(name: str, arguments: dict[str, str | None]) -> sql.Composed:
    """A statement that calls the function with these arguments, named, and returns its rows."""
    return sql.SQL("SELECT * FROM {}({})").format(
        sql.Identifier(name),
        sql.SQL(", ").join(
            sql.SQL("{} => {}").format(sql.Identifier(argument), sql.Literal(value))
            for argument, value in arguments.items()
        ),
    )
