"""Snapshots of state per second of LangGraph's PostgresSaver (PyPI langgraph-checkpoint-postgres), for serve.py.

`put` with `seconds` and `data`: puts the next checkpoint of a thread at every call. `get` with `seconds` and `data`:
gets the newest checkpoint of a thread at every call. `data`, a JSON object, is the state. Both answer
`{"count": calls, "seconds": time taken}` and go round THREADS threads, which the operation makes for itself.
"""

import sys
from datetime import UTC, datetime
from itertools import count, cycle
from typing import Any
from uuid import uuid4

from langgraph.checkpoint.base import ChannelVersions, Checkpoint
from langgraph.checkpoint.base.id import uuid6
from langgraph.checkpoint.postgres import PostgresSaver
from psycopg import Connection
from psycopg.rows import dict_row
from serve import Answer, repeat, serve

THREADS = 100
CHANNEL = "__root__"  # where LangGraph keeps the state of a graph whose schema is a plain dict, so it is one blob


class Thread:
    """One thread of checkpoints; each is saved as LangGraph's loop saves it after a step that changed the state."""

    def __init__(self, saver: PostgresSaver) -> None:
        self._saver = saver
        self._thread_id = str(uuid4())
        self._newest: Any = self.any_version
        self._version: Any = None
        self._steps = count()

    @property
    def any_version(self) -> Any:
        """The configuration that names the thread's newest checkpoint, whichever that is."""
        return {"configurable": {"thread_id": self._thread_id, "checkpoint_ns": ""}}

    def put(self, data: dict[str, Any]) -> None:
        step = next(self._steps)
        self._version = self._saver.get_next_version(self._version, None)
        # The saver stores the blobs of the channels whose versions are new.
        changed: ChannelVersions = {CHANNEL: self._version}
        checkpoint = Checkpoint(
            v=4,
            id=str(uuid6(clock_seq=step)),
            ts=datetime.now(UTC).isoformat(),
            channel_values={CHANNEL: data},
            channel_versions=dict(changed),
            versions_seen={},
            updated_channels=[CHANNEL],
        )
        metadata: Any = {"source": "loop", "step": step, "parents": {}}
        self._newest = self._saver.put(self._newest, checkpoint, metadata, changed)

    def get(self) -> Any:
        return self._saver.get_tuple(self.any_version)

    def verify(self, data: dict[str, Any]) -> None:
        """Raises unless the newest checkpoint is the one put last, with that state."""
        found = self.get()
        if found is None or found.config != self._newest or found.checkpoint["channel_values"] != {CHANNEL: data}:
            raise RuntimeError(f"another checkpoint came back than {self._newest} with the state that was put: {found}")


class Snapshots:
    """The operations, on a connection of their own."""

    def __init__(self, connection: "Connection[dict[str, Any]]", saver: PostgresSaver) -> None:
        self._connection = connection
        self._saver = saver

    def put(self, seconds: float, data: dict[str, Any]) -> Answer:
        threads = self._threads({})
        turns = cycle(threads)
        answer = repeat(lambda: next(turns).put(data), seconds)
        threads[(answer["count"] - 1) % THREADS].verify(data)
        return answer

    def get(self, seconds: float, data: dict[str, Any]) -> Answer:
        threads = self._threads(data)
        for thread in threads:
            thread.verify(data)
        turns = cycle(threads)
        return repeat(lambda: next(turns).get(), seconds)

    def _threads(self, data: dict[str, Any]) -> list[Thread]:
        """Threads with two checkpoints, of which the newest has that state."""
        threads = [Thread(self._saver) for _ in range(THREADS)]
        for thread in threads:
            thread.put({})
            thread.put(data)
        # The statistics that tables in use have.
        self._connection.execute("ANALYZE checkpoints, checkpoint_blobs, checkpoint_writes")
        return threads


# The connection is set up as the documentation says. A saver does one thing at a time, whatever it has (it holds a
# lock), so a pool only adds its own work: it was slower. A saver given a pipeline was no faster to put, as every put
# waits for the end of a pipeline anyway, and slower to get.
def main(dsn: str) -> None:
    with Connection.connect(dsn, autocommit=True, prepare_threshold=0, row_factory=dict_row) as connection:
        saver = PostgresSaver(connection)
        saver.setup()
        operations = Snapshots(connection, saver)
        serve({"put": operations.put, "get": operations.get})


if __name__ == "__main__":
    main(sys.argv[1])
