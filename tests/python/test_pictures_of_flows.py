"""Pictures of flows and timelines, whatever the states and events are called."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from harel import Execution, PostgresStore
from harel.cli import app
from harel.pictures import DrawingError, flow_mermaid, flow_png, flow_svg, timeline_svg

HOSTILE = [
    "<b>bold</b>", "<script>alert(1)</script>", 'quoted "twice" \\"', "\\N \\G \\n \\l", "a & b &amp; c", "<", ">",
    "\x00\x01\x1b[2J\u202e", "{a|b}", "%s %d {0}", "]]>", "ünï cödé 状態", "javascript:alert(1)", "-->", ": [*] --> x",
    "end", "state x {", "#35;", "x" * 5000, " ", "n0",
]  # fmt: skip


def state(name: str, **figures: Any) -> dict[str, Any]:
    row = dict.fromkeys(("target", "event", "median", "p95", "longest"))
    return {**row, "kind": "state", "source": name, "count": 1, "waiting": 0, "ended": 0, **figures}


def transition(source: str | None, event: str | None, target: str, **figures: Any) -> dict[str, Any]:
    row = dict.fromkeys(("median", "p95", "waiting", "longest", "ended"))
    return {**row, "kind": "transition", "source": source, "event": event, "target": target, "count": 1, **figures}


def step(idx: int, event: str | None, target: str | None, **more: Any) -> Mapping[str, Any]:
    return {"idx": idx, "at": datetime(2026, 1, 1, tzinfo=UTC), "dwell": 1.0, "event": event, "source": None,
            "target": target, "entry": "", **more}  # fmt: skip


def texts(svg: str) -> list[str]:
    """What is written in a picture, which must be sound XML without anything that acts."""
    root = ElementTree.fromstring(svg.partition("<svg")[1] + svg.partition("<svg")[2])
    kinds = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert kinds <= {"svg", "g", "title", "polygon", "path", "ellipse", "text", "polyline"}
    assert not [name for element in root.iter() for name in element.attrib if "href" in name or name.startswith("on")]
    return [element.text or "" for element in root.iter("{http://www.w3.org/2000/svg}text")]


def test_a_flow_says_its_figures() -> None:
    rows = [
        state("/paying", median=90.0, p95=3600.0, waiting=1200, longest=86400.0),
        state("/done", ended=7),
        transition(None, "Place", "/paying", count=1207),
        transition("/paying", "Paid", "/done", count=7, median=90.0),
    ]
    assert set(texts(flow_svg(rows))) == {
        "/paying", "median 1.5 min, p95 1.0 h", "1,200 here now, up to 1.0 d", "/done", "7 ended", "Place", "1,207",
        "Paid", "7", "after 1.5 min",
    }  # fmt: skip
    assert flow_png(rows).startswith(b"\x89PNG")
    assert flow_mermaid(rows) == (
        "stateDiagram-v2\n"
        '    state "/paying<br/>median 1.5 min, p95 1.0 h<br/>1,200 here now, up to 1.0 d" as n0\n'
        '    state "/done<br/>7 ended" as n1\n'
        "    n1 --> [*]: 7\n"
        "    [*] --> n0: Place, 1,207\n"
        "    n0 --> n1: Paid, 7, after 1.5 min\n"
    )


def test_a_timeline_says_when_and_how_long() -> None:
    rows = [
        step(3, "Place", "/paying"),
        step(4, "Paid", "/done", dwell=90.0),
        step(5, None, None, source="/done", at=None),
    ]
    assert sorted(texts(timeline_svg(rows))) == [
        "/done", "/done", "/paying", "1.0 s", "1.5 min", *["2026-01-01 00:00:00.000+00:00"] * 2, "Paid",
    ]  # fmt: skip
    assert texts(timeline_svg([])) == []


@pytest.mark.parametrize("name", HOSTILE)
def test_any_text_can_be_a_state_or_an_event(name: str) -> None:
    rows = [state(name), transition(name, name, "/end"), transition(name, name, name), transition(None, None, name)]
    shown = texts(flow_svg(rows))
    for text in (shown, texts(timeline_svg([step(0, name, name), step(1, name, name)]))):
        assert any(part.strip() for part in text) or not name.strip()
    # Each row is a line of its own, in which what is foreign is made of harmless characters.
    first, *lines = flow_mermaid(rows).splitlines()
    assert (first, len(lines)) == ("stateDiagram-v2", 4)
    for line in lines:
        named = re.fullmatch(r'    state "(.*)" as n\d+', line) or re.fullmatch(
            r"    (?:\[\*\]|n\d+) --> n\d+: (.*)", line
        )
        assert named is not None, line
        assert not set(named[1].replace("<br/>", "")) & set("<>{}[]:\\|\"'"), line
    if name == HOSTILE[0]:
        assert "<b>bold</b>" in shown


def test_a_missing_program_is_told_with_the_remedy(
    store_dsn: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    store = PostgresStore.from_dsn(store_dsn)
    store.save(Execution(definition_id="d", active_path="/a"))
    store.close()
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DrawingError, match="install the package graphviz"):
        flow_svg([state("/a")])
    done = CliRunner().invoke(app, ["flow", "d", "-o", str(tmp_path / "flow.svg"), "--dsn", store_dsn])
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr == (
        "pictures are drawn by the program dot, which is not there: install the package graphviz of your system\n"
    )
    assert CliRunner().invoke(app, ["flow", "d", "--mermaid", "--dsn", store_dsn]).exit_code == 0
