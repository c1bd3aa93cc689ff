"""What the console does, where it may."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from test_ui_pages import commit
from visits import ACTIONS, PAGES, Open, Page, Session, check_harmless, of
from wire import until_blocked

from harel.ui.guard import derived

TOKEN = "the-token-of-the-test"
FORM_TOKEN = derived(TOKEN, "form")


def status(session: Session, id: str) -> str | None:
    row = session.execute("SELECT status FROM executions WHERE id = %s", (id,)).fetchone()
    return row[0] if row else None


def do(client: httpx.Client, path: str, action: str, known: dict[str, str] | None = None, **fields: str) -> str:
    """Fills in the form of a page and sends it; the text of the page that this leads to."""
    form = Page(client.get(path).text).fields(action, **(known or {}))
    answer = client.post(f"/do/{action}", data={**form, **fields}, follow_redirects=True)
    assert answer.status_code == 200, answer.text
    assert answer.history[0].status_code == 303
    return check_harmless(answer.text).text


def dead(session: Session, group: str, *kinds: str) -> None:
    for number, kind in enumerate(kinds):
        session.execute(
            "INSERT INTO dead_letters (group_id, seq, event, reason, attempts, published_at)"
            " VALUES (%s, %s, %s, 'KeyError', 3, now())",
            (group, number, json.dumps({"id": kind, "kind": kind})),
        )


def waiting(session: Session) -> list[tuple[Any, ...]]:
    return session.execute(
        "SELECT group_id, event::json ->> 'kind' FROM transport_messages ORDER BY group_id, seq"
    ).fetchall()


def test_suspend_resume_cancel(console: Open, session: Session) -> None:
    commit(session, "a/b ?&", {"status": "RUNNING"})
    client, page = console(write=True), of("a/b ?&")
    assert "Suspended." in do(client, page, "suspend")
    assert status(session, "a/b ?&") == "SUSPENDED"
    assert "Resumed." in do(client, page, "resume")
    assert status(session, "a/b ?&") == "RUNNING"
    form = Page(client.get(page).text).fields("suspend")
    assert "Cancelled." in do(client, page, "cancel")
    assert status(session, "a/b ?&") == "CANCELLED"
    late = client.post("/do/suspend", data=form, follow_redirects=True)
    assert "It was not suspended: it has ended, or was already." in late.text
    buttons = {found["action"] for found in Page(client.get(page).text).all("form", method="post")}
    assert buttons == {"/do/send", "/do/purge"}


def test_what_was_said_is_said_once(console: Open, session: Session) -> None:
    commit(session, "x", {"status": "RUNNING"})
    client = console(write=True)
    form = Page(client.get(of("x")).text).fields("suspend")
    location = client.post("/do/suspend", data=form).headers["location"]
    assert "Suspended." in client.get(location).text
    assert "Suspended." not in client.get(location).text
    # Nobody can have the console say something by a link.
    assert "Purged" not in client.get(of("x", said="Purged")).text


def test_send_an_event(console: Open, session: Session) -> None:
    commit(session, "x", {"status": "RUNNING"})
    client = console(write=True)
    assert "Sent Paid." in do(client, of("x"), "send", kind=" Paid ", data='{"amount": 12}', event_id="mine")
    (event,) = session.execute("SELECT event FROM transport_messages").fetchone() or ()
    assert {name: json.loads(event)[name] for name in ("id", "kind", "data")} == {
        "id": "mine", "kind": "Paid", "data": {"amount": 12}
    }  # fmt: skip
    for data, words in {
        "[1]": "its data is a JSON object",
        "{": "not JSON",
        '{"x": NaN}': "not JSON",
        '{"x": 1e999}': "not JSON",
    }.items():
        assert words in do(client, of("x"), "send", kind="Paid", data=data), data
    assert len(waiting(session)) == 1
    form = Page(client.get(of("x")).text).fields("send")
    session.execute("SELECT harel_purge('x', 1)")
    gone = client.post("/do/send", data={**form, "kind": "Late"}, follow_redirects=True)
    assert "there is no such execution" in gone.text
    assert waiting(session) == []


def test_purge_what_was_looked_at_and_nothing_newer(console: Open, session: Session) -> None:
    commit(session, "x", {"status": "DONE"})
    commit(session, "y", {"status": "DONE"})
    client = console(write=True)
    form = Page(client.get(of("x")).text).fields("purge")
    assert "Purge x" in Page(client.get(of("x")).text).text
    session.execute("""SELECT harel_commit_cas('x', 'd', '{"version": 2}', 1)""")
    moved = client.post("/do/purge", data=form, follow_redirects=True)
    assert "Nothing was purged: it has moved on meanwhile" in moved.text
    assert status(session, "x") == ""
    assert "Purged x." in do(client, of("x"), "purge")
    assert session.execute("SELECT id FROM executions").fetchall() == [("y",)]


def test_redrive_one_a_group_or_all(console: Open, session: Session) -> None:
    dead(session, "a", "A0", "A1", "A2")
    dead(session, "b", "B0", "B1")
    client = console(write=True)
    (letter,) = session.execute("SELECT id::text FROM dead_letters WHERE event LIKE '%A1%'").fetchone() or ()
    assert "Put 1 dead letter back" in do(client, "/dead-letters", "redrive", {"letter": letter})
    assert waiting(session) == [("a", "A1")]
    assert "Put 2 dead letters back" in do(client, "/dead-letters?group=a", "redrive", {"group": "a"})
    assert waiting(session) == [("a", "A0"), ("a", "A2"), ("a", "A1")]
    assert "Put 2 dead letters back" in do(client, "/dead-letters", "redrive", {"everything": "1"})
    assert len(waiting(session)) == 5


def test_redrive_more_than_one_statement_takes(
    console: Open, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harel.ui.actions.BATCH", 3)
    dead(session, "a", *(f"A{n}" for n in range(8)))
    assert "Put 8 dead letters back" in do(console(write=True), "/dead-letters", "redrive", {"everything": "1"})
    assert len(waiting(session)) == 8


def test_a_mistake_is_told_with_its_detail_and_its_remedy(console: Open, session: Session) -> None:
    session.execute("SELECT harel_commit_cas('odd', 'd', '[]', 0)")
    said = do(console(write=True), of("odd"), "suspend")
    assert "data must be a JSON object with a plain status and version" in said
    assert "Execution 'odd': data begins with '[]'." in said
    assert "Commit such data first; then its status can be changed from outside." in said


def test_a_form_of_another_site_does_nothing(console: Open, session: Session) -> None:
    client = console(write=True, token=TOKEN)
    client.headers["authorization"] = f"Bearer {TOKEN}"
    dead(session, "dead", "Dead")
    for action in ACTIONS:
        commit(session, action, {"status": "SUSPENDED" if action == "resume" else "RUNNING"})
        assert Page(client.get(of(action)).text).all("input", name="form_token", value=FORM_TOKEN)
        good = {"form_token": FORM_TOKEN, "id": action, "version": "1", "kind": "K", "event_id": "e", "everything": "1"}
        state = _everything(session)
        for fields, headers in (
            ({**good, "form_token": "0" * 64}, {}),
            ({**good, "form_token": ""}, {}),
            ({name: value for name, value in good.items() if name != "form_token"}, {}),
            (good, {"sec-fetch-site": "cross-site"}),
            (good, {"sec-fetch-site": "same-site"}),
        ):
            assert client.post(f"/do/{action}", data=fields, headers=headers).status_code == 403
        assert client.get(f"/do/{action}", params=good).status_code == 405
        assert _everything(session) == state, action
        assert client.post(f"/do/{action}", data=good, headers={"sec-fetch-site": "same-origin"}).status_code == 303
        assert _everything(session) != state, action


def _everything(session: Session) -> list[tuple[Any, ...]]:
    return session.execute(
        "SELECT e::text FROM executions e UNION ALL SELECT m::text FROM transport_messages m"
        " UNION ALL SELECT d::text FROM dead_letters d"
    ).fetchall()


def test_a_form_leads_to_no_other_host(console: Open, session: Session) -> None:
    dead(session, "a", "A")
    client = console(write=True)
    form = Page(client.get("/dead-letters").text).fields("redrive", everything="1")
    for back in (
        "https://evil.example.com/",
        "//evil.example.com/",
        "https://a//evil.example.com/",
        "/\\evil.example.com",
        "javascript:alert(1)",
        "",
    ):
        location = client.post("/do/redrive", data={**form, "back": back}).headers["location"]
        assert location.startswith("/?said=") or location.startswith("/%5Cevil"), location
    kept = client.post("/do/redrive", data={**form, "back": "/dead-letters?group=a&said=old"}).headers["location"]
    assert urlsplit(kept).path == "/dead-letters"
    assert parse_qs(urlsplit(kept).query).keys() == {"group", "said"}


def test_a_form_that_makes_no_sense_is_refused(console: Open) -> None:
    client = console(write=True, token=TOKEN)
    client.headers["authorization"] = f"Bearer {TOKEN}"
    senseless: list[tuple[str, dict[str, str], int]] = [
        ("suspend", {}, 400),
        ("send", {"id": "x", "kind": "K"}, 400),
        ("redrive", {}, 400),
        ("redrive", {"letter": "no uuid"}, 400),
        ("suspend", {f"f{n}": "" for n in range(30)}, 400),
        ("suspend", {"id": "x" * 9_000_000}, 413),
        ("suspend", {"id": "\0"}, 303),
        ("send", {"id": "x" * 2000, "kind": "K", "event_id": "e"}, 303),
        ("purge", {"id": "x", "version": "9" * 30}, 303),
        ("purge", {"id": "x", "version": "-1"}, 303),
    ]
    for action, fields, code in senseless:
        answer = client.post(f"/do/{action}", data={"form_token": FORM_TOKEN, **fields})
        assert answer.status_code == code, (action, code)
        if code == 303:
            assert "notice bad" in client.get(answer.headers["location"]).text


def test_a_console_that_only_reads_shows_no_button(console: Open, session: Session) -> None:
    commit(session, "x", {"status": "RUNNING"})
    dead(session, "x", "A")
    reading, acting = console(), console(write=True)
    for path in (*PAGES, of("x")):
        page = Page(reading.get(path).text)
        assert not page.all("form", method="post"), path
        assert not page.all("input", name="form_token"), path
    assert Page(acting.get(of("x")).text).all("form", method="post")
    assert Page(acting.get("/dead-letters").text).all("form", method="post")


def test_a_connection_lost_in_the_middle_is_told(console: Open, store_dsn: str, session: Session) -> None:
    commit(session, "x", {"status": "RUNNING"})
    client = console(write=True)
    form = Page(client.get(of("x")).text).fields("suspend")
    with session.transaction(), ThreadPoolExecutor() as threads:
        session.execute("SELECT FROM executions WHERE id = 'x' FOR UPDATE")
        posting = threads.submit(client.post, "/do/suspend", data=form, follow_redirects=True)
        (pid,) = until_blocked(store_dsn, posting)
        session.execute("SELECT pg_terminate_backend(%s)", (pid,))
        assert "The connection was lost: look whether it was done." in posting.result().text
    assert "Suspended." in do(client, of("x"), "suspend")
