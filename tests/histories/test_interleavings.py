"""Two sessions at once, in every order and stopped at every lock, do what they would one after the other.

What both were told and all that is left in the store must be as after one of the two serial orders. A deadlock is a
failure. Who waits for nobody may also pass over what the other has locked, as if it had found nothing.
"""

from collections.abc import Iterable, Iterator
from itertools import product

import pytest
from interleaving import TOKEN, UNDONE, Outcome, Plan, Stage, orders

pytestmark = pytest.mark.one_server("it stops calls at each lock of one server")


def saved(*ids: str, status: str = "RUNNING", parent: str | None = None) -> str:
    parent_id = f'"{parent}"' if parent else "null"
    return "".join(
        f"SELECT harel_commit_cas('{id}', 'd', "
        f"""'{{"id":"{id}","status":"{status}","parent_id":{parent_id},"version":1}}', 0);"""
        for id in ids
    )


def commit(id: str, old: int, by: str, timer: str = "ARRAY['schedule'], ARRAY['/p'], ARRAY[50]") -> str:
    """A commit with everything that a step can cause, of which some is different for each who commits."""
    return f"""
        SELECT committed FROM harel_commit(
            '{id}', 'd', '{{"id":"{id}","by":"{by}","status":"RUNNING","version":{old + 1}}}', {old}, 'event',
            ARRAY['y', NULL], ARRAY['to y by {by}', 'to all by {by}'],
            ARRAY['child by {by}'], ARRAY['/r'], ARRAY['{{}}'],
            {timer}, 'trace by {by}', 2
        );
    """


def commit_cas(id: str, old: int, by: str) -> str:
    return f"""
        SELECT harel_commit_cas(
            '{id}', 'd', '{{"id":"{id}","by":"{by}","status":"RUNNING","version":{old + 1}}}', {old}, 'event'
        );
    """


def batch(olds: dict[str, int], by: str) -> str:
    ids, count = list(olds), len(olds)
    datas = [f'{{"id":"{id}","by":"{by}","status":"RUNNING","version":{old + 1}}}' for id, old in olds.items()]
    return f"""
        SELECT id, committed FROM harel_commit_batch(
            ARRAY{ids}, array_fill('d'::text, ARRAY[{count}]), ARRAY{datas}, ARRAY{list(olds.values())},
            array_fill('event'::text, ARRAY[{count}]),
            ARRAY{list(range(1, count + 1))}, ARRAY{ids[::-1]}, ARRAY{[f"to {id} by {by}" for id in ids[::-1]]},
            p_timer_commits => ARRAY{list(range(1, count + 1))},
            p_timer_actions => array_fill('schedule'::text, ARRAY[{count}]),
            p_timer_paths => array_fill('/p'::text, ARRAY[{count}]),
            p_timer_fire_ats => array_fill(50::float8, ARRAY[{count}]),
            p_traces => ARRAY{[f"{id} by {by}" for id in ids]}
        );
    """


def published(group: str, *events: str) -> str:
    return "".join(f"SELECT harel_publish('{group}', '{event}', 0, 10);" for event in events)


def publish(group: str, event: str) -> str:
    return f"SELECT harel_publish('{group}', '{event}', 0, 30) IS NOT NULL;"


def publish_many(*groups: str) -> str:
    return f"SELECT harel_publish_many(ARRAY{list(groups)}, ARRAY{[f'many for {id}' for id in groups]}, NULL, 30);"


def leased(*groups: str, until: float = 60) -> str:
    """The first messages of groups as a worker has them; the deadline is a time of the calls' clock."""
    return "".join(
        f"UPDATE transport_groups SET token = '{TOKEN}', worker = 'w', attempts = 1, available_at = {until},"
        f" claimed_at = now() WHERE group_id = '{group}';"
        for group in groups
    )


