"""What no application should store, and no visitor should ask for, is text on a page and nothing else."""

import json
from urllib.parse import quote

from visits import PAGES, Open, Session, check_harmless, of

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'><svg onload=alert(1)>",
    "javascript:alert(1)",
    "</pre></title></textarea><iframe src=//evil.example.com>",
    "{{ 7 * 7 }}{% raw %}",
    '" URL="javascript:alert(1)" label=<b>',
    '<<TABLE><TR><TD HREF="javascript:alert(1)">x</TD></TR></TABLE>>',
    "\\N\\G\\E ]]> --> &lt;script&gt; &#60;",
    "a\u202eb\u0007c\x1b[31m\u2028d",
    "//evil.example.com/",
    "%2e%2e/%00",
    "../../x?y#z",
    " ",
    "e" * 900,
)


def fill(session: Session) -> None:
    """Every hostile text in every place that takes one."""
    for text in HOSTILE:
        data = {
            "version": 1, "status": text[:90], "outcome": text, "active_path": f"/{text}", "error": text,
            "context": {text: text},
        }  # fmt: skip
        step = {"event": text, "from": f"/{text}", "to": text, "at": 1000}
        session.execute(
            "SELECT harel_commit(%s, %s, %s, 0, NULL, %s, %s, %s, %s, %s, '{schedule}', %s, '{1}', p_trace => %s)",
            (
                text,
                text,
                json.dumps(data),
                [text, None],
                [text, text],
                [text],
                [text],
                [text],
                [text],
                json.dumps(step),
            ),
        )
        session.execute("SELECT harel_append_trace(%s, %s)", (text, text))
        child = {"version": 1, "status": "RUNNING", "parent_id": text}
        session.execute("SELECT harel_commit_cas(%s, %s, %s, 0)", (f"{text}/child", text, json.dumps(child)))
        session.execute("SELECT harel_publish(%s, %s)", (text, json.dumps({"kind": text, "id": text})))
        session.execute(
            "INSERT INTO dead_letters (group_id, seq, event, reason, attempts, published_at)"
            " VALUES (%s, 1, %s, %s, 1, now())",
            (text, text, text),
        )
    session.execute("SELECT harel_claim(%s, 60, 5)", (HOSTILE[0],))


def test_whatever_is_in_the_store_is_text_on_the_pages(console: Open, session: Session) -> None:
    fill(session)
    client = console(write=True)
    pages = [
        *PAGES, "/executions?status=x", "/queue?state=leased",
        *(of(id, picture="1") for id in HOSTILE), *(of(f"{id}/child") for id in HOSTILE),
        *(f"/flow?definition={quote(id)}" for id in HOSTILE), *(f"/dead-letters?group={quote(id)}" for id in HOSTILE),
    ]  # fmt: skip
    for path in pages:
        answer = client.get(path)
        assert answer.status_code == 200, path
        page = check_harmless(answer.text)
        assert "\x1b" not in page.text
        assert "\u202e" not in page.text
    for id, words in {HOSTILE[0]: "<script>alert(1)</script>", HOSTILE[5]: "{{ 7 * 7 }}"}.items():
        assert check_harmless(client.get(of(id)).text).text.count(words) > 5


def test_whatever_is_asked_for_is_answered_with_a_page(console: Open) -> None:
    asked = {
        "/executions": ("q", "definition", "status", "cursor", "said"),
        "/execution": ("id", "steps"),
        "/execution/data": ("id",),
        "/flow": ("definition", "sample"),
        "/queue": ("state",),
        "/dead-letters": ("group", "page"),
    }
    client = console()
    for path, name in ((path, name) for path, names in asked.items() for name in names):
        for text in (*HOSTILE, "\0", "-1", "9" * 40, "\ud800", ""):
            answer = client.get(f"{path}?{name}={quote(text, errors='surrogatepass')}")
            assert answer.status_code in (200, 303, 400, 404), (path, name, text)
            if answer.headers["content-type"].startswith("text/html"):
                check_harmless(answer.text)
            if answer.status_code == 303:
                assert answer.headers["location"].startswith("/execution?")


def test_times_that_no_calendar_has(console: Open, session: Session) -> None:
    session.execute("""SELECT harel_commit('x', 'd', '{"version": 1, "status": "DONE", "finished_at": -1e11}', 0)""")
    for at in ("-1e11", "1.9e11", "1e400", '"noon"', "null"):
        session.execute("SELECT harel_append_trace('x', %s)", (f'{{"event": "E", "to": "/a", "at": {at}}}',))
    session.execute(
        "INSERT INTO timers VALUES ('x', '/a', 1e300), ('x', '/b', -1e300), ('x', '/c', 1e12), ('x', '/d', 0)"
    )
    client = console()
    for path in (of("x"), of("x", picture="1"), "/timers", "/", "/executions", "/flow?definition=d"):
        assert client.get(path).status_code == 200, path
    assert "beyond all dates" in client.get("/timers").text


def test_data_that_no_parser_follows(console: Open, session: Session) -> None:
    for id, data in {
        "deep": '{"version": 1, "context": ' + "[" * 5000 + "]" * 5000 + "}",
        "odd": '{"version": 1, "context": {"nul": "\\u0000", "half": "\\ud800", "great": 1e400}}',
        "array": "[1, 2]",
        "text": '"only a text"',
        "numbers": "[" + ",".join("1" * 5000 for _ in range(3)) + "]",
    }.items():
        session.execute("SELECT harel_commit_cas(%s, 'd', %s, 0)", (id, data))
        client = console()
        assert client.get(of(id)).status_code == 200, id
        assert client.get(f"/execution/data?id={id}").text == data
