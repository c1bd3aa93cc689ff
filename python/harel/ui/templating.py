"""How pages are rendered, and how figures, times and states are written on them.

Everything that comes from the database is escaped. The pictures are drawn by us and stand as they are.
"""

import math
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import jinja2
from markupsafe import Markup
from starlette.responses import HTMLResponse

from ..wording import duration, printable
from .guard import HEADERS
from .jsontext import pretty
from .watch import Rate

STATUSES = ("PENDING", "RUNNING", "SUSPENDED", "CANCELLING", "DONE", "CANCELLED", "FAILED")
ENDED = ("DONE", "CANCELLED", "FAILED")

# What stands where there is nothing to say.
NONE = "\N{EN DASH}"

# harel_stats() counts totals to here and estimates greater ones; other counts end at their limit.
COUNTED, LIMIT = 1000, 10_000

# Characters of a text that are shown where it stands among others, and of one that has room of its own.
SHORT, LONG = 200, 20_000


class Pages:
    """Renders the templates, each of which knows what the layout needs of the console."""

    def __init__(self, **known: Any) -> None:
        self._environment = jinja2.Environment(
            loader=jinja2.PackageLoader(__package__),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._environment.filters.update(
            {
                "about": about,
                "ago": ago,
                "at": at,
                "capped": capped,
                "cut": cut,
                "duration": span,
                "kind": kind,
                "number": number,
                "per_second": per_second,
                "plain": printable,
                "pretty": pretty,
                "states": states,
            }
        )
        self._environment.globals.update(
            known, sparkline=sparkline, statuses=STATUSES, ended=ENDED, LONG=LONG, new_id=lambda: uuid4().hex
        )

    def render(self, template: str, code: int = 200, **values: Any) -> HTMLResponse:
        text = self._environment.get_template(template).render(values)
        # A lone surrogate, which JSON may escape, is no character to send.
        return HTMLResponse(text.encode("utf-8", "replace"), code, HEADERS)


def number(value: float | None) -> str:
    return "" if value is None else f"{value:,}"


def about(value: int) -> str:
    """A total of harel_stats()."""
    return f"{value:,}" if value < COUNTED else f"≈ {value:,}"


def capped(value: int) -> str:
    """A count that ends at its limit."""
    return f"{value:,}" if value < LIMIT else f"{LIMIT:,}+"


def per_second(value: float | None) -> str:
    return NONE if value is None else f"{value:,.0f}" if value >= 10 or value == 0 else f"{value:.1f}"


def span(seconds: float | None) -> str:
    if seconds is None:
        return ""
    return duration(seconds) if abs(seconds) < 1e10 else "centuries"


def at(moment: datetime | float | None) -> Markup:
    """The time of day of a moment, with the date in its title."""
    when = _datetime(moment)
    return Markup(NONE) if when is None else _time(when, when.strftime("%H:%M:%S.") + f"{when.microsecond // 1000:03}")


def ago(moment: datetime | float | None) -> Markup:
    """How long ago a moment was or when it will be, with itself in the title."""
    when = _datetime(moment)
    if when is None:
        return Markup(NONE) if moment is None else Markup('<span title="{} s">beyond all dates</span>').format(moment)
    seconds = (datetime.now(UTC) - when).total_seconds()
    if abs(seconds) < 1:
        return _time(when, "now")
    return _time(when, f"{span(seconds)} ago" if seconds > 0 else f"in {span(-seconds)}")


def cut(text: str, length: int = SHORT) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


def kind(status: str | None) -> str:
    """The class of a status for the style sheet: an application may have statuses of its own."""
    return status.lower() if status in STATUSES else "other"


def states(path: str | None) -> list[str]:
    """The states along a path, outermost first."""
    return [state for state in printable(path or "").split("/") if state]


def sparkline(rate: Rate, width: int = 120, height: int = 28) -> Markup:
    """The course of a rate as a line, from the left; the highest is at the top."""
    course = rate.course[-width // 2 :]
    if len(course) < 2:
        return Markup("")
    most, step = max(max(course), 1e-9), width / max(len(course) - 1, 1)
    points = [f"{n * step:.1f},{height - 1 - (height - 3) * value / most:.1f}" for n, value in enumerate(course)]
    return Markup(
        '<svg class="spark" viewBox="0 0 {w} {h}" width="{w}" height="{h}" aria-hidden="true">'
        '<path class="area" d="M0,{h} L{points} L{w},{h} Z"/><path class="line" d="M{points}"/></svg>'
    ).format(w=width, h=height, points=" L".join(points))


def in_order(found: Iterable[str]) -> list[str]:
    """Statuses in the order of a life, those of the application's own behind."""
    return sorted(found, key=lambda status: (STATUSES.index(status) if status in STATUSES else len(STATUSES), status))


def stays(
    rows: Sequence[dict[str, Any]],
    end: datetime | None,
    begin: datetime | None = None,
    until: datetime | None = None,
) -> list[dict[str, Any]]:
    """The rows of harel_timeline(), each with how long the state was kept that it leads to, and where on an axis.

    end: when the last of them ended; None: it lasts. The axis leads from `begin` (None: the first row) to `until`
    (None: the end); places on it are in thousandths of the whole.
    """
    now = datetime.now(UTC)
    times = [row["at"] for row in rows]
    first = begin or min((time for time in times if time is not None), default=now)
    last = max([until or end or now, *(time for time in times if time is not None)])
    whole = max((last - first).total_seconds(), 1e-6)
    found = []
    for row, after in zip(rows, [*times[1:], end or now], strict=False):
        stay = None if row["at"] is None or after is None else max((after - row["at"]).total_seconds(), 0.0)
        start = 0.0 if row["at"] is None else max((row["at"] - first).total_seconds() * 1000 / whole, 0.0)
        length = 0.0 if stay is None else max(stay * 1000 / whole, 3.0)
        found.append({**row, "stay": stay, "start": min(start, 997.0), "length": length, "last": row is rows[-1]})
    return found


def _datetime(moment: datetime | float | None) -> datetime | None:
    if moment is None or isinstance(moment, datetime):
        return moment
    try:
        return datetime.fromtimestamp(moment, UTC) if math.isfinite(moment) else None
    except (ValueError, OverflowError, OSError):
        return None


def _time(when: datetime, text: str) -> Markup:
    return Markup('<time datetime="{}" title="{} UTC">{}</time>').format(
        when.isoformat(), when.strftime("%Y-%m-%d %H:%M:%S.%f")[:-3], text
    )
