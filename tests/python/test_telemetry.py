"""OpenTelemetry: the spans of calls and steps, and the context that events carry from one step to the next."""

import inspect
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg
import pytest
from opentelemetry import baggage, context, propagate, trace
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode
from pages import Page
from psycopg.conninfo import make_conninfo
from pydantic import ConfigDict
from test_worker import Running, System, line
from wire import DEADLINE, until

from harel import (
    AsyncPostgresStore,
    AsyncPostgresTransport,
    Event,
    Execution,
    InvalidArgument,
    PostgresStore,
    PostgresTransport,
    Status,
    Step,
    StoreConflict,
    TimerOp,
)
from harel.engine import _spans
from harel.telemetry import context_of, instrument, uninstrument

SECRET = "s3kr1t"
SENT_FROM = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


class Telemetry:
    """A program with the SDK, and what it has exported."""

    def __init__(self) -> None:
        self._exporter = InMemorySpanExporter()
        self.provider = TracerProvider(shutdown_on_exit=False)
        self.provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.tracer = self.provider.get_tracer("a program")

    @property
    def spans(self) -> list[ReadableSpan]:
        return list(self._exporter.get_finished_spans())

    def named(self, name: str) -> list[ReadableSpan]:
        return [span for span in self.spans if span.name == name]

    def one(self, name: str) -> ReadableSpan:
        (span,) = self.named(name)
        return span

    def results(self) -> list[Any]:
        return [attributes(span)["harel.result"] for span in self.named("process d")]

    def clear(self) -> None:
        self._exporter.clear()


@pytest.fixture
def telemetry() -> Iterator[Telemetry]:
    telemetry = Telemetry()
    instrument(tracer_provider=telemetry.provider)
    yield telemetry
    uninstrument()


@pytest.fixture
def system(store_dsn: str) -> Iterator[System]:
    with ExitStack() as closing:
        yield System(store_dsn, closing)


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def ids(span: ReadableSpan) -> tuple[int, int]:
    """Of the trace and of the span."""
    assert span.context is not None
    return span.context.trace_id, span.context.span_id


def parent(span: ReadableSpan) -> tuple[int, int] | None:
    return None if span.parent is None else (span.parent.trace_id, span.parent.span_id)


def links(span: ReadableSpan) -> list[tuple[int, int]]:
    return [(link.context.trace_id, link.context.span_id) for link in span.links]


def texts(dsn: str, query: str = "SELECT event FROM transport_messages ORDER BY seq") -> list[Any]:
    with psycopg.connect(dsn) as session:
        return [json.loads(text) for (text,) in session.execute(query)]


def move(exe: Execution, event: Event) -> Step:
    """Goes to the path that the event names, and passes the word on to the one that it names."""
    exe.active_path = f"/{event.kind}"
    after = event.data.get("after", [])
    emits = [(after[0], Event(kind="passed", data={"after": after[1:]}))] if after else []
    return Step(exe, emits=emits)


async def move_async(exe: Execution, event: Event) -> Step:
    return move(exe, event)


MACHINES: dict[str, Callable[[Execution, Event], Any]] = {"sync": move, "async": move_async}


@pytest.mark.parametrize("client", [PostgresStore, PostgresTransport, AsyncPostgresStore, AsyncPostgresTransport])
def test_every_call_of_a_client_has_a_span_of_its_own_or_that_of_another(client: type) -> None:
    without = {
        name
        for name, method in inspect.getmembers(client, inspect.isfunction)
        if not name.startswith("_") and not hasattr(method, "__wrapped__")
    }
    assert without == {"close", "save" if hasattr(client, "save") else "claim"}


