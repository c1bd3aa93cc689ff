"""The command: where the demo runs, and what its exit code says."""

import signal
import sys
from typing import Annotated

import typer

from ..cli.common import FAILED, Dsn, Json, console, end, proved, said, workplace, write_json
from .run import DemoError, Run

ORDERS = 400


def demo(
    orders: Annotated[int, typer.Option(min=1, max=9999, help="How many orders.")] = ORDERS,
    dsn: Dsn = None,
    as_json: Json = False,
) -> None:
    """See it survive: orders, kills, a crash.

    Runs orders through three worker processes while one of them is killed and the server crashes, and proves that
    every event was applied once and in order all the same. On a server of its own, or in a schema of its own on the one
    that --dsn names, which is not crashed. The exit code is 0 only if the proof holds.
    """
    # Ended in this way too, the demo leaves no server behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        with workplace(dsn, "demo") as (where, schema, server):
            checks = Run(orders, console(stderr=as_json), where, schema, server).run()
    except DemoError as error:
        end(FAILED, said(error))
    if as_json:
        write_json(proved(checks) | {"orders": orders})
    if not all(check.holds for check in checks):
        end(FAILED, "the proof does not hold")
