"""Whatever calls come in whatever order, a store answers and holds what a plain program of dictionaries does."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import count
from typing import Any

import psycopg
import pytest
from content import Content, clear, content
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from model import ClusterModel, Model, Step
from wire import KINDS, opened, opened_transport

from cluster import SHARDS
from harel import Completion, Delivery, Event, Execution, Lease, OutboxEntry, StoreConflict, Tick, TimerOp
from harel.engine.execution import Status

# Later than the clock of the database, by which harel_resume() goes.
START = 4e9
TRACE_MAX = 2
MAX_ATTEMPTS = 2
# More than there are groups: all that can be claimed are.
ALL = 10

# Often the same, and often what goes on, so that calls meet what others have left.
ids = st.sampled_from(("a", "a", "a", "a%", "a%", "B"))
statuses = st.sampled_from([*[Status.RUNNING] * 6, Status.PENDING, *Status])
definitions = st.sampled_from(("d", "d2"))
priorities = st.sampled_from((0, 0, 1, 4))
limits = st.sampled_from((1, 2, 1000))
# Of which sources and parents a few are taken over several nodes, is not said.
relay_limits = st.just(1000) if SHARDS else limits
event_ids = st.sampled_from([f"e{n}" for n in range(6)])
# Most commits are of the version that is stored.
offsets = st.sampled_from((0, 0, 0, 0, 0, -1, 1))
traces = st.none() | st.fixed_dictionaries({"step": st.integers(0, 9)})
emit_to = st.lists(st.sampled_from((None, "a", "a", "a%", "a%", "B")), max_size=3)
spawns = st.lists(
    st.tuples(ids, st.sampled_from(("", "/r")), st.fixed_dictionaries({"n": st.integers(0, 9)})), max_size=2
)
timer_ops = st.builds(
    lambda action, path, after: (action, path, START + after),
    st.sampled_from(("schedule", "schedule", "cancel")),
    st.sampled_from(("/p", "/q")),
    st.integers(0, 100),
)
timers = st.lists(timer_ops, max_size=2)
filters = st.fixed_dictionaries(
    {
        "status": st.none() | statuses | st.lists(statuses, max_size=2),
        "definition_id": st.none() | definitions,
        "roots_only": st.booleans(),
    }
)
places = st.integers(0, 1000)
steps = st.lists(
    st.tuples(places, st.sampled_from((False, False, False, True)), statuses, emit_to, timers, spawns, traces),
    min_size=1,
    max_size=3,
)


class StoreMachine(RuleBasedStateMachine):
    """Calls on a store and its queue; each is made on the model, too."""

    def __init__(self, world: "World") -> None:
        super().__init__()
        clear(world.session)
        world.clock = START
        self.world = world
        self.session, self.store, self.transport = world.session, world.store, world.transport
        self.model = (ClusterModel if SHARDS else Model)(TRACE_MAX, MAX_ATTEMPTS)
        self.numbers = count()
        self.leases: list[Lease] = []
        self.deliveries: list[Delivery] = []

    @property
    def now(self) -> float:
        return self.world.clock

    def event(self, id: str) -> Event:
        return Event(id=id, kind="Go", data={"n": next(self.numbers)})

    def emitted(self, targets: list[str | None]) -> list[tuple[str | None, Event]]:
        return [(target, self.event(f"e{place}")) for place, target in enumerate(targets)]

    @initialize(statuses=st.tuples(statuses, statuses), messages=st.integers(0, 2))
    def begin(self, statuses: tuple[Status, Status], messages: int) -> None:
        """A parent, its child, and messages for both."""
        for id, parent, status in (("a", None, statuses[0]), ("a%", "a", statuses[1])):
            self.commit(id, "d", status, parent, 0, 0, None, [], [("schedule", "/p", START + 5)], [], None)
            for n in range(messages):
                self.publish(id, f"e{n}", 0)

    # Commits and what they leave

    @rule(
        id=ids, definition=definitions, status=statuses, parent=st.none() | ids, priority=priorities, offset=offsets,
        event=st.none() | event_ids, emit_to=emit_to, timers=timers, spawns=spawns, trace=traces,
    )  # fmt: skip
    def commit(
        self, id: str, definition: str, status: Status, parent: str | None, priority: int, offset: int,
        event: str | None, emit_to: list[str | None], timers: Any, spawns: Any, trace: Any,
    ) -> None:  # fmt: skip
        exe = self.store.load(id) or Execution(id=id, definition_id=definition, parent_id=parent)
        update = {"definition_id": definition, "status": status, "priority": priority, "context": {"by": id}}
        exe = exe.model_copy(update={**update, "version": max(exe.version + offset, 0)})
        version, data = exe.version, next_data(exe)
        emits = self.emitted(emit_to)
        try:
            answer = self.store.commit(exe, emits, event, [TimerOp(*op) for op in timers], spawns, trace)
        except StoreConflict as conflict:
            answer = conflict
        if isinstance(answer, StoreConflict):
            row = self.model.executions.get(id)
            assert (answer.expected, answer.found) == (version, row.version if row else None)
            assert (row.version if row else 0) != version == exe.version
            return
        assert exe.version == version + 1
        assert self.model.commit(
            id, definition, data, version, event, texts(emits), timers, spawn_texts(spawns), entry(trace), answer
        )

    @rule(id=ids, trace=st.fixed_dictionaries({"step": st.integers(0, 9)}))
    def append_trace(self, id: str, trace: dict[str, Any]) -> None:
        assert self.store.append_trace(id, trace) == self.model.append_trace(id, compact(trace))

    @rule(id=ids, event=event_ids)
    def read(self, id: str, event: str) -> None:
        row = self.model.executions.get(id)
        exe, processed = self.store.load_for_event(id, event)
        assert processed is (row is not None and (id, event) in self.model.processed)
        assert self.store.is_processed(id, event) is ((id, event) in self.model.processed)
        for loaded in (exe, self.store.load(id)):
            if row is None:
                assert loaded is None
            else:
                assert loaded == Execution.model_validate(row.data)
                assert loaded.version == row.version
        trace = [{**json.loads(text), "index": index} for index, text in self.model.trace.get(id, [])]
        assert self.store.read_trace(id) == trace

    @rule(filters=filters, limit=st.integers(1, 3), prefix=st.sampled_from(("", "a", "a%", "%", "_")))
    def list_executions(self, filters: dict[str, Any], limit: int, prefix: str) -> None:
        expected = sorted((id for id in self.model.executions if id.startswith(prefix)), key=str.encode)
        assert self.store.ids_with_prefix(prefix) == expected
        found, cursor = [], None
        while True:
            page = self.store.list_executions(**filters, limit=limit, cursor=cursor)
            found += [(item.id, item.definition_id, item.status, item.version, item.parent_id) for item in page.items]
            cursor = page.next_cursor
            if cursor is None:
                break
            assert len(page.items) == limit
        rows = ((id, self.model.executions[id]) for id in self.matching(**filters))
        assert found == [(id, row.definition, row.status, row.version, row.parent) for id, row in rows]

    def matching(self, status: Any, definition_id: str | None, roots_only: bool) -> list[str]:
        """The executions that a filter finds, in the order of the bytes of their ids."""
        wanted = None if status is None else [status] if isinstance(status, str) else status
        return [
            id
            for id, row in sorted(self.model.executions.items(), key=lambda item: item[0].encode())
            if (wanted is None or row.status in wanted)
            and definition_id in (None, row.definition)
            and not (roots_only and row.parent is not None)
        ]

    @rule(limit=limits, place=places)
    def ack_outbox(self, limit: int, place: int) -> None:
        entries = self.store.pending_outbox(limit)
        found = [(e.seq, e.target_id, e.event.model_dump_json(), e.source_id) for e in entries]
        assert found == [(seq, *self.model.outbox[seq]) for seq in self.model.waiting()][:limit]
        seq = entries[place % len(entries)].seq if entries else place
        assert self.store.ack_outbox(seq) is (self.model.outbox.pop(seq, None) is not None)
        assert self.store.ack_outbox(seq) is False

    @rule(limit=limits)
    def deliver_outbox(self, limit: int) -> None:
        delivered: list[int] = []

        def deliver(entries: list[OutboxEntry]) -> None:
            delivered.extend(entry.seq for entry in entries)

        async def deliver_later(entries: list[OutboxEntry]) -> None:
            deliver(entries)

        taken = self.model.waiting()[:limit]
        handler = deliver if self.world.kind == "sync" else deliver_later
        assert self.store.deliver_outbox(handler, limit) == len(taken)
        assert delivered == taken
        for seq in taken:
            del self.model.outbox[seq]

    @rule(limit=limits, place=places)
    def ack_spawn(self, limit: int, place: int) -> None:
        entries = self.store.pending_spawns(limit)
        found = [(e.parent_id, e.child_id, e.root_path, compact(e.context)) for e in entries]
        assert found == self.model.waiting_spawns()[:limit]
        if entries:
            made = self.model.waiting_spawns()[place % len(entries)]
            self.model.spawns = [spawn for spawn in self.model.spawns if spawn is not made]
            assert self.store.ack_spawn(entries[place % len(entries)].seq) is True
            assert self.store.ack_spawn(entries[place % len(entries)].seq) is False

    @rule(after=st.integers(0, 100), place=places, moved=st.booleans())
    def delete_timer(self, after: int, place: int, moved: bool) -> None:
        due = self.store.due_timers(START + after)
        assert due == self.model.due_timers(START + after)
        if due:
            id, path, fire_at = due[place % len(due)]
            assert self.store.delete_timer(id, path, fire_at + moved) is not moved
            if not moved:
                del self.model.timers[id, path]

    @rule(id=ids, offset=st.sampled_from((1, 1, 0)))
    def purge(self, id: str, offset: int) -> None:
        row = self.model.executions.get(id)
        version = (row.version if row else 1) + offset
        assert self.store.purge(id, version) is self.model.purge(id, version)

    # Control

    @rule(verb=st.sampled_from(("suspend", "suspend", "resume", "resume", "cancel")), id=ids)
    def control(self, verb: str, id: str) -> None:
        assert getattr(self.store, verb)(id) is getattr(self.model, verb)(id)

    @rule(verb=st.sampled_from(("suspend", "resume", "resume", "cancel")), filters=filters, dry_run=st.booleans())
    def control_all(self, verb: str, filters: dict[str, Any], dry_run: bool) -> None:
        to = {"suspend": "SUSPENDED", "resume": "RUNNING", "cancel": "CANCELLED"}[verb]
        matching = [id for id in self.matching(**filters) if self.model.can_become(id, to)]
        assert getattr(self.store, f"{verb}_all")(**filters, dry_run=dry_run) == len(matching)
        if not dry_run:
            getattr(self.model, verb)(*matching)

    # The queue

    @rule(seconds=st.sampled_from((0.5, 1.0, 1.0, 10.0, 100.0)))
    def wait(self, seconds: float) -> None:
        self.world.clock += seconds

    @rule(id=ids, event=event_ids, priority=priorities)
    def publish(self, id: str, event: str, priority: int) -> None:
        message = self.event(event)
        self.transport.publish(id, message, priority)
        self.model.publish(id, message.model_dump_json(), priority, self.now)

    @rule(messages=st.lists(st.tuples(ids, event_ids, priorities), max_size=4))
    def publish_many(self, messages: list[tuple[str, str, int]]) -> None:
        made = [(id, self.event(event), priority) for id, event, priority in messages]
        assert self.transport.publish_many(made) == len(made)
        # A new group has the priority of the first message that is for it.
        for id, event, priority in made:
            self.model.publish(id, event.model_dump_json(), priority, self.now)

    @rule(id=ids, event=event_ids)
    def send(self, id: str, event: str) -> None:
        message = self.event(event)
        known = id in self.model.executions
        assert (self.transport.send(id, message) is not None) is known
        if known:
            self.model.publish(id, message.model_dump_json(), None, self.now)

    @rule(visibility=st.sampled_from((0.0, 5.0, 50.0)), min_priority=priorities, one=st.booleans())
    def claim(self, visibility: float, min_priority: int, one: bool) -> None:
        ready = self.model.available(min_priority, self.now)
        # Which of two that became available in one moment is first is not said.
        limit = 1 if one and not self.tied(ready) else ALL
        leases = self.transport.claim_many("w", visibility, limit, min_priority)
        while self.model.exhaust(ready[:limit], self.now):
            ready = self.model.available(min_priority, self.now)
        self.taken(leases, ready[:limit], visibility)

    def tied(self, ready: list[str]) -> bool:
        # One that is exhausted becomes available now, as others may have.
        moments = [*(self.model.groups[id].available_at for id in ready), self.now]
        return len(set(moments)) < len(moments)

    def taken(self, leases: list[Lease], ready: list[str], visibility: float) -> None:
        assert sorted(lease.group_id for lease in leases) == sorted(ready)
        for lease in leases:
            queue = self.model.lease(lease.group_id, "w", self.now + visibility, lease.token)
            assert lease.event.id == json.loads(queue.messages[0].event)["id"]
            assert (lease.deadline, lease.attempts) == (queue.available_at, queue.attempts)
        self.leases += leases

    @rule(
        place=places,
        ack=st.sampled_from((False, False, True)),
        delay=st.sampled_from((0.0, 3.0)),
        reason=st.none() | st.just("no"),
    )
    def settle(self, place: int, ack: bool, delay: float, reason: str | None) -> None:
        if not self.leases:
            return
        # Mostly one of the last; a lease that is over can be tried, too.
        lease = self.leases[-1 - place % min(len(self.leases), 5)]
        held = self.model.holds(lease.group_id, lease.token, self.now)
        assert (self.transport.ack(lease) if ack else self.transport.nack(lease, delay, reason)) is held
        if held and ack:
            self.model.settle(lease.group_id, self.now)
        elif held:
            self.model.nack(lease.group_id, delay, reason, self.now)

    @rule(visibility=st.sampled_from((1.0, 20.0)))
    def extend(self, visibility: float) -> None:
        expected = {}
        for lease in self.leases:
            if self.model.holds(lease.group_id, lease.token, self.now):
                queue = self.model.groups[lease.group_id]
                queue.available_at = max(queue.available_at, self.now + visibility)
                expected[lease.group_id] = queue.available_at
        assert self.transport.extend(self.leases, visibility) == expected

    @rule(visibility=st.sampled_from((5.0, 50.0)), min_priority=priorities)
    def next(self, visibility: float, min_priority: int) -> None:
        deliveries = self.transport.next("w", visibility, ALL, min_priority)
        token = deliveries[0].lease.token if deliveries else "none is kept"
        expected: list[str] = []
        while not expected:
            ready = self.model.available(min_priority, self.now)
            while self.model.exhaust(ready, self.now):
                ready = self.model.available(min_priority, self.now)
            if not ready:
                break
            for id in ready:
                self.model.lease(id, "w", self.now + visibility, token)
            expected = [id for id in ready if self.model.sort_out(id, self.now)]
        assert sorted(delivery.lease.group_id for delivery in deliveries) == sorted(expected)
        for delivery in deliveries:
            id = delivery.lease.group_id
            queue, row = self.model.groups[id], self.model.executions[id]
            assert delivery.lease.event.id == json.loads(queue.messages[0].event)["id"]
            assert delivery.already_processed is self.model.is_processed(id, queue.messages[0].event)
            assert delivery.execution == Execution.model_validate(row.data)
        self.deliveries += deliveries
        self.leases += [delivery.lease for delivery in deliveries]

    @rule(steps=steps)
    def finish(self, steps: list[Any]) -> None:
        if not self.deliveries:
            return
        completions, expected = [], []
        for place, only_goes, status, targets, timers, spawns, trace in steps:
            delivery = self.deliveries[-1 - place % min(len(self.deliveries), 5)]
            lease, loaded = delivery.lease, delivery.execution
            assert loaded is not None
            exe = loaded.model_copy(update={"status": status, "context": {"n": next(self.numbers)}})
            emits = self.emitted(targets)
            ops = [TimerOp(*op) for op in timers]
            completion = Completion(lease) if only_goes else Completion(lease, exe, emits, ops, spawns, trace)
            completions.append(completion)
            data = None if only_goes else next_data(exe)
            head = (lease.group_id, lease.token, lease.event.id, exe.definition_id, data, exe.version)
            expected.append(Step(*head, texts(emits), timers, spawn_texts(spawns), entry(trace), []))
        answers = self.transport.finish(completions)
        for step, answer in zip(expected, answers, strict=True):
            step.seqs = answer.seqs
        assert [(answer.result, answer.version) for answer in answers] == self.model.finish(expected, self.now)

    @rule(id=ids, event=event_ids, steps=steps)
    def work(self, id: str, event: str, steps: list[Any]) -> None:
        """What a worker does, from the event to the end of its step."""
        self.publish(id, event, 0)
        self.next(50.0, 0)
        self.finish(steps)

    @rule(limit=relay_limits, part=st.sampled_from(("relay", "relay_spawns", "fire_timers")))
    def move(self, limit: int, part: str) -> None:
        assert getattr(self.transport, part)(limit=limit) == getattr(self.model, part)(limit, self.now)

    @rule(limit=relay_limits)
    def tick(self, limit: int) -> None:
        spawned = self.model.relay_spawns(limit, self.now)
        relayed = self.model.relay(limit, self.now)
        fired = self.model.fire_timers(limit, self.now)
        assert self.transport.tick(limit) == Tick(spawned, relayed, fired, self.model.next_at(self.now))

    @rule(id=st.none() | ids)
    def redrive(self, id: str | None) -> None:
        letters = self.transport.dead_letters(id)
        expected = [letter for letter in self.model.letters if id in (None, letter.group)]
        assert sorted((d.group_id, d.event, d.reason, d.attempts) for d in letters) == sorted(
            (d.group, d.message.event, d.reason, d.attempts) for d in expected
        )
        assert self.transport.redrive(id) == self.model.redrive(id, self.now)

    @invariant()
    def the_store_holds_what_the_model_does(self) -> None:
        found, expected = (comparable(held) for held in (content(self.session), self.model.content()))
        for name in Content._fields:
            assert getattr(found, name) == getattr(expected, name), name


def comparable(held: Content) -> Content:
    """Without the times of resumptions, which are by the clock of the database.

    On a cluster what waits is in the order of its source.
    """
    if SHARDS:
        held = held._replace(
            outbox=sorted(held.outbox, key=lambda row: row[3].encode()),
            spawns=sorted(held.spawns, key=lambda row: row[0].encode()),
        )
    groups = {
        id: group._replace(available_at=0.0) if group.available_at < START else group
        for id, group in held.groups.items()
    }
    return held._replace(groups=groups)


def next_data(exe: Execution) -> dict[str, Any]:
    """The data that a commit of an execution writes."""
    data = json.loads(exe.model_dump_json())
    return {**data, "version": exe.version + 1}


def compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def entry(trace: dict[str, Any] | None) -> str | None:
    return None if trace is None else compact(trace)


def texts(emits: list[tuple[str | None, Event]]) -> list[tuple[str | None, str]]:
    return [(target, event.model_dump_json()) for target, event in emits]


def spawn_texts(spawns: list[tuple[str, str, dict[str, Any]]]) -> list[tuple[str, str, str]]:
    return [(child, root_path, compact(context)) for child, root_path, context in spawns]


class World:
    """A store and its queue in a database, of one of the two kinds, whose clock a test sets."""

    def __init__(self, kind: str, dsn: str, closing: ExitStack) -> None:
        self.kind = kind
        self.clock = START
        self.session = closing.enter_context(psycopg.connect(dsn, autocommit=True))
        self.store: Any = closing.enter_context(opened(kind, dsn, trace_max=TRACE_MAX))
        self.transport: Any = closing.enter_context(
            opened_transport(kind, dsn, trace_max=TRACE_MAX, max_attempts=MAX_ATTEMPTS, clock=lambda: self.clock)
        )


@pytest.fixture(params=KINDS)
def world(request: pytest.FixtureRequest, store_dsn: str) -> Iterator[World]:
    with ExitStack() as closing:
        yield World(request.param, store_dsn, closing)


def run(world: World, examples: int, steps: int) -> None:
    run_state_machine_as_test(
        lambda: StoreMachine(world),
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            derandomize=False,
            print_blob=True,
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_a_store_does_what_the_model_does(world: World) -> None:
    run(world, examples=100, steps=40)


@pytest.mark.soak
def test_a_store_does_what_the_model_does_for_long(world: World) -> None:
    run(world, examples=2000, steps=60)
