"""Commands that look and change nothing."""

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count, islice
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.columns import Columns
from rich.console import Group
from rich.highlighter import JSONHighlighter
from rich.live import Live
from rich.padding import Padding
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from .. import pictures
from ..engine.store._install import VERSION
from ..functions import Functions
from ..wording import printable
from .common import (
    BAD_USE,
    FAILED,
    MOST,
    NO,
    Dsn,
    Id,
    Json,
    Limit,
    Schema,
    busy,
    cell,
    clock,
    console,
    due,
    end,
    event_kind,
    note,
    seconds,
    status,
    store,
    table,
    write_json,
    write_rows,
)  # fmt: skip

Row = Mapping[str, Any]


def ls(
    definition: Annotated[str | None, typer.Option("--definition", "-d", help="Only those of this definition.")] = None,
    statuses: Annotated[list[str] | None, typer.Option("--status", "-s", help="Only those in any of these.")] = None,
    roots: Annotated[bool, typer.Option("--roots", help="Only those that are no children.")] = False,
    limit: Limit = 50,
    cursor: Annotated[str | None, typer.Option(help="The page after the one that gave this cursor.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="All pages.")] = False,
    dsn: Dsn = None,
    schema: Schema = None,
    as_json: Json = False,
) -> None:
    """List executions.

    In the order of their ids, a page at a time. With --json a page is one document: {"items": [...], "next_cursor":
    ...}.
    """
    with store(dsn, schema) as functions:
        while True:
            wanted = [text.upper() for text in statuses] if statuses else None
            items = functions.rows(
                "list", definition_id=definition, statuses=wanted, roots_only=roots, limit=limit, cursor=cursor
            )
            cursor = items[-1]["next_cursor"] if items else None
            if as_json:
                for row in items:
                    del row["next_cursor"]
                write_json({"items": items, "next_cursor": cursor})
            else:
                made = table("id", "definition", "status", "state", ">version", ">updated")
                write_rows(items, False, made, lambda row: (
                    row["id"], row["definition_id"], status(row["status"]), row["active_path"], row["version"],
                    row["updated_at"],
                ))  # fmt: skip
            if cursor is None or not everything:
                break
    if cursor is not None and not as_json:
        note(f"there are more: --cursor {cursor}")


def show(id: Id, dsn: Dsn = None, schema: Schema = None, as_json: Json = False) -> None:
    """Show an execution.

    Where it is in its states, its children, timers and messages, its context and last events.
    """
    with store(dsn, schema) as functions:
        tree = functions.rows("tree", id=id, limit=200)
        if not tree:
            end(NO, f"there is no execution {id!r}")
        data = functions.value("load", id=id)
        found: dict[str, Any] = {
            "execution": tree[0],
            "data": _parsed(data),
            "children": tree[1:],
            "timers": functions.rows("timers", id=id, limit=100),
            "queue": functions.rows("queue", id=id),
            "dead_letters": functions.rows("dead_letters", group_id=id, limit=100),
            "trace": functions.rows("timeline", id=id, limit=10),
        }
    if as_json:
        write_json(found)
        return
    console().print(Group(*_shown(found)))


def _shown(found: dict[str, Any]) -> Iterator[Any]:
    execution, now = found["execution"], time.time()
    yield Text.assemble(
        (printable(execution["id"]), "bold"), "  ", printable(execution["definition_id"]), "  ",
        status(execution["status"]), f"  version {execution['version']:,}",
        f"  outcome {printable(execution['outcome'])}" if execution["outcome"] else "",
        f"  child of {printable(execution['parent_id'])}" if execution["parent_id"] else "",
    )  # fmt: skip
    yield Text.assemble("created ", clock(execution["created_at"]), ", updated ", clock(execution["updated_at"]))
    yield Text()
    yield _tree(execution, found["children"])
    parts: list[tuple[str, Table, list[Any]]] = [
        ("timers", table("path", "due"), [(row["path"], due(row["fire_at"], now)) for row in found["timers"]]),
        (
            "queue",
            table("state", "for", "messages", "first", "delivered", "worker"),
            [
                (
                    row["state"],
                    seconds(row["seconds"]),
                    row["messages"],
                    event_kind(row["event"]),
                    row["attempts"],
                    row["worker"],
                )
                for row in found["queue"]
            ],
        ),
        (
            "dead letters",
            table("event", "reason", "delivered", "dead"),
            [
                (event_kind(row["event"]), row["reason"], row["attempts"], row["dead_at"])
                for row in found["dead_letters"]
            ],
        ),
        ("last events", _timeline_table(), list(map(_timeline_cells, found["trace"]))),
    ]
    for title, made, rows in parts:
        if rows:
            for cells in rows:
                made.add_row(*map(cell, cells))
            yield Text(f"\n{title}", "bold")
            yield Padding(made, (0, 0, 0, 2), expand=False)
    data = found["data"]
    context = data.get("context") if isinstance(data, dict) else data
    if context:
        yield Text("\ncontext", "bold")
        yield Padding(_json(context), (0, 0, 0, 2), expand=False)
    if isinstance(data, dict) and data.get("error"):
        yield Text.assemble(("\nerror  ", "bold red"), printable(str(data["error"])))


def _tree(execution: Row, children: Sequence[Row]) -> Tree:
    """The states on the way to the active one, and the children with theirs, each below its parent."""
    branches = {execution["id"]: _branch(Tree, "", execution)}
    root: Tree = branches[execution["id"]]
    for child in children:
        branches[child["id"]] = _branch(branches[child["parent_id"]].add, printable(child["id"]), child)
    return root


def _branch(add: Any, name: str, execution: Row) -> Tree:
    path = [part for part in (execution["active_path"] or "").split("/") if part]
    what = status(execution["status"]) if name else Text(printable(execution["definition_id"]))
    branch: Tree = add(Text.assemble((name, "bold"), "  " if name else "", what), guide_style="dim")
    inner = branch
    for number, state in enumerate(path):
        last = number == len(path) - 1
        inner = inner.add(Text(f"{printable(state)}{'  ◂ here' if last else ''}", "bold cyan" if last else ""))
    return branch


def _json(value: Any) -> Text:
    """A value as JSON, coloured on a terminal; what would move its cursor is escaped."""
    if not console().is_terminal:
        return Text(json.dumps(value, indent=2))
    text = json.dumps(value, indent=2, ensure_ascii=False)
    shown = "".join(c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text)
    return JSONHighlighter()(shown)


def _parsed(data: str) -> Any:
    """Data as what it stands for, or as the text that it is where Python cannot read it."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return data


def trace(
    id: Id,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with what happens, until Ctrl-C.")] = False,
    limit: Annotated[int | None, typer.Option("--limit", "-n", min=0, max=MOST, help="Only the last ones.")] = None,
    svg: Annotated[Path | None, typer.Option(help="Draw it into this file instead.", dir_okay=False)] = None,
    dsn: Dsn = None,
    schema: Schema = None,
    as_json: Json = False,
) -> None:
    """Show what happened to an execution.

    Each event, and how long the state before it lasted. With --json an array of entries; with --follow one entry a
    line.
    """
    with store(dsn, schema) as functions:
        rows = functions.rows("timeline", id=id, limit=limit)
        if not rows and functions.value("load", id=id) is None:
            end(NO, f"there is no execution {id!r}")
        if svg:
            _save(svg, lambda: pictures.timeline_svg(rows).encode())
            return
        if not follow:
            write_rows(rows, as_json, _timeline_table(), _timeline_cells)
            return
        try:
            _follow(functions, id, rows, as_json)
        except KeyboardInterrupt:
            return


def _follow(functions: Functions, id: str, rows: Sequence[Row], as_json: bool) -> None:
    last = -1
    while True:
        for row in rows:
            last = row["idx"]
            if as_json:
                write_json(row)
            else:
                console().print(
                    Text("  ").join(Text(str(cell(value))) for value in _timeline_cells(row)), soft_wrap=True
                )
        time.sleep(0.5)
        rows = functions.rows("timeline", id=id, after=last)


def _timeline_table() -> Table:
    return table(">nr", "time", ">after", "event", "from", "to")


def _timeline_cells(row: Row) -> Sequence[Any]:
    known = row["event"] or row["target"] or row["source"]
    return (
        row["idx"], clock(row["at"]), seconds(row["dwell"]), row["event"] if known else row["entry"][:200],
        row["source"], row["target"],
    )  # fmt: skip


def timers(
    id: Annotated[str | None, typer.Argument(metavar="ID", help="Only those of this execution.")] = None,
    limit: Limit = 100,
    dsn: Dsn = None,
    schema: Schema = None,
    as_json: Json = False,
) -> None:
    """List armed timers, earliest first."""
    with store(dsn, schema) as functions:
        rows, now = functions.rows("timers", id=id, limit=limit), time.time()
    write_rows(rows, as_json, table("execution", "path", ">due"), lambda row: (
        row["execution_id"], row["path"], due(row["fire_at"], now),
    ))  # fmt: skip


def outbox(limit: Limit = 100, dsn: Dsn = None, schema: Schema = None, as_json: Json = False) -> None:
    """List events that are not yet sent.

    Oldest first; one without a target is a broadcast.
    """
    with store(dsn, schema) as functions:
        rows = functions.rows("pending_outbox", limit=limit)
    write_rows(rows, as_json, table(">seq", "from", "to", "event"), lambda row: (
        row["seq"], row["source_id"], row["target_id"], event_kind(row["event"]),
    ))  # fmt: skip


def dead(
    id: Annotated[str | None, typer.Argument(metavar="ID", help="Only those of this execution.")] = None,
    limit: Limit = 100,
    dsn: Dsn = None,
    schema: Schema = None,
    as_json: Json = False,
) -> None:
    """List dead letters, oldest first.

    Events that were not handled, and why. harel redrive puts them back.
    """
    with store(dsn, schema) as functions:
        rows = functions.rows("dead_letters", group_id=id, limit=limit)
    write_rows(rows, as_json, table("letter", "execution", "event", ">delivered", "dead", "reason"), lambda row: (
        row["id"], row["group_id"], event_kind(row["event"]), row["attempts"], row["dead_at"], row["reason"],
    ))  # fmt: skip


def doctor(dsn: Dsn = None, schema: Schema = None, as_json: Json = False) -> None:
    """Say what is wrong with store and server.

    And what to do about it. The exit code is 3 if anything is wrong.
    """
    with store(dsn, schema) as functions:
        problems = functions.rows("health", client_version=VERSION, client_now=time.time())
    if as_json:
        write_json(problems)
    elif not problems:
        console().print(Text("all is well", "green"))
    for row in [] if as_json else problems:
        console().print(
            Text.assemble(
                (f"{printable(row['problem'])}\n", "bold red"),
                f"  {printable(row['detail'])}\n",
                f"  {printable(row['remedy'])}",
            ),
            soft_wrap=True,
        )
    if problems:
        raise typer.Exit(NO)


_FORMS: dict[str, Callable[[Sequence[Row]], bytes]] = {
    ".svg": lambda rows: pictures.flow_svg(rows).encode(),
    ".png": pictures.flow_png,
    ".mmd": lambda rows: pictures.flow_mermaid(rows).encode(),
    ".dot": lambda rows: str(pictures.flow_graph(rows).source).encode(),
}


def flow(
    definition: Annotated[str, typer.Argument(metavar="DEFINITION", help="The definition's id.")],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Draw it into this file: .svg, .png, .mmd (Mermaid) or .dot.", dir_okay=False
        ),
    ] = None,
    mermaid: Annotated[bool, typer.Option("--mermaid", help="Write it as a state diagram of Mermaid.")] = False,
    view: Annotated[bool, typer.Option("--open", help="Open the file that was drawn.")] = False,
    limit: Annotated[
        int,
        typer.Option(
            "--limit", "-n", min=0, max=MOST, help="Executions read of each status, roots and children; 0: all."
        ),
    ] = 5000,
    dsn: Dsn = None,
    schema: Schema = None,
    as_json: Json = False,
) -> None:
    """Show a statechart as it really runs.

    Found in the traces: how often each state was entered and left, how long it lasted, and where executions wait now.
    """
    if output and output.suffix not in _FORMS:
        end(BAD_USE, f"{output}: the name of a picture ends in one of {', '.join(_FORMS)}")
    with store(dsn, schema) as functions, busy("reading traces"):
        rows = functions.rows("flow", definition_id=definition, limit=limit or None)
    if not rows:
        end(NO, f"there is no execution of {definition!r}")
    if output:
        _save(output, lambda: _FORMS[output.suffix](rows))
        if view:
            typer.launch(str(output))
    elif mermaid:
        print(pictures.flow_mermaid(rows), end="")
    elif as_json:
        write_json(rows)
    else:
        console().print(Group(*_flow(definition, rows)))


def _flow(definition: str, rows: Sequence[Row]) -> Iterator[Any]:
    summary = rows[0]
    of = "a sample of each status" if summary["kind"] == "sample" else "all there are"
    figures = f"{summary['waiting']:,} on their way, {summary['ended']:,} ended"
    yield Text.assemble((printable(definition), "bold"), f"  {summary['count']:,} executions ({of}): {figures}\n")
    states = table("state", ">entered", ">median", ">p95", ">here now", ">longest", ">ended")
    transitions = table("from", "event", "to", ">times", ">median", ">p95")
    for row in rows:
        if row["kind"] == "state":
            here = Text(f"{row['waiting']:,}", "yellow") if row["waiting"] else None
            states.add_row(*map(cell, (
                row["source"], row["count"], seconds(row["median"]), seconds(row["p95"]), here, seconds(row["longest"]),
                row["ended"] or None,
            )))  # fmt: skip
        elif row["kind"] == "transition":
            transitions.add_row(*map(cell, (
                row["source"] or "(begin)", row["event"], row["target"], row["count"], seconds(row["median"]),
                seconds(row["p95"]),
            )))  # fmt: skip
    yield states
    yield Text()
    yield transitions


def _save(path: Path, draw: Callable[[], bytes]) -> None:
    try:
        path.write_bytes(draw())
    except pictures.DrawingError as error:
        end(FAILED, str(error))
    except OSError as error:
        end(BAD_USE, f"{path}: {error.strerror}")
    note(f"written to {path}")


def top(
    interval: Annotated[float, typer.Option(min=0.1, max=86400, help="Seconds between two looks.")] = 2.0,
    times: Annotated[
        int | None, typer.Option("--times", "-n", min=1, max=MOST, help="So many looks, and then end.")
    ] = None,
    dsn: Dsn = None,
    schema: Schema = None,
    as_json: Json = False,
) -> None:
    """Show what goes on, until Ctrl-C.

    Rates, backlog, the oldest message, overdue timers, slow steps. With --json one look a line.
    """
    with store(dsn, schema) as functions:
        looks = islice(_looks(functions, interval), times)
        try:
            if as_json or not sys.stdout.isatty():
                for look in looks:
                    if as_json:
                        write_json(look)
                    else:
                        console().print(_board(look), "")
                return
            with Live(console=console(), screen=times is None, auto_refresh=False) as live:
                for look in looks:
                    live.update(_board(look), refresh=True)
        except KeyboardInterrupt:
            return


def _looks(functions: Functions, interval: float) -> Iterator[dict[str, Any]]:
    before = functions.row("activity")
    for number in count():
        # The first rates are those of a moment.
        time.sleep(interval if number else min(interval, 0.5))
        now = functions.row("activity")
        passed = (now["at"] - before["at"]).total_seconds()
        yield {
            "at": now["at"],
            # Less than before after the server forgot its counts in a crash.
            "rates": {name: max(0, now[name] - before[name]) / passed for name in now if name != "at"},
            "stats": functions.row("stats"),
            "slow_steps": functions.rows("queue", state="leased", limit=5),
            "waiting": functions.rows("queue", state="waiting", limit=5),
        }
        before = now


def _board(look: Mapping[str, Any]) -> Group:
    stats = look["stats"]
    columns: list[dict[str, Any]] = [
        {"executions": sum(stats["executions"].values())}
        | {name or "no status": number for name, number in stats["executions"].items()},
        {f"{name.replace('_', ' ')} a second": f"{rate:,.0f}" for name, rate in look["rates"].items()},
        {name: stats[name] for name in ("queued", "leased", "outbox", "broadcasts", "spawns")}
        | {"oldest waits": seconds(stats["oldest_wait"])},
        {
            name.replace("_", " "): stats[name]
            for name in ("timers", "overdue_timers", "dead_letters", "processed_events")
        }
        | {"overdue for": seconds(stats["oldest_overdue"])},
    ]
    # As many beside each other as the terminal has room for.
    figures = Columns(map(_figures, columns), padding=(0, 5))
    parts: list[Any] = [Text.assemble(("harel  ", "bold"), clock(look["at"])), Text(), figures]
    for title, rows in ("steps in progress, longest first", look["slow_steps"]), ("waiting longest", look["waiting"]):
        if rows:
            made = table("execution", ">for", "event", ">messages", ">delivered", "worker")
            for row in rows:
                made.add_row(*map(cell, (
                    row["group_id"], seconds(row["seconds"]), event_kind(row["event"]), row["messages"],
                    row["attempts"], row["worker"],
                )))  # fmt: skip
            parts += [Text(f"\n{title}", "bold"), made]
    return Group(*parts)


def _figures(named: Mapping[str, Any]) -> Table:
    made = Table.grid(padding=(0, 2))
    made.add_column(style="dim")
    made.add_column(justify="right")
    for name, value in named.items():
        made.add_row(Text(printable(name)), cell(value))
    return made
