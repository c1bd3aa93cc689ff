"""Every page of the console, and what is true of each."""

import re
from collections.abc import Callable
from html.parser import HTMLParser
from typing import Any, TypeAlias
from urllib.parse import quote

import httpx
import psycopg

# What the fixtures are: a console is opened with the options of create_app(), a session is in autocommit.
Open: TypeAlias = Callable[..., httpx.Client]
Session: TypeAlias = "psycopg.Connection[Any]"

PAGES = ("/", "/executions", "/flow", "/queue", "/timers", "/outbox", "/dead-letters", "/health")

ACTIONS = ("suspend", "resume", "cancel", "send", "purge", "redrive")


def of(id: str, **more: str) -> str:
    """The address of an execution's page."""
    return "/execution?id=" + quote(id, safe="") + "".join(f"&{name}={value}" for name, value in more.items())


class Page(HTMLParser):
    """The elements and the text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.words: list[str] = []
        self.feed(text)
        self.text = re.sub(r"\s+", " ", " ".join(self.words))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    def all(self, tag: str, **attributes: str) -> list[dict[str, str]]:
        return [found for name, found in self.elements if name == tag and attributes.items() <= found.items()]

    def fields(self, action: str, **known: str) -> dict[str, str]:
        """The hidden fields of the form that leads to an action and has these among them."""
        forms: list[dict[str, str]] = []
        for tag, attributes in self.elements:
            if tag == "form":
                forms.append({"": attributes.get("action", "")})
            elif tag == "input" and forms and attributes.get("name"):
                forms[-1][attributes["name"]] = attributes.get("value", "")
        (form, *_) = (form for form in forms if form[""] == f"/do/{action}" and known.items() <= form.items())
        return {name: value for name, value in form.items() if name}


def check_harmless(text: str) -> Page:
    """Nothing in the page runs, is styled or is fetched but what is the console's own."""
    page = Page(text)
    for tag, attributes in page.elements:
        assert tag not in {"img", "iframe", "object", "embed", "base", "style", "image", "foreignobject", "use"}, tag
        assert tag != "script" or attributes.keys() == {"src", "defer"}, attributes
        for name, value in attributes.items():
            assert not name.startswith("on"), (tag, name)
            assert name != "style", (tag, value)
            if name in {"href", "src", "action", "xlink:href", "formaction"}:
                assert value == "" or re.match(r"/(?![/\\])|#", value), (tag, value)
    return page
