"""Charts of python-statemachine as machines. Between two steps an execution is what its JSON text holds."""

import asyncio
import inspect
import random
from collections.abc import Callable
from typing import Any

import pytest
from pydantic_core import PydanticSerializationError
from statemachine import Event as ChartEvent
from statemachine import HistoryState, State, StateChart, StateMachine
from statemachine.contrib.timeout import timeout
from statemachine.exceptions import InvalidDefinition, TransitionNotAllowed

from harel import Event, Execution
from harel.engine.execution import Status
from harel.machine import Machine, Step
from harel.statemachine import Context, Effects, machine

DAY = 86400.0


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


class Running:
    """An execution that is driven as a worker drives it; its timers are those that the store would have armed."""

    def __init__(self, step: Machine, clock: Clock | None = None, **fields: Any) -> None:
        self.step = step
        self.clock = clock or Clock()
        self.execution = Execution.model_validate({"id": "o1", "definition_id": "order", **fields})
        self.timers: dict[str, float] = {}

    def send(self, kind: str, **data: Any) -> Step | None:
        before = self.execution.model_dump_json()
        try:
            result = self.step(self.execution, Event(kind=kind, data=data))
            step = asyncio.run(_awaited(result)) if inspect.isawaitable(result) else result
        finally:
            assert self.execution.model_dump_json() == before, "a step leaves the execution that it is given as it is"
        if step is not None:
            assert isinstance(step, Step)
            self.execution = Execution.model_validate_json(step.execution.model_dump_json())
            for op in step.timers:
                if op.action == "schedule":
                    self.timers[op.path] = op.fire_at
                else:
                    del self.timers[op.path]
        return step

    def fire(self, path: str) -> Step | None:
        self.clock.now = self.timers.pop(path)
        return self.send("Timeout", path=path, fire_at=self.clock.now)

    @property
    def at(self) -> str | None:
        return self.execution.active_path


async def _awaited(result: Any) -> Any:
    return await result


def started(chart: Callable[..., Any], **options: Any) -> Running:
    clock = Clock()
    running = Running(machine(chart, clock=clock, **options), clock)
    assert running.send("Start") is not None
    return running


class Compound(StateChart[Any]):
    class paying(State.Compound):  # noqa: N801
        asking = State(initial=True)
        checking = State()
        settled = State(final=True)
        card = asking.to(checking)
        ok = checking.to(settled)

    paid = State(final=True)
    cancelled = State(final=True)
    done_state_paying = paying.to(paid)
    cancel = paying.to(cancelled)


class Parallel(StateChart[Any]):
    class order(State.Parallel):  # noqa: N801
        class payment(State.Compound):  # noqa: N801
            paying = State(initial=True)
            paid = State(final=True)
            pay = paying.to(paid)

        class shipping(State.Compound):  # noqa: N801
            packing = State(initial=True)
            shipped = State(final=True)
            ship = packing.to(shipped)

    closed = State(final=True)
    done_state_order = order.to(closed)


def test_start_enters_the_initial_state() -> None:
    running = Running(machine(Compound))
    step = running.send("Start")
    assert step is not None
    assert (running.execution.status, running.at) == (Status.RUNNING, "/paying/asking")
    assert step.trace == {"event": "Start", "from": None, "to": "/paying/asking"}
    assert running.send("Start") is None


def test_a_pending_execution_enters_its_initial_state_before_another_event() -> None:
    running = Running(machine(Compound))
    assert running.send("card") is not None
    assert running.at == "/paying/checking"


def test_nested_states_end_in_an_outcome() -> None:
    running = started(Compound)
    running.send("card")
    step = running.send("ok")
    assert step is not None
    assert step.trace == {"event": "ok", "from": "/paying/checking", "to": "/paid"}
    assert (running.execution.status, running.execution.outcome) == (Status.DONE, "paid")
    assert running.send("cancel") is None


def test_an_event_of_an_outer_state_leaves_the_inner_one() -> None:
    running = started(Compound)
    running.send("cancel")
    assert running.execution.outcome == "cancelled"


