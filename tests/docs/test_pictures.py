"""A picture is drawn from the file beside it, by hand: graphviz may not be installed."""

import html
import re
from pathlib import Path

import pytest
from pages import ROOT


@pytest.mark.parametrize("source", sorted((ROOT / "docs").rglob("*.dot")), ids=lambda path: path.stem)
def test_a_picture_says_what_its_source_says(source: Path) -> None:
    said = {
        " ".join(line.split())
        for label in re.findall(r'label="([^"]*)"', source.read_text())
        for line in label.split("\\n")
    }
    shown = re.findall(r"<text[^>]*>([^<]*)</text>", source.with_suffix(".svg").read_text())
    assert {" ".join(html.unescape(text).split()) for text in shown} == said
