"""The statechart of the demo: an order of a web shop, with payment and shipping as orthogonal regions.

    order      new --Place--> awaiting payment --Paid--> fulfilling --Packed--> on its way --Finished--> delivered
               Cancel, PaymentFailed or the Timeout of the payment deadline lead to: cancelling --Finished--> cancelled
               Confirm by the customer ends it.
    payment    new --Start--> charging --Charged--> paid --Ship--> settled
               charging --Declined--> retrying --Timeout--> charging, and in the end: declined
    shipping   new --Start--> waiting --Paid--> picking --Timeout--> packing --Timeout--> packed --Ship--> in transit
               --Timeout--> delivered

Each region is an execution of its own, a child of the order: the two proceed in parallel, on different workers, and
know of each other only what the order tells them. The order joins when each has come to its end and sent Finished.

Messages for an execution at its end become dead letters, so none ends while one may be on its way to it:
- to each of its regions an order says one thing in the end, Ship or Cancel, and a region does not end before that;
- a region that waits for a timer or for the payment provider when Cancel comes goes on waiting, and then heeds it;
- the customer says nothing after Confirm, and confirms when told of the end.
"""

import time
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from ..engine.execution import ChildState, Execution, Status
from ..engine.store import TimerOp
from ..machine import Step
from ..spec.states import Event

DEFINITION = "order"
PAYMENT, SHIPPING = "payment", "shipping"

# Seconds. A shop would have days here.
PAYMENT_DEADLINE = 2.5
RETRY_AFTER = 0.06
PICKING, PACKING, TRANSIT = 0.03, 0.02, 0.08

# How often a payment is tried.
ATTEMPTS = 3


class Turn:
    """An execution's turn to react to an event. What its handler does here is committed as one step."""

    def __init__(self, execution: Execution, event: Event, now: float) -> None:
        self.execution = execution
        self.event = event
        self.data = event.data
        self.context = execution.context
        self._before = execution.active_path
        self._now = now
        self._emits: list[tuple[str | None, Event]] = []
        self._timers: list[TimerOp] = []
        self._spawns: list[tuple[str, str, dict[str, Any]]] = []

    def go(self, state: str, status: Status = Status.RUNNING) -> None:
        """Enters a state."""
        self.execution.active_path = f"/{self._region}/{state}"
        self.execution.status = status

    def emit(self, target: str | None, kind: str, **data: Any) -> None:
        """Sends an event to an execution; None: to the outside world."""
        # The same id however often the step is decided: whoever gets the event twice can tell.
        id = f"{self.execution.id}#{self.execution.version}.{len(self._emits)}"
        self._emits.append((target, Event(id=id, kind=kind, data=data)))

    def tell_order(self, kind: str, **data: Any) -> None:
        """Sends an event from a region to its order."""
        self.emit(self.execution.parent_id, kind, **data)

    def tell_regions(self, kind: str) -> None:
        """Sends an event from an order to both of its regions."""
        for child in self.execution.children:
            self.emit(child, kind)

    def ask_provider(self, kind: str) -> None:
        """Asks the payment provider to Charge or to Refund; the answer comes as an event."""
        self.emit(None, kind, execution=self.execution.id, amount=self.context["amount"])

    def fork(self, region: str, **context: Any) -> None:
        """Starts a region; it gets a Start event once it is there."""
        child = f"{self.execution.id}/{region}"
        self.execution.children[child] = ChildState(root_path=region)
        self._spawns.append((child, region, context))

    def arm(self, timer: str, seconds: float) -> None:
        """Has a Timeout come after so many seconds."""
        self._timers.append(TimerOp("schedule", timer, round(self._now + seconds, 3)))

    def disarm(self, timer: str) -> None:
        """Has no Timeout come, unless it is on its way already."""
        self._timers.append(TimerOp("cancel", timer))

    def end(self, outcome: str, status: Status = Status.DONE) -> None:
        """Enters a final state."""
        self.go(outcome, status)
        self.execution.outcome = outcome
        if self.execution.parent_id is not None:
            self.tell_order("Finished", region=self.execution.id, outcome=outcome)

    def step(self) -> Step:
        """What a worker commits. The trace tells everything: the proof is read from it."""
        trace = {
            "event": self.event.kind,
            "event_id": self.event.id,
            "data": self.data,
            "from": self._before,
            "to": self.execution.active_path,
            "at": self._now,
            "sent": [{"target": target, "id": event.id, "kind": event.kind} for target, event in self._emits],
            "timers": [{"action": op.action, "path": op.path, "fire_at": op.fire_at} for op in self._timers],
        }
        return Step(self.execution, self._emits, self._timers, self._spawns, trace)

    @property
    def _region(self) -> str:
        return self.execution.root_path or DEFINITION


Handler: TypeAlias = Callable[[Turn], None]


# The order: it forks, passes on what one region has to know of the other, and joins.


def place(turn: Turn) -> None:
    amount = turn.context["amount"] = turn.data["amount"]
    turn.fork(PAYMENT, amount=amount, attempts=0)
    turn.fork(SHIPPING)
    turn.arm("deadline", PAYMENT_DEADLINE)
    turn.go("awaiting payment")


def pass_on_payment(turn: Turn) -> None:
    turn.disarm("deadline")
    turn.emit(f"{turn.execution.id}/{SHIPPING}", "Paid")
    turn.go("fulfilling")