@pytest.mark.parametrize(("first", "second"), [("pay", "ship"), ("ship", "pay")])
def test_two_regions_join_in_either_order(first: str, second: str) -> None:
    between = {"pay": "/order/(payment/paid,shipping/packing)", "ship": "/order/(payment/paying,shipping/shipped)"}
    running = started(Parallel)
    assert running.at == "/order/(payment/paying,shipping/packing)"
    running.send(first)
    assert (running.at, running.execution.status) == (between[first], Status.RUNNING)
    running.send(second)
    assert (running.at, running.execution.outcome) == ("/closed", "closed")


def test_a_chart_of_regions_alone_ends_with_the_last_of_them() -> None:
    class Regions(StateChart[Any]):
        class order(State.Parallel):  # noqa: N801
            class payment(State.Compound):  # noqa: N801
                paying = State(initial=True)
                paid = State(final=True)
                pay = paying.to(paid)

            class shipping(State.Compound):  # noqa: N801
                packing = State(initial=True)
                shipped = State(final=True)
                ship = packing.to(shipped)

    running = started(Regions)
    running.send("ship")
    assert running.execution.status is Status.RUNNING
    running.send("pay")
    assert running.execution.status is Status.DONE
    assert sorted(str(running.execution.outcome).split(",")) == ["paid", "shipped"]


def test_states_that_share_a_value_are_refused() -> None:
    class Shared(StateChart[Any]):
        class order(State.Parallel):  # noqa: N801
            class payment(State.Compound):  # noqa: N801
                paying = State(initial=True)
                done = State(final=True)
                pay = paying.to(done)

            class shipping(State.Compound):  # noqa: N801
                packing = State(initial=True)
                done = State(final=True)
                ship = packing.to(done)

    with pytest.raises(InvalidDefinition, match="/order/payment/done"):
        machine(Shared)


def test_a_state_that_the_chart_no_longer_has_is_an_error() -> None:
    running = started(Compound)
    running.execution.history["active"] = ["/paying/waiting"]
    with pytest.raises(InvalidDefinition, match="o1: Compound has no state /paying/waiting"):
        running.send("card")


@pytest.mark.parametrize("deep", [False, True])
def test_history_returns_to_where_it_was(deep: bool) -> None:
    class Interrupted(StateChart[Any]):
        class working(State.Compound):  # noqa: N801
            class writing(State.Compound):  # noqa: N801
                draft = State(initial=True)
                final_draft = State()
                polish = draft.to(final_draft)

            reviewing = State(initial=True)
            again = HistoryState(type="deep" if deep else "shallow")
            rework = reviewing.to(writing)

        paused = State()
        pause = working.to(paused)
        resume = paused.to(working.again)

    running = started(Interrupted)
    for kind in ("rework", "polish", "pause"):
        running.send(kind)
    assert running.at == "/paused"
    running.send("resume")
    assert running.at == ("/working/writing/final_draft" if deep else "/working/writing/draft")


class Winding(StateChart[Any]):
    """Regions, history of both kinds, guards, eventless transitions and internal events."""

    class work(State.Parallel):  # noqa: N801
        class left(State.Compound):  # noqa: N801
            class deep(State.Compound):  # noqa: N801
                one = State(initial=True)
                two = State()
                three = State()
                a = one.to(two) | two.to(three) | three.to(one)
                three.to(one, cond="is_even", on="count")

            shallow = State(initial=True)
            past = HistoryState(type="deep")
            b = shallow.to(deep) | deep.to(shallow)
            back = shallow.to(past)

        class right(State.Compound):  # noqa: N801
            up = State(initial=True)
            down = State()
            a = up.to(down, on="count")
            c = down.to(up) | up.to(down, cond="is_even")
            told = down.to(up)

        before = HistoryState()

    rest = State()
    leave = work.to(rest, on="tell")
    d = rest.to(work.before) | work.to.itself(cond="is_even")
    e = rest.to(work)

    def is_even(self, model: Any) -> bool:
        return getattr(model, "count", 0) % 2 == 0

    def count(self, model: Any) -> None:
        model.count = getattr(model, "count", 0) + 1

    def tell(self) -> None:
        self.raise_("told")
        self.send("d")


@pytest.mark.parametrize("seed", range(10))
def test_a_chart_built_anew_for_each_event_goes_where_one_that_lives_on_goes(seed: int) -> None:
    dice = random.Random(seed)
    living = Winding(model=Context(), state_field="_configuration")
    running = started(Winding)
    for _ in range(60):
        kind = dice.choice(["a", "b", "back", "c", "leave", "d", "e", "told"])
        living.send(kind)
        running.send(kind)
        ids = [path.rsplit("/", 1)[-1] for path in running.execution.history["active"]]
        assert ids == [state.id for state in living.configuration]
        assert running.execution.context == vars(living.model)


