"""Commands that change something."""

import json
from collections.abc import Callable
from typing import Annotated, Any, NoReturn, TypeVar
from uuid import UUID, uuid4

import typer
from rich.text import Text

from ..engine.execution import Execution
from ..engine.store import PostgresStore
from ..engine.store._json import dump_event
from ..spec.states import Event
from .common import BAD_USE, NO, Dsn, Id, Json, Schema, busy, connection, console, end, note, spinner, store, write_json

Definition = Annotated[str | None, typer.Option("--definition", "-d", help="All of this definition, in place of one.")]
Statuses = Annotated[list[str] | None, typer.Option("--status", "-s", help="All in any of these, in place of one.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say how many executions it would be.")]
OneId = Annotated[str | None, typer.Argument(metavar="ID", help="The id of the execution.", show_default=False)]
Given = TypeVar("Given", str, str | None)
JsonObject = Annotated[str, typer.Option(metavar="JSON", help="A JSON object.")]


def new(
    definition: Annotated[str, typer.Argument(metavar="DEFINITION", help="What it is an execution of.")],
    id: Annotated[str | None, typer.Argument(metavar="ID", help="Its id.", show_default="random")] = None,
    context: JsonObject = "{}",
    dsn: Dsn = None,
    schema: Schema = None,
    as_json: Json = False,
) -> None:
    """Make an execution.

    In status PENDING, for events to be sent to. Prints its id.
    """
    execution = Execution(
        id=_given("an ID", id) or uuid4().hex,
        definition_id=_given("the DEFINITION", definition),
        context=_object("--context", context),
    )
    with connection(dsn) as session:
        made = PostgresStore(session, schema=schema, create_schema=False)
        if made.load(execution.id) is not None:
            end(NO, f"there is an execution {execution.id!r} already")
        made.save(execution)
    _done(as_json, {"id": execution.id, "definition_id": definition}, execution.id)


def send(
    id: Id,
    event: Annotated[str, typer.Argument(metavar="EVENT", help="The kind of the event.")],
    data: JsonObject = "{}",
    event_id: Annotated[
        str | None, typer.Option(help="Its id: an execution handles each once.", show_default="random")
    ] = None,
    dsn: Dsn = None,
    schema: Schema = None,
    as_json: Json = False,
) -> None:
    """Send an event to an execution.

    To the end of its queue. Prints the event's id.
    """
    sent = Event(
        id=_given("an --event-id", event_id) or uuid4().hex,
        kind=_given("the EVENT", event),
        data=_object("--data", data),
    )
    with store(dsn, schema) as functions:
        if functions.value("send", id=id, event=dump_event(sent, f"the event {event!r}")) is None:
            end(NO, f"there is no execution {id!r}")
    _done(as_json, {"id": id, "event_id": sent.id, "kind": event}, sent.id)


def suspend(
    id: OneId = None,
    definition: Definition = None,
    statuses: Statuses = None,
    dry_run: DryRun = False,
    dsn: Dsn = None,
    schema: Schema = None,
    as_json: Json = False,
) -> None:
    """Suspend an execution, or all that match.

    With their children: what is sent to them waits.
    """
    _control("suspend", "suspended", id, definition, statuses, dry_run, dsn, schema, as_json)


def resume(
    id: OneId = None,
    definition: Definition = None,
    statuses: Statuses = None,
    dry_run: DryRun = False,
    dsn: Dsn = None,
    schema: Schema = None,
    as_json: Json = False,
) -> None:
    """Resume an execution, or all that match.

    With their children, in the status that they had.
    """
    _control("resume", "resumed", id, definition, statuses, dry_run, dsn, schema, as_json)


def cancel(
    id: OneId = None,
    definition: Definition = None,
    statuses: Statuses = None,
    dry_run: DryRun = False,
    dsn: Dsn = None,
    schema: Schema = None,
    as_json: Json = False,
) -> None:
    """Cancel an execution, or all that match.

    With their children: their messages become dead letters.
    """
    _control("cancel", "cancelled", id, definition, statuses, dry_run, dsn, schema, as_json)


def _control(
    verb: str,
    done: str,
    id: str | None,
    definition: str | None,
    statuses: list[str] | None,
    dry_run: bool,
    dsn: str | None,
    schema: str | None,
    as_json: bool,
) -> None:
    several = definition is not None or bool(statuses)
    if (id is not None) == several:
        end(BAD_USE, f"{verb} what? Name an id, or those of a --definition or --status")
    if id is not None and dry_run:
        end(BAD_USE, "--dry-run is for a --definition or --status")
    with store(dsn, schema) as functions:
        if id is not None:
            if functions.value("load", id=id) is None:
                end(NO, f"there is no execution {id!r}")
            if not functions.value(verb, id=id):
                now = functions.rows("tree", id=id, limit=1)
                end(NO, f"{id!r} cannot be {done}: it is {now[0]['status'] if now else 'gone'}")
            _done(as_json, {done: 1}, f"{done} {id}")
            return
        wanted = [text.upper() for text in statuses] if statuses else None
        with busy(f"{verb} ..."):
            number = functions.value(f"{verb}_all", definition_id=definition, statuses=wanted, dry_run=dry_run)
    _done(
        as_json,
        {done: 0 if dry_run else number, "matching": number},
        f"{'would be ' if dry_run else ''}{done}: {number:,}",
    )


