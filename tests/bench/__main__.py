"""The command of the suite: `python -m bench [NAME...]`, in tests/."""

from pathlib import Path
from typing import Annotated

import typer

from harel.embedded import EmbeddedServer

from .harness import SETTINGS, Bench
from .report import write_results
from .suite import BENCHMARKS

app = typer.Typer(pretty_exceptions_enable=False)


@app.command()
def main(
    names: Annotated[list[str] | None, typer.Argument(help=f"What to run (all): {', '.join(BENCHMARKS)}")] = None,
    rounds: Annotated[int, typer.Option(min=1, help="Blocks of each side.")] = 5,
    seconds: Annotated[float, typer.Option(min=0.001, help="How long a block lasts.")] = 0.3,
    scale: Annotated[float, typer.Option(min=0.0, max=1.0, help="1: the sizes of the goals, such as a million.")] = 1.0,
    write: Annotated[Path | None, typer.Option(help="A folder for RESULTS.md and the plots.")] = None,
) -> None:
    """Measures what is claimed of harel's speed: each figure the ratio of two things measured in turn."""
    unknown = set(names or ()) - set(BENCHMARKS)
    if unknown:
        raise typer.BadParameter(f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join(BENCHMARKS)}")
    settings = {**SETTINGS, "fsync": "on"}
    with EmbeddedServer(settings=settings) as server:
        bench = Bench(server, rounds, seconds, scale)
        for name in names or BENCHMARKS:
            bench.run(name, BENCHMARKS[name])
        if write:
            write_results(write, bench, settings)
    missed = [comparison for comparison in bench.comparisons if comparison.met is False]
    print(f"{len(bench.comparisons)} comparisons, {len(missed)} of them short of their goal")


if __name__ == "__main__":
    app()
