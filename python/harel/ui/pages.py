"""What can be looked at."""

from collections import Counter, defaultdict
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from markupsafe import Markup
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from ..functions import Functions
from ..pictures import DrawingError, flow_svg, timeline_svg
from .database import Database
from .jsontext import is_json, members
from .messages import Messages
from .templating import COUNTED, ENDED, LIMIT, LONG, Pages, in_order, stays
from .watch import Watch

# Rows on a page, ids that a search finds, entries of a timeline, and executions of a status that a flow is read from.
PAGE, FOUND, STEPS, SAMPLE = 50, 50, 100, 1000
SAMPLES = (SAMPLE, 10_000, 100_000)

# Parents above an execution, and executions below it.
ANCESTORS, TREE = 10, 100

# Executions of a tree whose steps are shown beside each other, and steps of each.
LANES, LANE_STEPS = 12, 60

# The picture of a timeline is drawn for so many entries.
DRAWN = 100

# Pages of dead letters: whoever has more puts them back, or looks at those of an execution.
LETTER_PAGES = 20

# Rows that harel_definitions() ends at.
DEFINITIONS = 1000

QUEUE_STATES = ("waiting", "leased", "delayed", "held")


class Views:
    """The pages that change nothing."""

    def __init__(self, database: Database, watch: Watch, pages: Pages, messages: Messages) -> None:
        self._database = database
        self._watch = watch
        self._pages = pages
        self._messages = messages

    def routes(self) -> list[Route]:
        return [
            Route(path, endpoint, methods=["GET"])
            for path, endpoint in {
                "/": self.overview,
                "/executions": self.executions,
                "/execution": self.execution,
                "/execution/data": self.data,
                "/flow": self.flow,
                "/queue": self.queue,
                "/timers": self.timers,
                "/outbox": self.outbox,
                "/dead-letters": self.dead_letters,
                "/health": self.health,
            }.items()
        ]

    def overview(self, request: Request) -> Response:
        view = self._watch.look()
        definitions: dict[str, dict[str, int]] = defaultdict(dict)
        for row in view.definitions:
            definitions[row["definition_id"]][row["status"] or ""] = row["executions"]
        columns = in_order({status for counts in definitions.values() for status in counts})
        return self._page(
            request,
            "overview.html",
            view=view,
            by_status=by_status(view.stats["executions"], view.definitions),
            definitions=definitions,
            columns=columns,
        )

    def executions(self, request: Request) -> Response:
        query = request.query_params
        wanted = query.get("q", "").strip()
        if wanted:
            with self._database.reading() as functions:
                ids = functions.rows("ids_with_prefix", prefix=wanted, limit=FOUND + 1)
                found = [row["harel_ids_with_prefix"] for row in ids]
                if found[:1] == [wanted]:
                    return RedirectResponse(execution_url(wanted), 303)
                rows = [row for id in found[:FOUND] for row in functions.rows("tree", id=id, limit=1)]
            return self._page(
                request,
                "executions.html",
                q=wanted,
                rows=rows,
                more=len(found) > FOUND,
                first=None,
                next=None,
                **self._filter({}),
            )
        known = self._filter(query)
        with self._database.reading() as functions:
            rows = functions.rows(
                "list",
                definition_id=known["definition"] or None,
                statuses=known["chosen"] or None,
                roots_only=known["roots"],
                limit=PAGE,
                cursor=query.get("cursor"),
            )
        pairs = [(name, value) for name, value in query.multi_items() if name != "cursor" and value]
        cursor = rows[-1]["next_cursor"] if rows else None
        following = "/executions?" + urlencode([*pairs, ("cursor", cursor)]) if cursor else None
        return self._page(
            request,
            "executions.html",
            q="",
            rows=rows,
            more=False,
            next=following,
            first="/executions?" + urlencode(pairs) if "cursor" in query else None,
            **known,
        )

    def execution(self, request: Request) -> Response:
        id = request.query_params.get("id", "")
        steps = _number(request, "steps", STEPS)
        with self._database.reading() as functions:
            tree = functions.rows("tree", id=id, limit=TREE + 1)
            timeline = functions.rows("timeline", id=id, limit=steps)
            data = functions.value("load", id=id) if tree else None
            values = {
                "timers": functions.rows("timers", id=id, limit=PAGE),
                "queue": functions.rows("queue", id=id, limit=1),
                "letters": functions.rows("dead_letters", group_id=id, limit=PAGE + 1),
                "ancestors": _ancestors(functions, tree[0]["parent_id"]) if tree else [],
            }
            lanes = _lanes(functions, tree[:LANES]) if len(tree) > 1 else {}
        if not tree and not (values["queue"] or values["letters"] or values["timers"] or timeline):
            raise HTTPException(404, "There is no execution with this id.")
        one = tree[0] if tree else None
        return self._page(
            request,
            "execution.html",
            200 if tree else 404,
            id=id,
            one=one,
            tree=tree,
            tree_limit=TREE,
            steps=steps,
            stays=stays(timeline, _end(one)),
            lanes=lanes,
            picture=_drawn(timeline_svg, timeline[-DRAWN:]) if timeline and "picture" in request.query_params else None,
            data=data,
            members=members(data or ""),
            limit=PAGE,
            **values,
        )

    def data(self, request: Request) -> Response:
        """The data as it stands, to be saved or read in another program."""
        with self._database.reading() as functions:
            data = functions.value("load", id=request.query_params.get("id", ""))
        if data is None:
            raise HTTPException(404, "There is no execution with this id.")
        return PlainTextResponse(data)

    def flow(self, request: Request) -> Response:
        definitions = sorted({row["definition_id"] for row in self._watch.definitions()})
        definition = request.query_params.get("definition") or (definitions[0] if definitions else "")
        sample = _number(request, "sample", SAMPLE)
        with self._database.reading() as functions:
            rows = functions.rows("flow", definition_id=definition, limit=sample) if definition else []
        return self._page(
            request,
            "flow.html",
            definitions=definitions,
            definition=definition,
            sample=sample,
            samples=SAMPLES,
            summary=rows[0] if rows else None,
            states_seen=[row for row in rows if row["kind"] == "state"],
            transitions=[row for row in rows if row["kind"] == "transition"],
            picture=_drawn(flow_svg, rows) if rows[1:] else None,
        )

    def queue(self, request: Request) -> Response:
        state = request.query_params.get("state") or None
        with self._database.reading() as functions:
            rows = functions.rows("queue", state=state, limit=PAGE + 1)
        return self._page(request, "queue.html", rows=rows, state=state, states_known=QUEUE_STATES, limit=PAGE)

    def timers(self, request: Request) -> Response:
        with self._database.reading() as functions:
            rows = functions.rows("timers", limit=2 * PAGE + 1)
        return self._page(request, "timers.html", rows=rows, limit=2 * PAGE)

    def outbox(self, request: Request) -> Response:
        with self._database.reading() as functions:
            rows = functions.rows("pending_outbox", limit=PAGE + 1)
        return self._page(request, "outbox.html", rows=rows, limit=PAGE)

    def dead_letters(self, request: Request) -> Response:
        group = request.query_params.get("group") or None
        page = min(_number(request, "page", 1), LETTER_PAGES)
        with self._database.reading() as functions:
            # All before them too: the pages are few, and what was put back meanwhile leaves no gap.
            rows = functions.rows("dead_letters", group_id=group, limit=page * PAGE + 1)
            total = functions.row("stats")["dead_letters"]
        return self._page(
            request,
            "dead_letters.html",
            rows=rows[(page - 1) * PAGE : page * PAGE],
            more=len(rows) > page * PAGE,
            group=group,
            total=total,
            page=page,
            last=LETTER_PAGES,
        )

    def health(self, request: Request) -> Response:
        return self._page(request, "health.html", view=self._watch.look())

    def _filter(self, query: Any) -> dict[str, Any]:
        """What a list is filtered by, and what it could be."""
        known = self._watch.definitions()
        chosen = query.getlist("status") if query else []
        own = {row["status"] for row in known if row["status"]}
        return {
            "definition": query.get("definition", "") if query else "",
            "definitions": sorted({row["definition_id"] for row in known}),
            "chosen": [status for status in chosen if status],
            "own_statuses": sorted(own),
            "roots": bool(query.get("roots")) if query else False,
        }

    def _page(self, request: Request, template: str, status: int = 200, **values: Any) -> Response:
        return self._pages.render(
            template,
            status,
            path=request.url.path,
            here=f"{request.url.path}?{request.url.query}" if request.url.query else request.url.path,
            said=self._messages.take(request.query_params.get("said", "")),
            **values,
        )


