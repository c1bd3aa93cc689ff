"""What the demo shows in a terminal: its progress, its numbers, the proof, and the way of one order."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from ..replay.proof import Check


class Display:
    """Tells on a console of orders, of which there are so many."""

    def __init__(self, console: Console, orders: int) -> None:
        self._console = console
        self._orders = orders
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
        self._task = self._progress.add_task("orders", total=orders)
        utf = console.encoding.startswith("utf")
        self._yes, self._no, self._dot, self._end, self._line = "✓✗●◆│" if utf else "+x*#|"

    @contextmanager
    def progress(self) -> Iterator[None]:
        """A moving bar while the orders are on their way, where the console is a terminal."""
        with self._progress:
            yield

    def progressed(self, orders: int) -> None:
        """So many orders have come to their end."""
        self._share = orders / self._orders
        self._progress.update(self._task, completed=orders)

    def introduce(self, name: str, text: str) -> None:
        """What is going to run."""
        self._console.print(Text.assemble((name, "bold"), f": {text}"))

    def say(self, text: str, style: str = "") -> None:
        """A line about something that has just happened."""
        self._console.print(Text(f"{self._share:4.0%}  {text}", style))

    def numbers(self, numbers: Mapping[str, str]) -> None:
        """What was done."""
        table = _table("Orders", show_header=False)
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
                claim.append(f"\n{check.wrong:,} differ, such as {check.example}", "red")
            table.add_row(mark, claim, f"{check.compared:,}")
        self._console.print("", table)

    def timeline(self, order: str, traces: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
        """What happened to one order, with a column for each of its traces: its own and those of its regions."""
        steps = sorted(
            (
                (entry["at"], number, entry, lane)
                for lane, entries in traces.items()
                for number, entry in enumerate(entries)
            ),
            key=lambda step: step[:2],
        )
        table = _table(f"Trace of {order}")
        table.add_column("ms", justify="right", style="dim")
        table.add_column("event")
        for lane in traces:
            table.add_column(lane, overflow="fold")
        done: dict[str, int] = dict.fromkeys(traces, 0)
        for at, _, entry, lane in steps:
            done[lane] += 1
            cells = []
            for other, entries in traces.items():
                state = entry["to"].rpartition("/")[2]
                if other != lane:
                    cells.append(Text(self._line if 0 < done[other] < len(entries) else "", "dim"))
                elif done[lane] == len(entries):
                    cells.append(Text.assemble((f"{self._end} ", "green"), (state, "bold green")))
                elif entry["to"] == entry["from"]:
                    cells.append(Text(f"{self._dot} ", "cyan"))
                else:
                    cells.append(Text.assemble((f"{self._dot} ", "cyan"), state))
            what = f"{entry['event']} {entry['data']['path']}" if entry["event"] == "Timeout" else entry["event"]
            table.add_row(f"{(at - steps[0][0]) * 1000:,.0f}", Text(what), *cells)
        self._console.print("", table)


def _table(title: str, **options: Any) -> Table:
    return Table(box=box.ROUNDED, title=Text(title), title_justify="left", title_style="bold", **options)
