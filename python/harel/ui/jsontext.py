"""JSON as text: laid out for reading, with every number and string as it was written."""

import json
import re
from collections.abc import Iterator

from markupsafe import Markup, escape

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}:,]|[^\s\[\]{}:,"]+')

# Deeper than this nobody follows the indentation.
_DEEPEST = 24


def is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def members(text: str) -> dict[str, str]:
    """The members of a JSON object, each as it is written; none where the text is no JSON object."""
    if not text.lstrip().startswith("{") or not is_json(text):
        return {}
    found: dict[str, str] = {}
    depth, key, start, last = 0, "", 0, None
    for token in _TOKEN.finditer(text):
        mark = token[0]
        if depth == 1 and mark == ":":
            key, start = json.loads(last[0]) if last else "", token.end()
        elif depth == 1 and mark in (",", "}") and last and last[0] != "{":
            found[key] = text[start : last.end()].strip()
        depth += (mark in "[{") - (mark in "]}")
        last = token
    return found


def pretty(text: str) -> Markup:
    """The text laid out as JSON, its keys marked; what is not JSON as it stands.

    A character that would not show, or would move others, is written as JSON escapes it.
    """
    laid_out = is_json(text)
    text = "".join(c if c.isprintable() or c in "\n\t" else _escaped(c) for c in text)
    return Markup("").join(_pieces(text)) if laid_out else escape(text)


def _pieces(text: str) -> Iterator[Markup]:
    tokens = _TOKEN.findall(text)
    depth = 0
    for place, token in enumerate(tokens):
        after = tokens[place + 1] if place + 1 < len(tokens) else ""
        if token in ("{", "["):
            depth += 1
            yield Markup(token) + (_line(depth) if after not in ("}", "]") else Markup(""))
        elif token in ("}", "]"):
            depth -= 1
            empty = place > 0 and tokens[place - 1] in ("{", "[")
            yield (Markup("") if empty else _line(depth)) + Markup(token)
        elif token == ",":
            yield Markup(",") + _line(depth)
        elif token == ":":
            yield Markup(": ")
        elif after == ":":
            yield Markup('<span class="key">{}</span>').format(token)
        else:
            yield escape(token)


def _escaped(character: str) -> str:
    return json.dumps(character)[1:-1] if ord(character) < 0x7F or ord(character) > 0x9F else f"\\u{ord(character):04x}"


def _line(depth: int) -> Markup:
    return Markup("\n" + "  " * min(depth, _DEEPEST))