def finish(*ids: str, emits: dict[str, str] | None = None, spawn: str | None = None) -> str:
    """Steps from version 1, the first of which emits; a step that spawns does so first."""
    count = len(ids)
    datas = [f'{{"id":"{id}","by":"finish","status":"RUNNING","version":2}}' for id in ids]
    more = ""
    if emits:
        more += f"""
            , p_emit_commits => array_fill(1, ARRAY[{len(emits)}])
            , p_emit_targets => ARRAY{list(emits)}, p_emit_events => ARRAY{list(emits.values())}
        """
    if spawn:
        more += f"""
            , p_spawn_commits => ARRAY[1], p_spawn_children => ARRAY['{spawn}']
            , p_spawn_root_paths => ARRAY['/r'], p_spawn_contexts => ARRAY['{{}}']
        """
    return f"""
        SELECT group_id, result FROM harel_finish(
            ARRAY{list(ids)}, array_fill('{TOKEN}'::uuid, ARRAY[{count}]), array_fill('d'::text, ARRAY[{count}]),
            ARRAY{datas}, array_fill(1::bigint, ARRAY[{count}]), array_fill('event'::text, ARRAY[{count}]),
            p_timer_commits => ARRAY[1], p_timer_actions => ARRAY['schedule'],
            p_timer_paths => ARRAY['/p'], p_timer_fire_ats => ARRAY[50],
            p_traces => array_fill('trace'::text, ARRAY[{count}]), p_now => 20 {more}
        );
    """


def claim(now: float, function: str = "claim") -> str:
    """What is claimed; of the tokens, only whether there is one."""
    return f"SELECT group_id, event, attempts FROM harel_{function}('late', 60, 10, p_now => {now});"


ACK = f"SELECT harel_ack('x', '{TOKEN}', 20);"
NACK = f"SELECT harel_nack('x', '{TOKEN}', 5, 'no', 20, 20);"
EXTEND = f"SELECT * FROM harel_extend(ARRAY['x'], ARRAY['{TOKEN}'::uuid], 100, 20);"
PURGE = "SELECT harel_purge('x', 1);"
FIRE = "SELECT harel_fire_timers(100);"
RELAY = "SELECT harel_relay(1000, 20);"
RELAY_SPAWNS = "SELECT harel_relay_spawns(1000, 20);"


# Rows that do not exist yet, in the hands of another who takes them back.
NO_EXECUTION = "INSERT INTO executions (id, definition_id, data, version) VALUES ('x', 'd', '{}', 1)"
NO_GROUP = (
    "INSERT INTO transport_groups (group_id, available_at, head, tail, priority) VALUES ('x', 1, 1, 1, 0)"
    " ON CONFLICT DO NOTHING"
)
STEP = (
    "INSERT INTO processed_events VALUES ('x', 'event') ON CONFLICT DO NOTHING",
    "INSERT INTO timers VALUES ('x', '/p', 1) ON CONFLICT DO NOTHING",
    *(f"INSERT INTO trace VALUES ('x', {idx}, '') ON CONFLICT DO NOTHING" for idx in range(3)),
)

PASSED = [(0,)]
# An execution with something of each kind.
WHOLE = (
    saved("x")
    + commit_cas("y", 0, "setup")
    + "SELECT harel_commit('y', 'd', '{}', 1, NULL, ARRAY['x'], ARRAY['from y']);"
    + published("x", "waiting")
    + "INSERT INTO timers VALUES ('x', '/p', 40), ('x', '/q', 41);"
    + "INSERT INTO processed_events VALUES ('x', 'old');"
    + "INSERT INTO spawns (parent_id, child_id, root_path, context) VALUES ('x', 'c', '/r', '{}');"
    + "INSERT INTO trace VALUES ('x', 0, 'first'), ('x', 1, 'second');"
    + "INSERT INTO dead_letters (group_id, seq, event, reason, attempts, published_at)"
    + " VALUES ('x', 1, 'dead', 'for no reason', 3, now());"
)
EMITTED = saved("x") + saved("y") + "SELECT harel_commit('y', 'd', '{}', 1, NULL, ARRAY['x'], ARRAY['from y']);"
REDRIVE = "SELECT harel_redrive('x', p_now => 30);"
APPEND = "SELECT harel_append_trace('x', 'appended', 2);"
# What is left of an execution that is gone.
REST = WHOLE + "DELETE FROM executions WHERE id = 'x';"

