"""Executions to store, with data of the size asked for in the shape of a real log.

The rows are those of the log bpic2012 where ../shared/data has it beside the checkout, or of the one that
HAREL_BENCH_LOG names; otherwise they are made up in its shape.
"""

import os
import random
from collections.abc import Iterator
from functools import cache
from itertools import islice
from pathlib import Path

from harel import Execution
from harel.replay.log import COLUMNS, records

LOG = Path(os.environ.get("HAREL_BENCH_LOG") or Path(__file__).parents[3] / "shared" / "data" / "bpic2012.csv.gz")
# More than 100 KB of data take.
ROWS = 2000


def source() -> str:
    """Where the data is from, to be named in the report."""
    return f"rows of {LOG.name}" if LOG.exists() else "made up in the shape of bpic2012"


@cache
def _rows() -> list[dict[str, str]]:
    values = (row for _, row in records(LOG)) if LOG.exists() else _made_up()
    return [dict(zip(COLUMNS, row, strict=True)) for row in islice(values, ROWS)]


def _made_up() -> Iterator[list[str]]:
    chance = random.Random(2012)
    activities = [f"{kind}_{word}" for kind in "AOW" for word in ("Submitted", "Accepted", "Selected", "Completeren")]
    while True:
        case = str(chance.randrange(170_000, 215_000))
        for _ in range(chance.randrange(3, 40)):
            day, second = chance.randrange(1, 29), chance.randrange(60)
            time = f"2011-10-{day:02}T{chance.randrange(24):02}:{chance.randrange(60):02}:{second:02}.123+02:00"
            lifecycle = chance.choice(["SCHEDULE", "START", "COMPLETE"])
            yield [case, chance.choice(activities), lifecycle, time, str(chance.randrange(10_000, 12_000))]


def sample(kilobytes: int = 1, id: str | None = None) -> Execution:
    """An execution whose data has so many kilobytes as JSON, to a row of the log."""
    exe = Execution(definition_id="orders", status="RUNNING", active_path="/application/W_Completeren/START")
    if id is not None:
        exe.id = id
    exe.context = {"amount": 20_000, "events": []}
    size = len(exe.model_dump_json())
    for row in _rows():
        exe.context["events"].append(row)
        size += len(str(row)) + 1
        if size >= kilobytes * 1024:
            break
    return exe
