"""What the overview shows, read once for all who look at it."""

import time
from collections import deque
from collections.abc import Mapping
from itertools import pairwise
from threading import Lock
from typing import Any, NamedTuple

from ..engine.store._install import VERSION
from .database import Database

# Seconds for which what was read is still shown: what changes all the time, and what takes longer to find out.
FRESH, SETTLED = 1.5, 10.0

# Seconds: over which a rate is measured, and after which an earlier sample says nothing about now.
WINDOW, STALE = 10.0, 60.0
SAMPLES = 60

RATES = ("commits", "published", "settled", "emitted")

LEASES = 10


class Rate(NamedTuple):
    """How often something happened a second: over the last WINDOW, and from sample to sample, oldest first."""

    now: float | None
    course: list[float]


class View(NamedTuple):
    """The overview at a moment."""

    stats: Mapping[str, Any]
    leases: list[dict[str, Any]]
    health: list[dict[str, Any]]
    definitions: list[dict[str, Any]]
    rates: dict[str, Rate]


class Watch:
    """Reads the overview when somebody looks; who looks in the same moment sees the same."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = Lock()
        self._samples: deque[dict[str, Any]] = deque(maxlen=SAMPLES)
        self._read_at = self._settled_at = float("-inf")
        self._view: View | None = None
        self._failure: Exception | None = None

    def look(self) -> View:
        """Raises what the reading raised, for whoever looks in the same moment."""
        with self._lock:
            now = time.monotonic()
            if now - self._read_at >= FRESH:
                self._failure = None
                try:
                    self._view = self._read(now)
                except Exception as error:
                    self._failure = error
                # Who has waited for this meanwhile does not wait for another attempt.
                self._read_at = time.monotonic()
            if self._failure is not None:
                raise self._failure.with_traceback(None)
            assert self._view is not None
            return self._view

    def definitions(self) -> list[dict[str, Any]]:
        """The definitions with their executions by status."""
        with self._lock:
            if self._view is not None and time.monotonic() - self._settled_at < SETTLED:
                return self._view.definitions
        with self._database.reading() as functions:
            return functions.rows("definitions")

    def forget(self) -> None:
        """Something was changed from here: the next look sees it."""
        with self._lock:
            self._read_at = self._settled_at = float("-inf")

    def _read(self, now: float) -> View:
        with self._database.reading() as functions:
            stats = functions.row("stats")
            self._add(functions.row("activity"))
            leases = functions.rows("queue", state="leased", limit=LEASES)
            if self._view is None or now - self._settled_at >= SETTLED:
                health = functions.rows("health", client_version=VERSION, client_now=time.time())
                definitions = functions.rows("definitions")
                self._settled_at = now
            else:
                health, definitions = self._view.health, self._view.definitions
        return View(stats, leases, health, definitions, {name: self._rate(name) for name in RATES})

    def _add(self, sample: dict[str, Any]) -> None:
        if self._samples:
            last = self._samples[-1]
            # A server that has crashed counts anew.
            if _seconds(last, sample) > STALE or any(sample[name] < last[name] for name in RATES):
                self._samples.clear()
        self._samples.append(sample)

    def _rate(self, name: str) -> Rate:
        samples = list(self._samples)
        course = [(b[name] - a[name]) / max(_seconds(a, b), 0.001) for a, b in pairwise(samples)]
        last = samples[-1]
        first = next((sample for sample in samples if _seconds(sample, last) <= WINDOW), last)
        if first is last:
            return Rate(None, course)
        return Rate((last[name] - first[name]) / _seconds(first, last), course)


def _seconds(first: dict[str, Any], second: dict[str, Any]) -> float:
    return float((second["at"] - first["at"]).total_seconds())
