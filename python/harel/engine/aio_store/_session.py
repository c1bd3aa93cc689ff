"""A client over a connection that it manages in its own way: how it finds the store, and runs a call.

The asynchronous module is the source; `make generate` derives the synchronous one from it.
"""

import inspect
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import wraps
from typing import Any, Generic, TypeVar

from ...spec.states import Event
from .. import _spans
from ..execution import Execution
from ..store._base import is_loss_of_node, translated
from ..store._calls import Call, CallsOfSchema
from ..store._install import check_version, create_store, find_store, find_version, names_commits, not_installed

Result = TypeVar("Result")
Calls = TypeVar("Calls", bound=CallsOfSchema)
Methods = TypeVar("Methods", bound=type)
Method = TypeVar("Method", bound=Callable[..., Any])


class AnswerLost(Exception):
    """The connection was lost when the call may have been carried out; `error` is that of the driver."""

    def __init__(self, error: Exception) -> None:
        super().__init__(error)
        self.error = error


class AsyncSession(ABC, Generic[Calls]):
    """What the methods of a client stand on."""

    _calls_type: type[Calls]
    # Whether calls have spans, where there are any: an idle worker would make some every second.
    _has_spans = True
    # How often a call whose answer was lost can be made again, each time on a new connection.
    _attempts_again = 0
    # Seconds between two of them where it is not the connection that is missing.
    _retry_delay = 1.0

    @abstractmethod
    async def _ready(self) -> Calls:
        """The calls of the client, once the store is known to be in the database."""

    @abstractmethod
    async def _take(self) -> Any:
        """A connection that is in nobody else's use until it is given back."""

    @abstractmethod
    async def _give(self, connection: Any) -> None:
        """Gives back a connection that was taken."""

    @abstractmethod
    async def _rest(self, seconds: float) -> None:
        """Lets some time pass."""

    async def _run(self, call: Call[Result]) -> Result:
        """Runs a call on a connection."""
        try:
            return await self._attempt(call)
        except AnswerLost as lost:
            raise lost.error from None

    async def _attempt(self, call: Call[Result]) -> Result:
        """_run() that says by AnswerLost if the call may have been carried out although it failed."""
        connection = await self._take()
        try:
            return await run_on(connection, call)
        finally:
            await self._give(connection)

    async def _set_up(
        self,
        schema: str | None,
        create_schema: bool,
        execution_type: type[Execution],
        event_type: type[Event],
    ) -> Calls:
        """Finds the store in the database, or creates it there."""
        found = await self._run(find_store(schema))
        if found is None and create_schema:
            await self._run(create_store(schema))
            found = await self._run(find_store(schema))
        if found is None:
            raise not_installed(schema)
        version = await self._run(find_version(found))
        check_version(version)
        return self._calls_type(found, execution_type, event_type, names_commits(version))


def with_spans(methods: Methods) -> Methods:
    """A class each of whose public methods has a span, where there are any."""
    for name, method in list(vars(methods).items()):
        if inspect.isfunction(method) and not name.startswith("_") and not hasattr(method, "_other"):
            setattr(methods, name, _with_span(method))
    return methods


def by_another(method: Method) -> Method:
    """A method that another one of the class does, which has the span."""
    method._other = True  # type: ignore[attr-defined]
    return method


def _with_span(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    async def call(self: AsyncSession[Any], *arguments: Any, **options: Any) -> Any:
        spans = _spans.current
        if spans is None or not self._has_spans:
            return await method(self, *arguments, **options)
        with spans.call(method, arguments, options) as answered:
            return answered(await method(self, *arguments, **options))

    return call


async def run_on(connection: Any, call: Call[Result]) -> Result:
    """Runs a call on a connection: within the caller's transaction if there is one, and otherwise in its own.

    Raises AnswerLost where the connection was lost in the very message that commits.
    """
    alone = not _in_transaction(connection)
    # In autocommit the call is all of its transaction, unless the caller began one.
    own = alone and not getattr(connection, "autocommit", False)
    commits = alone and not own
    try:
        rows = await _rows(connection, call)
        if own:
            commits = True
            await connection.commit()
    except BaseException as error:
        if own:
            with suppress(Exception):
                await connection.rollback()
        _raise_own(error)
        lost = getattr(connection, "closed", False) or is_loss_of_node(error)
        if commits and isinstance(error, Exception) and lost:
            raise AnswerLost(error) from error
        raise
    return call.decode(rows)


@asynccontextmanager
async def transaction_on(connection: Any) -> AsyncIterator[Callable[[Call[Any]], Awaitable[Any]]]:
    """A way to run calls that stand and fall together: in the caller's transaction if there is one, else in its own."""

    async def run(call: Call[Result]) -> Result:
        try:
            return call.decode(await _rows(connection, call))
        except BaseException as error:
            _raise_own(error)
            raise

    if hasattr(connection, "transaction"):
        async with connection.transaction():
            yield run
        return
    try:
        yield run
        await connection.commit()
    except BaseException:
        with suppress(Exception):
            await connection.rollback()
        raise


async def _rows(connection: Any, call: Call[Any]) -> list[Any]:
    cursor = connection.cursor()
    try:
        if hasattr(cursor, "row_factory"):
            cursor.row_factory = _tuples
        await cursor.execute(call.sql, call.params)
        # Only a script brings no rows; to ask for the description takes a tenth of the time of a call.
        return await cursor.fetchall() if call.params is not None or cursor.description else []
    finally:
        await cursor.close()


def _raise_own(error: BaseException) -> None:
    own = translated(error)
    if own is not None:
        raise own from error


def _tuples(cursor: Any) -> type[tuple[Any, ...]]:
    return tuple


def _in_transaction(connection: Any) -> bool:
    # The numbers of libpq's PQTRANS_INTRANS and PQTRANS_INERROR, which drivers for PostgreSQL share.
    info = getattr(connection, "info", None)
    return getattr(info, "transaction_status", 0) in (2, 3)
