"""harel: a durable execution store for statecharts, in PostgreSQL."""

from .engine.aio_store import AsyncExecutionStore, AsyncPostgresStore
from .engine.execution import ChildState, Execution, ExecutionPage, ExecutionSummary, Status
from .engine.store import (
    ExecutionStore,
    InvalidArgument,
    OutboxEntry,
    PostgresStore,
    SpawnEntry,
    StoreConflict,
    StoreError,
    StoreNotInstalled,
    StoreVersionMismatch,
    TimerOp,
    install_script,
)
from .spec.states import Event

__all__ = [
    "AsyncExecutionStore",
    "AsyncPostgresStore",
    "ChildState",
    "Event",
    "Execution",
    "ExecutionPage",
    "ExecutionStore",
    "ExecutionSummary",
    "InvalidArgument",
    "OutboxEntry",
    "PostgresStore",
    "SpawnEntry",
    "Status",
    "StoreConflict",
    "StoreError",
    "StoreNotInstalled",
    "StoreVersionMismatch",
    "TimerOp",
    "install_script",
]
