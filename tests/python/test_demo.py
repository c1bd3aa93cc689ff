"""The demo: its statechart, its proof, and what it leaves behind."""

import asyncio
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any, LiteralString
from uuid import uuid4

import psycopg
import pytest

from harel.demo import orders
from harel.demo.orders import ATTEMPTS, CHART, DEFINITION, machines, step
from harel.demo.proof import CLAIMS, prove
from harel.demo.world import Entry, Plan, World, plans
from harel.engine.execution import Execution, Status
from harel.spec.states import Event
from harel.worker import Worker

ORDER, PAYMENT, SHIPPING = "order-1", "order-1/payment", "order-1/shipping"

# What the world may answer to what it hears.
ANSWERS = {
    "Charge": ["Charged", "Declined"], "Refund": ["Refunded"], "Delivered": ["Confirm"], "Cancelled": ["Confirm"],
}  # fmt: skip


class Shop:
    """One order in memory: executions with their mailboxes, timers that fire when told, and what the world hears."""

    def __init__(self) -> None:
        self.executions = {ORDER: Execution(id=ORDER, definition_id=DEFINITION)}
        self.mail: dict[str, deque[Event]] = defaultdict(deque)
        self.timers: dict[tuple[str, str], float] = {}
        self.heard: list[Event] = []
        self.passed: set[tuple[str, str, str]] = set()
        self.mail[ORDER].append(Event(kind="Place", data={"amount": 1000}))

    def handle(self, id: str) -> None:
        """Lets an execution handle the first message that there is for it."""
        event = self.mail[id].popleft()
        exe = self.executions[id]
        assert exe.status not in (Status.DONE, Status.CANCELLED), f"{event.kind} comes too late for {id}"
        self.passed.add((exe.root_path or DEFINITION, (exe.active_path or "/new").rpartition("/")[2], event.kind))
        made = step(exe, event, lambda: 0.0)
        exe = self.executions[id] = made.execution
        exe.version += 1
        for op in made.timers:
            if op.action == "schedule":
                self.timers[id, op.path] = op.fire_at
            else:
                self.timers.pop((id, op.path), None)
        for child, root_path, context in made.spawns:
            self.executions[child] = Execution(
                id=child, definition_id=DEFINITION, root_path=root_path, parent_id=id, context=context, version=1
            )
            self.mail[child].append(Event(kind="Start"))
        for target, sent in made.emits:
            if target is None:
                self.heard.append(sent)
            else:
                self.mail[target].append(sent)

    def settle(self) -> "Shop":
        """Handles all messages."""
        while ids := [id for id, mail in self.mail.items() if mail]:
            self.handle(ids[0])
        return self

    def expire(self, id: str, path: str) -> None:
        """Turns a timer into a message."""
        fire_at = self.timers.pop((id, path))
        self.mail[id].append(Event(kind="Timeout", data={"path": path, "fire_at": fire_at}))

    def fire(self, id: str, path: str) -> "Shop":
        """Fires a timer, and handles what comes of it."""
        self.expire(id, path)
        return self.settle()

    def tell(self, id: str, kind: str) -> "Shop":
        """Has the world send an event, and handles what comes of it."""
        self.mail[id].append(Event(kind=kind))
        return self.settle()

    def states(self) -> list[str]:
        """The states of the order, its payment and its shipping."""
        return [(self.executions[id].active_path or "").rpartition("/")[2] for id in (ORDER, PAYMENT, SHIPPING)]

    def statuses(self) -> list[str]:
        """Their statuses."""
        return [str(self.executions[id].status) for id in (ORDER, PAYMENT, SHIPPING)]

    def said(self) -> list[str]:
        """The kinds of what was said to the world."""
        return [event.kind for event in self.heard]


def test_an_order_paid_is_packed_shipped_and_delivered() -> None:
    shop = Shop().settle()
    assert shop.states() == ["awaiting payment", "charging", "waiting"]
    assert set(shop.timers) == {(ORDER, "deadline")}
    shop.tell(PAYMENT, "Charged")
    assert shop.states() == ["fulfilling", "paid", "picking"]
    assert set(shop.timers) == {(SHIPPING, "picked")}
    shop.fire(SHIPPING, "picked").fire(SHIPPING, "packed")
    assert shop.states() == ["on its way", "settled", "in transit"]
    shop.fire(SHIPPING, "arrived")
    assert shop.states() == ["delivered", "settled", "delivered"]
    assert [child.outcome for child in shop.executions[ORDER].children.values()] == ["settled", "delivered"]
    shop.tell(ORDER, "Confirm")
    assert shop.statuses() == ["DONE", "DONE", "DONE"]
    assert shop.said() == ["Charge", "Delivered"]
    assert shop.timers == {}


