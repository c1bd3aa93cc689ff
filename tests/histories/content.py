"""The whole content of a store as plain values, without what only the clock or chance of the server made."""

import json
from typing import Any, NamedTuple

import psycopg


class Group(NamedTuple):
    """A group of the queue with its messages, first to last."""

    available_at: float
    priority: int
    attempts: int
    token: str | None
    worker: str | None
    messages: tuple[str, ...]


class Content(NamedTuple):
    """Everything in a store. Dead letters are in no order, as several are made in one moment."""

    executions: dict[str, tuple[Any, ...]]
    outbox: list[tuple[int, str | None, str, str]]
    processed_events: set[tuple[str, str]]
    timers: dict[tuple[str, str], float]
    spawns: list[tuple[str, str, str, str]]
    trace: dict[str, list[tuple[int, str]]]
    groups: dict[str, Group]
    dead_letters: list[tuple[str, str, str, int, bool]]


# Each with what its rows can be told apart by.
TABLES = {
    "executions": "id",
    "outbox": "seq",
    "processed_events": "execution_id, event_id",
    "timers": "execution_id, path",
    "spawns": "seq",
    "trace": "execution_id, idx",
    "transport_groups": "group_id",
    "transport_messages": "group_id, seq",
    "dead_letters": "group_id, seq",
}

QUERIES = {
    "executions": """
        SELECT id, definition_id, data, version, status, parent_id, priority, finished_at IS NOT NULL FROM executions
    """,
    "outbox": "SELECT seq, target_id, event, source_id FROM outbox ORDER BY seq",
    "processed_events": "SELECT execution_id, event_id FROM processed_events",
    "timers": "SELECT execution_id, path, fire_at FROM timers",
    "spawns": "SELECT parent_id, child_id, root_path, context FROM spawns ORDER BY seq",
    "trace": "SELECT execution_id, idx, entry FROM trace ORDER BY execution_id, idx",
    "groups": """
        SELECT group_id, available_at::text, priority, attempts, token, worker, head, tail FROM transport_groups
    """,
    "messages": "SELECT group_id, seq, event FROM transport_messages ORDER BY group_id, seq",
    "dead_letters": "SELECT group_id, event, reason, attempts, delivered_at IS NOT NULL FROM dead_letters",
}

# All in one statement, and so of one moment.
QUERY = "SELECT " + ", ".join(
    f"(SELECT coalesce(json_agg(to_json(q)), '[]') FROM ({query}) AS q) AS {name}" for name, query in QUERIES.items()
)


def content(session: "psycopg.Connection[Any]") -> Content:
    """What is in the store. Fails where the messages of a group are not numbered without gaps, or have no group."""
    cursor = session.execute(QUERY)
    names = [column.name for column in cursor.description or ()]
    row = cursor.fetchone()
    assert row is not None
    found = {name: [tuple(q.values()) for q in rows] for name, rows in zip(names, row, strict=True)}
    messages: dict[str, list[tuple[int, str]]] = {}
    for group_id, seq, event in found["messages"]:
        messages.setdefault(group_id, []).append((seq, event))
    groups = {}
    for group_id, available_at, priority, attempts, token, worker, head, tail in found["groups"]:
        queued = messages.pop(group_id, [])
        assert [seq for seq, _ in queued] == list(range(head, tail + 1)), f"gaps in group {group_id!r}"
        events = tuple(event for _, event in queued)
        groups[group_id] = Group(float(available_at), priority, attempts, token, worker, events)
    assert not messages, f"messages without a group: {messages}"
    trace: dict[str, list[tuple[int, str]]] = {}
    for execution_id, idx, entry in found["trace"]:
        trace.setdefault(execution_id, []).append((idx, entry))
    return Content(
        {id: (definition, json.loads(data), *rest) for id, definition, data, *rest in found["executions"]},
        found["outbox"],
        set(found["processed_events"]),
        {(id, path): fire_at for id, path, fire_at in found["timers"]},
        found["spawns"],
        trace,
        groups,
        sorted(found["dead_letters"]),
    )


def clear(session: "psycopg.Connection[Any]") -> None:
    """Empties the store."""
    # Faster than TRUNCATE for the few rows of a test.
    session.execute(";".join(f"DELETE FROM {table}" for table in TABLES))
