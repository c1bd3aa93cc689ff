"""Fills the six tables of another program: the store of the PyPI package harel, run with its interpreter and a DSN."""

import sys

from harel import Event
from harel.engine.execution import Execution, Status
from harel.engine.store import PostgresStore, TimerOp

store = PostgresStore.from_dsn(sys.argv[1])
for n in range(5):
    exe = Execution(id=f"order-{n}", definition_id="order", status=Status.RUNNING if n else Status.DONE)
    exe.context["text"] = "a\u00e4\u20ac\U0001f600\n\\"
    for step in range(n + 1):
        store.commit(
            exe,
            [("warehouse", Event(kind="Ship")), (None, Event(kind="Told"))],
            f"event-{step}",
            timers=(TimerOp("schedule", f"/paying/{step}", 1e9 / 3 + step),),
            spawns=((f"order-{n}/child-{step}", "/order/shipping", {"n": step}),),
            trace={"step": step},
        )
for entry in store.pending_outbox()[-2:]:
    store.ack_outbox(entry.seq)
store.close()
