"""The store: the synchronous client, and what both clients share."""

from ._base import (
    CommitOutcomeUnknown,
    InvalidArgument,
    OutboxEntry,
    Problem,
    SpawnEntry,
    Stats,
    StoreConflict,
    StoreError,
    StoreNotInstalled,
    StoreVersionMismatch,
    TimerOp,
)
from ._install import install_script, upgrade_script
from ._methods import ExecutionStore
from .postgres import PostgresStore

__all__ = [
    "CommitOutcomeUnknown",
    "ExecutionStore",
    "InvalidArgument",
    "OutboxEntry",
    "PostgresStore",
    "Problem",
    "SpawnEntry",
    "Stats",
    "StoreConflict",
    "StoreError",
    "StoreNotInstalled",
    "StoreVersionMismatch",
    "TimerOp",
    "install_script",
    "upgrade_script",
]
