"""Pictures of what harel_flow() and harel_timeline() return: by graphviz, or as text for Mermaid.

Drawing needs the Python package graphviz (extra `harel[cli]` or `harel[ui]`) and the program `dot`.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import count, pairwise
from typing import Any

import graphviz

from .wording import duration, printable

Row = Mapping[str, Any]

# Long enough to tell states apart, short enough to be drawn.
_LONGEST = 60

_FONT = {"fontname": "Helvetica,Arial,sans-serif", "fontsize": "11"}
_GRAPH = {**_FONT, "bgcolor": "transparent", "pad": "0.2", "nodesep": "0.35", "ranksep": "0.5"}
_NODE = {**_FONT, "shape": "box", "style": "rounded,filled", "color": "#5b6770", "fillcolor": "#f4f6f8"}
_EDGE = {**_FONT, "fontsize": "10", "color": "#5b6770", "fontcolor": "#3b444b", "arrowsize": "0.7"}

# Executions wait in the one and have ended in the other. Each node also has its class, for a style sheet.
_WAITING = {"fillcolor": "#ffe9c7", "color": "#b26a00", "class": "state waiting"}
_ENDED = {"fillcolor": "#e2f2e5", "color": "#2f7d3b", "class": "state ended"}
_PASSED = {"class": "state"}


class DrawingError(RuntimeError):
    """The picture cannot be drawn; the message says what is missing."""


def flow_svg(rows: Sequence[Row]) -> str:
    """The rows of harel_flow() as an SVG document. Raises DrawingError."""
    return _drawn(flow_graph(rows), "svg").decode()


def flow_png(rows: Sequence[Row]) -> bytes:
    """The rows of harel_flow() as a PNG file. Raises DrawingError."""
    return _drawn(flow_graph(rows), "png")


def timeline_svg(rows: Sequence[Row]) -> str:
    """The rows of harel_timeline() as an SVG document. Raises DrawingError."""
    return _drawn(timeline_graph(rows), "svg").decode()


def flow_graph(rows: Sequence[Row]) -> graphviz.Digraph:
    """The rows of harel_flow() as a graph: states with their figures, and a transition's width by how often it was."""
    graph: graphviz.Digraph = graphviz.Digraph(graph_attr=_GRAPH, node_attr=_NODE, edge_attr=_EDGE)
    names = _names(rows)
    transitions = [row for row in rows if row["kind"] == "transition"]
    most = max((row["count"] for row in transitions), default=1)
    if any(row["source"] is None for row in transitions):
        graph.node(names[None], "", shape="circle", width="0.15", style="filled", fillcolor="#5b6770")
    for row in rows:
        if row["kind"] == "state":
            looks = _WAITING if row["waiting"] else _ENDED if row["ended"] else _PASSED
            graph.node(names[row["source"]], _label(_short(row["source"]), *state_figures(row)), **looks)
    for row in transitions:
        graph.edge(
            names[row["source"]],
            names[row["target"]],
            _label(_short(row["event"] or ""), *transition_figures(row)),
            penwidth=f"{1 + 3 * row['count'] / most:.1f}",
        )
    return graph


def timeline_graph(rows: Sequence[Row]) -> graphviz.Digraph:
    """The rows of harel_timeline() as a graph: the states one below the other, each with the time when it began."""
    graph: graphviz.Digraph = graphviz.Digraph(
        graph_attr={**_GRAPH, "ranksep": "0.35"}, node_attr=_NODE, edge_attr=_EDGE
    )
    for row in rows:
        at, state = f"t{row['idx']}", f"s{row['idx']}"
        with graph.subgraph() as rank:
            rank.attr(rank="same")
            time = row["at"].isoformat(" ", "milliseconds") if row["at"] else ""
            rank.node(at, _label(time), shape="plaintext", style="", fontsize="9", fontcolor="#5b6770")
            rank.node(state, _label(_short(row["target"] or row["source"] or "?")), **_PASSED)
    for before, row in pairwise(rows):
        waited = "" if row["dwell"] is None else duration(row["dwell"])
        graph.edge(f"t{before['idx']}", f"t{row['idx']}", style="invis")
        graph.edge(f"s{before['idx']}", f"s{row['idx']}", _label(_short(row["event"] or ""), waited))
    return graph


def flow_mermaid(rows: Sequence[Row]) -> str:
    """The rows of harel_flow() as a state diagram of Mermaid."""
    names = _names(rows)
    lines = ["stateDiagram-v2"]
    for row in rows:
        if row["kind"] == "state":
            text = "<br/>".join(_mermaid(part) for part in (_short(row["source"]), *state_figures(row)))
            lines.append(f'    state "{text}" as {names[row["source"]]}')
    for row in rows:
        if row["kind"] == "transition":
            source = "[*]" if row["source"] is None else names[row["source"]]
            text = ", ".join(_mermaid(part) for part in (_short(row["event"] or ""), *transition_figures(row)) if part)
            lines.append(f"    {source} --> {names[row['target']]}: {text}")
        elif row["kind"] == "state" and row["ended"]:
            lines.append(f"    {names[row['source']]} --> [*]: {row['ended']:,}")
    return "\n".join(lines) + "\n"


def state_figures(row: Row) -> Iterator[str]:
    """What a picture says of a state besides its name, a line each."""
    if row["median"] is not None:
        yield f"median {duration(row['median'])}, p95 {duration(row['p95'])}"
    if row["waiting"]:
        yield f"{row['waiting']:,} here now, up to {duration(row['longest'])}"
    if row["ended"]:
        yield f"{row['ended']:,} ended"


def transition_figures(row: Row) -> Iterator[str]:
    """What a picture says of a transition besides its event, a line each."""
    yield f"{row['count']:,}"
    if row["median"] is not None:
        yield f"after {duration(row['median'])}"


def _names(rows: Sequence[Row]) -> dict[str | None, str]:
    """A name for each state that needs no quoting in any language; None is the beginning."""
    numbers = count()
    states = {row[end]: "" for row in rows for end in ("source", "target") if row["kind"] in ("state", "transition")}
    return {state: f"n{next(numbers)}" for state in (None, *states) if state is not None} | {None: "begin"}


def _short(text: str) -> str:
    shown = printable(text)
    return shown if len(shown) <= _LONGEST else shown[: _LONGEST - 1] + "…"


def _label(*lines: str) -> str:
    # Neither a backslash nor angle brackets around it mean anything then.
    label: str = graphviz.nohtml("\\n".join(graphviz.escape(line) for line in lines if line))
    return label


def _mermaid(text: str) -> str:
    # Mermaid reads entity codes with # in the place of &.
    return "".join(c if c.isalnum() or c in " /_.,-" else f"#{ord(c)};" for c in text)


def _drawn(graph: graphviz.Digraph, form: str) -> bytes:
    try:
        return bytes(graph.pipe(form))
    except graphviz.ExecutableNotFound:
        raise DrawingError(
            "pictures are drawn by the program dot, which is not there: install the package graphviz of your system"
        ) from None
    except graphviz.CalledProcessError as error:
        raise DrawingError(f"dot could not draw the picture: {' '.join(str(error.stderr).split())}") from error
