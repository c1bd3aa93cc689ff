"""`python -m harel.demo`."""

import typer

from . import main

if __name__ == "__main__":
    typer.run(main)