def test_a_call_is_the_span_of_a_database_client(telemetry: Telemetry, store: Any, transport: Any) -> None:
    exe = Execution(id="x", definition_id="order")
    with telemetry.tracer.start_as_current_span("the caller") as caller:
        store.save(exe)
        store.commit(exe, [("y", Event(kind="Ship"))], processed_event_id="e")
        store.load_for_event("x", event_id="e")
        store.list_executions()
        transport.ack(transport.claim("w", 30) or _lease())
    names = ["harel.commit", "harel.commit", "harel.load_for_event", "harel.list_executions"]
    assert [span.name for span in telemetry.spans] == [*names, "harel.claim_many", "harel.ack", "the caller"]
    commit, again, load, listing, claim, ack, root = telemetry.spans
    assert attributes(commit) == {
        "db.system.name": "postgresql",
        "db.operation.name": "harel.commit",
        "harel.execution_id": "x",
        "harel.definition_id": "order",
        "harel.version": 0,
        "harel.count": 0,
    }
    assert attributes(again).items() >= {"harel.version": 1, "harel.count": 1}.items()
    assert attributes(load)["harel.execution_id"] == "x"
    assert attributes(ack)["harel.execution_id"] == "nobody"
    assert attributes(claim)["harel.count"] == 0
    assert "harel.execution_id" not in attributes(listing)
    assert {span.kind for span in telemetry.spans[:-1]} == {SpanKind.CLIENT}
    assert {parent(span) for span in telemetry.spans[:-1]} == {ids(root)}
    assert {span.status.status_code for span in telemetry.spans} == {StatusCode.UNSET}
    assert caller.get_span_context().trace_id == ids(commit)[0]


def _lease() -> Any:
    from harel import Lease

    return Lease("nobody", 1, Event(kind="Go"), "00000000-0000-0000-0000-000000000000", 0.0, 1)


def test_a_lost_race_is_no_error(telemetry: Telemetry, store: Any) -> None:
    store.save(Execution(id="x", definition_id="d"))
    telemetry.clear()
    with pytest.raises(StoreConflict):
        store.save(Execution(id="x", definition_id="d"))
    span = telemetry.one("harel.commit")
    assert span.status.status_code is StatusCode.UNSET
    assert attributes(span)["harel.result"] == "conflict"
    assert not span.events


def test_an_error_is_recorded_and_comes_through(telemetry: Telemetry, store: Any) -> None:
    with pytest.raises(InvalidArgument) as raised:
        store.list_executions(limit=-1)
    span = telemetry.one("harel.list_executions")
    message = f"{raised.value.code}: {raised.value.message}"
    assert (span.status.status_code, span.status.description) == (StatusCode.ERROR, message)
    assert attributes(span)["db.response.status_code"] == raised.value.code
    assert attributes(span)["error.type"] == "harel.engine.store._base.InvalidArgument"
    assert [recorded.name for recorded in span.events] == ["exception"]
    with pytest.raises(TypeError):
        store.load(7)
    span = telemetry.one("harel.load")
    assert (span.status.status_code, attributes(span)["error.type"]) == (StatusCode.ERROR, "TypeError")


def test_an_error_of_the_server_has_its_code(telemetry: Telemetry, store: Any, store_dsn: str) -> None:
    with psycopg.connect(store_dsn, autocommit=True) as session:
        session.execute("ALTER TABLE executions RENAME TO moved")
    with pytest.raises(psycopg.errors.UndefinedTable):
        store.load("x")
    assert attributes(telemetry.one("harel.load"))["db.response.status_code"] == "42P01"


SENDERS: dict[str, Callable[[Any, Any, Event], Any]] = {
    "publish": lambda store, transport, event: transport.publish("x", event),
    "publish_many": lambda store, transport, event: transport.publish_many([("x", event)]),
    "send": lambda store, transport, event: transport.send("x", event),
    "commit": lambda store, transport, event: store.commit(store.load("x"), [("x", event)]),
}


@pytest.mark.parametrize("sender", SENDERS)
def test_what_is_sent_carries_the_context_and_the_object_stays(
    sender: str, telemetry: Telemetry, store: Any, transport: Any, store_dsn: str
) -> None:
    store.save(Execution(id="x", definition_id="d"))
    event = Event(id="e", kind="Go", data={"n": 1})
    before = event.model_dump_json()
    telemetry.clear()
    SENDERS[sender](store, transport, event)
    assert event.model_dump_json() == before
    (span,) = [span for span in telemetry.spans if span.name == f"harel.{sender}"]
    assert span.kind is (SpanKind.CLIENT if sender == "commit" else SpanKind.PRODUCER)
    table = "outbox" if sender == "commit" else "transport_messages"
    (text,) = texts(store_dsn, f"SELECT event FROM {table}")
    trace_id, span_id = ids(span)
    (header,) = text.pop("trace_context").items()
    assert header[0] == "traceparent"
    assert header[1].startswith(f"00-{trace_id:032x}-{span_id:016x}-")
    assert text == json.loads(before)
    if sender in ("publish", "send"):
        assert (
            attributes(span).items()
            >= {
                "messaging.system": "harel",
                "messaging.operation.type": "send",
                "messaging.operation.name": sender,
                "messaging.destination.name": "x",
                "messaging.message.id": "e",
                "harel.event_kind": "Go",
            }.items()
        )


