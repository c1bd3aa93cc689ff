"""A store that is spread over several databases: what it does with the stores of each.

The asynchronous module is the source; `make generate` derives the synchronous one from it.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import AsyncExitStack
from dataclasses import fields, replace
from typing import Any

from ...spec.states import Event
from ..execution import Execution, ExecutionPage, Status
from ..store._arguments import check
from ..store._base import OutboxEntry, Problem, ShardsDisagree, SpawnEntry, Stats, TimerOp, TraceEntry
from ..store._calls import Call, Calls, Emit, ForeignEvents, Spawn
from ..store._rendezvous import ShardMap
from ..transport._calls import TransportCalls
from ._session import transaction_on
from .postgres import AsyncPostgresStore

Statuses = Status | str | Iterable[Status | str] | None


class AsyncShardedMethods:
    """The methods of a store over shards: those of AsyncPostgresStore, each on the shards that it concerns.

    What concerns one execution is one round trip to the shard that owns it. What concerns all of them asks each shard
    in turn. The seqs of outbox and spawns are numbers among all shards.
    """

    _map: ShardMap
    _stores: list[AsyncPostgresStore]

    async def _join(self, stores: Sequence[AsyncPostgresStore], names: Sequence[str] | None) -> None:
        """Makes the stores the shards, of these names (None: those that they have or get), or raises ShardsDisagree."""
        for store in stores:
            known = await self._call(store, Calls.shards)
            if known and len(known) != len(stores):
                raise _disagreement(f"There are {len(stores)} here, and a database has {len(known)}: {_list(known)}.")
        given: Sequence[str | None] = names or [None] * len(stores)
        for store, name in zip(stores, given, strict=True):
            await self._call(store, Calls.name_shard, name)
        # Once more, as of two names for one database the second is left.
        found = [await self._call(store, Calls.name_shard, None) for store in stores]
        if len(set(found)) < len(found):
            raise _disagreement(f"Two of them are the same database: {_list(found)}.")
        if names is not None and found != list(names):
            raise _disagreement(f"They are called {_list(names)} here, and themselves {_list(found)}.")
        self._map = ShardMap(found)
        self._stores = [stores[found.index(name)] for name in self._map.names]
        # All or none, and each client in the same order, so that two with different lists cannot both have some.
        async with AsyncExitStack() as stack:
            for name, store in zip(self._map.names, self._stores, strict=True):
                calls = await store._ready()
                connection = await store._take()
                stack.push_async_callback(store._give, connection)
                run = await stack.enter_async_context(transaction_on(connection))
                await run(calls.join_shards(self._map.names, name))
        # What nothing was received of, by sender and receiver: the next round looks behind it.
        self._busy: dict[tuple[int, int], set[str]] = {}

    @property
    def shards(self) -> list[str]:
        """The names of the shards, in their order."""
        return list(self._map.names)

    def shard_of(self, execution_id: str) -> str:
        """The name of the shard that owns an execution, whether or not it exists."""
        return self._map.names[self._map.position(execution_id)]

    def store_of(self, execution_id: str) -> AsyncPostgresStore:
        """The store of the shard that owns an execution."""
        check("execution_id", execution_id, str)
        # What is no id is refused by any of them.
        return self._stores[self._map.position(execution_id) if execution_id is not None else 0]

    @property
    def trace_max(self) -> int:
        """How many entries of each trace are kept."""
        return self._stores[0].trace_max

    @trace_max.setter
    def trace_max(self, trace_max: int) -> None:
        for store in self._stores:
            store.trace_max = trace_max

    async def load(self, execution_id: str) -> Execution | None:
        """See AsyncPostgresStore.load()."""
        return await self.store_of(execution_id).load(execution_id)

    async def load_for_event(self, execution_id: str, event_id: str) -> tuple[Execution | None, bool]:
        """See AsyncPostgresStore.load_for_event()."""
        return await self.store_of(execution_id).load_for_event(execution_id, event_id)

    async def save(self, exe: Execution) -> None:
        """`commit(exe, [])`: only the state."""
        await self.commit(exe, [])

    async def commit(
        self,
        exe: Execution,
        emits: Iterable[Emit],
        processed_event_id: str | None = None,
        timers: Iterable[TimerOp] = (),
        spawns: Iterable[Spawn] = (),
        trace: TraceEntry | None = None,
        step: Any = None,
    ) -> list[int]:
        """See AsyncPostgresStore.commit(). What the step causes on other shards is brought there by relay()."""
        check("id", exe.id, str)
        position = self._map.position(exe.id)
        seqs = await self._stores[position].commit(exe, emits, processed_event_id, timers, spawns, trace, step)
        return [self._map.number(position, seq) for seq in seqs]

    async def is_processed(self, execution_id: str, event_id: str) -> bool:
        """Whether the execution has handled the event."""
        return await self.store_of(execution_id).is_processed(execution_id, event_id)

    async def list_executions(
        self,
        *,
        status: Statuses = None,
        definition_id: str | None = None,
        roots_only: bool = False,
        limit: int = 100,
        cursor: str | None = None,
    ) -> ExecutionPage:
        """A page of the executions of all shards, in the order of their ids; pages as those of one store."""
        status = _kept(status)
        pages = [
            await store.list_executions(
                status=status, definition_id=definition_id, roots_only=roots_only, limit=limit, cursor=cursor
            )
            for store in self._stores
        ]
        items = sorted((item for page in pages for item in page.items), key=lambda item: item.id.encode())
        if len(items) <= limit and not any(page.next_cursor for page in pages):
            return ExecutionPage(items=items, next_cursor=None)
        next_cursor = await self._call(self._stores[0], Calls.cursor, items[limit - 1].id)
        return ExecutionPage(items=items[:limit], next_cursor=next_cursor)

    async def pending_outbox(self, limit: int | None = None) -> list[OutboxEntry]:
        """The events waiting on all shards, each shard's oldest first, at most `limit` (None: all)."""
        entries = [
            replace(entry, seq=self._map.number(position, entry.seq))
            for position, store in enumerate(self._stores)
            for entry in await store.pending_outbox(limit)
        ]
        return sorted(entries, key=lambda entry: entry.seq)[:limit]

    async def ack_outbox(self, seq: int) -> bool:
        """Removes an event that has been sent; False where it was not pending."""
        store, seq = self._numbered(seq)
        return await store.ack_outbox(seq)

    async def deliver_outbox(
        self, handler: Callable[[list[OutboxEntry]], Awaitable[Any]], limit: int | None = 100
    ) -> int:
        """AsyncPostgresStore.deliver_outbox() of one shard after another, at most `limit` events in all."""
        delivered = 0
        for position, store in enumerate(self._stores):
            if limit is not None and delivered >= limit > 0:
                break

            async def numbered(entries: list[OutboxEntry], position: int = position) -> None:
                await handler([replace(entry, seq=self._map.number(position, entry.seq)) for entry in entries])

            delivered += await store.deliver_outbox(numbered, None if limit is None else limit - delivered)
        return delivered

    async def pending_spawns(self, limit: int | None = None) -> list[SpawnEntry]:
        """The child executions waiting to be created on all shards, each shard's oldest first."""
        entries = [
            replace(entry, seq=self._map.number(position, entry.seq))
            for position, store in enumerate(self._stores)
            for entry in await store.pending_spawns(limit)
        ]
        return sorted(entries, key=lambda entry: entry.seq)[:limit]

    async def ack_spawn(self, seq: int) -> bool:
        """Removes the request for a child that has been created; False where it was not pending."""
        store, seq = self._numbered(seq)
        return await store.ack_spawn(seq)

    async def due_timers(self, now: float, limit: int | None = None) -> list[tuple[str, str, float]]:
        """The `(execution_id, path, fire_at)` of the timers due on all shards, earliest first, at most `limit`."""
        timers = [timer for store in self._stores for timer in await store.due_timers(now, limit)]
        return sorted(timers, key=lambda timer: (timer[2], timer[0].encode(), timer[1].encode()))[:limit]

    async def delete_timer(self, execution_id: str, path: str, fire_at: float) -> bool:
        """See AsyncPostgresStore.delete_timer()."""
        return await self.store_of(execution_id).delete_timer(execution_id, path, fire_at)

    async def append_trace(self, execution_id: str, entry: TraceEntry) -> int:
        """See AsyncPostgresStore.append_trace()."""
        return await self.store_of(execution_id).append_trace(execution_id, entry)

    async def read_trace(self, execution_id: str) -> list[dict[str, Any]]:
        """See AsyncPostgresStore.read_trace()."""
        return await self.store_of(execution_id).read_trace(execution_id)

    async def purge(self, execution_id: str, expected_version: int) -> bool:
        """See AsyncPostgresStore.purge(). What waits for it on other shards stays, to become dead letters."""
        return await self.store_of(execution_id).purge(execution_id, expected_version)

    async def purge_finished(self, older_than: float, limit: int | None = 1000, archive: str | None = None) -> int:
        """AsyncPostgresStore.purge_finished() of one shard after another, at most `limit` executions in all."""
        return await self._in_parts(limit, lambda store, left: store.purge_finished(older_than, left, archive))

    async def purge_processed(self, older_than: float, limit: int | None = 10000) -> int:
        """AsyncPostgresStore.purge_processed() of one shard after another, at most `limit` events in all."""
        return await self._in_parts(limit, lambda store, left: store.purge_processed(older_than, left))

    async def purge_receipts(self, older_than: float, limit: int | None = 10000) -> int:
        """Forgets up to `limit` of what shards received from each other more than `older_than` seconds ago.

        What is handed in once more would be taken once more: keep them for longer than a relay may stand still, and a
        shard may be restored from a backup. Returns how many were forgotten.
        """
        return await self._in_parts(
            limit, lambda store, left: self._call(store, Calls.purge_receipts, older_than, left)
        )

    async def stats(self) -> Stats:
        """The sums over all shards, and the longest of waits: see AsyncPostgresStore.stats()."""
        parts = [await store.stats() for store in self._stores]
        executions: dict[str, int] = {}
        for part in parts:
            for status, count in part.executions.items():
                executions[status] = executions.get(status, 0) + count
        numbers: dict[str, Any] = {}
        for field in fields(Stats)[1:]:
            values = [getattr(part, field.name) for part in parts]
            longest = field.name.startswith("oldest_")
            numbers[field.name] = max((v for v in values if v is not None), default=None) if longest else sum(values)
        return Stats(executions, **numbers)

    async def health(self) -> list[Problem]:
        """What is wrong with any of the shards, each problem with the name of its shard."""
        return [
            replace(problem, detail=f"Shard {name}: {problem.detail}")
            for name, store in zip(self._map.names, self._stores, strict=True)
            for problem in await store.health()
        ]

    async def ids_with_prefix(self, prefix: str) -> list[str]:
        """The ids of all shards that begin with these very characters, in the order of their bytes."""
        ids = [id for store in self._stores for id in await store.ids_with_prefix(prefix)]
        return sorted(ids, key=str.encode)

    async def publish(self, execution_id: str, event: Event, priority: int = 0) -> int:
        """Puts an event into the queue of the shard that owns the execution: see AsyncPostgresTransport.publish()."""
        store = self.store_of(execution_id)
        return await store._run((await self._queue(store)).publish(execution_id, event, priority, None))

    async def send(self, execution_id: str, event: Event) -> int | None:
        """publish() at the priority of the execution; None, and nothing published, where there is none."""
        store = self.store_of(execution_id)
        return await store._run((await self._queue(store)).send(execution_id, event, None))

    async def suspend(self, execution_id: str) -> bool:
        """Suspends an execution and its children on all shards, one shard after another. False: nothing could be.

        A child that relay() creates at this very moment may be missed; a second call finds it.
        """
        return await self._control("suspend", execution_id)

    async def resume(self, execution_id: str) -> bool:
        """Resumes a suspended execution and its children on all shards. False where nothing was suspended."""
        return await self._control("resume", execution_id)

    async def cancel(self, execution_id: str) -> bool:
        """Cancels an execution and its children on all shards: see suspend(). False where all was final."""
        return await self._control("cancel", execution_id)

    async def suspend_all(
        self,
        *,
        status: Statuses = None,
        definition_id: str | None = None,
        roots_only: bool = False,
        dry_run: bool = False,
    ) -> int:
        """Suspends all that match on each shard, with those of their children that are on the same one."""
        status = _kept(status)
        counts = [
            await store.suspend_all(status=status, definition_id=definition_id, roots_only=roots_only, dry_run=dry_run)
            for store in self._stores
        ]
        return sum(counts)

    async def resume_all(
        self,
        *,
        status: Statuses = None,
        definition_id: str | None = None,
        roots_only: bool = False,
        dry_run: bool = False,
    ) -> int:
        """Resumes all that match: see suspend_all()."""
        status = _kept(status)
        counts = [
            await store.resume_all(status=status, definition_id=definition_id, roots_only=roots_only, dry_run=dry_run)
            for store in self._stores
        ]
        return sum(counts)

    async def cancel_all(
        self,
        *,
        status: Statuses = None,
        definition_id: str | None = None,
        roots_only: bool = False,
        dry_run: bool = False,
    ) -> int:
        """Cancels all that match: see suspend_all()."""
        status = _kept(status)
        counts = [
            await store.cancel_all(status=status, definition_id=definition_id, roots_only=roots_only, dry_run=dry_run)
            for store in self._stores
        ]
        return sum(counts)

    async def relay(self, limit: int = 1000) -> int:
        """Brings what waits for other shards there: children first, then events, up to `limit` from each to each.

        Each is taken once, and those of one execution for another in the order in which they were emitted, however many
        relays run and wherever one is killed. Returns how many were moved; call it as long as there are some. What
        concerns a shard that does not answer waits, the others' is moved all the same, and then its error is raised.
        """
        errors: list[Exception] = []
        events: dict[tuple[int, int], ForeignEvents] = {}
        moved = 0
        # What has caused an event was committed before it. So the events are looked for first, then the children, of
        # which none that one of these events has to find can be missing.
        senders = [sender for sender in range(len(self._stores)) if await self._waiting(sender, errors)]
        for sender in senders:
            for receiver in await self._waiting(sender, errors):
                try:
                    events[sender, receiver] = await self._foreign_events(sender, receiver, limit)
                except Exception as error:
                    errors.append(error)
        for sender in senders:
            for receiver in await self._waiting(sender, errors):
                try:
                    moved += await self._relay_spawns(sender, receiver, limit)
                except Exception as error:
                    errors.append(error)
        for (sender, receiver), waiting in events.items():
            try:
                moved += await self._relay_events(sender, receiver, waiting)
            except Exception as error:
                errors.append(error)
        if errors:
            raise errors[0]
        return moved

    async def close(self) -> None:
        """Closes the connections, if they are the store's own. A closed store cannot be used again."""
        for store in self._stores:
            await store.close()

    async def _waiting(self, sender: int, errors: list[Exception]) -> list[int]:
        """The shards for which something waits on one of them; none where it does not answer."""
        try:
            names = await self._call(self._stores[sender], Calls.waiting_shards)
        except Exception as error:
            errors.append(error)
            return []
        return [self._map.names.index(name) for name in names]

    async def _foreign_events(self, sender: int, receiver: int, limit: int) -> ForeignEvents:
        """The first events that wait; not those of which none could be received before, unless there are no others."""
        here, name = self._stores[sender], self._map.names[receiver]
        without = self._busy.pop((sender, receiver), set())
        events: ForeignEvents = await self._call(here, Calls.foreign_outbox, name, limit, without)
        if events.seqs:
            self._busy[sender, receiver] = without
        elif without:
            events = await self._call(here, Calls.foreign_outbox, name, limit, ())
        return events

    async def _relay_spawns(self, sender: int, receiver: int, limit: int) -> int:
        here, there = self._stores[sender], self._stores[receiver]
        moved = 0
        while True:
            spawns = await self._call(here, Calls.foreign_spawns, self._map.names[receiver], limit)
            if spawns.seqs:
                received = await self._call(there, Calls.receive_spawns, self._map.names[sender], spawns)
                moved += await self._call(here, Calls.settle_spawns, received)
            if len(spawns.seqs) < limit:
                return moved

    async def _relay_events(self, sender: int, receiver: int, events: ForeignEvents) -> int:
        here, there = self._stores[sender], self._stores[receiver]
        if not events.seqs:
            return 0
        received: list[int] = await self._call(there, Calls.receive_events, self._map.names[sender], events)
        if not received:
            self._busy.setdefault((sender, receiver), set()).update(events.targets)
            return 0
        self._busy.pop((sender, receiver), None)
        settled: int = await self._call(here, Calls.settle_outbox, received)
        return settled

    async def _control(self, verb: str, execution_id: str) -> bool:
        self.store_of(execution_id)
        # The owner first: from then on it has no further children.
        first = self._map.position(execution_id) if execution_id is not None else 0
        order = sorted(range(len(self._stores)), key=lambda position: position != first)
        known = [execution_id]
        told = dict.fromkeys(order, 0)
        changed = False
        while any(count < len(known) for count in told.values()):
            for position in order:
                news, told[position] = known[told[position] :], len(known)
                if news:
                    ids, here = await self._call(self._stores[position], Calls.control_tree, verb, news)
                    changed = changed or here
                    seen = set(known)
                    known += [id for id in ids if id not in seen]
        return changed

    async def _call(self, store: AsyncPostgresStore, method: Callable[..., Call[Any]], *arguments: Any) -> Any:
        calls = await store._ready()
        return await store._run(method(calls, *arguments))

    async def _queue(self, store: AsyncPostgresStore) -> TransportCalls:
        calls = await store._ready()
        return TransportCalls(calls.schema, calls.execution_type, calls.event_type)

    async def _in_parts(
        self, limit: int | None, part: Callable[[AsyncPostgresStore, int | None], Awaitable[int]]
    ) -> int:
        done = 0
        for store in self._stores:
            if limit is not None and done >= limit > 0:
                break
            done += await part(store, None if limit is None else limit - done)
        return done

    def _numbered(self, number: int) -> tuple[AsyncPostgresStore, int]:
        check("seq", number, int)
        if number is None:
            return self._stores[0], number
        position, seq = self._map.parted(int(number))
        return self._stores[position], seq


def _kept(status: Statuses) -> Statuses:
    """Statuses that can be read once for each shard."""
    return status if status is None or isinstance(status, str) else list(status)


def _disagreement(detail: str) -> ShardsDisagree:
    return ShardsDisagree(
        "ST016",
        "the shards are others than those that the databases know",
        detail,
        "Name every database of the store, and each once.",
    )


def _list(names: Iterable[str]) -> str:
    return ", ".join(repr(name) for name in names)
