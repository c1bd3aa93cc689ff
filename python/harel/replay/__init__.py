"""Replays an event log through a store, with worker processes that may be killed at any moment, and proves the result.

A case of the log is an execution, and each of its rows an event that leads it to a state. Workers apply each event in
one commit, and only to an execution that has applied exactly the rows before it. Some cases are dealt to two workers
at once, and those of a worker that died to its successor, so commits collide and events are delivered again;
`prove()` asks the database whether each was applied once and in order all the same.
"""

from .coordinator import Kill, Replay, Replayed
from .log import COLUMNS, Log, LogError, Row, read_log
from .proof import Check, ProofFailed, prove
from .worker import ReplayError, Tally, apply, decide, event_id, open_store

__all__ = [
    "COLUMNS",
    "Check",
    "Kill",
    "Log",
    "LogError",
    "ProofFailed",
    "Replay",
    "ReplayError",
    "Replayed",
    "Row",
    "Tally",
    "apply",
    "decide",
    "event_id",
    "open_store",
    "prove",
    "read_log",
]