def purge(
    id: OneId = None,
    older_than: Annotated[
        float | None,
        typer.Option(metavar="DAYS", help="All that ended so many days ago or earlier, in place of one.", min=0),
    ] = None,
    archive: Annotated[
        str | None, typer.Option(help="A function that is handed each before, as harel_purge_finished() describes.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    dsn: Dsn = None,
    schema: Schema = None,
    as_json: Json = False,
) -> None:
    """Remove an execution, or old ones.

    With all that belongs to it. Old ones are those that ended some days ago. What is gone is gone.
    """
    if (id is None) == (older_than is None):
        end(BAD_USE, "purge what? Name an id, or --older-than so many days")
    if id is not None and archive is not None:
        end(BAD_USE, "--archive goes with --older-than")
    with store(dsn, schema) as functions:
        if id is not None:
            found = functions.row("load_for_event", id=id, event_id="")
            if found["version"] is None:
                end(NO, f"there is no execution {id!r}")
            _confirm(yes, f"remove {id!r} at version {found['version']:,}?")
            if not functions.value("purge", id=id, expected_version=found["version"]):
                end(NO, f"{id!r} has moved on meanwhile, and is still there")
            _done(as_json, {"purged": 1}, f"purged {id}")
            return
        assert older_than is not None
        _confirm(yes, f"remove every execution that ended {older_than:g} days ago or earlier?")
        number = _repeat(
            "purged",
            lambda: functions.value("purge_finished", older_than=older_than * 86400, archive=archive, limit=1000),
        )
    _done(as_json, {"purged": number}, f"purged: {number:,}")


def redrive(
    id: OneId = None,
    letter: Annotated[str | None, typer.Option(help="Only this dead letter.", metavar="UUID")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Those of all executions.")] = False,
    dsn: Dsn = None,
    schema: Schema = None,
    as_json: Json = False,
) -> None:
    """Put dead letters back into the queue.

    At its head: those of an execution, one, or all.
    """
    if [id is not None, letter is not None, everything].count(True) != 1:
        end(BAD_USE, "redrive what? Name an execution's id, a --letter, or --all")
    if letter is not None:
        try:
            UUID(letter)
        except ValueError:
            end(BAD_USE, f"{letter} is not the uuid of a letter: harel dead lists them")
    with store(dsn, schema) as functions:
        if everything:
            number = _repeat("redriven", lambda: functions.value("redrive", limit=1000))
        else:
            number = functions.value("redrive", group_id=id, id=letter)
    if not number and not everything:
        end(NO, "there is no such dead letter" if letter else f"there is no dead letter of {id!r}")
    _done(as_json, {"redriven": number}, f"redriven: {number:,}")


def _repeat(done: str, call: Callable[[], int]) -> int:
    """Calls until it has nothing left to do; returns the sum of what it did."""
    total = 0
    with spinner() as progress:
        task = progress.add_task(done, total=None)
        while number := call():
            total += number
            progress.update(task, description=f"{done} {total:,}")
    return total


def _given(what: str, text: Given) -> Given:
    """A text of the command line, where it was given, that is neither empty nor of another encoding."""
    if text == "":
        end(BAD_USE, f"{what} must not be empty: is a variable of the shell not set?")
    try:
        (text or "").encode()
    except UnicodeEncodeError:
        end(BAD_USE, f"{what} must be text in the encoding of the locale, best UTF-8")
    return text


def _no_json(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number of JSON")


def _object(option: str, text: str) -> dict[str, Any]:
    try:
        found = json.loads(_given(option, text), parse_constant=_no_json)
        json.dumps(found, allow_nan=False)
    except (ValueError, RecursionError) as error:
        end(BAD_USE, f"{option} is not JSON: {error}")
    if not isinstance(found, dict):
        end(BAD_USE, f'{option} must be a JSON object, such as {{"amount": 12.5}}')
    return found


def _confirm(yes: bool, question: str) -> None:
    try:
        if yes or typer.confirm(question, err=True):
            return
        note("nothing was done")
    except typer.Abort:
        # Nobody is there to be asked, or it was Ctrl-C: the question still stands on the line.
        typer.echo(err=True)
        note("nothing was done: --yes does not ask")
    raise typer.Exit(NO)


def _done(as_json: bool, document: Any, message: str) -> None:
    if as_json:
        write_json(document)
    else:
        console().print(Text(message), soft_wrap=True)
