"""Runs one check of the contract kit in the PyPI package `harel` on this project's store or transport.

    python -I kit_bridge.py CHECK DSN [METHOD]

The interpreter is one that has the package, which is another project's with the import name of ours: ours is loaded
here under another name. CHECK is a function of `harel.testing`, and DSN leads to an empty store. With METHOD the check
meets a subclass in which this method does nothing and claims success. Ends with 0 only if the check has passed.
"""

import asyncio
import inspect
import sys
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from itertools import count
from pathlib import Path
from typing import Any

import harel.testing
import harel.testing.purge

from harel.engine.execution import Execution
from harel.spec.states import Event

MODELS: dict[str, Any] = {"execution_type": Execution, "event_type": Event}


def load_ours() -> str:
    """Loads our package, and returns the name that it has here."""
    name = "harel_ours"
    path = Path(__file__).resolve().parents[2] / "python" / "harel" / "__init__.py"
    spec = spec_from_file_location(name, path, submodule_search_locations=[str(path.parent)])
    assert spec is not None
    assert spec.loader is not None
    sys.modules[name] = module_from_spec(spec)
    spec.loader.exec_module(sys.modules[name])
    return name


def without(method: str, cls: Any) -> Any:
    """A subclass in which a method does nothing and claims success."""

    def claim(*args: Any, **kwargs: Any) -> bool:
        return True

    async def claim_async(*args: Any, **kwargs: Any) -> bool:
        return True

    stub = claim_async if inspect.iscoroutinefunction(getattr(cls, method)) else claim
    return type(cls.__name__, (cls,), {method: stub})


async def check_async_store(check: Any, cls: Any, dsn: str, **options: Any) -> None:
    store = await cls.from_dsn(dsn, **MODELS)
    try:
        await check(store, **options)
    finally:
        await store.close()


def check_store(check: Any, cls: Any, dsn: str, **options: Any) -> None:
    store = cls.from_dsn(dsn, **MODELS)
    try:
        check(store, **options)
    finally:
        store.close()


def main(name: str, dsn: str, method: str | None = None) -> None:
    ours = load_ours()
    check = getattr(harel.testing, name)
    is_async = inspect.iscoroutinefunction(check)
    place = "aio_" if is_async else ""
    prefix = "Async" if is_async else ""
    if "transport" in name:
        cls = getattr(import_module(f"{ours}.engine.{place}transport"), f"{prefix}PostgresTransport")
    else:
        cls = getattr(import_module(f"{ours}.engine.{place}store"), f"{prefix}PostgresStore")
    if method is not None:
        cls = without(method, cls)

    if "transport" in name:
        # The kit wants several transports, each empty.
        schemas = (f"transport_{n}" for n in count(1))
        result = check(lambda clock: cls.from_dsn(dsn, schema=next(schemas), clock=clock, **MODELS))
        if is_async:
            asyncio.run(result)
        return
    # The kit waits for the error by the name that it has imported.
    harel.testing.purge.StoreConflict = import_module(f"{ours}.engine.store").StoreConflict
    options = {"ordered": True} if "listing" in name else {}
    if is_async:
        asyncio.run(check_async_store(check, cls, dsn, **options))
    else:
        check_store(check, cls, dsn, **options)


if __name__ == "__main__":
    main(*sys.argv[1:])
