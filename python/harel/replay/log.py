"""Event logs, as they are read from files."""

import csv
import gzip
import sys
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from statistics import median_low
from typing import IO

COLUMNS = ("case_id", "activity", "lifecycle", "timestamp", "resource")

# A state waits, with a timer armed for it, where executions stay in it for longer than this: an hour, in seconds.
WAITS_FROM = 3600.0

# An event id is a case id with a number, and like the name of a timer has at most 1000 bytes.
_LONGEST_CASE_ID = 980
_LONGEST_STATE = 1000


class LogError(ValueError):
    """The event log cannot be replayed; the message names the file, the line and what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Row:
    """An event of a case: the state that it leads to and when, as written and in seconds since the epoch."""

    state: str
    timestamp: str
    at: float
    resource: str


@dataclass(frozen=True)
class Log:
    """An event log: the rows of each case in the order of the source.

    order: the case of each row, in the order of the source.
    waits: for each state that waits, the seconds after which its timer is due.
    """

    path: Path
    cases: Mapping[str, Sequence[Row]]
    order: Sequence[str]
    waits: Mapping[str, float]

    @property
    def definition_id(self) -> str:
        """What the executions are instances of: the name of the file, without its endings."""
        return self.path.name.split(".")[0] or self.path.name

    @property
    def events(self) -> int:
        """The number of rows."""
        return len(self.order)


def read_log(path: Path) -> Log:
    """Reads a CSV log with the columns COLUMNS, in UTF-8, plain or compressed by gzip. Raises LogError.

    The state that a row leads to is `activity`, or `activity/lifecycle` where there is one. A time without a zone is
    taken as UTC. A state waits where more than half of the stays in it are longer than WAITS_FROM; its timer is due
    only after the longest of them, so none comes due in a replay.
    """
    cases: dict[str, list[Row]] = {}
    order: list[str] = []
    for line, (case_id, activity, lifecycle, timestamp, resource) in records(path):
        if not case_id or not activity:
            raise LogError(f"{path}, line {line}: the {'activity' if case_id else 'case_id'} is empty")
        state = f"{activity}/{lifecycle}" if lifecycle else activity
        for what, value, longest in ("case_id", case_id, _LONGEST_CASE_ID), ("state", state, _LONGEST_STATE):
            if len(value.encode()) > longest:
                raise LogError(f"{path}, line {line}: the {what} is longer than {longest} bytes")
        try:
            time = datetime.fromisoformat(timestamp)
        except ValueError:
            raise LogError(f"{path}, line {line}: {timestamp!r} is no ISO 8601 time") from None
        at = (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
        order.append(sys.intern(case_id))
        cases.setdefault(order[-1], []).append(Row(sys.intern(state), timestamp, at, sys.intern(resource)))
    if not cases:
        raise LogError(f"{path}, line 2: there are no events")
    stays: dict[str, list[float]] = {}
    for rows in cases.values():
        for row, following in pairwise(rows):
            stays.setdefault(row.state, []).append(following.at - row.at)
    waits = {state: max(seconds) + 1 for state, seconds in stays.items() if median_low(seconds) > WAITS_FROM}
    return Log(path, cases, order, waits)


def records(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The rows of a log as `(line, values of COLUMNS)`. Raises LogError."""
    line = 1
    try:
        with path.open("rb") as file:
            packed = file.peek(2).startswith(b"\x1f\x8b")
            stream: IO[bytes] = gzip.GzipFile(fileobj=file) if packed else file  # type: ignore[assignment]
            reader = csv.reader(_decoded(path, stream), strict=True)
            header = next(reader, None)
            if header is None:
                raise LogError(f"{path}, line 1: the file is empty")
            missing = [column for column in COLUMNS if column not in header]
            if missing:
                raise LogError(f"{path}, line 1: the header has no column {' and no column '.join(missing)}")
            places = [header.index(column) for column in COLUMNS]
            line = 2
            for fields in reader:
                line = reader.line_num
                if not fields:
                    continue
                if len(fields) != len(header):
                    raise LogError(f"{path}, line {line}: {len(fields)} fields under a header of {len(header)}")
                values = [fields[place] for place in places]
                if any("\0" in value for value in values):
                    raise LogError(f"{path}, line {line}: there is a NUL character, which PostgreSQL cannot store")
                yield line, values
                line += 1
    except (OSError, EOFError, zlib.error) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise LogError(f"{path}, line {line}: the file cannot be read: {reason}") from None
    except csv.Error as error:
        raise LogError(f"{path}, line {line}: {error}") from None


def _decoded(path: Path, stream: Iterable[bytes]) -> Iterator[str]:
    for line, text in enumerate(stream, 1):
        try:
            yield text.decode("utf-8-sig" if line == 1 else "utf-8")
        except UnicodeDecodeError:
            raise LogError(f"{path}, line {line}: the text is not UTF-8") from None
