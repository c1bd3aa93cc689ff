"""The site as `make docs` builds it: whole, and readable without a network."""

import json
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from pages import ROOT


class Found(HTMLParser):
    """What a page refers to, and the anchors that it has."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[tuple[str, str]] = []
        self.ids = {""}
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = {name: value for name, value in attrs if value is not None}
        self.ids |= {named[name] for name in ("id", "name") if name in named}
        # The address that a page is published at is no reference.
        if named.get("rel") != "canonical":
            self.links += [(tag, value) for name, value in named.items() if name in ("href", "src")]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    where = ["--config-file=docs/site/mkdocs.yml", f"--site-dir={folder}"]
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", *where]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    return folder


def test_the_site_links_to_what_it_has_and_brings_nothing_from_elsewhere(site: Path) -> None:
    pages = {path: Found(path) for path in site.rglob("*.html")}
    assert len(pages) > 20
    for path, page in pages.items():
        for tag, link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                assert tag == "a", f"{path.relative_to(site)} brings {link}"
                continue
            root = site if parts.path.startswith("/") else path.parent
            target = (root / unquote(parts.path).lstrip("/")).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            assert target.exists(), f"{path.relative_to(site)} links to {link}"
            if target in pages and tag == "a":
                assert unquote(parts.fragment) in pages[target].ids, f"{path.relative_to(site)} links to {link}"


def test_no_page_has_what_the_theme_brings_from_elsewhere(site: Path) -> None:
    for path in site.rglob("*.html"):
        text = path.read_text()
        assert 'class="mermaid"' not in text, path
        assert 'data-md-component="source"' not in text, path


@pytest.mark.parametrize("words", ["harel_commit_cas", "ST001", "AsyncPostgresStore", "transport_groups"])
def test_the_index_of_the_search_has(site: Path, words: str) -> None:
    entries = json.loads((site / "search" / "search_index.json").read_text())["docs"]
    assert any(words in entry["title"] or words in entry["text"] for entry in entries)