class Basket(Context):
    """A model with a default and a guard."""

    total = 0
    limit = 100

    @property
    def affordable(self) -> bool:
        return self.total <= self.limit


class Shopping(StateChart[Any]):
    open = State(initial=True)
    bought = State(final=True)
    add = open.to.itself(on="on_added", internal=True)
    buy = open.to(bought, cond="affordable")

    def on_added(self, model: Any, price: int, tags: list[str] | None = None) -> None:
        model.total += price
        model.tags = [*getattr(model, "tags", []), *(tags or [])]


def test_the_data_of_the_model_is_the_context() -> None:
    running = started(Shopping, model=Basket)
    assert running.execution.context == {}
    running.send("add", price=30, tags=["a"])
    running.send("add", price=90, tags=["b"])
    assert running.execution.context == {"total": 120, "tags": ["a", "b"]}
    assert running.send("buy") is None
    running.send("add", price=-20)
    running.send("buy")
    assert running.execution.outcome == "bought"


def test_a_context_may_hold_any_key_and_is_not_changed_by_a_step_that_fails() -> None:
    class Appending(StateChart[Any]):
        only = State(initial=True)
        add = only.to.itself(on="on_added")

        def on_added(self, model: Any, item: Any) -> None:
            model.items.append(item)
            if item is None:
                raise ValueError("no item")

    context = {"items": [1], "self": 1, "state": "Utah", "_configuration": 2, "two words": 3}
    running = Running(machine(Appending), context=context)
    running.send("add", item=2)
    assert running.execution.context == {**context, "items": [1, 2]}
    with pytest.raises(ValueError, match="no item"):
        running.send("add", item=None)
    assert running.execution.context["items"] == [1, 2]


def test_the_data_of_an_event_may_have_the_names_that_the_package_uses() -> None:
    class Noting(StateChart[Any]):
        only = State(initial=True)
        note = only.to.itself(on="on_noted")

        def on_noted(self, model: Any, text: str, harel: Effects) -> None:
            model.note = [text, harel.event.data["machine"], harel.event.kind]

    running = started(Noting)
    step = running.send("note", text="x", machine="m", event="e", delay=5, send_id="s", internal=True, harel="h")
    assert step is not None
    assert not step.timers
    assert running.execution.context == {"note": ["x", "m", "note"]}


def test_an_event_that_enables_no_transition_changes_nothing() -> None:
    running = started(Compound)
    assert running.send("no such event") is None
    assert running.send("ok") is None


def test_an_event_that_enables_no_transition_may_be_an_error() -> None:
    class Strict(StateMachine):
        closed = State(initial=True)
        opened = State(final=True)
        open = closed.to(opened)
        knock = closed.to.itself(cond="hears")
        hears = False

    for options in ({}, {"unhandled": "raise"}):
        running = started(Strict, **options)
        for kind in ("no such event", "knock"):
            with pytest.raises(TransitionNotAllowed):
                running.send(kind)
    assert started(Strict, unhandled="ignore").send("knock") is None
    with pytest.raises(TransitionNotAllowed):
        started(Compound, unhandled="raise").send("ok")


def test_a_transition_to_itself_is_a_step_though_nothing_differs() -> None:
    class Ticking(StateChart[Any]):
        only = State(initial=True)
        tick = only.to.itself()

    step = started(Ticking).send("tick")
    assert step is not None
    assert step.trace == {"event": "tick", "from": "/only", "to": "/only"}


class Failing(StateChart[Any]):
    first = State(initial=True)
    second = State()
    third = State()
    failed = State(final=True)
    guarded = first.to(second, cond="is_broken")
    go = first.to(second, on="broken")
    skip = first.to(third, before="broken")
    finish = second.to(third)
    error_execution = second.to(failed, on="note") | third.to(failed, before="broken")

    def broken(self) -> None:
        raise ZeroDivisionError("broken")

    def is_broken(self) -> bool:
        raise ZeroDivisionError("broken")

    def note(self, model: Any, error: Exception) -> None:
        model.error = str(error)


