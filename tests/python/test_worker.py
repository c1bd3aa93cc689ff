"""The worker: what becomes of events, of steps that fail, and of a worker, its server and its connections that end."""

import asyncio
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import psycopg
import pytest
from wire import DEADLINE, Beside, until, until_blocked

from cluster import SHARDS
from harel import (
    AsyncPostgresTransport,
    Event,
    Execution,
    InvalidArgument,
    PostgresStore,
    PostgresTransport,
    Status,
    Step,
    TimerOp,
)
from harel.embedded import EmbeddedServer
from harel.worker import Worker


class Running:
    """A worker in a thread of its own; leaving the block stops it, and raises what it raised."""

    def __init__(self, dsn: str, machine: Any, **options: Any) -> None:
        machines = machine if isinstance(machine, dict) else {"d": machine}
        self.worker = Worker(dsn, machines, **{"poll": 0.05, **options})
        self._loop = asyncio.new_event_loop()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "Running":
        self._thread.start()
        return self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        self.stop()
        self._thread.join(DEADLINE)
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._task.cancel)
            self._thread.join(DEADLINE)
            raise AssertionError("the worker does not end") from error
        if self._error is not None and error is None:
            raise self._error

    @property
    def tally(self) -> Counter[str]:
        return self.worker.tally

    def stop(self) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self.worker.stop)

    def wait(self) -> None:
        """Waits for the worker to end by itself."""
        self._thread.join(DEADLINE)
        assert not self._thread.is_alive(), "the worker goes on"

    def check(self) -> None:
        """Raises what ended the worker."""
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        try:
            asyncio.set_event_loop(self._loop)
            self._task = self._loop.create_task(self.worker.run())
            self._loop.run_until_complete(self._task)
        except BaseException as error:
            self._error = error
        finally:
            self._loop.close()


class System:
    """A store and a queue, as seen from outside the workers."""

    def __init__(self, dsn: str, closing: ExitStack) -> None:
        self.dsn = dsn
        self.store = PostgresStore.from_dsn(dsn)
        closing.callback(self.store.close)
        self.transport = PostgresTransport.from_dsn(dsn)
        closing.callback(self.transport.close)

    def make(self, *ids: str, **fields: Any) -> None:
        for id in ids:
            self.store.save(Execution(id=id, **{"definition_id": "d", "status": Status.RUNNING, **fields}))

    def publish(self, id: str, *kinds: str) -> None:
        self.transport.publish_many([(id, Event(kind=kind)) for kind in kinds])

    def rows(self, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.dsn, autocommit=True) as session:
            return session.execute(sql, parameters).fetchall()

    def idle(self) -> bool:
        """Whether nothing is left to be done.

        Of a cluster each shard is seen at another moment, and what moves from one to the next perhaps in neither: there
        it takes two looks between which no step was done.
        """
        looks = [self._left() for _ in range(2 if SHARDS else 1)]
        return looks[0][:3] == (0, 0, 0) and looks[0] == looks[-1]

    def _left(self) -> tuple[Any, ...]:
        """How many messages, children to make and events to move there are, and how many steps were done."""
        (counts,) = self.rows(
            """
            SELECT
                (SELECT count(*) FROM transport_messages WHERE group_id NOT IN (
                    SELECT id FROM executions WHERE status = 'SUSPENDED'
                )),
                (SELECT count(*) FROM spawns), (SELECT count(*) FROM outbox WHERE target_id IS NOT NULL),
                (SELECT sum(version) FROM executions)
            """
        )
        return counts

    def drain(self, *workers: Running) -> None:
        def drained() -> bool:
            for worker in workers:
                worker.check()
            return self.idle()

        until(drained)

    def seen(self, id: str) -> list[str]:
        exe = self.store.load(id)
        assert exe is not None
        return exe.context.get("seen", [])

    def backends(self, where: str = "true") -> list[int]:
        """Those of workers, and not of this object."""
        own = (self.store._connection.info.backend_pid, self.transport._connection.info.backend_pid)
        found = self.rows(
            f"SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'harel' "
            f"AND pid <> ALL (%s) AND ({where})",
            list(own),
        )
        return [pid for (pid,) in found]


@pytest.fixture
def system(store_dsn: str) -> Iterator[System]:
    with ExitStack() as closing:
        yield System(store_dsn, closing)


@pytest.fixture
def beside(store_dsn: str) -> Iterator[Beside]:
    with Beside(store_dsn) as beside:
        yield beside


def record(exe: Execution, event: Event) -> Step:
    """The machine of most tests: it remembers what it has seen, and fails or goes wrong as told."""
    exe.context.setdefault("seen", []).append(event.kind)
    if event.kind == "Fail":
        raise RuntimeError('it is "broken"\0')
    return Step(exe)


async def record_async(exe: Execution, event: Event) -> Step:
    await asyncio.sleep(0)
    return record(exe, event)


class AwaitableStep:
    """What is neither a coroutine nor a step, but can be awaited."""

    def __init__(self, step: Step) -> None:
        self._step = step

    def __await__(self) -> Iterator[Any]:
        yield from asyncio.sleep(0).__await__()
        return self._step