COMMITS = {
    "commit and commit": Plan(saved("x"), commit("x", 1, "1"), commit("x", 1, "2"), STEP),
    "commit and commit_cas": Plan(saved("x"), commit("x", 1, "1"), commit_cas("x", 1, "2"), STEP),
    "two first saves": Plan("", commit("x", 0, "1"), commit("x", 0, "2"), (NO_EXECUTION, *STEP)),
    "a first save and a commit": Plan("", commit_cas("x", 0, "1"), commit("x", 1, "2"), (NO_EXECUTION, *STEP)),
    "commits of two executions": Plan(saved("x", "y"), commit("x", 1, "1"), commit("y", 1, "2"), STEP),
    "batch and batch": Plan(
        saved("x", "y", "z"), batch({"x": 1, "y": 1, "z": 1}, "1"), batch({"z": 1, "y": 1, "x": 1}, "2"), STEP
    ),
    "batches of first saves": Plan(
        saved("y"), batch({"x": 0, "y": 1, "z": 0}, "1"), batch({"z": 0, "x": 0}, "2"), (NO_EXECUTION, *STEP)
    ),
    "batch and commit": Plan(saved("x", "y"), batch({"y": 1, "x": 1}, "1"), commit("x", 1, "2"), STEP),
}

RESCHEDULE = "ARRAY['schedule'], ARRAY['/p'], ARRAY[{}]"
ARMED = saved("x") + "INSERT INTO timers VALUES ('x', '/p', 40), ('x', '/q', 200);"
LEASED = published("x", "1") + leased("x")
LEASED_OF_TWO = published("x", "1", "2") + leased("x")
PARENT = saved("x") + saved("c", parent="x")

