"""The pictures of the console for the documentation: `make screenshots`."""

import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path

import psycopg
from browsing import ARGUMENTS, chromium
from playwright.sync_api import Page, sync_playwright
from rich.console import Console
from serving import serving
from shop import open_shop

from harel import Event, Execution, PostgresStore, PostgresTransport, Status
from harel.demo.run import Run
from harel.embedded import EmbeddedServer
from harel.ui import create_app

IMAGES = Path(__file__).parents[2] / "docs/images"

WIDTH, HEIGHT = 1280, 860

# Seconds for which the overview is watched, so that there is a course of its rates.
WATCHED = 40

# An order whose regions have been through most.
LONGEST = """
SELECT split_part(execution_id, '/', 1) FROM trace GROUP BY 1 HAVING count(*) < 26 ORDER BY count(*) DESC, 1 LIMIT 1
"""


@contextmanager
def trade(dsn: str) -> Iterator[None]:
    """Something goes on meanwhile, now more and now less."""
    closed = threading.Event()

    def work() -> None:
        store, queue = PostgresStore.from_dsn(dsn), PostgresTransport.from_dsn(dsn)
        number = 0
        while not closed.wait(0.012 + 0.008 * math.sin(time.monotonic() / 2)):
            number += 1
            cart = Execution(id=f"cart-{number:05}", definition_id="cart", status=Status.RUNNING)
            store.commit(cart, [(None, Event(kind="Opened"))] if number % 3 == 0 else [])
            queue.publish(cart.id, Event(kind="Add"), 4)
            lease = queue.claim("worker-1@shop-1", 60.0, 4)
            if lease is not None:
                store.save(cart)
                queue.ack(lease)
        store.close()
        queue.close()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        closed.set()
        thread.join()


def save(page: Page, name: str, height: int = HEIGHT) -> None:
    page.set_viewport_size({"width": WIDTH, "height": height})
    page.screenshot(path=IMAGES / f"console-{name}.png")


def shoot(page: Page, url: str, order: str, dsn: str) -> None:
    with trade(dsn):
        page.goto(url)
        page.wait_for_timeout(WATCHED * 1000)
        save(page, "overview", 1060)
    page.goto(f"{url}/execution?id={order}")
    save(page, "execution", 1120)
    page.goto(f"{url}/flow?definition=order")
    save(page, "flow")
    page.emulate_media(color_scheme="dark")
    save(page, "flow-dark")
    page.emulate_media(color_scheme="light")
    page.goto(f"{url}/dead-letters")
    page.locator("tbody summary").first.click()
    save(page, "dead-letters", 560)


def main() -> None:
    IMAGES.mkdir(exist_ok=True)
    with EmbeddedServer() as server:
        Run(300, Console(file=StringIO()), server.dsn).run()
        open_shop(server.dsn)
        with psycopg.connect(server.dsn, autocommit=True) as session:
            session.execute("UPDATE timers SET fire_at = fire_at - 300")
            ((order,),) = session.execute(LONGEST).fetchall()
        with serving(create_app(server.dsn, write=True)) as url, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium(), args=ARGUMENTS)
            shoot(browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}), url, order, server.dsn)
            browser.close()


if __name__ == "__main__":
    main()