BOTH: dict[str, Callable[[Execution, Event], Any]] = {"sync": record, "async": record_async}
MACHINES = {**BOTH, "awaitable": lambda exe, event: AwaitableStep(record(exe, event))}


@pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)
@pytest.mark.parametrize("batch", [1, 50])
def test_every_event_once_and_in_order(system: System, machine: Any, batch: int) -> None:
    ids, each = [f"x{n}" for n in range(12)], 12
    system.make(*ids)
    for n in range(each):
        system.transport.publish_many([(id, Event(id=f"event {n}", kind=str(n))) for id in ids])
        # As a sender that did not get the answer does.
        system.transport.publish_many([(id, Event(id=f"event {n}", kind=str(n))) for id in ids[:2]])
    with Running(system.dsn, machine, batch=batch) as running:
        system.drain(running)
    for id in ids:
        assert system.seen(id) == [str(n) for n in range(each)]
        exe = system.store.load(id)
        assert exe is not None
        assert exe.version == 1 + each
    assert running.tally == {"finished": len(ids) * each, "repeated": 2 * each}
    assert system.transport.dead_letters() == []


def test_many_workers_share_the_events(system: System) -> None:
    ids, each = [f"x{n}" for n in range(30)], 10
    system.make(*ids)
    for n in range(each):
        system.transport.publish_many([(id, Event(kind=str(n))) for id in ids])
    with ExitStack() as stack:
        workers = [
            stack.enter_context(Running(system.dsn, BOTH[kind], concurrency=4)) for kind in ("sync", "async", "sync")
        ]
        system.drain(*workers)
    assert [system.seen(id) for id in ids] == [[str(n) for n in range(each)]] * len(ids)
    assert sum(worker.tally["finished"] for worker in workers) == len(ids) * each
    assert all(set(worker.tally) <= {"finished"} for worker in workers)


def test_a_step_is_committed_with_all_that_it_caused(system: System) -> None:
    def machine(exe: Execution, event: Event) -> Step | None:
        if event.kind != "Go":
            return None
        exe.context["seen"] = [event.kind]
        return Step(
            exe,
            emits=[("other", Event(kind="Hello")), (None, Event(kind="Told"))],
            timers=[TimerOp("schedule", "/late", 4e9), TimerOp("cancel", "/early")],
            spawns=[("child", "/region", {"n": 1})],
            trace={"event": event.kind},
        )

    system.make("x")
    system.make("other", definition_id="other")
    system.publish("x", "Nothing", "Go")
    with Running(system.dsn, {"d": machine, "other": record}) as running:
        until(lambda: system.seen("other") == ["Hello"])
        system.drain(running)
    assert system.seen("x") == ["Go"]
    assert [entry.event.kind for entry in system.store.pending_outbox()] == ["Told"]
    assert system.store.due_timers(5e9) == [("x", "/late", 4e9)]
    assert system.store.read_trace("x") == [{"event": "Go", "index": 0}]
    child = system.store.load("child")
    assert child is not None
    assert (child.parent_id, child.root_path, child.context) == ("x", "/region", {"n": 1})
    # An event that changes nothing leads to no commit.
    assert [system.store.load(id).version for id in ("x", "child")] == [2, 1]


def region(exe: Execution, event: Event) -> Step:
    """A parent that forks two regions at its Start, and joins them by their Finished events."""
    if exe.parent_id is not None:
        exe.status = Status.DONE
        exe.context["started"] = exe.context.get("started", 0) + 1
        return Step(exe, emits=[(exe.parent_id, Event(kind="Finished", data={"child": exe.id}))])
    if event.kind == "Start":
        exe.children = {}
        exe.context["open"] = [f"{exe.id} {path}" for path in ("/payment", "/shipping")]
        return Step(exe, spawns=[(f"{exe.id} {path}", path, {}) for path in ("/payment", "/shipping")])
    exe.context["open"].remove(event.data["child"])
    if not exe.context["open"]:
        exe.status = Status.DONE
    return Step(exe)


def test_a_fork_and_its_join(system: System) -> None:
    ids = [f"x{n}" for n in range(8)]
    system.make(*ids, status=Status.PENDING)
    for id in ids:
        system.publish(id, "Start")
    # As a commit that is not a worker's leaves it: the request for the children is relayed.
    outside = Execution(id="outside", definition_id="d", status=Status.RUNNING)
    children = [f"outside {path}" for path in ("/payment", "/shipping")]
    outside.context["open"] = list(children)
    system.store.commit(outside, [], spawns=[(id, id.split()[1], {}) for id in children])
    with Running(system.dsn, region) as running, Running(system.dsn, region) as second:
        system.drain(running, second)
        until(lambda: system.store.load("outside").status == Status.DONE)
    executions = system.rows("SELECT id, status FROM executions")
    assert len(executions) == 3 * (len(ids) + 1)
    assert {status for _, status in executions} == {"DONE"}
    for id, _ in executions:
        assert system.store.load(id).context.get("started", 1) == 1
    assert running.tally["finished"] + second.tally["finished"] == 5 * len(ids) + 4


