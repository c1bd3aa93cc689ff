"""The command line. What it shows comes from the functions of the store; here it is only put on the screen."""

from importlib.metadata import version
from typing import Annotated

import typer

from . import acting, looking, running
from .common import Commands, new_app

__all__ = ["app"]

app = new_app(cls=Commands, no_args_is_help=True)


def _tell_version(asked: bool) -> None:
    if asked:
        print(version("harel"))
        raise typer.Exit


@app.callback()
def harel(
    version: Annotated[
        bool, typer.Option("--version", callback=_tell_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Statecharts that run on PostgreSQL.

    Each command takes --json: one document on standard output, or, where it goes on until it is stopped, one for each
    line. Standard error has everything else.

    Exit codes: 0, it is done; 1, the database refused or cannot be reached, or a proof does not hold; 2, what was asked
    for makes no sense; 3, the answer is no: there is no such execution, it cannot be suspended any more, the doctor
    found something.
    """


for command in (
    running.init, running.up, running.demo, running.replay, running.worker, running.relay,
    looking.ls, looking.show, looking.trace, acting.new, acting.send,
    acting.suspend, acting.resume, acting.cancel, acting.purge,
    looking.timers, looking.outbox, looking.dead, acting.redrive,
    looking.top, looking.doctor, looking.flow, running.bench, running.ui,
):  # fmt: skip
    app.command()(command)
