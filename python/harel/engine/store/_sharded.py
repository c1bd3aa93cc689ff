# Generated from ../aio_store/_sharded.py by `make generate`. Do not edit.
"""A store that is spread over several databases: what it does with the stores of each.

The asynchronous module is the source; `make generate` derives the synchronous one from it.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import fields, replace
from typing import Any

from ...spec.states import Event
from ..execution import Execution, ExecutionPage, Status
from ..transport._calls import TransportCalls
from ._arguments import check
from ._base import OutboxEntry, Problem, ShardsDisagree, SpawnEntry, Stats, TimerOp, TraceEntry
from ._calls import Call, Calls, Emit, ForeignEvents, Spawn
from ._rendezvous import ShardMap
from ._session import transaction_on
from .postgres import PostgresStore

Statuses = Status | str | Iterable[Status | str] | None


class ShardedMethods:
    """The methods of a store over shards: those of PostgresStore, each on the shards that it concerns.

    What concerns one execution is one round trip to the shard that owns it. What concerns all of them asks each shard
    in turn. The seqs of outbox and spawns are numbers among all shards.
    """

    _map: ShardMap
    _stores: list[PostgresStore]

    def _join(self, stores: Sequence[PostgresStore], names: Sequence[str] | None) -> None:
        """Makes the stores the shards, of these names (None: those that they have or get), or raises ShardsDisagree."""
        for store in stores:
            known = self._call(store, Calls.shards)
            if known and len(known) != len(stores):
                raise _disagreement(f"There are {len(stores)} here, and a database has {len(known)}: {_list(known)}.")
        given: Sequence[str | None] = names or [None] * len(stores)
        for store, name in zip(stores, given, strict=True):
            self._call(store, Calls.name_shard, name)
        # Once more, as of two names for one database the second is left.
        found = [self._call(store, Calls.name_shard, None) for store in stores]
        if len(set(found)) < len(found):
            raise _disagreement(f"Two of them are the same database: {_list(found)}.")
        if names is not None and found != list(names):
            raise _disagreement(f"They are called {_list(names)} here, and themselves {_list(found)}.")
        self._map = ShardMap(found)
        self._stores = [stores[found.index(name)] for name in self._map.names]
        # All or none, and each client in the same order, so that two with different lists cannot both have some.
        with ExitStack() as stack:
            for name, store in zip(self._map.names, self._stores, strict=True):
                calls = store._ready()
                connection = store._take()
                stack.callback(store._give, connection)
                run = stack.enter_context(transaction_on(connection))
                run(calls.join_shards(self._map.names, name))
        # What nothing was received of, by sender and receiver: the next round looks behind it.
        self._busy: dict[tuple[int, int], set[str]] = {}

    @property
    def shards(self) -> list[str]:
        """The names of the shards, in their order."""
        return list(self._map.names)

    def shard_of(self, execution_id: str) -> str:
        """The name of the shard that owns an execution, whether or not it exists."""
        return self._map.names[self._map.position(execution_id)]

    def store_of(self, execution_id: str) -> PostgresStore:
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

    def load(self, execution_id: str) -> Execution | None:
        """See PostgresStore.load()."""
        return self.store_of(execution_id).load(execution_id)

    def load_for_event(self, execution_id: str, event_id: str) -> tuple[Execution | None, bool]:
        """See PostgresStore.load_for_event()."""
        return self.store_of(execution_id).load_for_event(execution_id, event_id)

    def save(self, exe: Execution) -> None:
        """`commit(exe, [])`: only the state."""
        self.commit(exe, [])

    def commit(
        self,
        exe: Execution,
        emits: Iterable[Emit],
        processed_event_id: str | None = None,
        timers: Iterable[TimerOp] = (),
        spawns: Iterable[Spawn] = (),
        trace: TraceEntry | None = None,
        step: Any = None,
    ) -> list[int]:
        """See PostgresStore.commit(). What the step causes on other shards is brought there by relay()."""
        check("id", exe.id, str)
        position = self._map.position(exe.id)
        seqs = self._stores[position].commit(exe, emits, processed_event_id, timers, spawns, trace, step)
        return [self._map.number(position, seq) for seq in seqs]

    def is_processed(self, execution_id: str, event_id: str) -> bool:
        """Whether the execution has handled the event."""
        return self.store_of(execution_id).is_processed(execution_id, event_id)

    def list_executions(
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
            store.list_executions(
                status=status, definition_id=definition_id, roots_only=roots_only, limit=limit, cursor=cursor
            )
            for store in self._stores
        ]
        items = sorted((item for page in pages for item in page.items), key=lambda item: item.id.encode())
        if len(items) <= limit and not any(page.next_cursor for page in pages):
            return ExecutionPage(items=items, next_cursor=None)
        next_cursor = self._call(self._stores[0], Calls.cursor, items[limit - 1].id)
        return ExecutionPage(items=items[:limit], next_cursor=next_cursor)

    def pending_outbox(self, limit: int | None = None) -> list[OutboxEntry]:
        """The events waiting on all shards, each shard's oldest first, at most `limit` (None: all)."""
        entries = [
            replace(entry, seq=self._map.number(position, entry.seq))
            for position, store in enumerate(self._stores)
            for entry in store.pending_outbox(limit)
        ]
        return sorted(entries, key=lambda entry: entry.seq)[:limit]

    def ack_outbox(self, seq: int) -> bool:
        """Removes an event that has been sent; False where it was not pending."""
        store, seq = self._numbered(seq)
        return store.ack_outbox(seq)

    def deliver_outbox(self, handler: Callable[[list[OutboxEntry]], Any], limit: int | None = 100) -> int:
        """PostgresStore.deliver_outbox() of one shard after another, at most `limit` events in all."""
        delivered = 0
        for position, store in enumerate(self._stores):
            if limit is not None and delivered >= limit > 0:
                break

            def numbered(entries: list[OutboxEntry], position: int = position) -> None:
                handler([replace(entry, seq=self._map.number(position, entry.seq)) for entry in entries])

            delivered += store.deliver_outbox(numbered, None if limit is None else limit - delivered)
        return delivered

    def pending_spawns(self, limit: int | None = None) -> list[SpawnEntry]:
        """The child executions waiting to be created on all shards, each shard's oldest first."""
        entries = [
            replace(entry, seq=self._map.number(position, entry.seq))
            for position, store in enumerate(self._stores)
            for entry in store.pending_spawns(limit)
        ]
        return sorted(entries, key=lambda entry: entry.seq)[:limit]

    def ack_spawn(self, seq: int) -> bool:
        """Removes the request for a child that has been created; False where it was not pending."""
        store, seq = self._numbered(seq)
        return store.ack_spawn(seq)

    def due_timers(self, now: float, limit: int | None = None) -> list[tuple[str, str, float]]:
        """The `(execution_id, path, fire_at)` of the timers due on all shards, earliest first, at most `limit`."""
        timers = [timer for store in self._stores for timer in store.due_timers(now, limit)]
        return sorted(timers, key=lambda timer: (timer[2], timer[0].encode(), timer[1].encode()))[:limit]

    def delete_timer(self, execution_id: str, path: str, fire_at: float) -> bool:
        """See PostgresStore.delete_timer()."""
        return self.store_of(execution_id).delete_timer(execution_id, path, fire_at)

    def append_trace(self, execution_id: str, entry: TraceEntry) -> int:
        """See PostgresStore.append_trace()."""
        return self.store_of(execution_id).append_trace(execution_id, entry)

    def read_trace(self, execution_id: str) -> list[dict[str, Any]]:
        """See PostgresStore.read_trace()."""
        return self.store_of(execution_id).read_trace(execution_id)

    def purge(self, execution_id: str, expected_version: int) -> bool:
        """See PostgresStore.purge(). What waits for it on other shards stays, to become dead letters."""
        return self.store_of(execution_id).purge(execution_id, expected_version)

    def purge_finished(self, older_than: float, limit: int | None = 1000, archive: str | None = None) -> int:
        """PostgresStore.purge_finished() of one shard after another, at most `limit` executions in all."""
        return self._in_parts(limit, lambda store, left: store.purge_finished(older_than, left, archive))

    def purge_processed(self, older_than: float, limit: int | None = 10000) -> int:
        """PostgresStore.purge_processed() of one shard after another, at most `limit` events in all."""
        return self._in_parts(limit, lambda store, left: store.purge_processed(older_than, left))

    def purge_receipts(self, older_than: float, limit: int | None = 10000) -> int:
        """Forgets up to `limit` of what shards received from each other more than `older_than` seconds ago.

        What is handed in once more would be taken once more: keep them for longer than a relay may stand still, and a
        shard may be restored from a backup. Returns how many were forgotten.
        """
        return self._in_parts(limit, lambda store, left: self._call(store, Calls.purge_receipts, older_than, left))

    def stats(self) -> Stats:
        """The sums over all shards, and the longest of waits: see PostgresStore.stats()."""
        parts = [store.stats() for store in self._stores]
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

    def health(self) -> list[Problem]:
        """What is wrong with any of the shards, each problem with the name of its shard."""
        return [
            replace(problem, detail=f"Shard {name}: {problem.detail}")
            for name, store in zip(self._map.names, self._stores, strict=True)
            for problem in store.health()
        ]

    def ids_with_prefix(self, prefix: str) -> list[str]:
        """The ids of all shards that begin with these very characters, in the order of their bytes."""
        ids = [id for store in self._stores for id in store.ids_with_prefix(prefix)]
        return sorted(ids, key=str.encode)

    def publish(self, execution_id: str, event: Event, priority: int = 0) -> int:
        """Puts an event into the queue of the shard that owns the execution: see PostgresTransport.publish()."""
        store = self.store_of(execution_id)
        return store._run((self._queue(store)).publish(execution_id, event, priority, None))

    def send(self, execution_id: str, event: Event) -> int | None:
        """publish() at the priority of the execution; None, and nothing published, where there is none."""
        store = self.store_of(execution_id)
        return store._run((self._queue(store)).send(execution_id, event, None))

    def suspend(self, execution_id: str) -> bool:
        """Suspends an execution and its children on all shards, one shard after another. False: nothing could be.

        A child that relay() creates at this very moment may be missed; a second call finds it.
        """
        return self._control("suspend", execution_id)

    def resume(self, execution_id: str) -> bool:
        """Resumes a suspended execution and its children on all shards. False where nothing was suspended."""
        return self._control("resume", execution_id)

    def cancel(self, execution_id: str) -> bool:
        """Cancels an execution and its children on all shards: see suspend(). False where all was final."""
        return self._control("cancel", execution_id)

    def suspend_all(
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
            store.suspend_all(status=status, definition_id=definition_id, roots_only=roots_only, dry_run=dry_run)
            for store in self._stores
        ]
        return sum(counts)

    def resume_all(
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
            store.resume_all(status=status, definition_id=definition_id, roots_only=roots_only, dry_run=dry_run)
            for store in self._stores
        ]
        return sum(counts)

    def cancel_all(
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
            store.cancel_all(status=status, definition_id=definition_id, roots_only=roots_only, dry_run=dry_run)
            for store in self._stores
        ]
        return sum(counts)

    def relay(self, limit: int = 1000) -> int:
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
        senders = [sender for sender in range(len(self._stores)) if self._waiting(sender, errors)]
        for sender in senders:
            for receiver in self._waiting(sender, errors):
                try:
                    events[sender, receiver] = self._foreign_events(sender, receiver, limit)
                except Exception as error:
                    errors.append(error)
        for sender in senders:
            for receiver in self._waiting(sender, errors):
                try:
                    moved += self._relay_spawns(sender, receiver, limit)
                except Exception as error:
                    errors.append(error)
        for (sender, receiver), waiting in events.items():
            try:
                moved += self._relay_events(sender, receiver, waiting)
            except Exception as error:
                errors.append(error)
        if errors:
            raise errors[0]
        return moved

    def close(self) -> None:
        """Closes the connections, if they are the store's own. A closed store cannot be used again."""
        for store in self._stores:
            store.close()

    def _waiting(self, sender: int, errors: list[Exception]) -> list[int]:
        """The shards for which something waits on one of them; none where it does not answer."""
        try:
            names = self._call(self._stores[sender], Calls.waiting_shards)
        except Exception as error:
            errors.append(error)
            return []
        return [self._map.names.index(name) for name in names]

    def _foreign_events(self, sender: int, receiver: int, limit: int) -> ForeignEvents:
        """The first events that wait; not those of which none could be received before, unless there are no others."""
        here, name = self._stores[sender], self._map.names[receiver]
        without = self._busy.pop((sender, receiver), set())
        events: ForeignEvents = self._call(here, Calls.foreign_outbox, name, limit, without)
        if events.seqs:
            self._busy[sender, receiver] = without
        elif without:
            events = self._call(here, Calls.foreign_outbox, name, limit, ())
        return events

    def _relay_spawns(self, sender: int, receiver: int, limit: int) -> int:
        here, there = self._stores[sender], self._stores[receiver]
        moved = 0
        while True:
            spawns = self._call(here, Calls.foreign_spawns, self._map.names[receiver], limit)
            if spawns.seqs:
                received = self._call(there, Calls.receive_spawns, self._map.names[sender], spawns)
                moved += self._call(here, Calls.settle_spawns, received)
            if len(spawns.seqs) < limit:
                return moved

    def _relay_events(self, sender: int, receiver: int, events: ForeignEvents) -> int:
        here, there = self._stores[sender], self._stores[receiver]
        if not events.seqs:
            return 0
        received: list[int] = self._call(there, Calls.receive_events, self._map.names[sender], events)
        if not received:
            self._busy.setdefault((sender, receiver), set()).update(events.targets)
            return 0
        self._busy.pop((sender, receiver), None)
        settled: int = self._call(here, Calls.settle_outbox, received)
        return settled

    def _control(self, verb: str, execution_id: str) -> bool:
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
                    ids, here = self._call(self._stores[position], Calls.control_tree, verb, news)
                    changed = changed or here
                    seen = set(known)
                    known += [id for id in ids if id not in seen]
        return changed

    def _call(self, store: PostgresStore, method: Callable[..., Call[Any]], *arguments: Any) -> Any:
        calls = store._ready()
        return store._run(method(calls, *arguments))

    def _queue(self, store: PostgresStore) -> TransportCalls:
        calls = store._ready()
        return TransportCalls(calls.schema, calls.execution_type, calls.event_type)

    def _in_parts(self, limit: int | None, part: Callable[[PostgresStore, int | None], int]) -> int:
        done = 0
        for store in self._stores:
            if limit is not None and done >= limit > 0:
                break
            done += part(store, None if limit is None else limit - done)
        return done

    def _numbered(self, number: int) -> tuple[PostgresStore, int]:
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
