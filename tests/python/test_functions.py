"""The functions of a store by their names."""

import psycopg

from harel import PostgresStore
from harel.functions import Functions


def test_a_schema_may_have_any_name(store_dsn: str) -> None:
    with psycopg.connect(store_dsn, autocommit=True) as session:
        PostgresStore(session, schema="50% off {}")
        functions = Functions(session, "50% off {}")
        assert (functions.rows("list"), functions.rows("timeline", id="a")) == ([], [])


def test_a_time_that_no_calendar_of_python_has_disturbs_no_other_row(store_dsn: str) -> None:
    with psycopg.connect(store_dsn, autocommit=True) as session:
        functions = Functions(session)
        for id, finished in (("a", "1000000000"), ("b", "-1e11"), ("c", "1.9e11")):
            data = f'{{"version": 1, "status": "DONE", "finished_at": {finished}}}'
            functions.row("commit_cas", id=id, defn="d", data=data, old=0, event=None)
            functions.row("append_trace", id=id, entry=f'{{"to": "/a", "at": {finished}}}', max=None)
        moments = [row["finished_at"] for row in functions.rows("list")]
        assert [moment and moment.year for moment in moments] == [2001, None, 7990]
        (step,) = functions.rows("timeline", id="b")
        assert (step["at"], step["target"]) == (None, "/a")
