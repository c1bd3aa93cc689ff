"""Every call of a queue, once: its SQL, its parameters and what its rows mean. No I/O."""

from collections.abc import Iterable, Sequence
from typing import Any

from ...spec.states import Event
from ..store._arguments import check, key
from ..store._base import InvalidArgument
from ..store._calls import Call, CallsOfSchema, Row, array, check_state, scalar
from ..store._json import dump_dict, dump_event, dump_model, load_event, load_model
from ._base import Completed, Completion, DeadLetter, Delivery, Lease, Tick


class TransportCalls(CallsOfSchema):
    """The calls of the queue. `now` is the time in seconds since the epoch; None is the clock of the database."""

    def _prepare(self, prefix: str) -> None:
        self._publish = f"SELECT {prefix}publish(%s, %s, %s::integer, %s)"
        self._publish_many = f"SELECT {prefix}publish_many(%s::text[], %s::text[], %s::integer[], %s)"
        self._send = f"SELECT {prefix}send(%s, %s, %s)"
        self._claim = (
            f"SELECT group_id, seq, event, token::text, deadline, attempts "
            f"FROM {prefix}claim(%s, %s, %s::integer, %s::integer, %s::integer, %s)"
        )
        self._ack = f"SELECT {prefix}ack(%s, %s::uuid, %s)"
        self._nack = f"SELECT {prefix}nack(%s, %s::uuid, %s, %s, %s::integer, %s)"
        self._extend = f"SELECT group_id, deadline FROM {prefix}extend(%s::text[], %s::uuid[], %s, %s)"
        self._next = (
            "SELECT group_id, seq, event, token::text, deadline, attempts, data, version, already_processed "
            f"FROM {prefix}next(%s, %s, %s::integer, %s::integer, %s::integer, %s, %s)"
        )
        self._finish = (
            f"SELECT result, stored_version, outbox_seqs FROM {prefix}finish(%s::text[], %s::uuid[], "
            "%s::text[], %s::text[], %s::bigint[], %s::text[], %s::integer[], %s::text[], %s::text[], "
            "%s::integer[], %s::text[], %s::text[], %s::text[], "
            "%s::integer[], %s::text[], %s::text[], %s::double precision[], %s::text[], %s::integer, %s)"
        )
        self._relay = f"SELECT {prefix}relay(%s::integer, %s)"
        self._relay_spawns = f"SELECT {prefix}relay_spawns(%s::integer, %s)"
        self._fire_timers = f"SELECT {prefix}fire_timers(%s, %s::integer)"
        self._tick = f"SELECT spawned, relayed, fired, next_at FROM {prefix}tick(%s::integer, %s)"
        self._dead_letters = (
            "SELECT id::text, group_id, seq, event, reason, attempts, published_at, delivered_at, dead_at "
            f"FROM {prefix}dead_letters(%s, %s::integer)"
        )
        self._redrive = f"SELECT {prefix}redrive(%s, %s::uuid, %s::integer, %s)"
        self._channel = f"SELECT {prefix}channel()"

    def publish(self, group_id: str, event: Event, priority: int, now: float | None) -> Call[int]:
        text = dump_event(event, f"an event for {group_id!r}")
        return Call(self._publish, (key("group id", group_id), text, priority, now), scalar)

    def publish_many(self, messages: Iterable[Sequence[Any]], now: float | None) -> Call[int]:
        groups: list[str] = []
        events: list[str] = []
        priorities: list[str] = []
        for group_id, event, *priority in messages:
            groups.append(group_id)
            events.append(dump_event(event, f"an event for {group_id!r}"))
            priorities.append(str(priority[0] if priority else 0))
        return Call(self._publish_many, (array(groups), array(events), array(priorities), now), scalar)

    def send(self, execution_id: str, event: Event, now: float | None) -> Call[int | None]:
        text = dump_event(event, f"an event for {execution_id!r}")
        return Call(self._send, (key("group id", execution_id), text, now), scalar)

    def claim(
        self,
        worker_id: str,
        visibility: float,
        limit: int,
        min_priority: int,
        max_attempts: int | None,
        now: float | None,
    ) -> Call[list[Lease]]:
        return Call(
            self._claim,
            (worker_id, visibility, limit, min_priority, max_attempts, now),
            lambda rows: [self._lease(row) for row in rows],
        )

    def ack(self, lease: Lease, now: float | None) -> Call[bool]:
        return Call(self._ack, (*_key(lease), now), scalar)

    def nack(
        self, lease: Lease, delay: float, reason: str | None, max_attempts: int | None, now: float | None
    ) -> Call[bool]:
        return Call(self._nack, (*_key(lease), delay, reason, max_attempts, now), scalar)

    def extend(self, leases: Sequence[Lease], visibility: float, now: float | None) -> Call[dict[str, float]]:
        return Call(
            self._extend,
            (
                array([lease.group_id for lease in leases]),
                array([lease.token for lease in leases]),
                visibility,
                now,
            ),
            dict,
        )

    def next(
        self,
        worker_id: str,
        visibility: float,
        limit: int,
        min_priority: int,
        max_attempts: int | None,
        sleep: float | None,
        now: float | None,
    ) -> Call[list[Delivery]]:
        return Call(
            self._next,
            (worker_id, visibility, limit, min_priority, max_attempts, sleep, now),
            lambda rows: [self._delivery(row) for row in rows],
        )

    def finish(
        self, completions: Sequence[Completion], trace_max: int | None, now: float | None
    ) -> Call[list[Completed]]:
        emits: list[tuple[str, str | None, str]] = []
        spawns: list[tuple[str, str, str, str]] = []
        timers: list[tuple[str, str, str, str]] = []
        states: list[tuple[str | None, str | None, str | None]] = []
        traces: list[str | None] = []
        for place, completion in enumerate(completions, 1):
            at = str(place)
            exe = completion.execution
            if exe is None:
                states.append((None, None, None))
                traces.append(None)
                continue
            if exe.id != completion.lease.group_id:
                raise InvalidArgument(
                    "ST001",
                    "a message must be completed with the execution that it is for",
                    f"The message is for {completion.lease.group_id!r}, and the execution is {exe.id!r}.",
                    "Emit an event to the other execution.",
                )
            check_state(exe)
            whose = f"of execution {exe.id!r}"
            data = dump_model(exe.model_copy(update={"version": exe.version + 1}), f"the data {whose}")
            states.append((exe.definition_id, data, str(exe.version)))
            trace = completion.trace
            traces.append(None if trace is None else dump_dict(trace, f"a trace entry {whose}"))
            emits += [(at, target, dump_event(event, f"an event {whose}")) for target, event in completion.emits]
            spawns += [
                (at, child_id, root_path, dump_dict(context, f"a spawn {whose}"))
                for child_id, root_path, context in completion.spawns
            ]
            timers += [(at, timer.action, timer.path, str(timer.fire_at)) for timer in completion.timers]
        leases = [completion.lease for completion in completions]
        params = (
            array([lease.group_id for lease in leases]),
            array([lease.token for lease in leases]),
            *_columns(states, 3),
            # Without an event it is one that could not be read.
            array([lease.event.id if lease.event else None for lease in leases]),
            *_columns(emits, 3),
            *_columns(spawns, 4),
            *_columns(timers, 4),
            array(traces) if any(traces) else None,
            trace_max,
            now,
        )
        return Call(self._finish, params, lambda rows: [Completed(*row) for row in rows])

    def relay(self, limit: int, now: float | None) -> Call[int]:
        return Call(self._relay, (limit, now), scalar)

    def relay_spawns(self, limit: int, now: float | None) -> Call[int]:
        return Call(self._relay_spawns, (limit, now), scalar)

    def fire_timers(self, now: float | None, limit: int) -> Call[int]:
        return Call(self._fire_timers, (now, limit), scalar)

    def tick(self, limit: int, now: float | None) -> Call[Tick]:
        return Call(self._tick, (limit, now), lambda rows: Tick(*rows[0]))

    def dead_letters(self, group_id: str | None, limit: int | None) -> Call[list[DeadLetter]]:
        return Call(self._dead_letters, (group_id, limit), lambda rows: [DeadLetter(*row) for row in rows])

    def redrive(self, group_id: str | None, id: str | None, limit: int | None, now: float | None) -> Call[int]:
        return Call(self._redrive, (group_id, id, limit, now), scalar)

    def channel(self) -> Call[str]:
        return Call(self._channel, (), scalar)

    def _lease(self, row: Row) -> Lease:
        group_id, seq, event, *rest = row
        return Lease(group_id, seq, load_event(self.event_type, event, f"message {seq} of {group_id!r}"), *rest)

    def _delivery(self, row: Row) -> Delivery:
        group_id, seq, _, *rest = row[:6]
        data, version, already_processed = row[6:]
        try:
            lease = self._lease(row[:6])
            exe = load_model(self.execution_type, data, f"execution {group_id!r}")
        except ValueError as error:
            # What cannot be read must not take the other messages of the call with it.
            return Delivery(Lease(group_id, seq, None, *rest), None, already_processed, error)  # type: ignore[arg-type]
        if exe.version != version:
            exe.version = version
        return Delivery(lease, exe, already_processed)


def _key(lease: Lease) -> tuple[str, str]:
    check("group_id", lease.group_id, str)
    check("token", lease.token, str)
    if lease.group_id is None:
        raise InvalidArgument(
            "ST001",
            "a lease is named by its group and its token",
            "Group NULL: one of the two is NULL.",
            "Pass the group_id and the token that harel_claim() or harel_next() gave.",
        )
    return lease.group_id, lease.token


def _columns(rows: Sequence[Sequence[str | None]], width: int) -> Iterable[str | None]:
    """The columns of a table as arrays; None each where it is empty."""
    if not rows:
        return [None] * width
    return [array(column) for column in zip(*rows, strict=True)]
