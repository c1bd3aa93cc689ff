"""The store: the synchronous client, and what both clients share."""

from ._base import (
    CommitOutcomeUnknown,
    InvalidArgument,
    OutboxEntry,
    Problem,
    ShardsDisagree,
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
from .shards import ShardedStore

__all__ = [
    "CommitOutcomeUnknown",
    "ExecutionStore",
    "InvalidArgument",
    "OutboxEntry",
    "PostgresStore",
    "Problem",
    "ShardedStore",
    "ShardsDisagree",
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
