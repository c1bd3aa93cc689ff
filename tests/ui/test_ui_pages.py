"""What the pages show."""

import json
import re
import threading
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from visits import PAGES, Open, Page, Session, check_harmless, of
from wire import Proxy, until

from harel import Event, Execution, PostgresStore, PostgresTransport, Status, TimerOp
from harel.ui import database, watch
from harel.ui.jsontext import members, pretty
from harel.ui.pages import by_status
from harel.ui.templating import stays
from harel.ui.watch import Watch
from operations.filled import fill


def commit(session: Session, id: str, data: dict[str, Any], definition: str = "d", trace: str | None = None) -> None:
    session.execute(
        "SELECT harel_commit(%s, %s, %s, 0, p_trace => %s)", (id, definition, json.dumps({"version": 1, **data}), trace)
    )


def ids(page: Page) -> list[str]:
    """The ids of the executions that a page leads to, in its order."""
    links = [a["href"] for a in page.all("a") if "id" in a.get("class", "").split()]
    return [parse_qs(urlsplit(link).query)["id"][0] for link in links]


@pytest.mark.parametrize("filled", [False, True], ids=["empty", "filled"])
def test_each_page_answers(console: Open, store_dsn: str, filled: bool) -> None:
    if filled:
        fill(store_dsn)
    client = console()
    for path in (*PAGES, *(f"/queue?state={state}" for state in ("waiting", "leased", "delayed", "held"))):
        answer = client.get(path)
        assert answer.status_code == 200, path
        check_harmless(answer.text)
    assert client.get("/nowhere").status_code == 404


def test_a_list_is_filtered_and_led_through_page_by_page(console: Open, session: Session) -> None:
    session.execute(
        "SELECT harel_commit_cas('e' || n, CASE n %% 2 WHEN 0 THEN 'even' ELSE 'odd' END,"
        """ '{"version": 1, "status": "' || CASE n %% 3 WHEN 0 THEN 'DONE' ELSE 'RUNNING' END || '"}', 0)"""
        " FROM generate_series(1, 400) n",
        (),
    )
    client = console()
    path, seen = "/executions?definition=even&status=RUNNING&status=FAILED", []
    while path:
        page = Page(client.get(path).text)
        seen.append(ids(page))
        assert [box["value"] for box in page.all("input", name="status") if "checked" in box] == ["RUNNING", "FAILED"]
        following = page.all("a", rel="next")
        path = following[0]["href"] if following else ""
    assert [len(part) for part in seen] == [50, 50, 34]
    found = [id for part in seen for id in part]
    assert found == sorted(f"e{n}" for n in range(1, 401) if n % 2 == 0 and n % 3)


def test_only_roots(console: Open, session: Session) -> None:
    commit(session, "parent", {"status": "RUNNING"})
    commit(session, "child", {"status": "RUNNING", "parent_id": "parent"})
    assert ids(Page(console().get("/executions?roots=1").text)) == ["parent"]


def test_a_search_opens_the_id_or_lists_what_begins_so(console: Open, session: Session) -> None:
    for id in ("order-1", "order-10", "order-11", "order-2"):
        commit(session, id, {})
    client = console()
    exact = client.get("/executions", params={"q": " order-1 "})
    assert (exact.status_code, exact.headers["location"]) == (303, "/execution?id=order-1")
    assert ids(Page(client.get("/executions?q=order-").text)) == ["order-1", "order-10", "order-11", "order-2"]
    assert "No execution has an id that begins so." in client.get("/executions?q=%25").text


