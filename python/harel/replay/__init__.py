"""Replays an event log through the queue, with worker processes and a server that may be killed at any moment, and
proves the result.

A case of the log is an execution, and each of its rows an event that leads it to a state. A worker applies an event
only to an execution that has applied exactly the rows before it. What a killed worker held is delivered again;
`prove()` asks the database whether each event was applied once and in order all the same.
"""

from .coordinator import Kill, Replay, Replayed
from .log import COLUMNS, Log, LogError, Row, read_log
from .proof import Check, ProofFailed, prove
from .worker import ReplayError, event_id, machine, row_event

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
    "event_id",
    "machine",
    "prove",
    "read_log",
    "row_event",
]
