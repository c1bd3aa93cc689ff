"""`harel`, and `python -m harel`: the command line."""

import signal
import sys


def main() -> None:
    """Runs the command line, or says what it lacks."""
    try:
        from .cli import app
    except ModuleNotFoundError as error:
        if error.name not in ("rich", "typer"):
            raise
        sys.exit("harel: the command line is an extra: pip install 'harel[cli]'")
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
    app(prog_name="harel")


if __name__ == "__main__":
    main()
