"""The store of the PyPI package harel, as it comes from from_dsn(): `SCRIPT DSN EXECUTION`, a sample as JSON."""

# ruff: noqa: I001 -- the peer's modules, which ruff would sort by what ours are called

import sys

from harel.engine.store import PostgresStore

from serve import repeat, serve
from store_calls import store_calls


def main() -> None:
    _, dsn, data = sys.argv
    calls = store_calls(PostgresStore.from_dsn(dsn), data)
    serve({name: lambda seconds, call=call: repeat(call, seconds) for name, call in calls.items()})


if __name__ == "__main__":
    main()
