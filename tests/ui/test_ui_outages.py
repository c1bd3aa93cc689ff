"""A database that goes away, and comes back."""

import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import psycopg
import pytest
from serving import serving
from wire import until

from harel import Execution, PostgresStore
from harel.embedded import EmbeddedServer
from harel.ui import create_app, database, watch


def test_a_lost_database_is_told_and_found_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "POOL_TIMEOUT", 0.2)
    monkeypatch.setattr(watch, "FRESH", 0.0)
    with EmbeddedServer(settings={"fsync": "off"}) as server:
        store = PostgresStore.from_dsn(server.dsn)
        store.save(Execution(id="x", definition_id="d"))
        store.close()
        with serving(create_app(server.dsn)) as url, httpx.Client(base_url=url, timeout=30) as client:
            for mode in ("fast", "immediate"):
                until(lambda: client.get("/executions").status_code == 200)
                server.stop(mode)
                for path in ("/", "/executions"):
                    lost = client.get(path)
                    assert lost.status_code == 503
                    assert "The database cannot be reached." in lost.text
                    assert '<meta http-equiv="refresh" content="3">' in lost.text
                    assert str(server.folder) not in lost.text
                assert client.get("/static/console.css").status_code == 200
                server.start()
                until(lambda: client.get("/executions").status_code == 200)
                until(lambda: client.get("/").status_code == 200)


def test_connections_that_the_server_closed_are_replaced_unseen(store_dsn: str) -> None:
    with serving(create_app(store_dsn)) as url, httpx.Client(base_url=url, timeout=30) as client:
        assert client.get("/executions").status_code == 200
        with psycopg.connect(store_dsn, autocommit=True) as session:
            # Until the process is gone: its row goes before that.
            ended = session.execute(
                "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity"
                " WHERE datname = current_database() AND application_name = 'harel ui'"
            )
            assert set(ended) == {(True,)}
        assert client.get("/executions").status_code == 200


def test_all_who_look_learn_at_once_that_the_database_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "POOL_TIMEOUT", 3.0)
    with serving(create_app("host=/nonexistent user=u")) as url, ThreadPoolExecutor(12) as looking:
        begun = time.monotonic()
        answers = list(looking.map(lambda _: httpx.get(url, timeout=30).status_code, range(12)))
        assert answers == [503] * 12
        # One after the other they would wait for 36 s.
        assert time.monotonic() - begun < 20