@pytest.mark.parametrize("carrier", [{"traceparent": SENT_FROM}, {}])
def test_the_context_that_an_event_has_stays(
    carrier: dict[str, str], telemetry: Telemetry, transport: Any, store_dsn: str
) -> None:
    transport.publish("x", Event(kind="Go", trace_context=carrier))  # type: ignore[call-arg]
    assert [text["trace_context"] for text in texts(store_dsn)] == [carrier]


@pytest.mark.parametrize("copied", [False, True])
def test_an_event_that_is_passed_on_comes_from_the_step_that_did(
    copied: bool, telemetry: Telemetry, system: System
) -> None:
    def machine(exe: Execution, event: Event) -> Step:
        passed = event.model_copy(update={"id": "another"}) if copied else event
        return Step(exe, emits=[("y", passed)] if exe.id == "x" else [])

    system.make("x", "y")
    system.publish("x", "Go")
    with Running(system.dsn, machine) as running:
        system.drain(running)
    first, second = telemetry.named("process d")
    assert parent(second) == ids(first)


def test_what_is_no_event_is_refused_as_ever(telemetry: Telemetry, store: Any, transport: Any) -> None:
    for call in (
        lambda: transport.publish_many([("x", {"kind": "Go"})]),
        lambda: store.commit(Execution(definition_id="d"), [("x", {"kind": "Go"})]),
    ):
        with pytest.raises(TypeError, match="must be a pydantic model, not dict"):
            call()


class StrictEvent(Event):
    model_config = ConfigDict(extra="forbid")


class TellingEvent(StrictEvent):
    trace_context: dict[str, str] | None = None


def test_events_of_a_strict_type_are_sent_and_read(telemetry: Telemetry, twin: Any, store_dsn: str) -> None:
    strict = twin.transport(store_dsn, event_type=StrictEvent)
    strict.publish("x", StrictEvent(id="1", kind="Go"))
    strict.publish("y", Event(id="2", kind="Go"))
    strict.publish("z", TellingEvent(id="3", kind="Go"))
    assert ["trace_context" in text for text in texts(store_dsn)] == [False, True, True]
    assert sorted(lease.event.id for lease in strict.claim_many("w", 30, 3)) == ["1", "2", "3"]
    strict.publish("w", TellingEvent(id="4", kind="Go"))
    (lease,) = twin.transport(store_dsn, event_type=TellingEvent).claim_many("w", 30, 3)
    assert lease.event.trace_context["traceparent"].startswith("00-")


@pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)
def test_a_trace_goes_from_the_sender_through_all_steps(machine: Any, telemetry: Telemetry, system: System) -> None:
    for id, definition in (("o-1", "order"), ("w-1", "warehouse"), ("a-1", "audit")):
        system.make(id, definition_id=definition)
    telemetry.clear()
    with telemetry.tracer.start_as_current_span("POST /orders", kind=SpanKind.SERVER):
        system.transport.send("o-1", Event(id="e", kind="placed", data={"after": ["w-1", "a-1"]}))
    with Running(system.dsn, dict.fromkeys(("order", "warehouse", "audit"), machine)) as running:
        system.drain(running)
    root, sent = telemetry.one("POST /orders"), telemetry.one("harel.send")
    steps = [telemetry.one(f"process {name}") for name in ("order", "warehouse", "audit")]
    chain = [root, sent, *steps]
    assert len({ids(span)[0] for span in chain}) == 1
    assert [parent(span) for span in chain] == [None, *(ids(span) for span in chain[:-1])]
    # The conventions ask for the link whether or not there is a parent.
    assert [links(step) for step in steps] == [[ids(span)] for span in chain[1:-1]]
    assert {step.kind for step in steps} == {SpanKind.CONSUMER}
    assert attributes(steps[0]) == {
        "messaging.system": "harel",
        "messaging.operation.type": "process",
        "messaging.operation.name": "process",
        "messaging.destination.name": "o-1",
        "messaging.destination.template": "order",
        "messaging.message.id": "e",
        "harel.execution_id": "o-1",
        "harel.definition_id": "order",
        "harel.event_kind": "placed",
        "harel.attempt": 1,
        "harel.result": "finished",
        "harel.to": "/placed",
        "harel.version": 2,
        "harel.emits": 1,
        "harel.spawns": 0,
        "harel.timers": 0,
    }
    finished = [link for span in telemetry.named("harel.finish") for link in links(span)]
    assert sorted(finished) == sorted(ids(step) for step in steps)
    names = {"POST /orders", "harel.send", "harel.finish", *(step.name for step in steps)}
    assert {span.name for span in telemetry.spans} == names, "looking for work has no spans"


