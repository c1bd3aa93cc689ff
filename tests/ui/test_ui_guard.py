"""Who is let in, what every answer carries, and what nobody is told."""

import json
import logging
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack

import httpx
import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from serving import serving
from visits import ACTIONS, PAGES, Open, Page, check_harmless
from wire import until

from harel.ui import create_app, database, serve

TOKEN = "the-token-of-the-test"
SECRET = "s3kr1t"

# No database is needed to be refused, or to be told that a page does not exist.
NOWHERE = "host=/nonexistent user=u password=" + SECRET


@pytest.fixture
def closing() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def client(closing: ExitStack, dsn: str = NOWHERE, **options: object) -> httpx.Client:
    url = closing.enter_context(serving(create_app(dsn, **options)))  # type: ignore[arg-type]
    return closing.enter_context(httpx.Client(base_url=url, timeout=30))


def test_the_token_is_asked_for_once(closing: ExitStack) -> None:
    visitor = client(closing, token=TOKEN)
    asked = visitor.get("/nowhere?a=1&a=2")
    assert asked.status_code == 401
    assert [field["value"] for field in Page(asked.text).all("input", name="a")] == ["1", "2"]
    assert visitor.get(f"/nowhere?token={TOKEN[:-1]}").status_code == 401
    assert "set-cookie" not in asked.headers
    given = visitor.get(f"/nowhere?a=1&token={TOKEN}&a=2")
    assert (given.status_code, given.headers["location"]) == (303, "/nowhere?a=1&a=2")
    cookie = given.headers["set-cookie"]
    assert {"httponly", "samesite=strict", "path=/"} <= set(cookie.lower().split("; "))
    assert TOKEN not in cookie
    assert visitor.get("/nowhere").status_code == 404
    visitor.cookies.clear()
    forged = f"{cookie.partition('=')[0]}={'0' * 64}"
    assert visitor.get("/nowhere", headers={"cookie": forged}).status_code == 401


def test_a_bearer_has_the_token(closing: ExitStack) -> None:
    visitor = client(closing, token=TOKEN)
    headers: list[tuple[str | bytes, int]] = [
        (f"Bearer {TOKEN}", 404),
        (f"bearer {TOKEN}", 404),
        (f"Basic {TOKEN}", 401),
        ("Bearer", 401),
        (f"Bearer {TOKEN}x", 401),
        ("Bearer \u00fc".encode("latin-1"), 401),
    ]
    for header, status in headers:
        answer = visitor.get("/nowhere", headers={"authorization": header})  # type: ignore[dict-item]
        assert answer.status_code == status, header
        assert "set-cookie" not in answer.headers


def test_whoever_knows_no_token_gets_nothing_at_all(closing: ExitStack) -> None:
    visitor = client(closing, token=TOKEN, write=True)
    for path in (*PAGES, "/execution?id=x", "/execution/data?id=x"):
        assert visitor.get(path).status_code == 401, path
    for action in ACTIONS:
        assert visitor.post(f"/do/{action}", data={"id": "x"}).status_code == 401
    assert visitor.get("/static/console.css").status_code == 200
    assert visitor.get("/static/../app.py").status_code in (401, 404)


def test_a_name_that_was_not_allowed_is_refused(closing: ExitStack) -> None:
    visitor = client(closing, hosts=["console.example.com"])
    for host, status in {
        "localhost": 404,
        "LOCALHOST:8700": 404,
        "127.0.0.1:8700": 404,
        "[::1]:8700": 404,
        "192.0.2.7": 404,
        "console.example.com": 404,
        "evil.example.com": 400,
        "localhost.evil.example.com": 400,
        "127.0.0.1.evil.example.com:8700": 400,
        "evil.example.com:127.0.0.1": 400,
        "": 400,
    }.items():
        assert visitor.get("/nowhere", headers={"host": host}).status_code == status, host
        static = visitor.get("/static/console.css", headers={"host": host})
        assert static.status_code == (200 if status == 404 else 400), host


def test_every_answer_carries_what_protects_it(closing: ExitStack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "POOL_TIMEOUT", 0.2)
    visitor = client(closing, write=True)
    answers = [
        visitor.get("/static/console.js"),
        visitor.get("/nowhere"),
        visitor.get("/do/purge"),
        visitor.get("/", headers={"host": "evil.example.com"}),
        visitor.post("/do/purge", data={}),
        visitor.get("/"),
    ]
    assert [answer.status_code for answer in answers] == [200, 404, 405, 400, 403, 503]
    monkeypatch.setattr("harel.ui.watch.Watch.look", lambda self: 1 / 0)
    answers.append(visitor.get("/"))
    assert answers[-1].status_code == 500
    assert "ZeroDivision" not in answers[-1].text
    for answer in answers:
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cache-control"] == "no-store"
        assert "server" not in answer.headers or SECRET not in answer.headers["server"]
    for answer in answers[1:]:
        check_harmless(answer.text)