def test_a_payment_declined_is_tried_again() -> None:
    shop = Shop().settle().tell(PAYMENT, "Declined")
    assert shop.states() == ["awaiting payment", "retrying", "waiting"]
    shop.fire(PAYMENT, "retry")
    assert shop.states() == ["awaiting payment", "charging", "waiting"]
    shop.tell(PAYMENT, "Charged")
    assert shop.states() == ["fulfilling", "paid", "picking"]
    # Each request can be told from the others.
    assert shop.said() == ["Charge", "Charge"]
    assert len({event.id for event in shop.heard}) == 2


def test_a_payment_declined_for_good_cancels_the_order() -> None:
    shop = Shop().settle()
    for _ in range(ATTEMPTS - 1):
        shop.tell(PAYMENT, "Declined").fire(PAYMENT, "retry")
    shop.tell(PAYMENT, "Declined")
    assert shop.states() == ["cancelled", "void", "stopped"]
    assert shop.executions[ORDER].context["reason"] == "payment failed"
    assert shop.tell(ORDER, "Confirm").statuses() == ["CANCELLED", "CANCELLED", "CANCELLED"]
    assert shop.said() == ["Charge"] * ATTEMPTS + ["Cancelled"]
    assert shop.timers == {}


def test_a_charge_that_comes_after_the_deadline_is_refunded() -> None:
    shop = Shop().settle().fire(ORDER, "deadline")
    assert shop.states() == ["cancelling", "charging in vain", "stopped"]
    shop.tell(PAYMENT, "Charged")
    assert shop.states() == ["cancelling", "refunding", "stopped"]
    shop.tell(PAYMENT, "Refunded").tell(ORDER, "Confirm")
    assert shop.states() == ["cancelled", "refunded", "stopped"]
    assert shop.said() == ["Charge", "Refund", "Cancelled"]


def test_a_deadline_that_has_passed_when_the_payment_is_heard_of_changes_nothing() -> None:
    shop = Shop().settle().tell(PAYMENT, "Charged")
    shop.mail[ORDER].append(Event(kind="Timeout", data={"path": "deadline", "fire_at": 0.0}))
    assert shop.settle().states() == ["fulfilling", "paid", "picking"]


def test_a_customer_may_cancel_until_the_order_is_on_its_way() -> None:
    shop = Shop().settle().tell(PAYMENT, "Charged").tell(ORDER, "Cancel")
    assert shop.states() == ["cancelling", "refunding", "putting back"]
    assert shop.statuses() == ["CANCELLING", "CANCELLING", "CANCELLING"]
    shop.fire(SHIPPING, "picked").tell(PAYMENT, "Refunded").tell(ORDER, "Confirm")
    assert shop.states() == ["cancelled", "refunded", "stopped"]
    late = Shop().settle().tell(PAYMENT, "Charged").fire(SHIPPING, "picked").fire(SHIPPING, "packed")
    assert late.tell(ORDER, "Cancel").states() == ["on its way", "settled", "in transit"]


def test_an_event_that_changes_nothing_is_in_the_trace_all_the_same() -> None:
    exe = Execution(id=ORDER, definition_id=DEFINITION, active_path="/order/on its way", status=Status.RUNNING)
    made = step(exe, Event(id="late", kind="Cancel"), lambda: 5.0)
    assert (made.emits, made.timers, made.spawns) == ([], [], [])
    assert made.trace == {
        "event": "Cancel", "event_id": "late", "data": {}, "from": "/order/on its way", "to": "/order/on its way",
        "at": 5.0, "sent": [], "timers": [],
    }  # fmt: skip


