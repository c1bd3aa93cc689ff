"""How a peer is driven: a process in the environment of its own, with a line of JSON for each request and answer.

It runs as `SCRIPT DSN`, says `{"offers": [NAME, ...]}` once it is set up, and then answers each `{"do": NAME, ...}`
with the counts and times of what it did, until its input ends. What it prints for people goes to standard error.
"""

import json
import sys
import time
from collections.abc import Callable
from typing import Any

Answer = dict[str, Any]


def serve(operations: dict[str, Callable[..., Answer]]) -> None:
    """Answers requests. An operation gets the rest of the request as keyword arguments."""
    answers, sys.stdout = sys.stdout, sys.stderr
    print(json.dumps({"offers": list(operations)}), file=answers, flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        print(json.dumps(operations[request.pop("do")](**request)), file=answers, flush=True)


def per_second(answer: Answer) -> float:
    """What was done in a second."""
    return float(answer["count"] / answer["seconds"])


def repeat(call: Callable[[], Any], seconds: float) -> Answer:
    """Calls for so many seconds, at least once: `{"count": calls, "seconds": time taken}`."""
    count = 0
    start = now = time.perf_counter()
    while now - start < seconds or count == 0:
        call()
        count += 1
        now = time.perf_counter()
    return {"count": count, "seconds": now - start}