def test_a_timer_fires_while_the_queue_is_never_empty(system: System) -> None:
    loops: Counter[str] = Counter()

    def machine(exe: Execution, event: Event) -> Step:
        loop = (exe.id, Event(kind="Loop"))
        if event.kind == "Start":
            return Step(exe, [loop])
        if event.kind == "Timeout":
            exe.context["path"] = event.data["path"]
            return Step(exe)
        loops[exe.id] += 1
        # Armed once the loop is under way, however slow the machine is.
        timers = [] if exe.context.get("armed") else [TimerOp("schedule", "/deadline", time.time() + 0.2)]
        exe.context["armed"] = True
        return Step(exe, [] if "path" in exe.context else [loop], timers)

    ids = [f"x{n}" for n in range(6)]
    system.make(*ids)
    for id in ids:
        system.publish(id, "Start")
    with Running(system.dsn, machine) as running:
        system.drain(running)
    assert [system.store.load(id).context for id in ids] == [{"armed": True, "path": "/deadline"}] * len(ids)
    assert min(loops[id] for id in ids) > 1


@pytest.mark.parametrize("machine", BOTH.values(), ids=BOTH)
def test_a_step_that_raises_fails_its_execution_and_no_other(system: System, machine: Any) -> None:
    system.make("bad", "good")
    system.publish("bad", "Go", "Fail", "Left", "Left")
    system.publish("good", "Go", "On")
    with Running(system.dsn, machine) as running:
        system.drain(running)
        system.publish("good", "After")
        until(lambda: system.seen("good") == ["Go", "On", "After"])
    exe = system.store.load("bad")
    assert exe is not None
    assert exe.status == Status.FAILED
    assert exe.error == 'RuntimeError: it is "broken"\\0'
    # What the step changed before it raised is not kept.
    assert exe.context["seen"] == ["Go"]
    assert [letter.reason for letter in system.transport.dead_letters("bad")] == ["the execution is FAILED"] * 2
    (entry,) = system.store.read_trace("bad")
    assert (entry["event"], entry["error"]) == ("Fail", exe.error)
    assert running.tally["failed"] == 1


@pytest.mark.parametrize("machine", BOTH.values(), ids=BOTH)
def test_a_step_that_raises_is_retried_until_its_message_is_a_dead_letter(system: System, machine: Any) -> None:
    system.make("x")
    system.publish("x", "Go", "Fail", "On")
    with Running(system.dsn, machine, on_error="retry", max_attempts=3) as running:
        system.drain(running)
    (letter,) = system.transport.dead_letters()
    assert letter.reason == 'RuntimeError: it is "broken"\\0'
    assert letter.attempts == 3
    assert system.seen("x") == ["Go", "On"]
    assert system.store.load("x").status == Status.RUNNING
    assert running.tally == {"finished": 2, "retried": 3}


def test_a_retry_comes_when_it_is_due_and_not_when_the_queue_is_looked_at_next(system: System) -> None:
    calls: list[float] = []

    def machine(exe: Execution, event: Event) -> Step:
        calls.append(time.monotonic())
        if len(calls) == 1:
            raise ConnectionError("for once")
        return record(exe, event)

    system.make("x")
    with Running(system.dsn, machine, on_error="retry", poll=20.0) as running:
        system.publish("x", "Go")
        system.drain(running)
    assert system.seen("x") == ["Go"]
    assert calls[1] - calls[0] < 15.0


def test_messages_that_nobody_can_handle(system: System) -> None:
    system.make("good")
    system.make("strange", definition_id="unheard of")
    system.rows("SELECT harel_commit_cas('unreadable', 'd', '[]', 0)")
    system.make("event")
    system.rows("SELECT harel_publish('event', 'no JSON')")
    for id in ("strange", "unreadable", "nowhere", "good", "event"):
        system.publish(id, "Go")
    with Running(system.dsn, record, max_attempts=1) as running:
        system.drain(running)
    letters = {letter.group_id: letter.reason for letter in system.transport.dead_letters()}
    assert sorted(letters) == ["event", "nowhere", "strange", "unreadable"]
    assert "no machine for the definition 'unheard of'" in letters["strange"]
    assert letters["unreadable"].startswith("ValidationError")
    assert letters["event"].startswith("ValidationError")
    assert letters["nowhere"] == "there is no such execution"
    assert system.seen("good") == system.seen("event") == ["Go"]
    assert system.store.load("strange").version == 1


@pytest.mark.parametrize("name", ["a\0b", "\ud83d"])
@pytest.mark.parametrize("on_error", ["fail", "retry"])
def test_an_event_whose_id_no_text_can_hold_is_a_dead_letter(system: System, name: str, on_error: Any) -> None:
    system.make("x", "good")
    system.transport.publish("x", Event(id=name, kind="Go"))
    system.publish("x", "On")
    system.publish("good", "Go")
    with Running(system.dsn, record, max_attempts=2, on_error=on_error) as running:
        system.drain(running)
    assert system.seen("x") == ["On"]
    assert system.seen("good") == ["Go"]
    assert [letter.attempts for letter in system.transport.dead_letters("x")] == [2]