PLANS = {
    **COMMITS,
    "commit and purge": Plan(WHOLE, commit("x", 1, "1"), PURGE, STEP),
    "a first save and the purge of one": Plan(WHOLE, commit("x", 0, "1"), PURGE, STEP),
    "a first save and the purge of a rest": Plan(REST, commit("x", 0, "1"), PURGE, (NO_EXECUTION, *STEP)),
    "a first save and the purge of nothing": Plan("", commit("x", 0, "1"), PURGE, (NO_EXECUTION, *STEP)),
    "purge and purge": Plan(WHOLE, PURGE, PURGE),
    "publish and ack of the last": Plan(LEASED, publish("x", "2"), ACK),
    "publish and ack of one of two": Plan(LEASED_OF_TWO, publish("x", "3"), ACK),
    "publish to nobody and publish": Plan("", publish("x", "1"), publish("x", "2"), (NO_GROUP,)),
    "publish and purge": Plan(WHOLE, publish("x", "2"), PURGE),
    "publish and purge without messages": Plan(saved("x"), publish("x", "2"), PURGE, (NO_GROUP,)),
    "publish and cancel": Plan(PARENT + published("x", "1"), publish("c", "2"), "SELECT harel_cancel('x');"),
    "publish and suspend": Plan(PARENT + published("x", "1", "2"), publish("x", "3"), "SELECT harel_suspend('x');"),
    "publishes of many": Plan(
        published("x", "1") + published("y", "1"), publish_many("x", "z", "y"), publish_many("y", "z", "x"), (NO_GROUP,)
    ),
    "claim and claim": Plan(published("x", "1", "2"), claim(20), claim(20), passes={1: [], 2: []}),
    "claim and publish": Plan(published("x", "1"), claim(20), publish("x", "2"), passes={1: []}),
    "claim after the deadline and ack": Plan(LEASED, claim(100), ACK, passes={1: []}),
    "claim after the deadline and ack of one of two": Plan(LEASED_OF_TWO, claim(100), ACK, passes={1: []}),
    "claim after the deadline and nack": Plan(LEASED, claim(100), NACK, passes={1: []}),
    "claim after the deadline and extend": Plan(LEASED, claim(70), EXTEND, passes={1: [], 2: [("x", 60.0)]}),
    "claim after the deadline and finish": Plan(saved("x") + LEASED, claim(100), finish("x"), STEP, passes={1: []}),
    "claim of the exhausted and ack": Plan(
        LEASED_OF_TWO + "UPDATE transport_groups SET attempts = 20;", claim(100), ACK, passes={1: []}
    ),
    "next after the deadline and ack": Plan(saved("x") + LEASED_OF_TWO, claim(100, "next"), ACK, passes={1: []}),
    "next and a first save": Plan(published("x", "1"), claim(20, "next"), commit("x", 0, "2"), (NO_EXECUTION, *STEP)),
    "next and purge": Plan(WHOLE, claim(20, "next"), PURGE, passes={1: []}),
    "next and suspend": Plan(WHOLE, claim(20, "next"), "SELECT harel_suspend('x');", passes={1: []}),
    "ack and ack": Plan(LEASED_OF_TWO, ACK, ACK),
    "ack and nack": Plan(LEASED_OF_TWO, ACK, NACK),
    "fire and re-schedule for later": Plan(
        ARMED, FIRE, commit("x", 1, "2", RESCHEDULE.format(150)), STEP, passes={1: PASSED}
    ),
    "fire and re-schedule for now": Plan(
        ARMED, FIRE, commit("x", 1, "2", RESCHEDULE.format(30)), STEP, passes={1: PASSED}
    ),
    "fire and cancel of the timer": Plan(
        ARMED, FIRE, commit("x", 1, "2", "ARRAY['cancel'], ARRAY['/p'], ARRAY[0]"), STEP, passes={1: PASSED}
    ),
    "fire and re-schedule in a batch": Plan(ARMED, FIRE, batch({"x": 1}, "2"), STEP, passes={1: PASSED}),
    "fire and delete_timer": Plan(ARMED, FIRE, "SELECT harel_delete_timer('x', '/p', 40);", passes={1: PASSED}),
    "fire and fire": Plan(ARMED, FIRE, FIRE, (NO_GROUP,), passes={1: PASSED, 2: PASSED}),
    "fire and publish": Plan(ARMED, FIRE, publish("x", "1"), (NO_GROUP,), passes={1: PASSED}),
    "fire and ack": Plan(ARMED + LEASED, FIRE, ACK, passes={1: PASSED}),
    "fire and finish": Plan(ARMED + LEASED, FIRE, finish("x"), STEP, passes={1: PASSED}),
    "fire and purge": Plan(ARMED, FIRE, PURGE, (NO_GROUP,), passes={1: PASSED}),
    "fire and cancel": Plan(ARMED, FIRE, "SELECT harel_cancel('x');", (NO_GROUP,), passes={1: PASSED}),
    "fire and suspend": Plan(ARMED + LEASED, FIRE, "SELECT harel_suspend('x');", passes={1: PASSED}),
    "finish and suspend": Plan(saved("x") + LEASED, finish("x"), "SELECT harel_suspend('x');", STEP),
    "finish that spawns and suspend": Plan(
        saved("x") + LEASED, finish("x", spawn="c"), "SELECT harel_suspend('x');", STEP
    ),
    "finish and cancel": Plan(saved("x") + LEASED_OF_TWO, finish("x"), "SELECT harel_cancel('x');", STEP),
    "finish and purge": Plan(WHOLE + leased("x"), finish("x", emits={"x": "on"}), PURGE, STEP),
    "finish and commit": Plan(saved("x") + LEASED, finish("x"), commit("x", 1, "2"), STEP),
    "finishes that emit to each other": Plan(
        saved("x", "y") + published("x", "1", "2") + published("y", "1", "2") + leased("x", "y"),
        finish("x", emits={"y": "from x"}),
        finish("y", emits={"x": "from y"}),
        STEP,
    ),
    "finishes of many": Plan(
        saved("x", "y") + published("x", "1", "2") + published("y", "1", "2") + leased("x", "y"),
        finish("x", "y", emits={"z": "from x"}),
        finish("y", "x", emits={"z": "from y"}),
        STEP,
    ),
    "finish and publish to the same": Plan(
        saved("x", "y") + LEASED + published("y", "1"), finish("x", emits={"y": "on"}), publish_many("y", "x"), STEP
    ),
    "relay and publish": Plan(WHOLE, RELAY, publish("x", "1"), passes={1: PASSED}),
    "relay and relay": Plan(EMITTED, RELAY, RELAY, (NO_GROUP,), passes={1: PASSED, 2: PASSED}),
    "relay and ack": Plan(EMITTED + LEASED, RELAY, ACK, passes={1: PASSED}),
    "relay and purge": Plan(EMITTED, RELAY, PURGE, (NO_GROUP,), passes={1: PASSED}),
    "relay and purge with messages": Plan(WHOLE, RELAY, PURGE, passes={1: PASSED}),
    "relay and settle_outbox": Plan(
        EMITTED, RELAY, "SELECT harel_settle_outbox(ARRAY(SELECT seq FROM outbox));", (NO_GROUP,), passes={1: PASSED}
    ),
    "relay of spawns and suspend": Plan(WHOLE, RELAY_SPAWNS, "SELECT harel_suspend('x');", passes={1: PASSED}),
    "relay of spawns and cancel": Plan(WHOLE, RELAY_SPAWNS, "SELECT harel_cancel('x');", passes={1: PASSED}),
    "relay of spawns and purge": Plan(WHOLE, RELAY_SPAWNS, PURGE, passes={1: PASSED}),
    "relay of spawns and commit": Plan(WHOLE, RELAY_SPAWNS, commit("x", 1, "2"), STEP, passes={1: PASSED}),
    "redrive and publish": Plan(WHOLE, REDRIVE, publish("x", "1")),
    "redrive and purge": Plan(WHOLE, REDRIVE, PURGE, passes={1: PASSED}),
    "redrive of all and purge": Plan(WHOLE, "SELECT harel_redrive(p_now => 30);", PURGE, passes={1: PASSED}),
    "redrive and claim": Plan(WHOLE, REDRIVE, claim(20), passes={2: []}),
    "suspend and resume": Plan(PARENT + LEASED, "SELECT harel_suspend('x');", "SELECT harel_resume('c');"),
    "suspend and cancel": Plan(PARENT + LEASED, "SELECT harel_suspend('c');", "SELECT harel_cancel('x');"),
    "append_trace and commit": Plan(saved("x"), APPEND, commit("x", 1, "2"), STEP),
    "append_trace and a first save": Plan("", APPEND, commit("x", 0, "2"), (NO_EXECUTION, *STEP)),
    "append_trace and purge": Plan(WHOLE, APPEND, PURGE),
}

