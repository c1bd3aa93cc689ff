"""The application: routes, the guard before them, and what is said when something is wrong."""

import secrets
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

import psycopg
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

from ..engine.store import StoreError
from .actions import Actions
from .database import Database, Lost, explained
from .guard import Guard, derived
from .messages import Messages
from .pages import Views, execution_url, shown_event
from .templating import Pages
from .watch import Watch


def create_app(
    dsn: str, schema: str | None = None, write: bool = False, token: str | None = None, hosts: Iterable[str] = ()
) -> Starlette:
    """The console over the store in a database, as an ASGI application.

    schema: where the store is; None: as a client finds it. write: whether it can also act; without it no route that
    writes exists and the sessions cannot write. token: what a visitor has to know; None: nothing. hosts: the names that
    it is reached by, besides localhost and IP addresses. Raises psycopg.ProgrammingError for a DSN that libpq cannot
    read.
    """
    database = Database(dsn, schema, write)
    watch, messages = Watch(database), Messages()
    form_token = derived(token or secrets.token_urlsafe(), "form")
    pages = Pages(write=write, form_token=form_token, execution_url=execution_url, event=shown_event)
    views = Views(database, watch, pages, messages)
    actions = Actions(database, watch, messages, form_token)

    def problem(request: Request, status: int, message: str, detail: str = "", hint: str = "") -> Response:
        query = request.query_params.multi_items()
        said = messages.take(request.query_params.get("said", ""))
        values = {"message": message, "detail": detail, "hint": hint, "query": query, "said": said}
        return pages.render("problem.html", status, status=status, **values)

    async def of_http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        answers = {404: "There is no such page.", 405: "This cannot be done here."}
        standard = error.detail in ("Not Found", "Method Not Allowed")
        response = problem(request, error.status_code, answers[error.status_code] if standard else error.detail)
        response.headers.update(error.headers or {})
        return response

    async def of_database(request: Request, error: Exception) -> Response:
        return problem(request, *explained(error))

    async def of_console(request: Request, error: Exception) -> Response:
        return problem(request, 500, "The console failed.", hint="Its log says at what.")

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        database.open()
        try:
            yield
        finally:
            await run_in_threadpool(database.close)

    return Starlette(
        routes=[
            *views.routes(),
            *(actions.routes() if write else ()),
            Mount("/static", StaticFiles(directory=Path(__file__).with_name("static"))),
        ],
        middleware=[Middleware(Guard, token=token, hosts=hosts, refuse=problem)],
        exception_handlers={
            HTTPException: of_http,
            Lost: of_database,
            StoreError: of_database,
            psycopg.Error: of_database,
            Exception: of_console,
        },
        lifespan=lifespan,
    )
