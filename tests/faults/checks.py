"""What has to be true of a store after a run, whatever was done to it and to its clients."""

import json
from typing import Any

import psycopg

from harel.replay import Log, prove

from .clients import COUNTER


def check(log: Log, dsn: str, entries: list[dict[str, Any]]) -> int:
    """Fails where something acknowledged is missing or was done twice; returns how many commits were compared.

    The log itself says the rest: each event applied once and in its order, no version skipped, nothing left over.
    """
    prove(log, dsn)
    with psycopg.connect(dsn) as connection:
        rows = connection.execute(
            "SELECT execution_id, idx, entry::json ->> 'mark' FROM trace ORDER BY 1, 2"
        ).fetchall()
        versions = dict(connection.execute("SELECT id, version FROM executions").fetchall())
        counter = connection.execute("SELECT data FROM executions WHERE id = %s", [COUNTER]).fetchone()
    places: dict[str, tuple[str, int]] = {}
    for execution_id, idx, mark in rows:
        if mark is not None:
            assert mark not in places, f"commit {mark} of {execution_id} is there twice"
            places[mark] = (execution_id, idx)
    for entry in entries:
        if "mark" in entry:
            _check_commit(entry, places)
    if counter is not None:
        counted = sum(execution_id == COUNTER for execution_id, _, _ in rows)
        assert json.loads(counter[0])["context"]["n"] == counted == versions[COUNTER], "a count was lost or made twice"
    return sum("mark" in entry for entry in entries)


def _check_commit(entry: dict[str, Any], places: dict[str, tuple[str, int]]) -> None:
    place = places.get(entry["mark"])
    if entry["outcome"] == "committed":
        # The first entry of the counter is of its version 1; a case was saved once before its first event.
        first = 1 if entry["id"] == COUNTER else 2
        assert place == (entry["id"], entry["version"] - first), (
            f"an acknowledged commit is not there: {entry}, {place}"
        )
    elif entry["outcome"] == "conflict":
        assert place is None, f"told to have lost, and committed all the same: {entry}"
    elif entry["outcome"] == "unknown":
        assert entry["found"] > entry["expected"] + 1, f"it could have been known: {entry}"
