"""OpenTelemetry (extra `harel[otel]`): spans of calls and steps, and a trace context that travels with events.

    from harel.telemetry import instrument

    instrument()

The extra brings the API only; SDK and exporter are the program's own choice. `opentelemetry-instrument` turns it on by
itself, through the entry point `opentelemetry_instrumentor` and the name `harel`. What it calls needs only the two
methods of Instrumentor, so that the packages of opentelemetry-instrumentation, whose versions are all betas, are no
dependency.

- A call of a store or a queue is a span of a database client, with the stable names of the conventions for those, and
  so is of kind CLIENT. One that sends events is of kind PRODUCER, because its context is what the events carry. The
  names of spans hold no ids: there are as many as methods and definitions.
- A step of a worker is a span `process <definition>` of kind CONSUMER, by the conventions for messaging. It is the
  child of what sent the event, for it handles just one: so a trace can be read from end to end. It has a link to it
  too, which the conventions ask for in any case. An event without a context, such as that of a timer, begins a trace.
- A worker's looking for work has no spans, or an idle one would send some every second. Its commits, of many steps
  each, are spans of their own (`harel.finish`), linked to the steps, whose spans last until then.
- A lost race is an answer and no error: the attribute `harel.result` says `conflict`.
- An event carries its context in the member `trace_context`, beside `id` and `kind`, as the propagator that is set
  writes it (`{"traceparent": "00-..."}`). It is no part of `id`, so that it does not matter for dedupe, and a worker in
  any language may read and write it. Event objects are left as they are: what is sent is a copy.
- No data of an event, an execution, a spawn or a trace entry is in any span, and no DSN.
"""

from typing import TYPE_CHECKING, Any

from ..engine import _spans

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import TracerProvider

    from ..spec.states import Event

__all__ = ["Instrumentor", "context_of", "instrument", "uninstrument"]


def instrument(*, tracer_provider: "TracerProvider | None" = None) -> None:
    """Makes spans from now on, for every client and worker of this process; `tracer_provider`: not the global one.

    Called again it begins anew. Raises ModuleNotFoundError where the extra is not installed.
    """
    spans = _implementation().OpenTelemetrySpans(tracer_provider)
    uninstrument()
    _spans.current = spans


def uninstrument() -> None:
    """Makes no more spans. Those of steps in progress end now, and have no result."""
    spans, _spans.current = _spans.current, None
    if spans is not None:
        spans.close()


def context_of(event: "Event") -> "Context":
    """The context that an event carries, to be the parent of a span in a program that handles it without a Worker."""
    context: Context = _implementation().context_of(event)
    return context


class Instrumentor:
    """What `opentelemetry-instrument` looks for."""

    def instrument(self, *, tracer_provider: "TracerProvider | None" = None, **_: Any) -> None:
        instrument(tracer_provider=tracer_provider)

    def uninstrument(self, **_: Any) -> None:
        uninstrument()


def _implementation() -> Any:
    try:
        from . import _opentelemetry
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "opentelemetry":
            raise
        message = "harel: OpenTelemetry is an extra: pip install 'harel[otel]'"
        raise ModuleNotFoundError(message, name=error.name) from None
    return _opentelemetry