@pytest.mark.parametrize("kind", MACHINES)
def test_what_a_machine_does_is_within_the_span_of_its_step(kind: str, telemetry: Telemetry, system: System) -> None:
    seen = []

    def machine(exe: Execution, event: Event) -> Step:
        seen.append(baggage.get_baggage("tenant"))
        with telemetry.tracer.start_as_current_span("charge the card"):
            return Step(exe)

    async def machine_async(exe: Execution, event: Event) -> Step:
        return machine(exe, event)

    system.make("x")
    token = context.attach(baggage.set_baggage("tenant", "acme"))
    with telemetry.tracer.start_as_current_span("the sender"):
        system.publish("x", "Go")
    context.detach(token)
    with Running(system.dsn, machine if kind == "sync" else machine_async) as running:
        system.drain(running)
    assert parent(telemetry.one("charge the card")) == ids(telemetry.one("process d"))
    assert seen == ["acme"]


def test_what_a_step_emits_comes_from_it_whatever_the_machine_leaves_current(
    telemetry: Telemetry, system: System
) -> None:
    async def machine(exe: Execution, event: Event) -> Step:
        context.attach(trace.set_span_in_context(telemetry.tracer.start_span("never ended")))
        return move(exe, event)

    system.make("x", "y")
    system.transport.publish("x", Event(kind="go", data={"after": ["y"]}))
    with Running(system.dsn, machine) as running:
        system.drain(running)
    first, second = telemetry.named("process d")
    assert parent(second) == ids(first)


def test_a_step_that_raises_is_an_error_of_its_span(telemetry: Telemetry, system: System) -> None:
    def machine(exe: Execution, event: Event) -> Step:
        raise LookupError("no such thing")

    system.make("x")
    system.publish("x", "Go")
    with Running(system.dsn, machine) as running:
        system.drain(running)
    span = telemetry.one("process d")
    assert attributes(span)["harel.result"] == "failed"
    assert (span.status.status_code, span.status.description) == (StatusCode.ERROR, "no such thing")
    (recorded,) = span.events
    assert recorded.attributes is not None
    assert recorded.attributes["exception.type"] == "LookupError"
    assert "in machine\n" in str(recorded.attributes["exception.stacktrace"])
    assert running.tally == {"failed": 1}


def test_an_error_that_cannot_become_the_end_of_an_execution_is_recorded_once(
    telemetry: Telemetry, system: System
) -> None:
    def machine(exe: Execution, event: Event) -> Step:
        raise LookupError("no such thing")

    system.make("x", status=Status.DONE)
    system.publish("x", "Go")
    with Running(system.dsn, machine, max_attempts=1) as running:
        until(system.transport.dead_letters)
        system.drain(running)
    span = telemetry.one("process d")
    assert attributes(span)["harel.result"] == "retried"
    assert attributes(span)["error.type"] == "LookupError"
    assert len(span.events) == 1


def test_instrumenting_again_begins_anew(telemetry: Telemetry, system: System) -> None:
    def machine(exe: Execution, event: Event) -> Step:
        instrument(tracer_provider=other.provider)
        return Step(exe)

    other = Telemetry()
    system.make("x")
    system.publish("x", "Go")
    with Running(system.dsn, machine) as running:
        system.drain(running)
    assert "harel.result" not in attributes(telemetry.one("process d"))
    assert other.named("harel.finish")


def test_the_result_of_each_delivery(telemetry: Telemetry, system: System) -> None:
    def machine(exe: Execution, event: Event) -> Step:
        seen.append(event.kind)
        if event.kind == "raise" and seen.count("raise") == 1:
            raise RuntimeError("not yet")
        if event.kind == "race" and seen.count("race") == 1:
            system.store.save(exe.model_copy())
        if event.kind == "lose" and seen.count("lose") == 1:
            system.rows("UPDATE transport_groups SET token = gen_random_uuid() RETURNING 1")
            system.rows("UPDATE transport_groups SET available_at = extract(epoch FROM clock_timestamp()) RETURNING 1")
        return Step(exe)

    seen: list[str] = []
    system.make("x")
    for id in ("1", "1", "2", "3", "4"):
        kind = {"1": "go", "2": "raise", "3": "race", "4": "lose"}[id]
        system.transport.publish("x", Event(id=id, kind=kind))
    with Running(system.dsn, machine, on_error="retry") as running:
        system.drain(running)
    assert telemetry.results() == [
        *("finished", "repeated"),
        *("retried", "finished"),
        *("conflict", "finished"),
        *("expired", "finished"),
    ]
    steps = telemetry.named("process d")
    assert [attributes(step)["harel.attempt"] for step in steps] == [1, 1, 1, 2, 1, 1, 1, 2]
    errors = [step.status.status_code is StatusCode.ERROR for step in steps]
    assert errors == [result == "retried" for result in telemetry.results()]
    conflicts = [attributes(span).get("harel.conflicts", 0) for span in telemetry.named("harel.finish")]
    assert sum(conflicts) == 1