def test_an_execution_with_all_that_is_of_it(console: Open, store_dsn: str, session: Session) -> None:
    store, queue = PostgresStore.from_dsn(store_dsn), PostgresTransport.from_dsn(store_dsn)
    store.save(Execution(id="top", definition_id="d"))
    store.save(Execution(id="mid", definition_id="d", parent_id="top"))
    exe = Execution(id="x", definition_id="d", status=Status.RUNNING, parent_id="mid", context={"amount": 12.50})
    exe.active_path = "/shop/paying"
    timer = TimerOp("schedule", "/deadline", 4e9)
    store.commit(exe, [], "first", [timer], trace={"event": "Place", "to": "/shop/placed", "at": 1000.0})
    store.commit(exe, [], trace={"event": "Pay", "to": "/shop/paying", "at": 1002.5})
    store.save(Execution(id="x/1", definition_id="d", status=Status.DONE, parent_id="x", outcome="settled"))
    queue.send("x", Event(kind="Paid", data={"by": "card"}))
    session.execute(
        "INSERT INTO dead_letters (group_id, seq, event, reason, attempts, published_at)"
        """ VALUES ('x', 1, '{"kind": "Broken"}', 'KeyError', 3, now())"""
    )
    store.close()
    queue.close()
    page = Page(console().get(of("x")).text)
    for words in (
        "RUNNING", "shop paying", "x/1", "settled", "Place", "2.5 s", "/deadline", "waiting for a worker",
        "Paid", "Broken", "KeyError", '"amount" : 12.5', "top mid",
    ):  # fmt: skip
        assert words in page.text, words
    assert page.all("time", datetime="1970-01-01T00:16:40+00:00", title="1970-01-01 00:16:40.000 UTC")


def test_the_picture_of_a_timeline(console: Open, session: Session) -> None:
    commit(session, "x", {}, trace='{"event": "Go", "to": "/a"}')
    client = console()
    assert not Page(client.get(of("x")).text).all("figure", id="picture")
    page = check_harmless(client.get(of("x", picture="1")).text)
    assert page.all("figure", id="picture")
    assert [found for found in page.all("g") if "state" in found.get("class", "")]


def test_dead_letters_page_by_page_oldest_first(console: Open, session: Session) -> None:
    session.execute(
        "INSERT INTO dead_letters (group_id, seq, event, reason, attempts, published_at, dead_at)"
        " SELECT 'g' || n % 2, n, '{}', 'reason ' || n, 1, now(), now() + n * interval '1 s'"
        " FROM generate_series(1, 260) n"
    )
    client = console()
    path, seen = "/dead-letters?group=g1", []
    while path:
        page = Page(client.get(path).text)
        seen.append([int(reason) for reason in re.findall(r"reason (\d+)", page.text)])
        path = "".join(link["href"] for link in page.all("a", rel="next"))
    assert [len(part) for part in seen] == [50, 50, 30]
    assert [number for part in seen for number in part] == list(range(1, 261, 2))
    assert "Next" not in client.get("/dead-letters?page=20").text


def test_data_of_a_megabyte_is_cut_and_kept_as_it_is(console: Open, session: Session) -> None:
    data = json.dumps({"version": 1, "status": "RUNNING", "context": {f"k{n}": "ä" * 90 for n in range(10_000)}})
    session.execute("SELECT harel_commit_cas('big', 'd', %s, 0)", (data,))
    client = console()
    answer = client.get(of("big"))
    assert len(answer.content) < 200_000
    assert "What is longer than 20,000 characters is cut here." in Page(answer.text).text
    kept = client.get("/execution/data?id=big")
    assert kept.text == data
    assert kept.headers["content-type"].startswith("text/plain")


def test_what_waits_for_an_execution_that_is_not_there(console: Open, session: Session) -> None:
    session.execute("SELECT harel_publish('ghost', '{}')")
    client = console()
    answer = client.get(of("ghost"))
    assert answer.status_code == 404
    assert "There is no execution with this id. What is below waits for it" in Page(answer.text).text
    assert "waiting for a worker" in Page(answer.text).text
    nothing = client.get(of("nobody"))
    assert nothing.status_code == 404
    assert "There is no execution with this id." in nothing.text


