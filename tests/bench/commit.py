"""The two commits beside the same work written by hand, in turn: the ratio of their rates, median and range of rounds.

fast: pgbench, prepared, synchronous_commit off, 1 KB of data: harel_commit_cas(), and an UPDATE of the row by its id
and version.
complex: one connection on a local socket: store.commit() with 3 emits, 2 timer operations, 1 spawn, a trace entry and
a dedupe mark, and the same statements sent one by one between BEGIN and COMMIT.

    python tests/bench/commit.py [ROUNDS [SECONDS]]
"""

import json
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psycopg

from harel import Event, Execution, PostgresStore, TimerOp
from harel.embedded import EmbeddedServer, programs

EXECUTIONS = 1000
SETUP = """
CREATE EXTENSION harel;
CREATE TABLE by_hand (LIKE executions INCLUDING ALL);
INSERT INTO executions (id, definition_id, data, version, status)
SELECT 'exe-' || i, 'orders', %(data)s, 1, 'RUNNING' FROM generate_series(0, %(last)s) AS i;
INSERT INTO by_hand SELECT * FROM executions;
"""
SCRIPT = "\\set n :n + 1\n\\set k mod(:n, {executions})\n\\set v :n / {executions} + 1\n{statement}\n"
STATEMENTS = {
    "harel_commit_cas": "SELECT harel_commit_cas('exe-' || :k::text, 'orders', :data, :v, NULL);",
    "UPDATE": "UPDATE by_hand SET data = :data, version = :v + 1 WHERE id = 'exe-' || :k::text AND version = :v;",
}


def sample(kilobytes: int = 1) -> Execution:
    """An execution whose data has about that many kilobytes."""
    exe = Execution(definition_id="orders", status="RUNNING", active_path="/order/paying")
    exe.context = {"lines": ["a line of text that stands for something " for _ in range(kilobytes * 15)]}
    return exe


def report(name: str, rates: dict[str, list[float]]) -> None:
    (first, a), (second, b) = rates.items()
    ratios = [x / y for x, y in zip(a, b, strict=True)]
    print(
        f"{name}: {first} {statistics.median(a):.0f}/s, {second} {statistics.median(b):.0f}/s, "
        f"ratio {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
    )


def fast(server: EmbeddedServer, folder: Path, rounds: int, seconds: int) -> dict[str, list[float]]:
    data = sample().model_dump_json()
    with psycopg.connect(server.dsn, autocommit=True) as session:
        with psycopg.ClientCursor(session) as cursor:
            cursor.execute(SETUP, {"data": data, "last": EXECUTIONS - 1})
        session.execute("VACUUM ANALYZE")
    done = dict.fromkeys(STATEMENTS, 0)
    rates: dict[str, list[float]] = {name: [] for name in STATEMENTS}
    for _ in range(rounds):
        for name, statement in STATEMENTS.items():
            script = folder / f"{name}.sql"
            script.write_text(SCRIPT.format(executions=EXECUTIONS, statement=statement))
            command = [programs() / "pgbench", "-n", "-M", "prepared", "-T", str(seconds), "-f", script]
            command += ["-D", f"n={done[name] - 1}", "-D", f"data={data}", server.dsn]
            output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            done[name] += int(re.search(r"actually processed: (\d+)", output)[1])
            rates[name].append(float(re.search(r"tps = ([\d.]+)", output)[1]))
    with psycopg.connect(server.dsn) as session:
        for table, name in (("executions", "harel_commit_cas"), ("by_hand", "UPDATE")):
            (commits,) = session.execute(f"SELECT sum(version - 1) FROM {table}").fetchone()
            assert commits == done[name], f"{name}: {commits} commits of {done[name]} calls"
    return rates


def complex_(server: EmbeddedServer, rounds: int, seconds: int) -> dict[str, list[float]]:
    store = PostgresStore.from_dsn(server.dsn)
    by_hand = psycopg.connect(server.dsn)
    executions = {"store.commit": sample(), "statements": sample()}
    for exe in executions.values():
        store.save(exe)
    emits = [(f"target-{i}", Event(kind="Something", data={"n": i})) for i in range(3)]
    now = time.time()

    def by_store(exe: Execution, n: int) -> None:
        timers = [TimerOp("schedule", "/paying", now + n), TimerOp("cancel", "/waiting")]
        store.commit(exe, emits, f"event-{n}", timers, [(f"child-{n}", "/order/shipping", {"n": n})], {"n": n})

    def by_statements(exe: Execution, n: int) -> None:
        data = exe.model_copy(update={"version": exe.version + 1}).model_dump_json()
        with by_hand.transaction():
            updated = by_hand.execute(
                "UPDATE executions SET data = %s, definition_id = %s, version = version + 1, updated_at = now() "
                "WHERE id = %s AND version = %s",
                (data, exe.definition_id, exe.id, exe.version),
            )
            assert updated.rowcount == 1
            for target, event in emits:
                by_hand.execute(
                    "INSERT INTO outbox (target_id, event, source_id) VALUES (%s, %s, %s) RETURNING seq",
                    (target, event.model_dump_json(), exe.id),
                ).fetchone()
            by_hand.execute(
                "INSERT INTO processed_events (execution_id, event_id) VALUES (%s, %s) ON CONFLICT DO NOTHING",
                (exe.id, f"event-{n}"),
            )
            by_hand.execute(
                "INSERT INTO spawns (parent_id, child_id, root_path, context) VALUES (%s, %s, %s, %s)",
                (exe.id, f"child-{n}", "/order/shipping", json.dumps({"n": n})),
            )
            by_hand.execute(
                "INSERT INTO timers (execution_id, path, fire_at) VALUES (%s, %s, %s) "
                "ON CONFLICT (execution_id, path) DO UPDATE SET fire_at = excluded.fire_at",
                (exe.id, "/paying", now + n),
            )
            by_hand.execute("DELETE FROM timers WHERE execution_id = %s AND path = %s", (exe.id, "/waiting"))
            by_hand.execute(
                "INSERT INTO trace (execution_id, idx, entry) "
                "SELECT %s, coalesce(max(idx) + 1, 0), %s FROM trace WHERE execution_id = %s",
                (exe.id, json.dumps({"n": n}), exe.id),
            )
            by_hand.execute("DELETE FROM trace WHERE execution_id = %s AND idx < %s", (exe.id, n - store.trace_max))
        exe.version += 1

    ways: dict[str, Callable[[Execution, int], None]] = {"store.commit": by_store, "statements": by_statements}
    rates: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            exe, commits, start = executions[name], 0, time.perf_counter()
            while time.perf_counter() - start < seconds:
                way(exe, exe.version)
                commits += 1
            rates[name].append(commits / (time.perf_counter() - start))
    by_hand.close()
    store.close()
    return rates


def main() -> None:
    rounds, seconds = (int(argument) for argument in [*sys.argv[1:], "15", "1"][:2])
    with EmbeddedServer(settings={"synchronous_commit": "off", "shared_buffers": "256MB"}) as server:
        report("fast commit", fast(server, server.folder, rounds, seconds))
        report("complex commit", complex_(server, rounds, seconds))


if __name__ == "__main__":
    main()
