"""What a claim costs, as ratios of two queues of one server, measured in turn: median and range of rounds.

backlog: with 100,000 groups waiting beside 1,000.
snapshot: after a million messages went through a queue while another session held a snapshot open, beside a queue that
saw none of them; a claim, and a claim with its finish.

    python tests/bench/claim.py [MESSAGES [ROUNDS]]
"""

import statistics
import sys
import time
from collections.abc import Callable

import psycopg

from harel.embedded import EmbeddedServer
from harel.engine.store import install_script

CALLS = 100
GROUPS = 10_000
CHUNK = 1000


class Queue:
    """The queue of a store in a schema of its own. `publish` puts one message into each of `groups` groups."""

    def __init__(self, dsn: str, schema: str, groups: int) -> None:
        self.session = psycopg.connect(dsn, autocommit=True, options=f"-c search_path={schema}")
        self.session.execute(install_script(schema))
        for first in range(0, groups, CHUNK):
            self.publish([f"group-{n}" for n in range(first, min(first + CHUNK, groups))])
        self.session.execute("VACUUM ANALYZE transport_groups, transport_messages")

    def publish(self, groups: list[str]) -> None:
        self.session.execute("SELECT harel_publish_many(%s, array_fill('{}'::text, %s))", [groups, [len(groups)]])

    def claim(self, limit: int = 1) -> tuple[list[str], list[str]]:
        rows = self.session.execute(
            "SELECT group_id, token::text FROM harel_claim('bench', 300, %s)", [limit], prepare=True
        ).fetchall()
        assert rows
        return [row[0] for row in rows], [row[1] for row in rows]

    def finish(self, groups: list[str], tokens: list[str]) -> None:
        nothing = [None] * len(groups)
        results = self.session.execute(
            "SELECT result FROM harel_finish(%s, %s::uuid[], %s::text[], %s::text[], %s::bigint[])",
            [groups, tokens, nothing, nothing, nothing],
            prepare=True,
        ).fetchall()
        assert {result for (result,) in results} == {"finished"}, results

    def claims(self) -> float:
        """Seconds of a claim: the median of some, each of which is finished and published again untimed."""
        times = []
        for _ in range(CALLS):
            start = time.perf_counter()
            claimed = self.claim()
            times.append(time.perf_counter() - start)
            self.finish(*claimed)
            self.publish(claimed[0])
        return statistics.median(times)

    def services(self) -> float:
        """Seconds of a claim with its finish, likewise."""
        times = []
        for _ in range(CALLS):
            start = time.perf_counter()
            claimed = self.claim()
            self.finish(*claimed)
            times.append(time.perf_counter() - start)
            self.publish(claimed[0])
        return statistics.median(times)


def compare(name: str, goal: str, a: Callable[[], float], b: Callable[[], float], rounds: int) -> None:
    pairs = [(a(), b()) for _ in range(rounds)]
    ratios = [x / y for x, y in pairs]
    x, y = (statistics.median(column) * 1e6 for column in zip(*pairs, strict=True))
    print(
        f"{name}: {x:.0f} us beside {y:.0f} us, ratio {statistics.median(ratios):.2f} "
        f"({min(ratios):.2f} to {max(ratios):.2f}), goal {goal}",
        flush=True,
    )


def main() -> None:
    messages, rounds = (int(argument) for argument in [*sys.argv[1:], "1000000", "9"][:2])
    settings = {"fsync": "off", "synchronous_commit": "off", "shared_buffers": "256MB"}
    with EmbeddedServer(settings=settings) as server:
        many, few = Queue(server.dsn, "many", 100_000), Queue(server.dsn, "few", 1_000)
        compare("backlog: a claim", "at most 2", many.claims, few.claims, rounds)

        worn, fresh = Queue(server.dsn, "worn", GROUPS), Queue(server.dsn, "fresh", GROUPS)
        with psycopg.connect(server.dsn) as other:
            other.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            other.execute("SELECT count(*) FROM worn.transport_groups")
            for _ in range(messages // CHUNK):
                claimed = worn.claim(CHUNK)
                worn.finish(*claimed)
                worn.publish(claimed[0])
            dead = worn.session.execute(
                "SELECT n_dead_tup FROM pg_stat_user_tables WHERE relid = 'worn.transport_groups'::regclass"
            ).fetchone()
            print(f"snapshot: {messages} messages passed, {dead[0]} dead rows of groups", flush=True)
            compare("snapshot: a claim", "at most 3", worn.claims, fresh.claims, rounds)
            compare("snapshot: a claim with its finish", "at most 3", worn.services, fresh.services, rounds)


if __name__ == "__main__":
    main()