def test_no_event_comes_too_late_in_whatever_order_things_happen() -> None:
    """Walks at random: messages, timers, answers and a customer who cancels, in any order that the queue allows."""
    ends: set[tuple[str, ...]] = set()
    passed: set[tuple[str, str, str]] = set()
    for seed in range(2000):
        chance = random.Random(seed)
        shop = Shop()
        answers: list[tuple[str, Sequence[str]]] = []
        # Some customers cancel, some deadlines are never reached.
        cancel_at, deadline, told = chance.randrange(40), chance.randrange(2), False
        for number in count():
            answers += [(event.data["execution"], ANSWERS[event.kind]) for event in shop.heard]
            shop.heard.clear()
            told = told or (ORDER, ["Confirm"]) in answers
            if number == cancel_at and not told:
                shop.mail[ORDER].append(Event(kind="Cancel"))
            mail = [id for id, events in shop.mail.items() if events]
            timers = [(id, path) for id, path in shop.timers if deadline or path != "deadline"]
            able: list[Any] = [*mail, *timers, *answers]
            if not able:
                break
            chosen = chance.choice(able)
            if chosen in mail:
                shop.handle(chosen)
            elif chosen in timers:
                shop.expire(*chosen)
            else:
                answers.remove(chosen)
                shop.mail[chosen[0]].append(Event(kind=chance.choice(chosen[1])))
        assert shop.timers == {}
        passed |= shop.passed
        ends.add((*shop.states(), *shop.statuses()))
    assert ends == {
        ("delivered", "settled", "delivered", "DONE", "DONE", "DONE"),
        ("cancelled", "void", "stopped", "CANCELLED", "CANCELLED", "CANCELLED"),
        ("cancelled", "refunded", "stopped", "CANCELLED", "CANCELLED", "CANCELLED"),
    }
    # Every handler had its turn in every state.
    assert passed >= {
        (region, state, kind) for region, states in CHART.items() for state, kinds in states.items() for kind in kinds
    }


def test_plans_depend_on_the_seed_only() -> None:
    assert plans(50, 1) == plans(50, 1) != plans(50, 2)
    assert len({plan.order for plan in plans(50, 1)}) == 50


def plan(order: str, cancelled_after: float | None = None, declines: int = 0, twice: bool = False) -> Plan:
    return Plan(order, 1000, 0.0, cancelled_after, declines, 0.01, twice)


@pytest.fixture(scope="module")
def ran() -> Iterator[tuple["psycopg.Connection[Any]", str, World]]:
    """Some orders that have come to their end, and a connection whose search path leads to their store."""
    dsn, schema = os.environ["HAREL_TEST_DSN"], f"harel_test_{uuid4().hex[:8]}"
    with pytest.MonkeyPatch.context() as patch, psycopg.connect(dsn, autocommit=True) as connection:
        # None of these plans is about the time that an order has to be paid in.
        patch.setattr(orders, "PAYMENT_DEADLINE", 600.0)
        connection.execute(f"SET search_path TO {schema}")
        try:
            made = [
                plan("order-1"),
                plan("order-2", 0.03),
                plan("order-3", None, 2, True),
                plan("order-4", None, ATTEMPTS),
            ]
            world = World(made, dsn, schema)
            worker = Worker(dsn, machines, schema=schema, poll=0.05)
            thread = threading.Thread(target=lambda: asyncio.run(worker.run()))
            thread.start()
            try:
                world.begin()
                deadline = time.monotonic() + 60
                left = (
                    "SELECT status FROM executions WHERE status NOT IN ('DONE', 'CANCELLED') UNION ALL "
                    "SELECT group_id FROM transport_groups"
                )
                while len(world.confirmed) < len(made) or connection.execute(left).fetchall():
                    world.act()
                    assert time.monotonic() < deadline
            finally:
                worker.stop()
                thread.join()
                world.close()
            yield connection, schema, world
        finally:
            connection.execute(f"DROP SCHEMA {schema} CASCADE")


def wrong(ran: tuple["psycopg.Connection[Any]", str, World], tampering: LiteralString = "") -> list[str]:
    """What the proof says of a store that was tampered with, and of which nothing stays so."""
    connection, schema, world = ran
    with connection.transaction(force_rollback=True):
        connection.execute(tampering)
        return [f"{check.claim}: {check.example}" for check in prove(connection, schema, world) if not check.holds]