WRONG: dict[str, Callable[[Execution], Any]] = {
    "NaN in the data": lambda exe: Step(exe.model_copy(update={"context": {"n": float("nan")}})),
    "NaN in the trace": lambda exe: Step(exe, trace={"n": float("nan")}),
    "NaN in an event": lambda exe: Step(exe, [("other", Event(kind="k", data={"n": float("inf")}))]),
    "NaN in a context": lambda exe: Step(exe, spawns=[("child", "/r", {"n": float("nan")})]),
    "NUL in a target": lambda exe: Step(exe, [("a\0b", Event(kind="k"))]),
    "NUL in a path": lambda exe: Step(exe, timers=[TimerOp("schedule", "a\0b", 1.0)]),
    "NUL in a definition": lambda exe: Step(exe.model_copy(update={"definition_id": "a\0b"})),
    "half a surrogate pair in a target": lambda exe: Step(exe, [("\ud83d", Event(kind="k"))]),
    "an empty target": lambda exe: Step(exe, [("", Event(kind="k"))]),
    "no such action": lambda exe: Step(exe, timers=[TimerOp("snooze", "/p", 1.0)]),
    "a time that is none": lambda exe: Step(exe, timers=[TimerOp("schedule", "/p", float("nan"))]),
    "the execution of another": lambda exe: Step(exe.model_copy(update={"id": "other"})),
    "no step": lambda exe: "step",
    "emits of another shape": lambda exe: Step(exe, emits=[("other",)]),  # type: ignore[list-item]
    "an execution that is none": lambda exe: Step({"id": "x"}),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_a_step_that_cannot_be_committed_fails_alone(system: System, wrong: Any) -> None:
    ids = ["a", "b", "bad", "x", "y"]
    system.make(*ids)
    system.transport.publish_many([(id, Event(kind="Go")) for id in ids])
    with Running(system.dsn, lambda exe, event: wrong(exe) if exe.id == "bad" else record(exe, event)) as running:
        system.drain(running)
    bad = system.store.load("bad")
    assert bad is not None
    assert (bad.status, bad.version, bad.context) == (Status.FAILED, 2, {})
    assert bad.error
    assert [system.seen(id) for id in ids if id != "bad"] == [["Go"]] * 4
    assert running.tally == {"finished": 4, "failed": 1}
    assert system.rows("SELECT count(*) FROM executions") == [(5,)]
    assert system.store.pending_outbox() == []


def test_a_commit_from_outside_makes_the_worker_decide_anew(system: System) -> None:
    decided: list[list[str]] = []

    def machine(exe: Execution, event: Event) -> Step:
        decided.append(list(exe.context["notes"]))
        if len(decided) == 1:
            other = system.store.load(exe.id)
            assert other is not None
            other.context["notes"].append("from outside")
            system.store.save(other)
        exe.context["notes"].append(event.kind)
        return Step(exe, [(None, Event(kind="Told"))], trace={"event": event.kind})

    system.make("x", context={"notes": []})
    system.publish("x", "Go")
    with Running(system.dsn, machine) as running:
        system.drain(running)
    exe = system.store.load("x")
    assert exe is not None
    assert (exe.context["notes"], exe.version) == (["from outside", "Go"], 3)
    assert decided == [[], ["from outside"]]
    assert len(system.store.read_trace("x")) == len(system.store.pending_outbox()) == 1
    assert running.tally == {"conflicts": 1, "finished": 1}


def finish_outside(system: System, status: Status) -> None:
    exe = system.store.load("x")
    assert exe is not None
    exe.status = status
    system.store.save(exe)


MEANWHILE: dict[str, tuple[Callable[[System], Any], str]] = {
    "suspended": (lambda system: system.store.suspend("x"), "SUSPENDED"),
    "marked as suspended": (lambda system: finish_outside(system, Status.SUSPENDED), "SUSPENDED"),
    "cancelled": (lambda system: system.store.cancel("x"), "CANCELLED"),
    "ended": (lambda system: finish_outside(system, Status.DONE), "DONE"),
    "purged": (lambda system: system.store.purge("x", 1), ""),
    "made unreadable": (lambda system: system.rows("SELECT harel_commit_cas('x', 'd', '{}', 1)"), ""),
    "made unreadable for good": (lambda system: system.rows("SELECT harel_commit_cas('x', 'd', '[]', 1)"), ""),
}


@pytest.mark.parametrize("on_error", ["fail", "retry"])
@pytest.mark.parametrize("raises", [False, True], ids=["step", "error"])
@pytest.mark.parametrize(("change", "status"), MEANWHILE.values(), ids=MEANWHILE)
def test_what_happens_to_an_execution_meanwhile_wins(
    system: System, change: Any, status: str, raises: bool, on_error: Any
) -> None:
    changed = []

    def machine(exe: Execution, event: Event) -> Step:
        if not changed:
            changed.append(change(system))
            if raises:
                raise RuntimeError
        return record(exe, event)

    system.make("x", "good")
    system.publish("x", "Go")
    with Running(system.dsn, machine, max_attempts=2, on_error=on_error) as running:
        system.drain(running)
        system.publish("good", "After")
        until(lambda: system.seen("good") == ["After"])
    if status:
        assert system.rows("SELECT status FROM executions WHERE id = 'x'") == [(status,)]
    # Only of one that has ended is the machine asked again.
    if status != "DONE":
        assert system.rows("SELECT data FROM executions WHERE id = 'x' AND data LIKE '%%Go%%'") == []
    if status == "SUSPENDED":
        assert system.store.resume("x") is True
        with Running(system.dsn, record) as running:
            system.drain(running)
        assert system.seen("x") == ["Go"]


def test_an_error_after_the_end_does_not_undo_it(system: System) -> None:
    def machine(exe: Execution, event: Event) -> Step:
        if exe.status == Status.DONE:
            raise RuntimeError("too late")
        exe.status = Status.DONE
        return Step(exe)

    system.make("x")
    system.publish("x", "Finish", "Late")
    with Running(system.dsn, machine, max_attempts=2) as running:
        system.drain(running)
    assert system.store.load("x").status == Status.DONE
    assert [letter.reason for letter in system.transport.dead_letters()] == ["RuntimeError: too late"]


class Gate:
    """A machine whose steps begin and then wait, without or with holding up their event loop, until it is opened."""

    def __init__(self, blocking: bool = False) -> None:
        self.begun: queue.Queue[str] = queue.Queue()
        self._blocking = blocking
        self._open = threading.Event()

    def open(self) -> None:
        self._open.set()

    def __call__(self, exe: Execution, event: Event) -> Step | Awaitable[Step]:
        self.begun.put(exe.id)
        if self._blocking:
            assert self._open.wait(DEADLINE)
            return record(exe, event)
        return self._later(exe, event)

    async def _later(self, exe: Execution, event: Event) -> Step:
        assert await asyncio.to_thread(self._open.wait, DEADLINE)
        return record(exe, event)


@pytest.mark.parametrize("blocking", [False, True], ids=["async", "blocking"])
def test_the_heartbeat_keeps_the_lease_of_a_long_step(system: System, blocking: bool) -> None:
    # Long enough for a machine that stands still for a while.
    visibility = 8.0
    system.make("x")
    system.publish("x", "Go")
    gate, others = Gate(blocking), []

    def other(exe: Execution, event: Event) -> Step:
        others.append(exe.id)
        return record(exe, event)

    with Running(system.dsn, gate, visibility=visibility) as running:
        gate.begun.get(timeout=DEADLINE)
        with Running(system.dsn, other, visibility=visibility):
            until(
                lambda: system.rows(
                    "SELECT 1 FROM transport_groups WHERE extract(epoch FROM claimed_at) < %s",
                    time.time() - 1.5 * visibility,
                )
            )
            gate.open()
            system.drain(running)
    assert others == []
    assert system.seen("x") == ["Go"]
    assert running.tally == {"finished": 1}
    assert gate.begun.empty()


def test_a_lease_that_was_lost_does_not_end_the_one_that_came_after_it(system: System) -> None:
    system.make("x")
    system.publish("x", "Go")
    gate, again = threading.Event(), asyncio.Event()
    begun: list[str] = []

    async def machine(exe: Execution, event: Event) -> Step:
        begun.append(event.kind)
        if len(begun) == 1:
            system.rows(
                "UPDATE transport_groups SET token = gen_random_uuid(),"
                " available_at = extract(epoch FROM clock_timestamp()) RETURNING 1"
            )
            await again.wait()
        else:
            again.set()
            await asyncio.to_thread(gate.wait, DEADLINE)
        return record(exe, event)

    with Running(system.dsn, machine) as running:
        until(lambda: running.tally["expired"] == 1)
        # It waits for the step that it has begun, and only for that.
        running.stop()
        until(running.worker._stopping.is_set)
        gate.set()
    assert system.seen("x") == ["Go"]
    assert running.tally == {"expired": 1, "finished": 1}


def test_a_worker_holds_no_more_than_its_concurrency(system: System) -> None:
    ids = [f"x{n}" for n in range(9)]
    system.make(*ids)
    system.transport.publish_many([(id, Event(kind="Go")) for id in ids])
    gate = Gate()
    with Running(system.dsn, gate, concurrency=4, batch=3) as running:
        begun = [gate.begun.get(timeout=DEADLINE) for _ in range(4)]
        leased = "SELECT group_id FROM transport_groups WHERE token IS NOT NULL"
        assert sorted(id for (id,) in system.rows(leased)) == sorted(begun)
        assert gate.begun.empty()
        gate.open()
        system.drain(running)
    assert [system.seen(id) for id in ids] == [["Go"]] * 9


def test_stopped_it_finishes_the_steps_begun_and_gives_back_what_it_claims(system: System, beside: Beside) -> None:
    system.make("begun", "claimed")
    system.publish("begun", "Go")
    gate = Gate()
    with Running(system.dsn, gate) as running:
        gate.begun.get(timeout=DEADLINE)
        with psycopg.connect(system.dsn) as session:
            # A claim looks into the ledger, and a publish does not: it stands in the middle of one when told to stop.
            session.execute("LOCK TABLE processed_events IN ACCESS EXCLUSIVE MODE")
            system.publish("claimed", "Go")
            until_blocked(system.dsn)
            running.stop()
            until(running.worker._stopping.is_set)
            session.rollback()
        gate.open()
    assert system.seen("begun") == ["Go"]
    assert system.seen("claimed") == []
    assert gate.begun.empty()
    assert system.rows("SELECT group_id, token FROM transport_groups") == [("claimed", None)]
    assert system.transport.claim("w", 1.0).group_id == "claimed"
    until(lambda: not system.backends())


PROGRAM = """
import asyncio, signal, sys
from harel.worker import Step, Worker

released = asyncio.Event()

async def machine(exe, event):
    print("begun", exe.id, flush=True)
    await released.wait()
    exe.context["seen"] = [event.kind]
    return Step(exe)

class Told(Worker):
    def stop(self):
        super().stop()
        print("stopping", flush=True)

async def main():
    asyncio.get_running_loop().add_reader(sys.stdin, released.set)
    worker = Told(sys.argv[1], {"d": machine}, poll=0.05)
    await worker.run(signals=(signal.SIGTERM, signal.SIGINT))
    print("ended", dict(worker.tally), flush=True)

asyncio.run(main())
"""


@contextmanager
def process(dsn: str) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-c", PROGRAM, dsn]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        try:
            yield child
        finally:
            child.kill()


def line(child: "subprocess.Popen[str]") -> str:
    assert child.stdout is not None
    return child.stdout.readline().strip()


def test_a_signal_finishes_what_is_in_flight_and_takes_no_more(system: System) -> None:
    system.make("a", "b", "later")
    system.transport.publish_many([("a", Event(kind="Go")), ("b", Event(kind="Go"))])
    with process(system.dsn) as child:
        assert sorted(line(child) for _ in range(2)) == ["begun a", "begun b"]
        child.send_signal(signal.SIGTERM)
        assert line(child) == "stopping"
        system.publish("later", "Go")
        assert child.stdin is not None
        child.stdin.write("\n")
        child.stdin.flush()
        assert line(child) == "ended {'finished': 2}"
        assert child.wait(DEADLINE) == 0
    assert [system.seen(id) for id in ("a", "b", "later")] == [["Go"], ["Go"], []]
    assert system.rows("SELECT group_id, token FROM transport_groups") == [("later", None)]


def test_a_second_signal_ends_it_at_once_and_another_takes_over(system: System) -> None:
    system.make("x")
    system.publish("x", "Go")
    with process(system.dsn) as child:
        assert line(child) == "begun x"
        for _ in range(2):
            child.send_signal(signal.SIGTERM)
            assert line(child) == "stopping"
        assert child.wait(DEADLINE) != 0
    system.rows("SELECT setval('transport_tend_at', 0)")
    assert system.seen("x") == []
    # As at the deadline of the lease.
    system.rows("UPDATE transport_groups SET available_at = 0 RETURNING 1")
    system.rows("SELECT setval('transport_floor', 1), setval('transport_lift_at', 0)")
    with Running(system.dsn, record) as running:
        system.drain(running)
    assert system.seen("x") == ["Go"]


def test_a_worker_killed_in_a_step_loses_nothing(system: System) -> None:
    system.make("x")
    system.publish("x", "Go", "On")
    with process(system.dsn) as child:
        assert line(child) == "begun x"
        os.kill(child.pid, signal.SIGKILL)
        child.wait(DEADLINE)
    # Its last claim may still be carried out.
    until(lambda: not system.backends())
    system.rows("UPDATE transport_groups SET available_at = %s RETURNING 1", time.time())
    with Running(system.dsn, record) as running:
        system.drain(running)
    assert system.seen("x") == ["Go", "On"]


def test_it_goes_on_after_a_crash_of_the_server() -> None:
    ids, each = [f"x{n}" for n in range(10)], 30
    halfway = threading.Event()
    handled: Counter[str] = Counter()

    def machine(exe: Execution, event: Event) -> Step:
        handled[exe.id] += 1
        if sum(handled.values()) > len(ids) * each // 3:
            halfway.set()
        return record(exe, event)

    with EmbeddedServer(settings={"fsync": "off"}) as server, ExitStack() as closing:
        system = System(server.dsn, closing)
        system.make(*ids)
        for n in range(each):
            system.transport.publish_many([(id, Event(kind=str(n))) for id in ids])
        with Running(server.dsn, machine, batch=5, visibility=1.0) as running:
            assert halfway.wait(DEADLINE)
            server.stop("immediate")
            server.start()
            system.publish("x0", "after")
            system.drain(running)
            # It hears again, too.
            until(lambda: system.backends("query LIKE 'LISTEN%%'"))
        expected = [str(n) for n in range(each)]
        assert [system.seen(id) for id in ids] == [[*expected, "after"], *[expected] * (len(ids) - 1)]
        assert system.transport.dead_letters() == []


def test_it_starts_before_the_server() -> None:
    with EmbeddedServer(settings={"fsync": "off"}) as server, ExitStack() as closing:
        System(server.dsn, closing).make("x")
        server.stop()
        with Running(server.dsn, record) as running:
            server.start()
            system = System(server.dsn, closing)
            system.publish("x", "Go")
            until(lambda: system.seen("x") == ["Go"])
            running.check()


def test_it_goes_on_when_its_connections_are_terminated(system: System) -> None:
    ids, each = [f"x{n}" for n in range(8)], 30
    system.make(*ids)
    for n in range(each):
        system.transport.publish_many([(id, Event(kind=str(n))) for id in ids])
    done = terminated = 0

    async def machine(exe: Execution, event: Event) -> Step:
        # The work does not come to its end before that.
        while terminated <= 3 and event.kind == str(each - 1):
            await asyncio.sleep(0.01)
        return record(exe, event)

    with Running(system.dsn, machine, batch=4, visibility=1.0) as running:
        while not system.idle():
            running.check()
            if running.tally["finished"] > done or terminated <= 3:
                done = running.tally["finished"] + 30
                for pid in system.backends():
                    terminated += system.rows("SELECT pg_terminate_backend(%s::integer)", pid) == [(True,)]
    assert terminated > 3
    assert [system.seen(id) for id in ids] == [[str(n) for n in range(each)]] * len(ids)
    assert system.transport.dead_letters() == []


def test_a_suspended_execution_waits_and_goes_on_where_it_was(system: System) -> None:
    system.make("x", "good")
    system.store.suspend("x")
    system.publish("x", "1", "2")
    system.publish("good", "Go")
    with Running(system.dsn, record) as running:
        until(lambda: system.seen("good") == ["Go"])
        until(lambda: system.rows("SELECT FROM transport_groups WHERE available_at = 'Infinity'"))
        assert system.seen("x") == []
        assert system.store.resume("x") is True
        until(lambda: system.seen("x") == ["1", "2"])
        system.drain(running)
    assert system.transport.dead_letters() == []


def test_the_messages_of_a_cancelled_execution_are_dropped(system: System) -> None:
    system.make("x")
    system.publish("x", "before")
    system.store.cancel("x")
    system.publish("x", "after")
    with Running(system.dsn, record) as running:
        system.drain(running)
    reasons = [letter.reason for letter in system.transport.dead_letters("x")]
    assert reasons == ["the execution was cancelled", "the execution is CANCELLED"]
    assert system.seen("x") == []


class Statements:
    """Notes when each statement of asynchronous transports is sent."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.sent: queue.Queue[float] = queue.Queue()
        run = AsyncPostgresTransport._run

        async def noting(transport: Any, call: Any) -> Any:
            self.sent.put(time.monotonic())
            return await run(transport, call)

        monkeypatch.setattr(AsyncPostgresTransport, "_run", noting)

    def until_asleep(self, longest: float) -> None:
        """Waits until none has been sent for so many seconds."""
        while True:
            try:
                self.sent.get(timeout=longest)
            except queue.Empty:
                return


def test_an_idle_worker_reacts_to_a_message_and_asks_little(system: System, monkeypatch: pytest.MonkeyPatch) -> None:
    statements = Statements(monkeypatch)
    reacted: queue.Queue[float] = queue.Queue()

    def machine(exe: Execution, event: Event) -> Step:
        reacted.put(time.monotonic())
        return Step(exe)

    system.make("x")
    delays = []
    with Running(system.dsn, machine, poll=5.0) as running:
        for _ in range(6):
            # The pause is twice as long each time: this one is of a second, and 0.4 s of it are left at least.
            statements.until_asleep(0.6)
            published = time.monotonic()
            system.publish("x", "Go")
            delays.append(reacted.get(timeout=DEADLINE) - published)
        running.check()
    assert min(delays) < 0.25


def test_an_idle_worker_sends_few_statements(system: System, monkeypatch: pytest.MonkeyPatch) -> None:
    statements = Statements(monkeypatch)

    def rate() -> float:
        """Statements a second, over the next seven."""
        times = [statements.sent.get(timeout=DEADLINE) for _ in range(7)]
        return 6 / (times[-1] - times[0])

    with Running(system.dsn, record, poll=1.0):
        until(lambda: rate() < 3.0)


@pytest.mark.one_server("the floor of claims is of one server")
def test_what_is_committed_long_after_it_was_published_is_found_soon(system: System) -> None:
    reacted = threading.Event()

    def machine(exe: Execution, event: Event) -> Step:
        reacted.set()
        return Step(exe)

    system.make("x")
    with psycopg.connect(system.dsn) as session, Running(system.dsn, machine, poll=1.0):
        session.execute('SELECT harel_publish(\'x\', \'{"id":"e","kind":"Go"}\')')
        (began,) = session.execute("SELECT extract(epoch FROM now())").fetchone()
        until(lambda: system.rows("SELECT last_value / 1e6 > %s FROM transport_floor", began) == [(True,)])
        session.commit()
        # Below the floor is looked the less often, the longer that takes.
        system.rows("SELECT setval('transport_lift_at', 0)")
        assert reacted.wait(DEADLINE)


def test_a_message_that_comes_while_nobody_hears_is_found_once_somebody_does(system: System) -> None:
    reacted: queue.Queue[float] = queue.Queue()

    def machine(exe: Execution, event: Event) -> Step:
        reacted.put(time.monotonic())
        return Step(exe)

    system.make("x")
    with Running(system.dsn, machine, poll=60.0):
        (listener,) = until(lambda: system.backends("query LIKE 'LISTEN%%' AND state = 'idle'"))
        until(lambda: system.rows("SELECT FROM transport_asleep_until WHERE last_value > 0"))
        # From then on it looks only every minute.
        until(lambda: not system.backends("state = 'active' OR clock_timestamp() - state_change < interval '0.3 s'"))
        system.rows("SELECT pg_terminate_backend(%s::integer, 30000)", listener)
        published = time.monotonic()
        system.publish("x", "Go")
        assert reacted.get(timeout=DEADLINE) - published < 10.0


def test_without_listening_it_polls(system: System) -> None:
    system.make("x")
    with Running(system.dsn, record, listen=False) as running:
        for n in range(3):
            system.publish("x", str(n))
            until(lambda n=n: len(system.seen("x")) == n + 1)
        assert system.backends("query LIKE 'LISTEN%%'") == []
        running.check()


def test_it_takes_only_what_is_urgent_enough(system: System) -> None:
    system.make("usual", "urgent")
    system.transport.publish_many([("usual", Event(kind="Go"), 1), ("urgent", Event(kind="Go"), 2)])
    with Running(system.dsn, record, min_priority=2):
        until(lambda: system.seen("urgent") == ["Go"])
    assert system.seen("usual") == []


def test_the_store_of_another_schema_and_other_models(system: System) -> None:
    class Machine(Execution):
        score: float = 0.0

    class Message(Event):
        points: float

    def machine(exe: Machine, event: Message) -> Step:
        exe.score += event.points
        return Step(exe, trace={"score": exe.score})

    options = {"schema": "elsewhere", "execution_type": Machine, "event_type": Message}
    with ExitStack() as closing:
        store = PostgresStore.from_dsn(system.dsn, **options)
        transport = PostgresTransport.from_dsn(system.dsn, **options)
        closing.callback(store.close)
        closing.callback(transport.close)
        store.save(Machine(id="x", definition_id="d"))
        for n in range(5):
            transport.publish("x", Message(kind="Scored", points=n))
        with Running(system.dsn, machine, trace_max=2, **options) as running:
            until(lambda: running.tally["finished"] == 5)
        assert store.load("x").score == 10.0
        assert [entry["score"] for entry in store.read_trace("x")] == [6.0, 10.0]


@pytest.mark.parametrize(
    "options",
    [
        {"on_error": "ignore"},
        {"concurrency": 0},
        {"batch": 0},
        {"visibility": 0.0},
        {"visibility": -1.0},
        {"visibility": float("nan")},
        {"poll": 0.0},
        {"poll": float("nan")},
    ],
)
def test_options_that_make_no_sense_are_refused(options: Any) -> None:
    with pytest.raises(ValueError, match="must be"):
        Worker("", {}, **options)


@pytest.mark.parametrize(
    ("options", "code"),
    [({"min_priority": 5}, "ST010"), ({"max_attempts": 0}, "ST008"), ({"worker_id": "x" * 1001}, "ST001")],
)
def test_what_the_database_refuses_ends_the_worker(system: System, options: Any, code: str) -> None:
    with pytest.raises(InvalidArgument) as refused, Running(system.dsn, record, **options) as running:
        running.wait()
    assert refused.value.code == code


@pytest.mark.parametrize("function", ["harel_tick", "harel_channel", "harel_next"])
def test_what_no_retry_can_mend_ends_the_worker(system: System, function: str) -> None:
    system.make("x")
    with psycopg.connect(system.dsn) as session:
        session.execute(f"ALTER ROUTINE {function} RENAME TO another")
    with pytest.raises(psycopg.errors.UndefinedFunction), Running(system.dsn, record, poll=20.0) as running:
        running.wait()


def test_a_database_that_refuses_ends_the_worker(system: System) -> None:
    with pytest.raises(psycopg.OperationalError, match="nobody_at_all"):
        asyncio.run(Worker(f"{system.dsn} user=nobody_at_all", {}).run())


def test_stopped_before_it_begins_it_ends(system: System) -> None:
    system.make("x")
    system.publish("x", "Go")
    worker = Worker(system.dsn, {"d": record})
    worker.stop()
    asyncio.run(worker.run())
    assert system.seen("x") == []


def test_conflicts_without_end_hold_up_no_other(system: System) -> None:
    calls: defaultdict[str, int] = defaultdict(int)

    def machine(exe: Execution, event: Event) -> Step:
        calls[exe.id] += 1
        if exe.id == "raced" and "good" not in calls:
            system.store.save(system.store.load("raced"))
        return record(exe, event)

    system.make("raced", "good")
    system.publish("raced", "Go")
    with Running(system.dsn, machine) as running:
        until(lambda: running.tally["conflicts"] > 5)
        system.publish("good", "Go")
        system.drain(running)
    assert system.seen("raced") == system.seen("good") == ["Go"]
