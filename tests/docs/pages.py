"""The pages of the documentation, their blocks of code, and which tests say that they run them.

A test says so by `@pytest.mark.page("docs/how-to/worker.md", "python", "sql")` and gets the page as the fixture `page`.
A block that nothing can run has a line before it that says why: `<!-- not run: it takes a Docker engine -->`.
"""

import ast
import asyncio
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from harel.worker import Machine, Worker

ROOT = Path(__file__).parents[2]

# What a reader may copy and run. Other languages show what comes out, or what a file looks like.
RUNNABLE = frozenset({"bash", "console", "python", "sh", "shell", "sql"})

_BLOCK = re.compile(
    r"(?:^ *<!-- not run: (?P<reason>[^\n]+?) -->\n\s*)?"
    r"^(?P<indent> *)(?P<fence>```+|~~~+) *(?P<language>[\w+-]*)[^\n]*\n(?P<text>.*?)^(?P=indent)(?P=fence)$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Block:
    """A fenced block; `reason` is why nothing can run it, or None."""

    page: str
    line: int
    language: str
    text: str
    reason: str | None


class Page:
    """A page, which remembers the languages of which a test has asked for the blocks."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.text = (ROOT / path).read_text()
        self.asked: set[str] = set()

    def blocks(self, language: str) -> list[str]:
        """The blocks of a language that can run, from the first to the last; there must be one.

        A test takes them apart by their number, so that one more is not left out: `create, drop = page.blocks("sql")`.
        """
        self.asked.add(language)
        found = [block.text for block in blocks(self.path) if block.language == language and not block.reason]
        assert found, f"{self.path} has no block of {language}"
        return found


def sources() -> list[str]:
    """Every page that people read, by its path in the repository."""
    paths = [ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")]
    paths += (path for path in sorted((ROOT / "docs").rglob("*.md")) if "node_modules" not in path.parts)
    return [str(path.relative_to(ROOT)) for path in paths]


def blocks(path: str) -> Iterator[Block]:
    """The fenced blocks of a page."""
    text = (ROOT / path).read_text()
    for found in _BLOCK.finditer(text):
        line = text.count("\n", 0, found.start("fence")) + 1
        yield Block(path, line, found["language"], found["text"], found["reason"])


def commands(block: str) -> list[tuple[str, str]]:
    """The commands of a block of a terminal, each with what it shows: a line that begins with `$ ` is a command."""
    parts = re.split(r"^\$ ((?:.*\\\n)*.*)\n", block, flags=re.MULTILINE)
    assert not parts[0], f"the block begins with no command: {parts[0]}"
    return list(zip(parts[1::2], parts[2::2], strict=True))


def run_until(dsn: str, machines: Mapping[str, Machine], enough: Callable[[Worker], bool]) -> None:
    """Lets a worker run until it has done enough."""

    async def work() -> None:
        worker = Worker(dsn, machines)
        async with asyncio.timeout(120), asyncio.TaskGroup() as tasks:
            tasks.create_task(worker.run())
            while not enough(worker):
                await asyncio.sleep(0.01)
            worker.stop()

    asyncio.run(work())


@cache
def claims() -> set[tuple[str, str]]:
    """(page, language) of all that tests say to run, read from their source."""
    return {claim for path in (ROOT / "tests").rglob("test_*.py") for claim in _claims(ast.parse(path.read_text()))}


def _claims(tree: ast.AST) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.page":
            path, *languages = (ast.literal_eval(argument) for argument in node.args)
            yield from ((path, language) for language in languages)
