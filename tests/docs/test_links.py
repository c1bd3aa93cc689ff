"""Links between pages, as they lie in the repository."""

import os
import re
from functools import cache

import pytest
from pages import ROOT, sources

_FENCED = re.compile(r"^( *)```.*?^\1```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")


@cache
def _anchors(path: str) -> set[str]:
    """The anchors that GitHub gives to the headings of a page."""
    text = _FENCED.sub("", (ROOT / path).read_text())
    titles = (re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", title) for title in re.findall(r"^#+ (.+)$", text, re.MULTILINE))
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("path", sources())
def test_a_link_leads_to_a_file_and_a_heading_that_are_there(path: str) -> None:
    for link in _LINK.findall(_FENCED.sub("", (ROOT / path).read_text())):
        target, _, anchor = link.partition("#")
        if ":" in target:
            continue
        file = os.path.normpath(os.path.join(os.path.dirname(path), target)) if target else path
        assert (ROOT / file).exists(), link
        # What is made of docstrings has its headings in the site only, whose build looks for them.
        if anchor and not anchor.startswith("harel."):
            assert anchor in _anchors(file), link
