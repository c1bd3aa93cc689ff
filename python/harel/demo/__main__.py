"""`python -m harel.demo`, which is `harel demo`."""

import sys

from ..cli import app

if __name__ == "__main__":
    app(["demo", *sys.argv[1:]], prog_name="harel")