# Neither of their calls waits for anything.
UNGATED = ("claim and claim", "claim after the deadline and extend")
GATED_PLANS = {name: plan for name, plan in PLANS.items() if name not in UNGATED}
ENDS = ("COMMIT", "ROLLBACK")
# Of the orders in which both have begun when the gate opens, those that differ most.
GATED = ("12G12", "12G21", "21G12", "21G21", "122G1", "211G2")
LEVELS = ("READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE")


@pytest.fixture
def stage(store_dsn: str) -> Iterator[Stage]:
    with Stage(store_dsn) as stage:
        yield stage


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_two_calls_at_once_do_what_they_would_one_after_the_other(stage: Stage, plan: Plan) -> None:
    for ends in product(ENDS, ENDS):
        expected = stage.serial(plan, ends, LEVELS[0])
        for order in orders("11", "22"):
            outcome = stage.play(plan, order, ends, LEVELS[0])
            assert outcome in expected, (order, ends)


@pytest.mark.parametrize("plan", GATED_PLANS.values(), ids=GATED_PLANS)
def test_two_calls_stopped_at_a_lock_do_what_they_would_one_after_the_other(stage: Stage, plan: Plan) -> None:
    play_at_gates(stage, plan, GATED, ("COMMIT", "COMMIT"))


@pytest.mark.soak
@pytest.mark.parametrize("ends", list(product(ENDS, ENDS))[:3], ids="-".join)
@pytest.mark.parametrize("plan", GATED_PLANS.values(), ids=GATED_PLANS)
def test_two_calls_stopped_at_a_lock_in_every_order_do_what_they_would_one_after_the_other(
    stage: Stage, plan: Plan, ends: tuple[str, str]
) -> None:
    play_at_gates(stage, plan, orders("11", "22", "G"), ends)


def play_at_gates(stage: Stage, plan: Plan, gated: Iterable[str], ends: tuple[str, str]) -> None:
    gates = stage.gates(plan)
    assert gates, "neither call waits for anything"
    expected = stage.serial(plan, ends, LEVELS[0])
    for order, gate in product(gated, gates):
        outcome = stage.play(plan, order, ends, LEVELS[0], gate)
        assert outcome in expected, (order, gate)


@pytest.mark.parametrize("level", LEVELS[1:])
@pytest.mark.parametrize("plan", COMMITS.values(), ids=COMMITS)
def test_two_commits_at_a_stricter_level_do_what_they_would_one_after_the_other(
    stage: Stage, plan: Plan, level: str
) -> None:
    for ends in product(ENDS, ENDS):
        expected = stage.serial(plan, ends, level) + undone(stage, plan, ends, level)
        for order in orders("11", "22"):
            outcome = stage.play(plan, order, ends, level)
            assert outcome in expected, (order, ends)


def undone(stage: Stage, plan: Plan, ends: tuple[str, str], level: str) -> list[Outcome]:
    """The outcomes of the serial orders in which the server undoes the transaction of one of the two."""
    return [
        outcome._replace(**{place: UNDONE})
        for place, instead in (("first", ("ROLLBACK", ends[1])), ("second", (ends[0], "ROLLBACK")))
        for outcome in stage.serial(plan, instead, level)
    ]