def test_no_span_is_left_open(telemetry: Telemetry, system: System) -> None:
    def machine(exe: Execution, event: Event) -> Step | None:
        if event.kind == "suspend":
            system.store.suspend("x")
            raise RuntimeError("too late")
        return None

    system.make("x")
    system.publish("x", "ignored", "suspend")
    with Running(system.dsn, machine) as running:
        until(lambda: len(telemetry.named("process d")) == 2)
        running.check()
    assert telemetry.results() == ["finished", "returned"]
    assert isinstance(_spans.current, object)
    assert not _spans.current._steps  # type: ignore[union-attr]


def test_a_timer_and_a_child_begin_a_trace(telemetry: Telemetry, system: System) -> None:
    def machine(exe: Execution, event: Event) -> Step:
        if event.kind == "Go":
            return Step(exe, timers=[TimerOp("schedule", "/late", 0.0)], spawns=[("child", "/region", {"n": 1})])
        return Step(exe)

    system.make("x")
    system.publish("x", "Go")
    with Running(system.dsn, machine) as running:
        until(lambda: len(telemetry.named("process d")) == 3)
        running.check()
    spans = {attributes(span)["harel.event_kind"]: span for span in telemetry.named("process d")}
    assert attributes(spans["Go"]).items() >= {"harel.timers": 1, "harel.spawns": 1}.items()
    assert [parent(spans[kind]) for kind in ("Timeout", "Start")] == [None, None]
    child = system.store.load("child")
    assert child is not None
    assert child.context == {"n": 1}


def test_a_context_written_by_sql_is_honoured(telemetry: Telemetry, system: System) -> None:
    system.make("x")
    event = {"kind": "Go", "trace_context": {"traceparent": SENT_FROM, "tracestate": "vendor=1"}}
    system.rows("SELECT harel_publish('x', %s)", json.dumps(event))
    with Running(system.dsn, move) as running:
        system.drain(running)
    span = telemetry.one("process d")
    assert span.parent is not None
    assert parent(span) == (0x0AF7651916CD43DD8448EB211C80319C, 0xB7AD6B7169203331)
    assert span.parent.trace_state.get("vendor") == "1"


def test_a_program_without_an_sdk_passes_the_context_on(system: System) -> None:
    instrument()
    try:
        system.make("x")
        event = Event(kind="go", data={"after": ["outside"]}, trace_context={"traceparent": SENT_FROM})  # type: ignore[call-arg]
        system.transport.publish("x", event)
        with Running(system.dsn, move) as running:
            until(lambda: running.tally["finished"])
    finally:
        uninstrument()
    (passed,) = texts(system.dsn, "SELECT event FROM transport_messages UNION ALL SELECT event FROM dead_letters")
    assert passed["trace_context"] == {"traceparent": SENT_FROM}


ODD = [None, 7, "text", [], {}, {"traceparent": 7}, {"traceparent": None}, {"traceparent": "00-0-0-0"}, {"\0": "\0"}]


def test_what_is_no_context_harms_nothing(telemetry: Telemetry, system: System) -> None:
    system.make("x")
    for carrier in ODD:
        system.rows("SELECT harel_publish('x', %s)", json.dumps({"kind": "Go", "trace_context": carrier}))
    with Running(system.dsn, move) as running:
        system.drain(running)
    assert running.tally == {"finished": len(ODD)}
    assert [parent(span) for span in telemetry.named("process d")] == [None] * len(ODD)


class Faulty(SpanProcessor):
    def on_start(self, span: Any, parent_context: Any = None) -> None:
        raise RuntimeError("a fault of a processor")

    def on_end(self, span: Any) -> None:
        raise RuntimeError("a fault of a processor")


