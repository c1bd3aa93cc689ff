"""Spans by the API of OpenTelemetry."""

import inspect
import logging
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

from opentelemetry import context as contexts
from opentelemetry import propagate, trace
from opentelemetry.context import Context
from opentelemetry.trace import Link, Span, SpanKind, Status, StatusCode
from pydantic import BaseModel

from ..engine._spans import MEMBER
from ..engine.store import InvalidArgument, StoreConflict
from ..engine.store._install import VERSION
from ..engine.transport import Completed, Completion, Delivery, Lease

log = logging.getLogger(__name__)

Result = TypeVar("Result")
Attributes = dict[str, str | int | bool]

# These calls put events into the queue; a commit, which may emit some, is a call of a database in the first place.
SENDING = ("publish", "publish_many", "send")

# What stands for a provider where there is no SDK.
_PLACEHOLDERS = (trace.ProxyTracerProvider, trace.NoOpTracerProvider)

_NO_SPAN = nullcontext(lambda result: result)

# The parameters of calls that name the execution, and how they do.
_SUBJECTS: dict[str, Callable[[Any], Any]] = {
    "exe": lambda exe: exe.id,
    "execution_id": lambda id: id,
    "group_id": lambda id: id,
    "lease": lambda lease: lease.group_id,
}


class _Harmless:
    """A block in which what goes wrong, in a propagator or a processor of the program's, is logged and no more."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, where: Any) -> bool:
        if isinstance(error, Exception):
            log.warning("a span is incomplete or missing", exc_info=error)
            return True
        return False


_harmless = _Harmless()


@dataclass(slots=True)
class OpenStep:
    """A step that is not concluded: its span, the context that is current in it, and what its event carried.

    failed: whether an error is recorded.
    """

    span: Span
    context: Context
    received: Any
    failed: bool = False


class CallSpan:
    """The span of a call, current in a block; as a function it takes the result and returns it."""

    __slots__ = ("_span", "_token")

    def __init__(self, span: Span) -> None:
        self._span = span

    def __enter__(self) -> "CallSpan":
        self._token = contexts.attach(trace.set_span_in_context(self._span))
        return self

    def __call__(self, result: Result) -> Result:
        if isinstance(result, list):
            with _harmless:
                self._span.set_attributes(_answer(result))
        return result

    def __exit__(self, kind: Any, error: BaseException | None, where: Any) -> None:
        contexts.detach(self._token)
        with _harmless:
            if isinstance(error, StoreConflict):
                self._span.set_attribute("harel.result", "conflict")
            elif isinstance(error, Exception):
                _record(self._span, error)
            self._span.end()


class OpenTelemetrySpans:
    """See harel.engine._spans.Spans."""

    def __init__(self, tracer_provider: trace.TracerProvider | None) -> None:
        self._provider = tracer_provider
        self._tracer = trace.get_tracer("harel", VERSION, tracer_provider)
        self._steps: dict[tuple[str, str], OpenStep] = {}

    def close(self) -> None:
        while self._steps:
            self._steps.popitem()[1].span.end()

    def call(
        self, method: Callable[..., Any], arguments: tuple[Any, ...], options: Mapping[str, Any]
    ) -> AbstractContextManager[Callable[[Any], Any]]:
        if self._records():
            with _harmless:
                return CallSpan(self._begin_call(method, arguments, options))
        return _NO_SPAN

    def _records(self) -> bool:
        """Whether there is an SDK, which a program may set up later than this."""
        provider = self._provider or trace.get_tracer_provider()
        return not isinstance(provider, _PLACEHOLDERS)

    def _begin_call(self, method: Callable[..., Any], arguments: tuple[Any, ...], options: Mapping[str, Any]) -> Span:
        name = f"harel.{method.__name__}"
        attributes: Attributes = {"db.system.name": "postgresql", "db.operation.name": name}
        links: list[Link] = []
        # A wrong argument is for the call to refuse.
        with suppress(Exception):
            attributes |= _described(method, arguments, options)
            links = self._links(method, arguments)
        if method.__name__ not in SENDING:
            return self._tracer.start_span(name, kind=SpanKind.CLIENT, attributes=attributes, links=links)
        attributes |= {
            "messaging.system": "harel",
            "messaging.operation.type": "send",
            "messaging.operation.name": method.__name__,
        }
        if "harel.execution_id" in attributes:
            attributes["messaging.destination.name"] = attributes["harel.execution_id"]
        return self._tracer.start_span(name, kind=SpanKind.PRODUCER, attributes=attributes)

    def _links(self, method: Callable[..., Any], arguments: tuple[Any, ...]) -> list[Link]:
        """To the steps that a call finishes."""
        if method.__name__ != "finish" or not self._steps:
            return []
        steps = (self._steps.get(_key(completion.lease)) for completion in arguments[0])
        return [Link(step.span.get_span_context()) for step in steps if step is not None]

    def step(self, delivery: Delivery) -> AbstractContextManager[Any]:
        lease = delivery.lease
        received = getattr(lease.event, MEMBER, None)
        with _harmless:
            if self._records():
                origin = context_of(lease.event)
                span = self._begin_step(delivery, origin)
                step = OpenStep(span, trace.set_span_in_context(span, origin), received)
            elif received is not None:
                # Without an SDK the context is passed on all the same.
                step = OpenStep(trace.INVALID_SPAN, context_of(lease.event), received)
            else:
                return _NO_SPAN
            self._steps[_key(lease)] = step
            return _attached(step.context)
        return _NO_SPAN

    def _begin_step(self, delivery: Delivery, origin: Context) -> Span:
        lease, exe = delivery.lease, delivery.execution
        attributes: Attributes = {
            "messaging.system": "harel",
            "messaging.operation.type": "process",
            "messaging.operation.name": "process",
            "messaging.destination.name": lease.group_id,
            "harel.execution_id": lease.group_id,
            "harel.attempt": lease.attempts,
        }
        if lease.event is not None:
            attributes |= _of_event(lease.event)
        name = "process"
        if exe is not None:
            name = f"process {exe.definition_id}"
            attributes["messaging.destination.template"] = attributes["harel.definition_id"] = exe.definition_id
            if exe.active_path is not None:
                attributes["harel.from"] = exe.active_path
        sender = trace.get_current_span(origin).get_span_context()
        links = [Link(sender)] if sender.is_valid else []
        return self._tracer.start_span(name, origin, SpanKind.CONSUMER, attributes, links)

    def step_failed(self, lease: Lease, error: BaseException) -> None:
        step = self._steps.get(_key(lease))
        # What follows from an error is not another one.
        if step is not None and not step.failed:
            step.failed = True
            with _harmless:
                _record(step.span, error)

    def step_ended(self, lease: Lease, result: str, completion: Completion | None) -> None:
        step = self._steps.pop(_key(lease), None)
        if step is None:
            return
        with _harmless:
            if step.span.is_recording():
                step.span.set_attributes({"harel.result": result, **_caused(completion)})
            step.span.end()

    def carried(self, event: Any, lease: Lease | None = None) -> Any:
        step = None if lease is None else self._steps.get(_key(lease))
        context = contexts.get_current() if step is None else step.context
        if not context or not isinstance(event, BaseModel):
            return event
        # The sender's own context stays, even an empty one. In an event that is passed on it is not the sender's own.
        own = getattr(event, MEMBER, None)
        if own is not None and (step is None or own != step.received):
            return event
        carrier: dict[str, str] = {}
        with _harmless:
            propagate.inject(carrier, context)
        return event.model_copy(update={MEMBER: carrier}) if carrier else event


@contextmanager
def _attached(context: Context) -> Iterator[None]:
    token = contexts.attach(context)
    try:
        yield
    finally:
        contexts.detach(token)


def context_of(event: Any) -> Context:
    """The context that an event carries; whatever cannot be one is none."""
    carrier = getattr(event, MEMBER, None)
    if not isinstance(carrier, Mapping):
        return Context()
    texts = {key: value for key, value in carrier.items() if isinstance(key, str) and isinstance(value, str)}
    return propagate.extract(texts, Context())


def _key(lease: Lease) -> tuple[str, str]:
    return lease.group_id, lease.token


@cache
def _subject(method: Callable[..., Any]) -> tuple[int, str, Callable[[Any], Any]] | None:
    """Where among its arguments, and by what name, a call names the execution."""
    for place, name in enumerate(list(inspect.signature(method).parameters)[1:]):
        if name in _SUBJECTS:
            return place, name, _SUBJECTS[name]
    return None


def _described(method: Callable[..., Any], arguments: tuple[Any, ...], options: Mapping[str, Any]) -> Attributes:
    """What the arguments of a call say, without any data."""
    attributes: Attributes = {}
    subject = _subject(method)
    if subject is not None:
        place, name, id_of = subject
        given = arguments[place] if place < len(arguments) else options.get(name)
        if given is not None:
            attributes["harel.execution_id"] = str(id_of(given))
            if name == "exe":
                attributes |= {"harel.definition_id": str(given.definition_id), "harel.version": given.version}
    event = next((value for value in (*arguments, *options.values()) if hasattr(value, "kind")), None)
    return attributes if event is None else attributes | _of_event(event)


def _of_event(event: Any) -> Attributes:
    return {"messaging.message.id": str(event.id), "harel.event_kind": str(event.kind)}


def _answer(result: list[Any]) -> Attributes:
    """What can be said of an answer: how many there are, and what became of completions."""
    attributes: Attributes = {"harel.count": len(result)}
    conflicts = sum(isinstance(item, Completed) and item.result == "conflict" for item in result)
    if conflicts:
        attributes["harel.conflicts"] = conflicts
    return attributes


def _caused(completion: Completion | None) -> Attributes:
    if completion is None or completion.execution is None:
        return {}
    exe = completion.execution
    attributes: Attributes = {"harel.version": exe.version}
    if exe.active_path is not None:
        attributes["harel.to"] = exe.active_path
    for name in ("emits", "spawns", "timers"):
        attributes[f"harel.{name}"] = len(list(getattr(completion, name)))
    return attributes


def _record(span: Span, error: BaseException) -> None:
    """Records an error without what the data of an event or an execution may have put into its text."""
    kind = _name(type(error))
    message = _message(error)
    code = getattr(error, "code", None) if isinstance(error, InvalidArgument) else getattr(error, "sqlstate", None)
    if isinstance(code, str):
        span.set_attribute("db.response.status_code", code)
    span.set_attribute("error.type", kind)
    span.set_status(Status(StatusCode.ERROR, message))
    span.add_event(
        "exception",
        {
            "exception.type": kind,
            "exception.message": message,
            # Without the texts of the errors that led to it.
            "exception.stacktrace": "".join(traceback.format_tb(error.__traceback__)),
        },
    )


def _message(error: BaseException) -> str:
    if isinstance(error, InvalidArgument):
        return f"{error.code}: {error.message}"
    # What was wrong with which value stands in the lines after the first, or in the detail.
    primary = getattr(getattr(error, "diag", None), "message_primary", None)
    return primary or str(error).partition("\n")[0]


def _name(kind: type[BaseException]) -> str:
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