def by_status(totals: dict[str, int], definitions: list[dict[str, Any]]) -> dict[str, tuple[int, bool]]:
    """How many executions have each status, and whether that is an estimate.

    The totals of harel_stats() are, from COUNTED on; harel_definitions() has counted further.
    """
    counts: Counter[str] = Counter()
    beyond = set(totals) if len(definitions) >= DEFINITIONS else set()
    for row in definitions:
        status = row["status"] or ""
        counts[status] += row["executions"]
        if row["executions"] >= LIMIT:
            beyond.add(status)
    found = {}
    for status in in_order(totals):
        total, estimated = totals[status], totals[status] >= COUNTED
        if estimated and counts[status] >= COUNTED:
            estimated = status in beyond
            total = max(total, counts[status]) if estimated else counts[status]
        found[status] = (total, estimated)
    return found


def execution_url(id: str, **more: str) -> str:
    return "/execution?" + urlencode({"id": id, **more})


def shown_event(text: str) -> dict[str, Any]:
    """What a list shows of an event: its kind and id, where it is one, and the beginning of its text."""
    known = members(text) if len(text) <= LONG else {}
    return {"kind": known.get("kind", "").strip('"'), "id": known.get("id", "").strip('"'), "json": is_json(text)}


def _ancestors(functions: Functions, parent: str | None) -> list[str]:
    """The ids above an execution, the topmost first."""
    found: list[str] = []
    while parent is not None and parent not in found and len(found) < ANCESTORS:
        found.insert(0, parent)
        rows = functions.rows("tree", id=parent, limit=1)
        parent = rows[0]["parent_id"] if rows else None
    return found