class FaultyPropagator:
    fields: frozenset[str] = frozenset()

    def extract(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError("a fault of a propagator")

    inject = extract


@pytest.mark.parametrize("fault", ["on_start", "on_end", "propagator"])
def test_faults_of_telemetry_are_no_faults_of_calls_and_steps(
    fault: str, telemetry: Telemetry, system: System, monkeypatch: pytest.MonkeyPatch
) -> None:
    if fault == "propagator":
        monkeypatch.setattr(propagate, "get_global_textmap", FaultyPropagator)
        monkeypatch.setattr(propagate, "propagator", FaultyPropagator(), raising=False)
    else:
        processor = Faulty()
        monkeypatch.setattr(processor, "on_end" if fault == "on_start" else "on_start", lambda *_, **__: None)
        telemetry.provider.add_span_processor(processor)
    system.make("x", "y")
    system.transport.publish(
        "x",
        Event(kind="go", data={"after": ["y"]}, trace_context={"traceparent": SENT_FROM}),  # type: ignore[call-arg]
    )
    with Running(system.dsn, move) as running:
        system.drain(running)
    assert running.tally == {"finished": 2}
    exe = system.store.load("y")
    assert exe is not None
    assert (exe.active_path, exe.version) == ("/passed", 2)


def test_uninstrument_restores(telemetry: Telemetry, system: System) -> None:
    system.make("x")
    uninstrument()
    telemetry.clear()
    with telemetry.tracer.start_as_current_span("the caller"):
        system.publish("x", "Go")
    assert "trace_context" not in texts(system.dsn)[0]
    with Running(system.dsn, move) as running:
        system.drain(running)
    assert [span.name for span in telemetry.spans] == ["the caller"]
    assert _spans.current is None
    uninstrument()


def test_uninstrument_ends_the_spans_of_steps_in_progress(telemetry: Telemetry, system: System) -> None:
    def machine(exe: Execution, event: Event) -> Step:
        uninstrument()
        return Step(exe)

    system.make("x")
    system.publish("x", "Go")
    with Running(system.dsn, machine) as running:
        system.drain(running)
    assert "harel.result" not in attributes(telemetry.one("process d"))
    assert running.tally == {"finished": 1}


def test_the_context_of_an_event_is_there_for_other_programs(telemetry: Telemetry) -> None:
    event = Event(kind="Go", trace_context={"traceparent": SENT_FROM})  # type: ignore[call-arg]
    with telemetry.tracer.start_as_current_span("handle", context=context_of(event)) as span:
        assert f"{span.get_span_context().trace_id:032x}" in SENT_FROM
    assert trace.get_current_span(context_of(Event(kind="Go"))) is trace.INVALID_SPAN


def test_no_secret_is_in_any_span(telemetry: Telemetry, store_dsn: str) -> None:
    def machine(exe: Execution, event: Event) -> Step:
        if event.kind == "raise":
            Execution.model_validate({"definition_id": [SECRET]})
        return Step(
            exe,
            emits=[(None, Event(kind="Told", data={"card": SECRET}))],
            spawns=[("child", "/region", {"card": SECRET})],
            trace={"card": SECRET},
        )

    dsn = make_conninfo(store_dsn, password=SECRET)
    with ExitStack() as closing:
        system = System(dsn, closing)
        system.make("x", "y", context={"card": SECRET})
        for kind in ("go", "raise"):
            system.transport.publish("x", Event(kind=kind, data={"card": SECRET}))
        system.rows("SELECT harel_publish('y', %s)", json.dumps({"kind": [SECRET]}))
        with Running(dsn, machine, max_attempts=1) as running:
            until(lambda: system.transport.dead_letters() and running.tally["failed"])
            system.drain(running)
        system.store.append_trace("x", {"card": SECRET})
        with pytest.raises(InvalidArgument):
            system.store.commit(Execution(id="", definition_id="d", context={"card": SECRET}), [])
        with pytest.raises(InvalidArgument):
            system.store.append_trace("x", {"card": SECRET, "n": float("nan")})
        with psycopg.connect(dsn, autocommit=True) as session:
            session.execute(f"ALTER TABLE executions ADD CONSTRAINT no CHECK (data NOT LIKE '%{SECRET}%') NOT VALID")
        with pytest.raises(psycopg.errors.CheckViolation):
            system.store.save(Execution(id="z", definition_id="d", context={"card": SECRET}))
    results = {
        (attributes(s)["harel.execution_id"], attributes(s)["harel.result"]) for s in telemetry.named("process d")
    }
    assert {("x", "finished"), ("x", "failed")} <= results
    assert [attributes(span)["harel.result"] for span in telemetry.named("process")] == ["retried"]
    assert SECRET not in "".join(span.to_json() for span in telemetry.spans)


PROGRAM = """
import asyncio, sys
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor
from harel import Step, Event
from harel.telemetry import instrument
from harel.worker import Worker

dsn, name, file = sys.argv[1:]
provider = TracerProvider()
out = open(file, "a", buffering=1)
exporter = ConsoleSpanExporter(out=out, formatter=lambda span: span.to_json(indent=None) + "\\n")
provider.add_span_processor(SimpleSpanProcessor(exporter))
instrument(tracer_provider=provider)

def order(exe, event):
    return Step(exe, emits=[("warehouse", Event(kind="Ship"))])

async def warehouse(exe, event):
    if name == "first":
        print("begun", flush=True)
        await asyncio.Event().wait()
    return Step(exe, emits=[("audit", Event(kind="Shipped"))])

def audit(exe, event):
    print("audited", flush=True)
    return Step(exe)

asyncio.run(Worker(dsn, {"order": order, "warehouse": warehouse, "audit": audit}, poll=0.05).run())
"""


def test_a_trace_outlives_the_crash_of_a_worker(telemetry: Telemetry, system: System, tmp_path: Path) -> None:
    def process(name: str) -> "subprocess.Popen[str]":
        command = [sys.executable, "-c", PROGRAM, system.dsn, name, str(tmp_path / name)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    def steps(name: str) -> list[dict[str, Any]]:
        # The last line may be on its way, or half a line for ever.
        whole, _, _ = (tmp_path / name).read_text().rpartition("\n")
        spans = [json.loads(text) for text in whole.splitlines()]
        return [span for span in spans if span["name"].startswith("process")]

    for id in ("order", "warehouse", "audit"):
        system.make(id, definition_id=id)
    with telemetry.tracer.start_as_current_span("POST /orders"):
        system.publish("order", "Place")
    with process("first") as first:
        try:
            assert line(first) == "begun"
            until(lambda: steps("first"))
        finally:
            os.kill(first.pid, signal.SIGKILL)
    # Its last claim may still be carried out.
    until(lambda: not system.backends())
    system.rows("UPDATE transport_groups SET available_at = extract(epoch FROM clock_timestamp()) RETURNING 1")
    with process("second") as second:
        try:
            assert line(second) == "audited"
            until(lambda: len(steps("second")) == 2)
        finally:
            second.kill()
    (order,) = steps("first")
    warehouse, audit = steps("second")
    assert [span["name"] for span in (order, warehouse, audit)] == [
        f"process {name}" for name in ("order", "warehouse", "audit")
    ]
    root = ids(telemetry.one("POST /orders"))
    assert {span["context"]["trace_id"] for span in (order, warehouse, audit)} == {f"0x{root[0]:032x}"}
    assert [warehouse["parent_id"], audit["parent_id"]] == [
        order["context"]["span_id"],
        warehouse["context"]["span_id"],
    ]
    assert [span["attributes"]["harel.attempt"] for span in (order, warehouse, audit)] == [1, 2, 1]


WITHOUT = """
import asyncio, sys
sys.modules["opentelemetry"] = None
from harel import Event, Execution, PostgresStore, PostgresTransport, Status, Step
from harel.telemetry import instrument, uninstrument
from harel.worker import Worker
try:
    instrument()
except ModuleNotFoundError as error:
    print(error)
uninstrument()
store, transport = PostgresStore.from_dsn(sys.argv[1]), PostgresTransport.from_dsn(sys.argv[1])
store.save(Execution(id="x", definition_id="d", status=Status.RUNNING))
transport.send("x", Event(kind="Go"))

def machine(exe, event):
    worker.stop()
    return Step(exe)

async def work():
    global worker
    worker = Worker(sys.argv[1], {"d": machine})
    await worker.run()

asyncio.run(work())
print(store.load("x").version)
"""


def test_without_the_extra_all_works_but_instrument(store_dsn: str) -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT, store_dsn], capture_output=True, text=True, timeout=DEADLINE)
    assert done.stderr == ""
    assert done.stdout.splitlines() == ["harel: OpenTelemetry is an extra: pip install 'harel[otel]'", "2"]