@pytest.mark.parametrize("kind", ["guarded", "skip"])
def test_an_error_that_no_transition_handles_leaves_the_step(kind: str) -> None:
    with pytest.raises(ZeroDivisionError):
        started(Failing).send(kind)


def test_an_error_that_a_transition_handles_does_not() -> None:
    running = started(Failing)
    running.send("go")
    assert (running.execution.outcome, running.execution.context) == ("failed", {"error": "broken"})


def test_an_error_in_the_handling_of_one_leaves_the_step() -> None:
    running = started(Failing)
    running.execution.history["active"] = ["/third"]
    with pytest.raises(ZeroDivisionError):
        running.send("error.execution", error="from outside")


def test_an_error_on_the_way_without_events_does_not_go_round_for_ever() -> None:
    class Eventless(StateChart[Any]):
        first = State(initial=True)
        second = State(final=True)
        first.to(second, before="broken")

        def broken(self) -> None:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        Running(machine(Eventless)).send("Start")


class Reminding(StateChart[Any]):
    """Sends itself events for later by every way that the package has but timeout()."""

    waiting = State(initial=True)
    away = State()
    reminded = State()
    ended = State(final=True)
    leave = waiting.to(away)
    back = away.to(waiting)
    forget = away.to.itself(on="on_forget", internal=True)
    remind = ChartEvent(waiting.to(reminded, on="on_reminded") | away.to(reminded, on="on_reminded"))
    nudge = ChartEvent(waiting.to.itself(internal=True, on="on_nudged"), delay=500)
    end = waiting.to(ended) | away.to(ended) | reminded.to(ended)

    def on_enter_waiting(self) -> None:
        self.send("remind", delay=DAY * 1000, send_id="mail", by="mail")
        self.send("remind", delay=2 * DAY * 1000, by="phone")

    def on_forget(self) -> None:
        self.cancel_event("mail")

    def on_reminded(self, model: Any, by: str) -> None:
        model.by = by

    def on_nudged(self, model: Any) -> None:
        model.nudged = True


def test_a_delayed_event_is_a_timer_and_comes_back_when_it_fires() -> None:
    running = started(Reminding)
    assert running.timers == {"mail": 1000 + DAY, "remind": 1000 + 2 * DAY}
    assert running.fire("mail") is not None
    assert (running.at, running.execution.context) == ("/reminded", {"by": "mail"})
    assert list(running.execution.history["delayed"]) == ["remind"]
    assert running.fire("remind") is not None, "it enables nothing, but waits no longer"
    assert running.execution.history["delayed"] == {}


def test_a_delayed_event_outlives_the_state_that_sent_it() -> None:
    running = started(Reminding)
    running.send("leave")
    assert set(running.timers) == {"mail", "remind"}
    running.fire("remind")
    assert running.execution.context == {"by": "phone"}


def test_a_delayed_event_is_cancelled_by_its_send_id() -> None:
    running = started(Reminding)
    running.send("leave")
    fire_at = running.timers["mail"]
    running.send("forget")
    assert set(running.timers) == {"remind"}
    assert running.send("Timeout", path="mail", fire_at=fire_at) is None


def test_events_delayed_under_one_name_have_a_timer_each() -> None:
    running = started(Reminding)
    running.send("leave")
    running.clock.now += 10
    running.send("back")
    assert running.timers == {
        "mail": 1000 + DAY,
        "remind": 1000 + 2 * DAY,
        "mail#2": 1010 + DAY,
        "remind#2": 1010 + 2 * DAY,
    }
    running.send("leave")
    running.send("forget")
    assert set(running.timers) == {"remind", "remind#2"}


def test_delayed_events_end_with_the_chart() -> None:
    running = started(Reminding)
    running.send("end")
    assert (running.execution.status, running.timers) == (Status.DONE, {})


def test_the_delay_that_an_event_declares_holds_when_it_comes_from_outside() -> None:
    running = started(Reminding)
    running.send("nudge")
    assert running.timers["nudge"] == 1000.5
    assert running.execution.context == {}
    running.fire("nudge")
    assert running.execution.context == {"nudged": True}
    assert "nudge" not in running.timers


def test_a_timeout_is_known_by_a_time_of_few_digits() -> None:
    clock = Clock()
    clock.now = 1760000000.123456789
    running = Running(machine(Reminding, clock=clock), clock)
    running.send("Start")
    assert running.send("Timeout", path="mail", fire_at=float(f"{running.timers['mail']:.15g}")) is not None