def _lanes(functions: Functions, tree: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """What each of them went through, on one axis."""
    timelines = {row["id"]: functions.rows("timeline", id=row["id"], limit=LANE_STEPS) for row in tree}
    times = [step["at"] for timeline in timelines.values() for step in timeline if step["at"] is not None]
    ends = [_end(row) for row in tree]
    until = None if None in ends else max(end for end in ends if end is not None)
    return {row["id"]: stays(timelines[row["id"]], _end(row), min(times, default=None), until) for row in tree}


def _end(row: dict[str, Any] | None) -> datetime | None:
    """When an execution ended; None where it has not."""
    if row is None or row["status"] not in ENDED:
        return None
    end: datetime | None = row["finished_at"] or row["updated_at"]
    return end


def _drawn(draw: Any, rows: list[dict[str, Any]]) -> Markup | str:
    """The picture, or why there is none."""
    try:
        svg = draw(rows)
    except DrawingError as error:
        return str(error)
    # Without what comes before the element: it is part of a page.
    return Markup(svg[svg.index("<svg") :])


def whole(text: str) -> int | None:
    """The number that a text is, if it is a whole one of few digits."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 10 else None


def _number(request: Request, name: str, usual: int) -> int:
    return min(whole(request.query_params.get(name, "")) or usual, 1_000_000)