def test_the_proof_holds(ran: tuple["psycopg.Connection[Any]", str, World]) -> None:
    connection, schema, world = ran
    checks = prove(connection, schema, world)
    assert [check for check in checks if not check.holds] == []
    assert len(checks) == len(CLAIMS)
    assert [check.claim for check in checks if check.compared == 0] == [list(CLAIMS)[-1]]
    assert world.published_again > 0


@pytest.mark.parametrize(
    ("tampering", "says"),
    [
        ("DELETE FROM executions WHERE id = 'order-1'", "order-1 has no execution"),
        ("DELETE FROM executions WHERE id = 'order-1/shipping'", "order-1 has the regions {payment}"),
        (
            "INSERT INTO executions (id, definition_id, data, version) VALUES ('a', 'order', '{}', 1)",
            "a was never placed",
        ),
        (
            "UPDATE executions SET status = 'RUNNING' WHERE id = 'order-1/payment'",
            "order-1 is DONE delivered, its payment RUNNING settled, its shipping DONE delivered",
        ),
        ("DELETE FROM trace WHERE execution_id = 'order-1' AND idx = 0", "order-1 has not handled Place"),
        (
            "INSERT INTO trace SELECT 'order-1', 6, replace(entry, ':place', ':again') FROM trace "
            "WHERE execution_id = 'order-1' AND idx = 0",
            "order-1 has handled what nobody published, Place",
        ),
        (
            "UPDATE trace SET idx = 10 WHERE execution_id = 'order-1' AND idx = 0",
            "order-1 has handled in another order Confirm",
        ),
        (
            "DELETE FROM trace WHERE execution_id = 'order-1/shipping' AND entry::json ->> 'event' = 'Paid'",
            "order-1/shipping has not handled Paid of order-1",
        ),
        (
            "DELETE FROM processed_events WHERE execution_id = 'order-1' AND event_id = 'order-1:place'",
            "order-1 has 1 steps and 0 marks for order-1:place",
        ),
        ("INSERT INTO processed_events VALUES ('order-1', 'more')", "order-1 has 0 steps and 1 marks for more"),
        (
            "INSERT INTO trace SELECT 'order-1', 6, entry FROM trace WHERE execution_id = 'order-1' AND idx = 0",
            "order-1 has 2 steps and 1 marks for order-1:place",
        ),
        ("UPDATE executions SET version = version + 1 WHERE id = 'order-1'", "order-1 has version 8 after 6 steps"),
        (
            "UPDATE trace SET entry = replace(entry, '/order/fulfilling', '/order/x') "
            "WHERE execution_id = 'order-1' AND idx = 1",
            "order-1 step 2 leads from /order/fulfilling to",
        ),
        (
            "UPDATE executions SET active_path = '/order/x' WHERE id = 'order-1'",
            "order-1 step 5 leads from /order/delivered to /order/delivered",
        ),
        (
            "UPDATE trace SET entry = replace(entry, 'arrived', 'x') "
            "WHERE execution_id = 'order-1/shipping' AND entry::json ->> 'event' = 'Timeout'",
            "order-1/shipping got a Timeout of no timer, x",
        ),
        (
            "UPDATE trace SET entry = replace(entry, 'deadline', 'x') WHERE execution_id = 'order-1' AND idx = 1",
            "order-1 never got the Timeout of deadline",
        ),
        (
            "UPDATE trace SET entry = replace(entry, '/shipping/in transit', '/shipping/x') "
            "WHERE execution_id = 'order-1/shipping'",
            "order-1 is DONE, paid at",
        ),
        (
            "UPDATE trace SET entry = jsonb_set(entry::jsonb, '{at}', '0')::text "
            "WHERE execution_id = 'order-1/shipping' AND entry::json ->> 'event' = 'Ship'",
            "and shipped at 0",
        ),
        ("INSERT INTO timers VALUES ('order-1', 'x', 0)", "order-1 has a timer x"),
        ("INSERT INTO outbox (event, source_id) VALUES ('{}', 'order-1')", "order-1 has an event to send"),
        (
            "INSERT INTO spawns (parent_id, child_id, root_path, context) VALUES ('order-1', 'x', '', '{}')",
            "order-1 has a child to create",
        ),
        ("SELECT harel_publish('order-1', '{}')", "order-1 has a message"),
        (
            "INSERT INTO dead_letters (group_id, seq, event, reason, attempts, published_at) "
            "VALUES ('order-1', 1, '{}', 'it came too late', 0, now())",
            "order-1 has a dead letter: it came too late",
        ),
    ],
)
def test_the_proof_detects_a_tampered_store(
    ran: tuple["psycopg.Connection[Any]", str, World], tampering: LiteralString, says: str
) -> None:
    found = wrong(ran, tampering)
    assert any(says in claim for claim in found), found


