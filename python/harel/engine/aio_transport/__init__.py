"""The asynchronous queue."""

from ._methods import AsyncTransport
from .postgres import AsyncPostgresTransport

__all__ = ["AsyncPostgresTransport", "AsyncTransport"]
