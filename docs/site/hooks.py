"""What the site shows of files outside docs/, and the links that lead to them.

Pages link to files of the repository as they lie, so that the links hold wherever the repository is read. Here those to
files that the site has too are pointed at its copies; any other link out of docs/ is a warning, and so an error of
`mkdocs build --strict`.
"""

import logging
import os
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

log = logging.getLogger("mkdocs.plugins.harel")

ROOT = Path(__file__).parents[2]
# Where the site has files of the repository.
BROUGHT = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "README.md": "index.md",
    "tests/bench/RESULTS.md": "benchmarks.md",
    **{f"tests/bench/plots/{path.name}": f"plots/{path.name}" for path in ROOT.glob("tests/bench/plots/*.svg")},
}
_PLACES = {place: source for source, place in BROUGHT.items()}

_FENCE = re.compile(r"^(```.*?^```$)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(\]\()([^)\s#:]+)((?:#[^)\s]*)?\))")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for source, place in BROUGHT.items():
        if source != "README.md":
            files.append(File.generated(config, place, abs_src_path=str(ROOT / source)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    place = page.file.src_uri
    source = _PLACES.get(place, f"docs/{place}") if place != "index.md" else "docs/index.md"

    def pointed(link: re.Match[str]) -> str:
        target = os.path.normpath(os.path.join(os.path.dirname(source), link[2]))
        there = target.removeprefix("docs/") if target.startswith("docs/") else BROUGHT.get(target)
        if there is None:
            log.warning("%s links to %s, which the site does not have", source, target)
            return link[0]
        return f"{link[1]}{os.path.relpath(there, os.path.dirname(place) or '.')}{link[3]}"

    # What stands in a block of code is no link.
    parts = _FENCE.split(markdown)
    parts[::2] = [_LINK.sub(pointed, part) for part in parts[::2]]
    return "".join(parts)