@pytest.mark.parametrize(
    ("order", "entries", "says"),
    [
        ("order-1", [], "was never heard asking to Charge"),
        ("order-1", ["Declined"], "is DONE: 0 of 1000 charged by 0 charges"),
        ("order-1", ["Charged", "Charged"], "is DONE: 2000 of 1000 charged by 2 charges"),
        ("order-1", ["Charged", "Refunded"], "got what it never asked for, Refunded"),
        ("order-4", ["Charged"], "is CANCELLED: 1000 of 1000 charged by 1 charges, 0 refunded"),
    ],
)
def test_the_proof_detects_wrong_books(
    ran: tuple["psycopg.Connection[Any]", str, World],
    monkeypatch: pytest.MonkeyPatch,
    order: str,
    entries: list[str],
    says: str,
) -> None:
    books = ran[2].books
    requests = [request for request, entry in books.items() if entry.order == order]
    requests += [f"more-{number}" for number in range(len(entries) - len(requests))]
    others = {request: entry for request, entry in books.items() if entry.order != order}
    made = {request: Entry(order, answer, 1000) for request, answer in zip(requests, entries, strict=False)}
    monkeypatch.setattr(ran[2], "books", others | made)
    assert any(says in claim for claim in wrong(ran, "SELECT")), wrong(ran, "SELECT")


@pytest.fixture
def folder() -> Iterator[Path]:
    """A temporary folder that the server can enter, under a short path."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        Path(name).chmod(0o711)
        yield Path(name)


def environment(**settings: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in ("HAREL_DSN", "FORCE_COLOR")}
    return {**kept, "PYTHONUNBUFFERED": "1", **settings}


def demo(*arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "harel.demo", *arguments],
        env=environment(**settings),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=180,
    )


def test_the_demo_survives_both_disturbances_and_proves_it(folder: Path) -> None:
    done = demo("--orders", "150", TMPDIR=str(folder), PYTHONIOENCODING="utf-8")
    assert (done.returncode, done.stderr) == (0, "")
    assert "killed with SIGKILL" in done.stdout
    assert "stopped with -m immediate" in done.stdout
    assert done.stdout.count("✓") == len(CLAIMS)
    assert "✗" not in done.stdout
    assert "Trace of order-" in done.stdout
    # A pipe gets neither colours nor a moving bar.
    assert "\x1b" not in done.stdout
    assert "\r" not in done.stdout
    assert list(folder.iterdir()) == []


def test_the_demo_leaves_a_server_that_is_not_its_own_as_it_was(dsn: str) -> None:
    done = demo("--orders", "40", HAREL_DSN=dsn, PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, "")
    assert "will not be crashed" in done.stdout
    assert done.stdout.isascii()
    with psycopg.connect(dsn) as connection:
        assert connection.execute("SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'harel%'").fetchone() == (0,)
        assert connection.execute("SELECT count(*) FROM pg_extension WHERE extname = 'harel'").fetchone() == (0,)


def test_a_server_that_is_not_there_is_an_error_in_one_line() -> None:
    done = demo(HAREL_DSN="host=/nowhere")
    assert done.returncode == 1
    assert done.stderr.startswith("connection is bad: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_demo_leaves_nothing_behind(number: signal.Signals, folder: Path) -> None:
    with subprocess.Popen(
        # So many that it cannot be done before the signal comes.
        [sys.executable, "-m", "harel.demo", "--orders=5000"],
        env=environment(TMPDIR=str(folder)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Whoever runs the tests in the background may have them ignore Ctrl-C, and a child inherits that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        assert process.stdout is not None
        # In the middle of the work, then.
        assert any("killed with SIGKILL" in line for line in process.stdout)
        process.send_signal(number)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert "Traceback" not in errors
    assert list(folder.iterdir()) == []