def let_ship(turn: Turn) -> None:
    # From here on it is too late for a Cancel.
    turn.tell_regions("Ship")
    turn.go("on its way")


def cancel(turn: Turn) -> None:
    reasons = {"Cancel": "by the customer", "Timeout": "payment deadline", "PaymentFailed": "payment failed"}
    turn.context["reason"] = reasons[turn.event.kind]
    turn.disarm("deadline")
    turn.tell_regions("Cancel")
    turn.go("cancelling", Status.CANCELLING)


def join(turn: Turn) -> None:
    region = turn.execution.children[turn.data["region"]]
    region.finished, region.outcome = True, turn.data["outcome"]
    if not all(child.finished for child in turn.execution.children.values()):
        return
    if turn.execution.status is Status.CANCELLING:
        turn.emit(None, "Cancelled", execution=turn.execution.id)
        turn.go("cancelled", Status.CANCELLING)
    else:
        turn.emit(None, "Delivered", execution=turn.execution.id)
        turn.go("delivered")


def confirm_delivery(turn: Turn) -> None:
    turn.end("delivered")


def confirm_cancellation(turn: Turn) -> None:
    turn.end("cancelled", Status.CANCELLED)


# The payment: it asks the provider to charge, more than once if need be, and to refund where it was in vain.


def charge(turn: Turn) -> None:
    turn.context["attempts"] += 1
    turn.ask_provider("Charge")
    turn.go("charging")


def charged(turn: Turn) -> None:
    turn.tell_order("Paid")
    turn.go("paid")


def declined(turn: Turn) -> None:
    if turn.context["attempts"] < ATTEMPTS:
        turn.arm("retry", RETRY_AFTER)
        turn.go("retrying")
    else:
        turn.tell_order("PaymentFailed")
        turn.go("declined")


def settle(turn: Turn) -> None:
    turn.end("settled")


def await_unwanted_charge(turn: Turn) -> None:
    turn.go("charging in vain", Status.CANCELLING)


def await_unwanted_retry(turn: Turn) -> None:
    turn.go("retrying in vain", Status.CANCELLING)


def refund(turn: Turn) -> None:
    turn.ask_provider("Refund")
    turn.go("refunding", Status.CANCELLING)


def refunded(turn: Turn) -> None:
    turn.end("refunded", Status.CANCELLED)


def void(turn: Turn) -> None:
    turn.end("void", Status.CANCELLED)


# Shipping: a warehouse and a carrier, both of them timers.


def wait(turn: Turn) -> None:
    turn.go("waiting")


def pick(turn: Turn) -> None:
    turn.arm("picked", PICKING)
    turn.go("picking")


def pack(turn: Turn) -> None:
    turn.arm("packed", PACKING)
    turn.go("packing")


def packed(turn: Turn) -> None:
    turn.tell_order("Packed")
    turn.go("packed")


def ship(turn: Turn) -> None:
    turn.arm("arrived", TRANSIT)
    turn.go("in transit")


def deliver(turn: Turn) -> None:
    turn.end("delivered")


def put_back(turn: Turn) -> None:
    turn.go("putting back", Status.CANCELLING)


def stop(turn: Turn) -> None:
    turn.end("stopped", Status.CANCELLED)


# For each region and each state what an event leads to. One that is not here changes nothing.
CHART: Mapping[str, Mapping[str, Mapping[str, Handler]]] = {
    DEFINITION: {
        "new": {"Place": place},
        "awaiting payment": {"Paid": pass_on_payment, "PaymentFailed": cancel, "Timeout": cancel, "Cancel": cancel},
        "fulfilling": {"Packed": let_ship, "Cancel": cancel},
        "on its way": {"Finished": join},
        "delivered": {"Confirm": confirm_delivery},
        "cancelling": {"Finished": join},
        "cancelled": {"Confirm": confirm_cancellation},
    },
    PAYMENT: {
        "new": {"Start": charge},
        "charging": {"Charged": charged, "Declined": declined, "Cancel": await_unwanted_charge},
        "retrying": {"Timeout": charge, "Cancel": await_unwanted_retry},
        "paid": {"Ship": settle, "Cancel": refund},
        "declined": {"Cancel": void},
        "charging in vain": {"Charged": refund, "Declined": void},
        "retrying in vain": {"Timeout": void},
        "refunding": {"Refunded": refunded},
    },
    SHIPPING: {
        "new": {"Start": wait},
        "waiting": {"Paid": pick, "Cancel": stop},
        "picking": {"Timeout": pack, "Cancel": put_back},
        "packing": {"Timeout": packed, "Cancel": put_back},
        "packed": {"Ship": ship, "Cancel": stop},
        "in transit": {"Timeout": deliver},
        "putting back": {"Timeout": stop},
    },
}


def step(execution: Execution, event: Event, clock: Callable[[], float] = time.time) -> Step:
    """The machine: looks up the handler, and lets it have its turn."""
    turn = Turn(execution, event, clock())
    state = (execution.active_path or "/new").rpartition("/")[2]
    handler = CHART[execution.root_path or DEFINITION].get(state, {}).get(event.kind)
    if handler is not None:
        handler(turn)
    return turn.step()


machines = {DEFINITION: step}