def test_nothing_is_imported_before_it_is_asked_for() -> None:
    program = "import sys, harel, harel.worker, harel.telemetry; print([m for m in sys.modules if 'opentel' in m])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


LATER = """
import sys
from harel import Event, Execution, PostgresStore, PostgresTransport
from harel.telemetry import instrument
from opentelemetry import trace
instrument()
store = PostgresStore.from_dsn(sys.argv[1])
store.save(Execution(definition_id="d"))
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(ConsoleSpanExporter(formatter=lambda span: span.name + "\\n")))
trace.set_tracer_provider(provider)
store.save(Execution(definition_id="d"))
"""


def test_an_sdk_may_be_set_up_later(store_dsn: str) -> None:
    done = subprocess.run([sys.executable, "-c", LATER, store_dsn], capture_output=True, text=True, timeout=DEADLINE)
    assert (done.stdout, done.stderr) == ("harel.commit\n", "")


def test_opentelemetry_instrument_turns_it_on(store_dsn: str) -> None:
    program = (
        "import sys; from harel import Execution, PostgresStore;"
        "PostgresStore.from_dsn(sys.argv[1]).save(Execution(definition_id='d'))"
    )
    command = Path(sys.executable).with_name("opentelemetry-instrument")
    for disabled, expected in (("", 1), ("harel", 0)):
        done = subprocess.run(
            [command, sys.executable, "-c", program, store_dsn],
            env={
                **os.environ,
                "OTEL_TRACES_EXPORTER": "console",
                "OTEL_METRICS_EXPORTER": "none",
                "OTEL_LOGS_EXPORTER": "none",
                "OTEL_PYTHON_DISABLED_INSTRUMENTATIONS": disabled,
            },
            capture_output=True,
            text=True,
            timeout=DEADLINE,
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.count('"name": "harel.commit"') == expected, done.stdout + done.stderr


PAGE = "docs/how-to/telemetry.md"


@pytest.mark.page("docs/how-to/telemetry.md", "python", "sql")
def test_the_page_on_telemetry_runs(page: Page, telemetry: Telemetry, system: System) -> None:
    start, handle = page.blocks("python")
    (publish,) = page.blocks("sql")
    program = f"import sys; from harel import PostgresStore\n{start}\nPostgresStore.from_dsn(sys.argv[1]).load('x')"
    done = subprocess.run(
        [sys.executable, "-c", program, system.dsn], capture_output=True, text=True, timeout=DEADLINE, check=True
    )
    assert '"name": "harel.load"' in done.stdout
    system.make("order-1")
    with psycopg.connect(system.dsn) as session:
        session.execute(publish)
    with Running(system.dsn, move) as running:
        system.drain(running)
    step = telemetry.one("process d")
    assert step.parent is not None
    assert f"{step.parent.trace_id:032x}" in publish
    exe = system.store.load("order-1")
    assert exe is not None
    system.store.commit(exe, [(None, Event(kind="Told"))])
    names: dict[str, Any] = {"trace": trace}
    exec(handle, names)
    names["tracer"] = telemetry.tracer
    assert system.store.deliver_outbox(names["send_all"]) == 1
    assert parent(telemetry.one("deliver Told")) == ids(telemetry.named("harel.commit")[-1])


def test_the_page_on_telemetry_names_all_attributes(telemetry: Telemetry, system: System) -> None:
    system.make("x", "y", active_path="/")
    system.transport.publish("x", Event(kind="go", data={"after": ["y"]}))
    system.publish("x", "raise")

    def machine(exe: Execution, event: Event) -> Step:
        if event.kind == "raise":
            raise RuntimeError("no")
        if event.kind == "go" and exe.version == 1:
            system.store.save(exe.model_copy())
        return move(exe, event)

    with Running(system.dsn, machine) as running:
        system.drain(running)
    for refused in (lambda: system.make("x"), lambda: system.store.list_executions(limit=-1)):
        with pytest.raises((StoreConflict, InvalidArgument)):
            refused()
    used = {name for span in telemetry.spans for name in attributes(span)}
    page = Path(__file__).parents[2].joinpath(PAGE).read_text()
    assert {name for name in used if f"`{name}`" not in page} == set()
    named = {word for word in page.replace("`", " ").split() if word.startswith(("harel.", "messaging.", "db."))}
    calls = {"harel.publish", "harel.publish_many", "harel.send", "harel.finish", "harel.<method>", "harel.telemetry"}
    assert {name.strip(",.:") for name in named} - calls - used == set()