def test_a_flow_is_a_sample_unless_more_is_asked_for(console: Open, session: Session) -> None:
    session.execute(
        """SELECT harel_commit('e' || n, 'd', '{"version": 1, "status": "RUNNING", "active_path": "/a"}', 0,"""
        """ p_trace => '{"event": "Go", "to": "/a"}') FROM generate_series(1, 30) n"""
    )
    client = console()
    sample = Page(client.get("/flow?definition=d&sample=20").text)
    assert "A sample of 20 executions, of each status the 20 with the greatest ids." in sample.text
    assert sample.all("a", href="/flow?definition=d&sample=1000")
    whole = check_harmless(client.get("/flow?definition=d&sample=1000").text)
    assert "All 30 executions. 30 have not ended, 0 have." in whole.text
    assert [found for found in whole.all("g") if "waiting" in found.get("class", "")]


def test_a_flow_without_dot_is_a_table(console: Open, session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    commit(session, "x", {"status": "RUNNING"}, trace='{"event": "Go", "to": "/a"}')
    monkeypatch.setenv("PATH", "/nowhere")
    page = Page(console().get("/flow?definition=d").text)
    assert "install the package graphviz" in page.text
    assert not page.all("figure")
    assert "Go" in page.text


def test_a_look_costs_few_statements_however_many_look(
    console: Open, store_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Proxy(store_dsn) as proxy:
        client = console(proxy.dsn)
        assert client.get("/").status_code == 200

        def asked(looks: int) -> int:
            before = proxy.round_trips
            threads = [threading.Thread(target=client.get, args=("/",)) for _ in range(looks)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            return proxy.round_trips - before

        monkeypatch.setattr(watch, "SETTLED", 1000.0)
        monkeypatch.setattr(watch, "FRESH", 1000.0)
        assert asked(8) == 0
        monkeypatch.setattr(watch, "FRESH", 0.0)
        assert asked(1) == 3
        monkeypatch.setattr(watch, "SETTLED", 0.0)
        assert asked(1) == 5


def test_rates_are_those_of_the_last_seconds() -> None:
    begin = datetime(2001, 1, 1, tzinfo=UTC)
    watched = Watch(None)  # type: ignore[arg-type]

    def add(second: int, commits: int) -> None:
        zeroes = {"published": 0, "settled": 0, "emitted": 0}
        watched._add({"at": begin + timedelta(seconds=second), "commits": commits, **zeroes})

    add(0, 1_000_000)
    assert watched._rate("commits").now is None
    for second in range(2, 41, 2):
        add(second, 1_000_000 + (second * 10 if second <= 30 else 300 + (second - 30) * 50))
    rate = watched._rate("commits")
    assert rate.now == 50.0
    assert rate.course == [10.0] * 15 + [50.0] * 5
    add(42, 5)
    assert watched._rate("commits") == (None, [])
    add(44, 25)
    assert watched._rate("commits").now == 10.0
    add(144, 1000)
    assert watched._rate("commits").now is None


def test_totals_are_exact_as_far_as_somebody_counted() -> None:
    totals = {"OWN": 1000, "DONE": 1_200_000, "RUNNING": 7, "FAILED": 1100}
    definitions = [
        {"definition_id": "a", "status": "DONE", "executions": 10_000},
        {"definition_id": "b", "status": "DONE", "executions": 12},
        {"definition_id": "a", "status": "FAILED", "executions": 1300},
        {"definition_id": "b", "status": "FAILED", "executions": 4},
        {"definition_id": "a", "status": "RUNNING", "executions": 99},
    ]
    assert list(by_status(totals, definitions).items()) == [
        ("RUNNING", (7, False)), ("DONE", (1_200_000, True)), ("FAILED", (1304, False)), ("OWN", (1000, True))
    ]  # fmt: skip
    assert by_status(totals, definitions * 200)["FAILED"][1]


def test_places_on_the_axis_of_a_timeline() -> None:
    begin = datetime(2001, 1, 1, tzinfo=UTC)
    rows = [{"at": begin + timedelta(seconds=n)} for n in (0, 6, 8)]
    found = stays(rows, begin + timedelta(seconds=10))
    assert [(row["start"], row["length"], row["stay"]) for row in found] == [
        (0.0, 600.0, 6.0), (600.0, 200.0, 2.0), (800.0, 200.0, 2.0)
    ]  # fmt: skip
    assert [row["last"] for row in found] == [False, False, True]
    assert [row["stay"] for row in stays([{"at": None}, {"at": begin}], begin)] == [None, 0.0]


def test_json_keeps_every_letter() -> None:
    text = '{"a": 1.10, "b" :[1e400,{}, [ ]],"a":"x\\"{,:}\\ud800", "c": {"d": -0.0}}'
    assert members(text) == {"a": '"x\\"{,:}\\ud800"', "b": "[1e400,{}, [ ]]", "c": '{"d": -0.0}'}
    shown = re.sub(r"<[^>]*>", "", str(pretty(text))).replace("&#34;", '"')
    assert re.sub(r"\s", "", shown) == re.sub(r"\s", "", text)
    assert shown.splitlines()[:4] == ["{", '  "a": 1.10,', '  "b": [', "    1e400,"]
    assert pretty("<no json>") == "&lt;no json&gt;"
    assert members("[1]") == members("") == members('{"a":') == {}
    assert members("{}") == {}
    assert str(pretty("[" * 100_000)).count("[") == 100_000


def test_a_reader_sees_every_page(console: Open, store_dsn: str, session: Session) -> None:
    fill(store_dsn)
    session.execute("CREATE ROLE console_reader LOGIN")
    try:
        session.execute("SELECT harel_grant('console_reader', 'reader')")
        client = console(make_conninfo(store_dsn, user="console_reader"))
        for path in (*PAGES, of("is RUNNING"), of("is RUNNING", picture="1"), "/execution/data?id=odd"):
            assert client.get(path).status_code == 200, path
        writer = console(make_conninfo(store_dsn, user="console_reader"), write=True)
        form = Page(writer.get(of("is RUNNING")).text).fields("suspend")
        answer = writer.post("/do/suspend", data=form, follow_redirects=True)
        assert "The role that the console connects as may not do this." in answer.text
    finally:
        session.execute("DROP OWNED BY console_reader; DROP ROLE console_reader")


def test_a_session_of_the_console_cannot_write(console: Open, store_dsn: str, session: Session) -> None:
    at = database.Database(store_dsn, None, write=False)
    at.open()
    try:
        with at.reading() as functions, pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
            functions.value("publish", group_id="x", event="{}")
    finally:
        at.close()


def test_options_of_a_dsn_count_too(store_dsn: str) -> None:
    at = database.Database(make_conninfo(store_dsn, options="-c work_mem=99MB"), None, write=False)
    at.open()
    try:
        with at.reading() as functions:
            shown = [
                functions._connection.execute(f"SHOW {name}").fetchone()
                for name in ("work_mem", "default_transaction_read_only", "statement_timeout")
            ]
        assert shown == [("99MB",), ("on",), ("10s",)]
    finally:
        at.close()


def test_a_statement_that_takes_too_long_is_given_up(
    console: Open, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "STATEMENT_TIMEOUT", 0.2)
    client = console()
    with session.transaction():
        session.execute("LOCK TABLE executions IN ACCESS EXCLUSIVE MODE")
        answer = client.get("/executions")
    assert answer.status_code == 503
    assert "The database took longer than" in answer.text
    # The first look at a page may take longer than that as well.
    until(lambda: client.get("/executions").status_code == 200)


def test_a_database_without_a_store_says_so(console: Open, dsn: str) -> None:
    answer = console(dsn).get("/")
    assert answer.status_code == 503
    assert "there is no harel store in this database: run CREATE EXTENSION harel" in answer.text


def test_a_store_in_a_schema(console: Open, dsn: str) -> None:
    store = PostgresStore.from_dsn(dsn, schema="own")
    store.save(Execution(id="here", definition_id="d"))
    store.close()
    assert ids(Page(console(dsn, schema="own").get("/executions").text)) == ["here"]
