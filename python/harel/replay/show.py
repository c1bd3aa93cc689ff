"""What a replay shows in a terminal: its progress, its numbers, the proof, and the trace of one case."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from ..wording import duration, printable
from .log import Log
from .proof import Check

# The case shown is the longest that fits on a screen.
_SCREEN = 16


class Display:
    """Tells on a console of the replay of a log."""

    def __init__(self, console: Console, log: Log) -> None:
        self._console = console
        self._log = log
        self._share = 0.0
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(None),
            MofNCompleteColumn(),
            TaskProgressColumn(),
            TimeElapsedColumn(),
            console=console,
            disable=not console.is_terminal,
            expand=True,
        )
        self._task = self._progress.add_task("events", total=log.events)
        utf = console.encoding.startswith("utf")
        self._yes, self._no, self._dot, self._end = ("✓", "✗", "●", "◆") if utf else ("+", "x", "*", "#")

    @contextmanager
    def progress(self) -> Iterator[None]:
        """A moving bar while the replay runs, where the console is a terminal."""
        with self._progress:
            yield

    def progressed(self, events: int) -> None:
        """So many events are done."""
        self._share = events / self._log.events
        self._progress.update(self._task, completed=events)

    def say(self, text: str, style: str = "") -> None:
        """A line about something that has just happened."""
        self._console.print(Text(f"{self._share:4.0%}  {text}", style))

    def numbers(self, numbers: Mapping[str, str]) -> None:
        """What the replay did."""
        table = _table("Replay", show_header=False)
        table.add_column()
        table.add_column(justify="right", style="cyan")
        for name, number in numbers.items():
            table.add_row(name, number)
        self._console.print("", table)

    def proof(self, checks: Sequence[Check]) -> None:
        """Each claim, and whether it holds."""
        table = _table("Proof, a query each", show_header=False)
        table.add_column()
        table.add_column()
        table.add_column(justify="right", style="cyan")
        for check in checks:
            mark = Text(self._yes, "bold green") if check.holds else Text(self._no, "bold red")
            claim = Text(check.claim)
            if not check.holds:
                claim.append(f"\n{check.wrong:,} differ, such as {self.printable(check.example or '')}", "red")
            table.add_row(mark, claim, f"{check.compared:,}")
        self._console.print("", table)

    def trace(self, case_id: str, entries: Sequence[Mapping[str, Any]]) -> None:
        """What happened to one case."""
        times = [datetime.fromisoformat(entry["timestamp"]) for entry in entries]
        table = _table(f"Trace of {self.printable(case_id)}")
        table.add_column("time", style="dim", no_wrap=True)
        table.add_column("gap", justify="right", no_wrap=True)
        table.add_column("state", overflow="fold")
        table.add_column("resource", style="dim")
        table.add_column("timer", style="yellow", no_wrap=True)
        for number, (entry, at) in enumerate(zip(entries, times, strict=True)):
            state = Text.assemble((f"{self._dot} ", "cyan"), self.printable(entry["to"]))
            if number == len(entries) - 1:
                state = Text.assemble((f"{self._end} ", "green"), (self.printable(entry["to"]), "bold green"))
            table.add_row(
                at.strftime("%Y-%m-%d %H:%M:%S"),
                duration((at - times[number - 1]).total_seconds()) if number else "",
                state,
                Text(self.printable(entry["resource"])),
                "armed" if "timer" in entry else "",
            )
        self._console.print("", table)

    def printable(self, text: str) -> str:
        """The text without what the console cannot show, and what would move its cursor or change its colours."""
        encoding = self._console.encoding
        return printable(text).encode(encoding, "replace").decode(encoding)


def case_to_show(log: Log) -> str:
    """The longest case that fits on a screen; the shortest where none does."""
    lengths = {case_id: len(rows) for case_id, rows in log.cases.items()}
    fitting = {case_id: length for case_id, length in lengths.items() if length <= _SCREEN}
    return max(fitting, key=fitting.__getitem__) if fitting else min(lengths, key=lengths.__getitem__)


def _table(title: str, **options: Any) -> Table:
    return Table(box=box.ROUNDED, title=Text(title), title_justify="left", title_style="bold", **options)