def test_a_timeout_sent_anew_since_it_fired_is_not_due() -> None:
    class Resetting(StateChart[Any]):
        armed = State(initial=True)
        expired = State(final=True)
        reset = armed.to(armed)
        expire = armed.to(expired)

        def on_enter_armed(self) -> None:
            self.cancel_event("deadline")
            self.send("expire", delay=1000, send_id="deadline")

    running = started(Resetting)
    fired = running.timers["deadline"]
    running.clock.now = 1000.9
    running.send("reset")
    assert running.timers == {"deadline": 1001.9}
    assert running.send("Timeout", path="deadline", fire_at=fired) is None
    running.fire("deadline")
    assert running.execution.outcome == "expired"


def test_the_arguments_of_a_delayed_event_come_back_as_json_has_them() -> None:
    class Passing(StateChart[Any]):
        only = State(initial=True)
        later = only.to.itself(on="on_later")
        now = only.to.itself(on="on_now")

        def on_later(self, what: Any, **kwargs: Any) -> None:
            self.send(
                "now", what, delay=1, **{"harel": kwargs["harel"], "state": kwargs["state"], "more": kwargs["more"]}
            )

        def on_now(self, what: Any, model: Any, more: Any, harel: Effects) -> None:
            model.got = [what, more, harel.event.kind]

    running = started(Passing)
    running.send("later", what={"a": [1]}, more=(2, None))
    running.fire("now")
    assert running.execution.context == {"got": [{"a": [1]}, [2, None], "Timeout"]}
    with pytest.raises(PydanticSerializationError):
        running.step(running.execution, Event(kind="later", data={"what": object(), "more": 1}))


class Deadline(StateChart[Any]):
    class paying(State.Compound, invoke=timeout(3600, on="expire")):  # type: ignore[call-arg]  # noqa: N801
        asking = State(initial=True, invoke=timeout(60, on="remind"))
        checking = State(invoke=timeout(5))
        slow = State()
        card = asking.to(checking)
        remind = asking.to.itself()
        done_invoke_checking = checking.to(slow)

    expired = State(final=True)
    expire = paying.to(expired)


def test_a_timeout_of_a_state_is_cancelled_when_it_is_left() -> None:
    class Waiting(StateChart[Any]):
        asking = State(initial=True, invoke=[timeout(60, on="expire"), timeout(30, on="remind")])
        checking = State(invoke=timeout(5))
        slow = State(final=True)
        expired = State(final=True)
        card = asking.to(checking)
        remind = asking.to.itself(internal=True)
        expire = asking.to(expired)
        done_invoke_checking = checking.to(slow)

    running = started(Waiting)
    assert running.timers == {"expire": 1060, "remind": 1030}
    running.send("card")
    assert running.timers == {"done.invoke.checking": 1005}
    running.fire("done.invoke.checking")
    assert (running.execution.outcome, running.timers) == ("slow", {})


def test_a_timeout_that_fires_leaves_those_of_the_outer_state() -> None:
    running = started(Deadline)
    assert running.timers == {"expire": 4600, "remind": 1060}
    running.fire("remind")
    assert running.timers == {"expire": 4600, "remind": 1120}
    running.send("card")
    assert running.timers == {"expire": 4600, "done.invoke.checking": 1065}
    running.fire("expire")
    assert (running.execution.outcome, running.timers) == ("expired", {})


def test_what_would_need_a_thread_is_refused() -> None:
    class Fetching(StateChart[Any]):
        fetching = State(initial=True, invoke=lambda: 1)
        done = State(final=True)
        done_invoke_fetching = fetching.to(done)

    with pytest.raises(InvalidDefinition, match="fetching"):
        Running(machine(Fetching)).send("Start")


class Charging(StateChart[Any]):
    charging = State(initial=True)
    charged = State(final=True)
    accept = charging.to(charged, on="on_accept")

    def on_accept(self, model: Any, receipt: str, harel: Effects) -> None:
        model.receipt = receipt
        harel.emit(None, "Charged", {"order": harel.execution.parent_id})


class Forking(StateChart[Any]):
    forked = State(initial=True)
    joined = State(final=True)
    Finished = forked.to(joined, cond="are_all_finished")
    allow_event_without_transition = False

    def on_enter_forked(self, harel: Effects) -> None:
        for name in ("a", "b"):
            harel.spawn(f"{harel.execution.id}/{name}", "charge", {"name": name})
            harel.emit("ledger", "Forked", {"name": name})

    def are_all_finished(self, harel: Effects) -> bool:
        return harel.joined


