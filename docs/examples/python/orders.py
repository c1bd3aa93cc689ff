"""An order and its warehouse, for the worker of the Python client: `harel worker orders:machines`."""

import os
import socket

from harel import Event, Execution, Status, Step, TimerOp

ME = f"python:{socket.gethostname()}:{os.getpid()}"


def order(exe: Execution, event: Event) -> Step | None:
    match exe.active_path, event.kind:
        case None, "Place":
            return moved(exe, event, "/paying", timers=[TimerOp("schedule", "/paying", event.data["pay_until"])])
        case "/paying", "Paid":
            # The id is the dedupe key of an event: the same, whoever decides this step.
            ship = Event(id=f"{exe.id}:Ship", kind="Ship", data={"order": exe.id})
            return moved(exe, event, "/shipping", timers=[TimerOp("cancel", "/paying")], emits=[("warehouse", ship)])
        case "/paying", "Timeout":
            exe.status, exe.outcome = Status.DONE, "expired"
            return moved(exe, event, "/expired")
        case "/shipping", "Shipped":
            exe.status, exe.outcome = Status.DONE, "shipped"
            return moved(exe, event, "/shipped")
    return None  # the event changes nothing


def warehouse(exe: Execution, event: Event) -> Step | None:
    if event.kind != "Ship":
        return None
    exe.context["shipped"] = exe.context.get("shipped", 0) + 1
    order_id = event.data["order"]
    return moved(exe, event, "/open", emits=[(order_id, Event(id=f"{order_id}:Shipped", kind="Shipped"))])


def moved(exe: Execution, event: Event, to: str, **effects) -> Step:
    trace = {"event": event.kind, "from": exe.active_path, "to": to, "worker": ME}
    exe.active_path = to
    if exe.status is Status.PENDING:
        exe.status = Status.RUNNING
    return Step(exe, trace=trace, **effects)


machines = {"order": order, "warehouse": warehouse}
