"""The queue: the synchronous client, and what both clients share."""

from ._base import Completed, Completion, DeadLetter, Delivery, Lease, Tick
from ._methods import Transport
from .postgres import PostgresTransport

__all__ = ["Completed", "Completion", "DeadLetter", "Delivery", "Lease", "PostgresTransport", "Tick", "Transport"]