def test_a_fork_joins_when_its_children_have_finished() -> None:
    step = machine(Forking, children={"charge": Charging})
    parent = Running(step)
    forked = parent.send("Start")
    assert forked is not None
    assert [(target, event.kind, event.data) for target, event in forked.emits] == [
        ("ledger", "Forked", {"name": "a"}),
        ("ledger", "Forked", {"name": "b"}),
    ]
    assert list(forked.spawns) == [("o1/a", "charge", {"name": "a"}), ("o1/b", "charge", {"name": "b"})]
    for (child_id, root_path, context), expected in zip(forked.spawns, [Status.RUNNING, Status.DONE], strict=True):
        child = Running(step, id=child_id, child_id=child_id, parent_id="o1", root_path=root_path, context=context)
        child.send("Start")
        accepted = child.send("accept", receipt="r1")
        assert accepted is not None
        (broadcast, told) = accepted.emits
        assert (broadcast[0], broadcast[1].data, told[0]) == (None, {"order": "o1"}, "o1")
        assert parent.send(told[1].kind, **told[1].data) is not None
        assert parent.execution.status is expected
    assert parent.execution.outcome == "joined"
    assert parent.execution.children["o1/b"].model_dump() == {
        "root_path": "charge",
        "finished": True,
        "outcome": "charged",
        "result": {"name": "b", "receipt": "r1"},
    }


def test_a_child_without_a_chart_is_an_error() -> None:
    child = Running(machine(Forking), id="o1/a", parent_id="o1", root_path="charge")
    with pytest.raises(LookupError, match=r"o1/a.*'charge'"):
        child.send("Start")


class Asynchronous(StateChart[Any]):
    class order(State.Parallel):  # noqa: N801
        class payment(State.Compound):  # noqa: N801
            paying = State(initial=True, invoke=timeout(60, on="expire"))
            paid = State(final=True)
            pay = paying.to(paid, cond="enough", on="on_pay")

        class shipping(State.Compound):  # noqa: N801
            packing = State(initial=True)
            shipped = State(final=True)
            ship = packing.to(shipped)

    closed = State(final=True)
    expired = State(final=True)
    done_state_order = order.to(closed)
    expire = order.to(expired)

    async def enough(self, amount: int = 0) -> bool:
        await asyncio.sleep(0)
        return amount >= 10

    async def on_pay(self, model: Any, amount: int, harel: Effects) -> None:
        await asyncio.sleep(0)
        if amount > 1000:
            raise ZeroDivisionError
        model.amount = amount
        harel.emit("bank", "Paid", {"amount": amount})
        await self.send("late", delay=1000)


def test_an_async_chart_runs_in_an_awaitable_step() -> None:
    clock = Clock()
    running = Running(machine(Asynchronous, clock=clock), clock)
    result = running.step(running.execution, Event(kind="Start"))
    assert inspect.isawaitable(result)
    asyncio.run(_awaited(result))
    running.send("ship")
    assert running.at == "/order/(payment/paying,shipping/shipped)"
    assert running.timers == {"expire": 1060}
    assert running.send("pay", amount=9) is None
    with pytest.raises(ZeroDivisionError):
        running.send("pay", amount=1001)
    paid = running.send("pay", amount=10)
    assert paid is not None
    assert [(target, event.data) for target, event in paid.emits] == [("bank", {"amount": 10})]
    assert (running.execution.outcome, running.execution.context) == ("closed", {"amount": 10})
    assert running.timers == {}


def test_a_timeout_of_an_async_chart_fires() -> None:
    running = started(Asynchronous)
    running.fire("expire")
    assert running.execution.outcome == "expired"


def test_a_chart_may_be_made_by_a_function() -> None:
    class Priced(StateChart[Any]):
        only = State(initial=True)
        ask = only.to.itself(on="on_ask")

        def __init__(self, price: int, **options: Any) -> None:
            self.price = price
            super().__init__(**options)

        def on_ask(self, model: Any) -> None:
            model.price = self.price

    running = started(lambda **options: Priced(7, **options))
    running.send("ask")
    assert running.execution.context == {"price": 7}
