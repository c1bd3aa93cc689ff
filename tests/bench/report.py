"""RESULTS.md and its plots."""

import os
import platform
from collections.abc import Mapping, Sequence
from datetime import date
from importlib.metadata import version
from pathlib import Path

import cpuinfo
import matplotlib
import psutil
import psycopg
from tabulate import tabulate

from .harness import Bench, Comparison, Pgbench
from .samples import source

matplotlib.use("agg")

# What is drawn together, by benchmark.
PLOTS = {
    "commits": ("commit-cas", "commit", "batch", "save"),
    "peers": ("peer-store", "peer-snapshots", "peer-queue", "worker", "wake"),
    "scale": ("claim-groups", "claim-snapshot", "listing", "walk", "sweep", "purge", "prefix", "hot"),
    "costs": ("cost",),
}

INTRODUCTION = """\
# Results

Written by `make bench`; do not edit. Each figure is the **ratio** of two things measured in the same run, in turn
(A B A B ...), each for {seconds:g} s a round, pgbench {pgbench:g} s: the median of the rounds, and the least and the
greatest. The two columns after it are the medians of both sides: they belong to this machine and this hour, and only
their ratio says something. What falls short, and why, is in [Performance](../../docs/explanation/performance.md).
Where the goal is `>=`, the ratio is of rates and more is better; where it is `<=`, of times or sizes, and less is.

- {date}; {processor}, {cores} cores, {memory:.0f} GiB of memory, {system}, shared with other work
- PostgreSQL {server}, psycopg {psycopg}, Python {python}; `fsync` on, {settings}
- async: `synchronous_commit = off`; fsync: `on`. A round trip of 0 ms is a Unix socket as it is; others are made by a
  proxy that delays what passes
- data: {source}
- peers, each in an environment of its own: {peers}
"""


def write_results(folder: Path, bench: Bench, settings: Mapping[str, str]) -> None:
    """Writes RESULTS.md and the plots, as PNG and SVG, into a folder."""
    (folder / "plots").mkdir(parents=True, exist_ok=True)
    sections = [_introduction(bench, settings), _goals(bench.comparisons)]
    for name, benchmarks in PLOTS.items():
        drawn = [comparison for comparison in bench.comparisons if comparison.benchmark in benchmarks]
        if not drawn:
            continue
        _draw([comparison for comparison in drawn if comparison.rounds], folder / "plots" / name)
        sections.append(f"## {name.capitalize()}\n\n![{name}](plots/{name}.svg)")
        for benchmark in benchmarks:
            rows = [comparison for comparison in drawn if comparison.benchmark == benchmark]
            if rows:
                sections.append(f"### `make bench ONLY={benchmark}`\n\n{_table(rows)}")
    (folder / "RESULTS.md").write_text("\n\n".join(section.strip() for section in sections) + "\n")


def _introduction(bench: Bench, settings: Mapping[str, str]) -> str:
    with psycopg.connect(bench.server.dsn) as session:
        server = session.info.parameter_status("server_version")
    peers = sorted({line for path in Path(__file__).parent.glob("peers/*.txt") for line in path.read_text().split()})
    return INTRODUCTION.format(
        seconds=bench.seconds,
        pgbench=bench.seconds * Pgbench.LENGTH,
        date=date.today(),
        processor=cpuinfo.get_cpu_info().get("brand_raw") or platform.machine(),
        cores=os.cpu_count(),
        memory=psutil.virtual_memory().total / 2**30,
        system=f"{platform.system()} {platform.release()}",
        server=server,
        psycopg=version("psycopg"),
        python=platform.python_version(),
        settings=", ".join(f"`{name} = {value}`" for name, value in settings.items()),
        source=source(),
        peers=", ".join(f"`{peer}`" for peer in peers),
    )


def _goals(comparisons: Sequence[Comparison]) -> str:
    asked = [comparison for comparison in comparisons if comparison.goal]
    met = sum(1 for comparison in asked if comparison.met)
    rows = [
        (
            c.what,
            c.against,
            c.parameters,
            f"**{_number(c.ratio)}**",
            _spread(c),
            f"`{c.goal}`",
            "" if c.met else "missed",
        )
        for c in asked
    ]
    headers = ("what", "beside", "parameters", "ratio", "spread", "goal", "")
    return (
        f"## Goals\n\n{met} of {len(asked)} met.\n\n{tabulate(rows, headers, tablefmt='github', disable_numparse=True)}"
    )


def _table(comparisons: Sequence[Comparison]) -> str:
    rows = [
        (
            c.what, c.against, c.parameters, f"**{_number(c.ratio)}**", _spread(c), len(c.rounds),
            *(f"{_number(median)} {c.unit}" for median in c.medians),
        )
        if c.rounds
        else (c.what, c.against, c.parameters)
        for c in comparisons
    ]  # fmt: skip
    headers = ("what", "beside", "parameters", "ratio", "spread", "rounds", "what", "beside")
    return tabulate(rows, headers, tablefmt="github", disable_numparse=True)


def _spread(comparison: Comparison) -> str:
    return f"{_number(min(comparison.ratios))} to {_number(max(comparison.ratios))}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _draw(comparisons: Sequence[Comparison], path: Path) -> None:
    """Every ratio on a logarithmic axis: a dot for each round, a bar for the median, an angle for the goal."""
    from matplotlib import pyplot

    with pyplot.rc_context({"svg.hashsalt": "harel", "font.size": 8, "svg.fonttype": "none"}):
        figure, axes = pyplot.subplots(figsize=(10, 0.6 + 0.24 * len(comparisons)), layout="constrained")
        for place, comparison in enumerate(comparisons):
            colour = {True: "tab:green", False: "tab:red", None: "tab:blue"}[comparison.met]
            axes.plot(comparison.ratios, [place] * len(comparison.ratios), ".", color=colour, alpha=0.35)
            axes.plot(comparison.ratio, place, "|", color=colour, markersize=12, markeredgewidth=2.5)
            if comparison.goal:
                marker = ">" if comparison.goal.sign == ">=" else "<"
                axes.plot(comparison.goal.value, place, marker, color="black", markersize=5, fillstyle="none")
        axes.axvline(1, color="grey", linewidth=0.8)
        axes.set_xscale("log")
        axes.set_yticks(range(len(comparisons)), [f"{c.what} / {c.against} ({c.parameters})" for c in comparisons])
        axes.invert_yaxis()
        axes.set_xlabel("ratio; the angle is the goal and points to where it is met")
        axes.xaxis.set_major_formatter(matplotlib.ticker.FuncFormatter(lambda value, _: f"{value:g}"))
        axes.grid(axis="x", which="both", alpha=0.2)
        figure.savefig(path.with_suffix(".png"), dpi=110, metadata={"Software": None})
        figure.savefig(path.with_suffix(".svg"), metadata={"Date": None})
        pyplot.close(figure)
