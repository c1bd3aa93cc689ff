"""What can be done. In a console that only reads, none of these routes exists."""

import json
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit
from uuid import UUID

import psycopg
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from ..engine.store._json import dump_event
from ..spec.states import Event
from .database import Database, Lost, explained
from .guard import same
from .messages import Messages, Said
from .pages import execution_url, whole
from .watch import Watch

# Bytes of a form: an event may be large, but no upload.
LARGEST = 8_000_000
FIELDS = 20

# Dead letters put back by one statement, and seconds after which no further one begins.
BATCH, PATIENCE = 1000, 8.0

Form = Mapping[str, str]
Action = Callable[[Form], tuple[Said, str]]


class Actions:
    """The routes that write; each takes a form and leads to a page that says what became of it.

    form_token: what a form must have with it. A page of another site cannot know it.
    """

    def __init__(self, database: Database, watch: Watch, messages: Messages, form_token: str) -> None:
        self._database = database
        self._watch = watch
        self._messages = messages
        self._form_token = form_token

    def routes(self) -> list[Route]:
        return [
            Route(f"/do/{name}", self._endpoint(action), methods=["POST"])
            for name, action in {
                "suspend": self.suspend,
                "resume": self.resume,
                "cancel": self.cancel,
                "send": self.send,
                "purge": self.purge,
                "redrive": self.redrive,
            }.items()
        ]

    def suspend(self, form: Form) -> tuple[Said, str]:
        return self._control(form, "suspend", "Suspended.", "It was not suspended: it has ended, or was already.")

    def resume(self, form: Form) -> tuple[Said, str]:
        return self._control(form, "resume", "Resumed.", "It was not resumed: it was not suspended.")

    def cancel(self, form: Form) -> tuple[Said, str]:
        return self._control(form, "cancel", "Cancelled.", "It was not cancelled: it has ended already.")

    def send(self, form: Form) -> tuple[Said, str]:
        page = execution_url(form["id"])
        try:
            data = json.loads(form.get("data") or "{}", parse_constant=_refuse)
            if not isinstance(data, dict) or not form.get("kind", "").strip():
                return Said("Nothing was sent: an event has a kind, and its data is a JSON object.", failed=True), page
            event = Event(id=form["event_id"], kind=form["kind"].strip(), data=data)
            text = dump_event(event, "the event")
        except (ValueError, RecursionError) as error:
            return Said("Nothing was sent: the data is not JSON.", str(error), failed=True), page
        with self._database.writing() as functions:
            place = functions.value("send", id=form["id"], event=text)
        if place is None:
            return Said("Nothing was sent: there is no such execution.", failed=True), page
        return Said(f"Sent {event.kind}.", f"Event {event.id} waits for a worker."), page

    def purge(self, form: Form) -> tuple[Said, str]:
        with self._database.writing() as functions:
            done = functions.value("purge", id=form["id"], expected_version=whole(form.get("version", "")))
        if not done:
            said = Said("Nothing was purged: it has moved on meanwhile, or is gone.", failed=True)
            return said, execution_url(form["id"])
        return Said(f"Purged {form['id']}."), "/executions"

    def redrive(self, form: Form) -> tuple[Said, str]:
        """One dead letter (letter), those of a group (group) or all (everything)."""
        group, letter = form.get("group"), form.get("letter")
        if not (group or letter or form.get("everything")):
            raise HTTPException(400, "The form does not say what to redrive.")
        with self._database.writing() as functions:
            if letter:
                count = functions.value("redrive", id=_uuid(letter))
            else:
                count = _in_batches(lambda: functions.value("redrive", group_id=group, limit=BATCH))
        text = f"Put {count:,} dead letter{'' if count == 1 else 's'} back into the queue."
        return Said(text if count else "There was nothing to put back.", failed=not count), _back(form)

    def _control(self, form: Form, function: str, done: str, nothing: str) -> tuple[Said, str]:
        with self._database.writing() as functions:
            changed = functions.value(function, id=form["id"])
        return Said(done if changed else nothing, failed=not changed), execution_url(form["id"])

    def _endpoint(self, action: Action) -> Callable[[Request], Any]:
        async def endpoint(request: Request) -> Response:
            form = await self._form(request)
            said, url = await run_in_threadpool(self._carried_out, action, form)
            mark = "&" if "?" in url else "?"
            return RedirectResponse(f"{url}{mark}{urlencode({'said': self._messages.put(said)})}", 303)

        return endpoint

    def _carried_out(self, action: Action, form: Form) -> tuple[Said, str]:
        try:
            return action(form)
        except KeyError as missing:
            raise HTTPException(400, f"The form has no {missing.args[0]}.") from None
        except Lost as error:
            problem, text = explained(error), "Nothing was done: the database cannot be reached."
        except psycopg.Error as error:
            problem = explained(error)
            text = problem.message
            if problem.status == 503 and not isinstance(error, psycopg.errors.QueryCanceled):
                # The answer may have been on its way.
                text = "The connection was lost: look whether it was done."
        finally:
            self._watch.forget()
        return Said(text, problem.detail, problem.hint, failed=True), _back(form)

    async def _form(self, request: Request) -> Form:
        body = b""
        async for chunk in request.stream():
            body += chunk
            if len(body) > LARGEST:
                raise HTTPException(413, f"A form has at most {LARGEST:,} bytes.")
        try:
            form = dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=FIELDS))
        except ValueError:
            raise HTTPException(400, f"A form has at most {FIELDS} fields.") from None
        # Browsers say where a request comes from; the token is for those that do not.
        if request.headers.get("sec-fetch-site", "same-origin") != "same-origin":
            raise HTTPException(403, "The form came from another site.")
        if not same(form.get("form_token", ""), self._form_token):
            raise HTTPException(403, "The form is out of date: go back, load the page again and repeat.")
        return form


def _in_batches(redrive: Callable[[], int]) -> int:
    """Puts back batch after batch, each its own transaction, until a batch is not full or it takes too long."""
    begun, total = time.monotonic(), 0
    while True:
        count = redrive()
        total += count
        if count < BATCH or time.monotonic() - begun > PATIENCE:
            return total


def _back(form: Form) -> str:
    """The page that the form was on: a path of the console, whatever host the form may name."""
    back = urlsplit(form.get("back", ""))
    if not back.path.startswith("/") or back.path.startswith("//"):
        return "/"
    query = urlencode([pair for pair in parse_qsl(back.query, True) if pair[0] != "said"])
    return f"{back.path}?{query}" if query else back.path


def _refuse(constant: str) -> Any:
    raise ValueError(f"JSON has no {constant}")


def _uuid(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise HTTPException(400, "A dead letter is named by a UUID.") from None
