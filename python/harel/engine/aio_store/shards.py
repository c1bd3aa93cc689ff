"""The asynchronous store over several databases."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, Self

from ._sharded import AsyncShardedMethods
from .postgres import AsyncPostgresStore


class AsyncShardedStore(AsyncShardedMethods):
    """A store spread over several databases, for asyncio: see ShardedStore."""

    def __init__(self, stores: Iterable[AsyncPostgresStore]) -> None:
        self._stores = list(stores)

    @classmethod
    async def from_dsns(cls, shards: Iterable[str] | Mapping[str, str], **options: Any) -> Self:
        """A store over the databases that these DSNs lead to, or that they name as `{name: dsn}`.

        `options` are those of AsyncPostgresStore and its from_dsn(). Raises ShardsDisagree as ShardedStore does.
        """
        if isinstance(shards, str):
            raise TypeError("shards must be the DSNs of all of them, not one")
        dsns = list(shards.values()) if isinstance(shards, Mapping) else list(shards)
        if not dsns:
            raise ValueError("there must be a shard at least")
        stores: list[AsyncPostgresStore] = []
        try:
            for dsn in dsns:
                stores.append(await AsyncPostgresStore.from_dsn(dsn, **options))
            sharded = cls(stores)
            await sharded._join(stores, list(shards) if isinstance(shards, Mapping) else None)
            return sharded
        except BaseException:
            for store in stores:
                with suppress(Exception):
                    await store.close()
            raise
