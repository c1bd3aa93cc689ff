"""An order that is paid and then shipped."""

from harel import Event, Execution, Status, Step


def order(exe: Execution, event: Event) -> Step | None:
    match exe.active_path, event.kind:
        case None, "Place":
            exe.active_path, exe.status = "/paying", Status.RUNNING
        case "/paying", "Paid":
            exe.active_path = "/shipping"
        case "/shipping", "Delivered":
            exe.active_path, exe.status = "/done", Status.DONE
        case _:
            return None
    return Step(exe, trace={"event": event.kind, "to": exe.active_path})


machines = {"order": order}
