"""harel: a durable execution store for statecharts, in PostgreSQL."""

from .engine.aio_store import AsyncExecutionStore, AsyncPostgresStore, AsyncShardedStore
from .engine.aio_transport import AsyncPostgresTransport, AsyncTransport
from .engine.execution import ChildState, Execution, ExecutionPage, ExecutionSummary, Status
from .engine.store import (
    CommitOutcomeUnknown,
    ExecutionStore,
    InvalidArgument,
    OutboxEntry,
    PostgresStore,
    Problem,
    ShardedStore,
    ShardsDisagree,
    SpawnEntry,
    Stats,
    StoreConflict,
    StoreError,
    StoreNotInstalled,
    StoreVersionMismatch,
    TimerOp,
    install_script,
    upgrade_script,
)
from .engine.transport import Completed, Completion, DeadLetter, Delivery, Lease, PostgresTransport, Tick, Transport
from .machine import Machine, Step
from .spec.states import Event

__all__ = [
    "AsyncExecutionStore",
    "AsyncPostgresStore",
    "AsyncPostgresTransport",
    "AsyncShardedStore",
    "AsyncTransport",
    "ChildState",
    "CommitOutcomeUnknown",
    "Completed",
    "Completion",
    "DeadLetter",
    "Delivery",
    "Event",
    "Execution",
    "ExecutionPage",
    "ExecutionStore",
    "ExecutionSummary",
    "InvalidArgument",
    "Lease",
    "Machine",
    "OutboxEntry",
    "PostgresStore",
    "PostgresTransport",
    "Problem",
    "ShardedStore",
    "ShardsDisagree",
    "SpawnEntry",
    "Stats",
    "Status",
    "Step",
    "StoreConflict",
    "StoreError",
    "StoreNotInstalled",
    "StoreVersionMismatch",
    "Tick",
    "TimerOp",
    "Transport",
    "install_script",
    "upgrade_script",
]