def test_a_console_that_only_reads_has_no_route_that_writes(closing: ExitStack) -> None:
    visitor = client(closing)
    for action in ACTIONS:
        for method in ("POST", "PUT", "PATCH", "DELETE", "GET"):
            assert visitor.request(method, f"/do/{action}").status_code == 404, (method, action)
    app = create_app(NOWHERE)
    assert {method for route in app.routes for method in getattr(route, "methods", None) or ()} == {"GET", "HEAD"}


def test_no_page_can_be_posted_to(closing: ExitStack) -> None:
    visitor = client(closing, write=True)
    for path in (*PAGES, "/execution", "/execution/data"):
        assert visitor.post(path).status_code == 405, path


def test_the_token_leads_to_no_other_host(closing: ExitStack) -> None:
    visitor = client(closing, token=TOKEN)
    for path in ("//evil.example.com", "/\\evil.example.com", "/%2f%2fevil.example.com"):
        answer = visitor.get(f"{visitor.base_url}".rstrip("/") + f"{path}?token={TOKEN}")
        assert re.match(r"/[^/\\]", answer.headers["location"]), path


def test_no_password_is_on_any_page_or_in_any_log(
    store_dsn: str, closing: ExitStack, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setattr(database, "POOL_TIMEOUT", 0.2)
    for dsn in (
        f"postgresql://user:{SECRET}@127.0.0.1:1/db",
        NOWHERE,
        make_conninfo(store_dsn, user="nobody_known", password=SECRET),
        make_conninfo(store_dsn, password=SECRET),
    ):
        visitor = client(closing, dsn)
        text = "".join(visitor.get(path).text for path in ("/", "/execution?id=%00", "/nowhere"))
        assert SECRET not in text
        assert "127.0.0.1" not in text
        assert "nonexistent" not in text
    assert SECRET not in caplog.text
    with pytest.raises(psycopg.ProgrammingError, match="no connection string") as raised:
        create_app(f"host=localhost password {SECRET}")
    assert SECRET not in str(raised.value)


def test_without_a_token_it_is_served_to_this_host_only() -> None:
    with pytest.raises(ValueError, match=r"on 0\.0\.0\.0 anybody could look"):
        serve(NOWHERE, host="0.0.0.0", token="")


@pytest.mark.parametrize("options", [["--token", TOKEN], ["--host", "0.0.0.0", "--json"]])
def test_the_command_prints_where_it_is_and_ends_in_good_order(store_dsn: str, options: list[str]) -> None:
    command = [sys.executable, "-m", "harel", "ui", "--port", "0", *options]
    environment = {**os.environ, "HAREL_DSN": store_dsn}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            line = process.stdout.readline()
            if "--json" in options:
                line = json.loads(line)["url"] + "\n"
            found = re.fullmatch(r"(http://([\d.]+):(\d+)/)\?token=([\w-]+)\n", line)
            assert found, line + process.stderr.read()
            assert found[4] == TOKEN if "--token" in options else len(found[4]) >= 32
            url = found[1].replace("0.0.0.0", "127.0.0.1")
            until(lambda: _listens(int(found[3])))
            assert httpx.get(url, timeout=30).status_code == 401
            with httpx.Client(follow_redirects=True, timeout=30) as visitor:
                assert visitor.get(url, params={"token": found[4]}).status_code == 200
        finally:
            process.send_signal(signal.SIGINT if "--token" in options else signal.SIGTERM)
        rest, errors = process.communicate(timeout=30)
        assert (process.returncode, rest) == (0, "")
        assert "Traceback" not in errors
        assert found[4] not in errors


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--host", "0.0.0.0", "--token", ""], "anybody could look"),
        (["--host", "192.0.2.1"], "cannot be served on 192.0.2.1"),
        (["--host", ""], "it has no address"),
    ],
)
def test_the_command_says_why_it_does_not_serve(options: list[str], words: str) -> None:
    command = [sys.executable, "-m", "harel", "ui", "--port", "0", "--dsn", NOWHERE, *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert SECRET not in done.stderr + done.stdout


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_each_start_has_a_token_of_its_own(console: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str | None] = []
    monkeypatch.setattr("harel.ui.server.create_app", lambda dsn, schema, write, token, hosts: made.append(token))
    monkeypatch.setattr("uvicorn.Server.run", lambda self, sockets: None)
    for token in (None, None, "given", ""):
        serve(NOWHERE, port=0, token=token)
    assert made[0] != made[1]
    assert made[2:] == ["given", None]
