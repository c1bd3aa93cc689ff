"""Shows the docstrings of harel in its own style.

A line `name: what it is` that begins with the name of a parameter or an attribute becomes an item of a list, and so do
several of them in one paragraph.
"""

import re
from typing import Any

import griffe

_ITEM = re.compile(r"(?:^|(?<=[.;] ))([a-z_]+): ", re.MULTILINE)


class Items(griffe.Extension):
    """Turns what is said of parameters and attributes into a list."""

    def on_function(self, *, func: griffe.Function, **_: Any) -> None:
        _list_items(func, {parameter.name for parameter in func.parameters})

    def on_class(self, *, cls: griffe.Class, **_: Any) -> None:
        init = cls.members.get("__init__")
        names = {parameter.name for parameter in init.parameters} if isinstance(init, griffe.Function) else set()
        _list_items(cls, names | set(cls.members))


def _list_items(documented: griffe.Object, names: set[str]) -> None:
    if documented.docstring:
        paragraphs = documented.docstring.value.split("\n\n")
        documented.docstring.value = "\n\n".join(_as_list(paragraph, names) for paragraph in paragraphs)


def _as_list(paragraph: str, names: set[str]) -> str:
    starts = [found for found in _ITEM.finditer(paragraph) if found[1] in names]
    if not starts:
        return paragraph
    ends = [found.start() for found in starts[1:]] + [len(paragraph)]
    items = [f"- `{found[1]}`: {paragraph[found.end() : end].strip()}" for found, end in zip(starts, ends, strict=True)]
    return "\n\n".join(filter(None, [paragraph[: starts[0].start()].strip(), "\n".join(items)]))
