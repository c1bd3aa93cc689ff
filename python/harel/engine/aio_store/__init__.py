"""The asynchronous client."""

from ._methods import AsyncExecutionStore
from .postgres import AsyncPostgresStore
from .shards import AsyncShardedStore

__all__ = ["AsyncExecutionStore", "AsyncPostgresStore", "AsyncShardedStore"]
