"""The asynchronous client."""

from ._methods import AsyncExecutionStore
from .postgres import AsyncPostgresStore

__all__ = ["AsyncExecutionStore", "AsyncPostgresStore"]
