"""What a person does with the console, in a browser that has no network."""

import os
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any, TypeAlias
from urllib.parse import quote, urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from browsing import ARGUMENTS, chromium
from playwright.sync_api import Browser, Page, Route, expect, sync_playwright
from serving import serving
from shop import open_shop
from test_ui_hostile import HOSTILE, fill
from visits import PAGES, Session, of
from wire import until

from harel.demo import orders
from harel.ui import create_app, watch

TOKEN = "the-token-of-the-test"


# No longer than the module: while it runs there is an event loop in this thread, which other tests cannot have.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    program = chromium()
    if program is None:
        complain = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
        complain("there is no chromium: apt-get install chromium")
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
        yield launched
        launched.close()


class Visit:
    """A visit to the console: the page, and all that it complained of or asked another host for."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.url = url
        self.complaints: list[str] = []
        self.asked: list[str] = []
        page.on("console", lambda message: self._hear(message.type, message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", lambda dialog: (self.complaints.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda request: self.asked.append(request.url))

    def _hear(self, kind: str, text: str) -> None:
        if kind in ("error", "warning"):
            self.complaints.append(text)

    def to(self, path: str) -> Page:
        self.page.goto(self.url + path)
        return self.page


Visiting: TypeAlias = Callable[..., Visit]


@pytest.fixture
def visit(browser: Browser, store_dsn: str) -> Iterator[Visiting]:
    """Begins visits to a console over the test's store that can act; at their end none has anything to complain of."""
    with ExitStack() as closing:
        url = closing.enter_context(serving(create_app(store_dsn, write=True, token=TOKEN)))
        visits = []

        def begun(**options: Any) -> Visit:
            page = closing.enter_context(browser.new_context(**options)).new_page()
            page.set_default_timeout(20_000)
            expect.set_options(timeout=20_000)
            visits.append(Visit(page, url))
            visits[-1].to(f"/?token={TOKEN}")
            return visits[-1]

        yield begun
        for visited in visits:
            assert visited.complaints == []
            assert {urlsplit(asked).netloc for asked in visited.asked} == {urlsplit(url).netloc}


