"""What a claim costs where much waits, and where much has passed under a snapshot that is held open."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import psycopg

from ..harness import Bench, at_most

CALLS = 100
GROUPS = 10_000
CHUNK = 1000
MESSAGES = 1_000_000
SESSIONS = 2


class Queue:
    """The queue of a store. `publish` puts one message into each of the groups."""

    def __init__(self, dsn: str, groups: int = 0) -> None:
        self.session = psycopg.connect(dsn, autocommit=True)
        for first in range(0, groups, CHUNK):
            self.publish([f"group-{n}" for n in range(first, min(first + CHUNK, groups))])
        self.session.execute("VACUUM ANALYZE transport_groups, transport_messages")

    def publish(self, groups: list[str]) -> None:
        self.session.execute("SELECT harel_publish_many(%s, array_fill('{}'::text, %s))", [groups, [len(groups)]])

    def claim(self, limit: int = 1) -> tuple[list[str], list[str]]:
        rows = self.session.execute(
            "SELECT group_id, token::text FROM harel_claim('bench', 300, %s)", [limit], prepare=True
        ).fetchall()
        return [row[0] for row in rows], [row[1] for row in rows]

    def finish(self, groups: list[str], tokens: list[str]) -> None:
        nothing = [None] * len(groups)
        results = self.session.execute(
            "SELECT result FROM harel_finish(%s, %s::uuid[], %s::text[], %s::text[], %s::bigint[])",
            [groups, tokens, nothing, nothing, nothing],
            prepare=True,
        ).fetchall()
        assert {result for (result,) in results} == {"finished"}, results

    def undo_claim(self, claimed: tuple[list[str], list[str]]) -> None:
        self.finish(*claimed)
        self.publish(claimed[0])

    def pass_on(self, messages: int, chunk: int) -> None:
        """Claims and finishes so many messages, in chunks, each followed by another one of its group."""
        while messages > 0:
            claimed = self.claim(chunk)
            # Of few groups the others may hold all at this moment.
            if claimed[0]:
                self.undo_claim(claimed)
            messages -= len(claimed[0])
        self.session.close()

    def serve(self) -> list[str]:
        """A claim with its finish."""
        claimed = self.claim()
        self.finish(*claimed)
        return claimed[0]


@contextmanager
def queue(bench: Bench, groups: int) -> Iterator[Queue]:
    with bench.database() as dsn:
        made = Queue(dsn, groups)
        try:
            yield made
        finally:
            made.session.close()


def claim_groups(bench: Bench) -> None:
    """A claim where 100,000 groups wait, beside one where 1,000 do."""
    with queue(bench, bench.size(100_000)) as many, queue(bench, bench.size(1_000)) as few:
        bench.compare(
            "harel_claim(), 100,000 groups", bench.median_time(many.claim, CALLS, many.undo_claim),
            "1,000 groups", bench.median_time(few.claim, CALLS, few.undo_claim),
            parameters="async", unit="s", goal=at_most(2), rounds=2,
        )  # fmt: skip


def claim_snapshot(bench: Bench) -> None:
    """A claim, alone and with its finish, after a million messages under a held snapshot, beside a fresh queue."""
    groups = bench.size(GROUPS)
    chunk = min(CHUNK, groups // SESSIONS)
    parameters = "async, 1,000,000 messages over 10,000 groups"
    with queue(bench, groups) as worn, queue(bench, groups) as fresh, psycopg.connect(worn.session.info.dsn) as other:
        other.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        other.execute("SELECT count(*) FROM transport_groups")
        busy = [Queue(worn.session.info.dsn) for _ in range(SESSIONS)]
        with ThreadPoolExecutor(SESSIONS) as pool:
            list(pool.map(lambda one: one.pass_on(bench.size(MESSAGES) // SESSIONS, chunk), busy))
        bench.compare(
            "harel_claim() under a held snapshot", bench.median_time(worn.claim, CALLS, worn.undo_claim),
            "fresh", bench.median_time(fresh.claim, CALLS, fresh.undo_claim),
            parameters=parameters, unit="s", goal=at_most(3), rounds=2,
        )  # fmt: skip
        bench.compare(
            "claim and finish under a held snapshot", bench.median_time(worn.serve, CALLS, worn.publish),
            "fresh", bench.median_time(fresh.serve, CALLS, fresh.publish),
            parameters=parameters, unit="s", goal=at_most(3), rounds=2,
        )  # fmt: skip
