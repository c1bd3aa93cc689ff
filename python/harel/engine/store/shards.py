"""The synchronous store over several databases."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from ._sharded import ShardedMethods
from .postgres import PostgresStore


class ShardedStore(ShardedMethods):
    """A store spread over several databases, of which each owns a part of the executions, by a hash of their ids.

    `shards` are the DSNs of all of them, in any order, or `{name: dsn}`; without names they get random ones. The first
    client writes into each database the names of all and which one it is, for good. Raises ShardsDisagree, and changes
    none of that, where the databases know others: one more or fewer, another one, one twice; and where one has
    executions that would belong to another. `options` are those of PostgresStore and its from_dsn().

    The methods are those of PostgresStore; relay() moves what an execution has emitted for one of another shard.
    """

    def __init__(self, shards: Iterable[str] | Mapping[str, str], **options: Any) -> None:
        if isinstance(shards, str):
            raise TypeError("shards must be the DSNs of all of them, not one")
        dsns = list(shards.values()) if isinstance(shards, Mapping) else list(shards)
        if not dsns:
            raise ValueError("there must be a shard at least")
        stores: list[PostgresStore] = []
        try:
            for dsn in dsns:
                stores.append(PostgresStore.from_dsn(dsn, **options))
            self._join(stores, list(shards) if isinstance(shards, Mapping) else None)
        except BaseException:
            for store in stores:
                with suppress(Exception):
                    store.close()
            raise