@pytest.fixture
def shop(store_dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Orders of which some are stuck, and none runs out of time while that takes its own."""
    monkeypatch.setattr(orders, "PAYMENT_DEADLINE", 3600.0)
    with ThreadPoolExecutor() as thread:
        thread.submit(open_shop, store_dsn).result()


def dead(session: Session, *groups: str) -> None:
    for group in groups:
        session.execute(
            "INSERT INTO dead_letters (group_id, seq, event, reason, attempts, published_at)"
            """ VALUES (%s, 1, '{"kind": "Paid"}', 'KeyError', 3, now())""",
            (group,),
        )


def test_from_the_filter_to_an_order_and_its_steps(visit: Visiting, shop: None) -> None:
    page = visit().to("/executions")
    assert "token" not in page.url
    page.get_by_label("SUSPENDED").check(force=True)
    page.wait_for_url("**status=SUSPENDED*")
    expect(page.locator("tbody .status")).to_have_text(["SUSPENDED"] * 9)
    page.get_by_label("roots only").check()
    page.wait_for_url("**roots=1*")
    expect(page.locator("tbody tr")).to_have_count(3)
    page.get_by_role("link", name="order-1003", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("order-1003")
    expect(page.locator(".tree tbody tr")).to_have_count(3)
    page.get_by_text("Place", exact=True).click()
    expect(page.locator(".timeline pre").first).to_contain_text('"event": "Place"')
    page.go_back()
    page.wait_for_url("**status=SUSPENDED*roots=1*")


def test_next_and_previous(visit: Visiting, session: Session) -> None:
    session.execute("SELECT harel_commit_cas('e' || n, 'd', '{}', 0) FROM generate_series(100, 200) n")
    page = visit().to("/executions")
    page.get_by_role("link", name="Next").click()
    expect(page.locator("tbody tr a.id").first).to_have_text("e150")
    page.get_by_role("link", name="Next").click()
    expect(page.locator("tbody tr a.id")).to_have_text(["e200"])
    page.get_by_role("link", name="Previous").click()
    expect(page.locator("tbody tr a.id").first).to_have_text("e150")
    page.get_by_role("link", name="First page").click()
    expect(page.locator("tbody tr a.id").first).to_have_text("e100")


def test_redrive_a_dead_letter(visit: Visiting, session: Session) -> None:
    dead(session, "order-1", "order-2")
    page = visit().to("/dead-letters")
    page.get_by_role("row", name="order-1").get_by_role("button", name="Redrive").click()
    expect(page.get_by_role("status")).to_have_text("Put 1 dead letter back into the queue.")
    expect(page).to_have_url(re.compile("/dead-letters$"))
    expect(page.locator("tbody tr")).to_have_count(1)
    assert session.execute("SELECT group_id FROM transport_groups").fetchall() == [("order-1",)]
    page.get_by_text("Redrive all").first.click()
    page.get_by_role("button", name="Redrive all 1").click()
    expect(page.locator(".nothing")).to_contain_text("There are no dead letters")


def test_a_purge_names_what_it_purges(visit: Visiting, session: Session) -> None:
    session.execute("""SELECT harel_commit_cas('order-1', 'd', '{"status": "DONE"}', 0)""")
    page = visit().to(of("order-1"))
    purge = page.get_by_role("button", name="Purge order-1")
    expect(purge).not_to_be_visible()
    page.locator("summary", has_text="Purge").click()
    purge.click()
    expect(page.get_by_role("status")).to_have_text("Purged order-1.")
    assert session.execute("SELECT count(*) FROM executions").fetchone() == (0,)


def test_the_overview_is_live_until_nobody_looks(
    visit: Visiting, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "FRESH", 0.0)
    visited = visit()
    visited.page.clock.install()
    page = visited.to("/")
    tile = page.locator(".tile", has_text="Dead letters").locator(".value")
    expect(tile).to_have_text("0")
    page.get_by_role("link", name="Queued").focus()
    dead(session, "order-1")
    until(lambda: page.clock.run_for(2000) or tile.text_content() == "1")
    # What was replaced keeps the focus.
    expect(page.get_by_role("link", name="Queued")).to_be_focused()
    # Also while an answer is on its way.
    held: list[Route] = []
    page.route(f"{visited.url}/", lambda route: held.append(route))
    until(lambda: page.clock.run_for(2000) or held)
    before = visited.asked.count(f"{visited.url}/")
    hide(page, True)
    dead(session, "order-2")
    held[0].continue_()
    expect(tile).to_have_text("2")
    page.clock.run_for(60_000)
    # One that was asked for before this would have been heard of by now.
    page.evaluate("fetch('/static/icon.svg').then(answer => answer.text())")
    assert visited.asked.count(f"{visited.url}/") == before
    page.unroute(f"{visited.url}/")
    hide(page, False)
    dead(session, "order-3")
    until(lambda: page.clock.run_for(2000) or tile.text_content() == "3")


def hide(page: Page, hidden: bool) -> None:
    page.evaluate(
        "hidden => { Object.defineProperty(document, 'hidden', {value: hidden, configurable: true});"
        " document.dispatchEvent(new Event('visibilitychange')) }",
        hidden,
    )


def test_the_overview_tells_what_is_wrong_until_it_is_right_again(visit: Visiting, session: Session) -> None:
    visited = visit()
    visited.page.clock.install()
    page = visited.to("/")
    mark = page.locator("[data-live-state]")
    expect(mark).to_have_text("live")
    session.execute("ALTER FUNCTION harel_stats RENAME TO harel_stats_gone")
    until(lambda: page.clock.run_for(2000) or "does not exist" in (mark.text_content() or ""))
    expect(page.locator(".tile", has_text="Dead letters")).to_be_visible()
    session.execute("ALTER FUNCTION harel_stats_gone RENAME TO harel_stats")
    until(lambda: page.clock.run_for(2000) or mark.text_content() == "live")
    # The browser says so of each answer that told of the error.
    assert all("Failed to load resource" in complaint for complaint in visited.complaints)
    visited.complaints.clear()


def test_by_keyboard_alone(visit: Visiting, session: Session) -> None:
    session.execute("""SELECT harel_commit_cas('order-1', 'd', '{"status": "RUNNING"}', 0)""")
    page = visit().to("/health")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="To the content")).to_be_focused()
    page.keyboard.press("/")
    page.keyboard.type("order-1")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("order-1")
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent") == "Suspend":
            break
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_have_text("Suspended.")


def test_light_and_dark_are_those_of_the_system(visit: Visiting) -> None:
    def paper(scheme: str) -> int:
        page = visit(color_scheme=scheme).page
        colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
        return sum(int(part) for part in colour.strip("rgb()").split(","))

    assert paper("light") > 600
    assert paper("dark") < 120


def test_every_page_is_accessible_and_fits_a_phone(visit: Visiting, shop: None) -> None:
    visited = visit()
    for path in (
        "/",
        "/executions",
        of("order-1002/payment", picture="1"),
        "/flow",
        "/queue",
        "/dead-letters",
        "/nowhere",
    ):
        page = visited.to(path)
        page.evaluate("document.querySelectorAll('details').forEach(it => it.open = true)")
        check_accessible(page, {"runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "best-practice"]}})
        if path in ("/", "/executions", "/flow"):
            page.emulate_media(color_scheme="dark")
            check_accessible(page, {"runOnly": ["color-contrast"]})
            page.emulate_media(color_scheme="light")
        page.set_viewport_size({"width": 375, "height": 700})
        assert page.evaluate("document.documentElement.scrollWidth") <= 375, path
        page.set_viewport_size({"width": 1280, "height": 800})
    # The one that is not there is complained of by the browser.
    visited.complaints.clear()


def check_accessible(page: Page, options: dict[str, Any]) -> None:
    found = Axe().run(page, options=options).response
    assert found["passes"]
    serious = [violation for violation in found["violations"] if violation["impact"] in ("serious", "critical")]
    assert not serious, [(it["id"], [node["html"] for node in it["nodes"]][:3]) for it in serious]


def test_nothing_hostile_runs(visit: Visiting, session: Session) -> None:
    fill(session)
    visited = visit()
    for id in HOSTILE[:8]:
        for path in (of(id, picture="1"), f"/flow?definition={quote(id)}"):
            visited.to(path)
    for path in (*PAGES, f"/executions?q={quote(HOSTILE[1])}"):
        visited.to(path)
