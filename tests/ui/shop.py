"""A shop in the middle of a bad night: the orders of the demo, of which some are on their way and some are stuck."""

import asyncio

from harel import Event, Execution, PostgresStore, PostgresTransport, Status
from harel.demo.orders import DEFINITION, machines
from harel.worker import Worker

# Steps of an order that waits for its payment: its own, and the first ones of its two regions.
STEPS = 3

REASONS = (
    "ProviderError: the payment provider answered 503 Service Unavailable",
    "KeyError: 'amount'",
    "TimeoutError: the carrier did not answer within 30 s",
)


def open_shop(dsn: str, orders: int = 40) -> None:
    """Places orders; what becomes of them depends on their number, so that there is something of everything."""
    store, queue = PostgresStore.from_dsn(dsn), PostgresTransport.from_dsn(dsn)
    # What fails once is a dead letter.
    queue.max_attempts = 1
    ids = [f"order-{number:04}" for number in range(1001, 1001 + orders)]
    for number, id in enumerate(ids):
        store.save(Execution(id=id, definition_id=DEFINITION))
        queue.send(id, Event(id=f"{id}:place", kind="Place", data={"amount": 1990 + 37 * number}))
    asyncio.run(_work(dsn, len(ids) * STEPS))
    paid = ids[::3]
    for id in paid:
        queue.send(f"{id}/payment", Event(id=f"{id}:charged", kind="Charged", data={"amount": 1990}))
    # Each payment tells its order, which tells the shipping, whose picking takes a timer.
    asyncio.run(_work(dsn, len(paid) * STEPS))
    for number, id in enumerate(ids[1::9]):
        queue.send(f"{id}/payment", Event(id=f"{id}:declined", kind="Declined", data={"code": "do_not_honor"}))
        lease = queue.claim("worker-2@shop-1", 60.0)
        assert lease is not None
        queue.nack(lease, 0.0, REASONS[number % len(REASONS)])
    for id in ids[2::13]:
        store.suspend(id)
    broken = store.load(ids[4])
    assert broken is not None
    broken.status, broken.error = Status.FAILED, "ValueError: the amount -1 is no amount"
    store.save(broken)
    for id in ids[5:12]:
        queue.send(id, Event(id=f"{id}:address", kind="AddressChanged", data={"city": "Rotterdam"}))
    for worker in ("worker-1@shop-1", "worker-3@shop-2"):
        queue.claim(worker, 600.0)
    store.commit(Execution(id="till", definition_id="till", status=Status.RUNNING), [(None, Event(kind="Opened"))])
    store.close()
    queue.close()


async def _work(dsn: str, steps: int) -> None:
    worker = Worker(dsn, machines, poll=0.05)
    async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
        tasks.create_task(worker.run())
        while worker.tally["finished"] < steps:
            await asyncio.sleep(0.01)
        worker.stop()
