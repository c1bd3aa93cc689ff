"""Every call of a store, once: its SQL, its parameters and what its rows mean. No I/O.

Each method makes a Call, which the stores run in one round trip. The behaviour is in the functions of the extension;
here stands only how to reach them.
"""

import inspect
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import fields
from typing import Any, Generic, NamedTuple, TypeVar

from ...spec.states import Event
from ..execution import Execution, ExecutionPage, ExecutionSummary, Status
from ._arguments import check, checked, key
from ._base import OutboxEntry, Problem, SpawnEntry, Stats, TimerOp, TraceEntry
from ._json import dump_dict, dump_event, dump_model, load_entry, load_event, load_model

Row = tuple[Any, ...]
Result = TypeVar("Result")

Emit = tuple[str | None, Event]
Spawn = tuple[str, str, dict[str, Any]]


class Call(NamedTuple, Generic[Result]):
    """A statement in the paramstyle `format`, its parameters, and how to read the rows that it returns.

    Without parameters (None) it is a script, taken as it is, per cent signs and all.
    """

    sql: str
    params: Sequence[Any] | None
    decode: Callable[[list[Row]], Result]


class Outcome(NamedTuple):
    """What became of a commit: `committed` is None where that cannot be known.

    `found` is the version stored where it lost, if `found_known`.
    """

    committed: bool | None
    seqs: list[int]
    found: int | None = None
    found_known: bool = True


def check_state(exe: Execution) -> None:
    """Raises TypeError where what is sent of an execution besides its data is of another type than in the model."""
    check("id", exe.id, str)
    check("definition_id", exe.definition_id, str)
    check("version", exe.version, int)


def quoted(name: str) -> str:
    """A name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def function_prefix(schema: str) -> str:
    """What the names of the functions of a store begin with, in a statement with parameters."""
    # A per cent sign in a name must not be taken for a parameter.
    return quoted(schema).replace("%", "%%") + ".harel_"


def array(elements: Collection[str | None]) -> str | None:
    """Texts as the literal of an array in PostgreSQL, several times as fast as a driver makes one of a list.

    None for no texts, which costs the server less than an empty array.
    """
    if not elements:
        return None
    return "{" + ",".join("NULL" if text is None else _quoted_element(text) for text in elements) + "}"


def _quoted_element(text: str) -> str:
    if not isinstance(text, str):
        raise TypeError(f"a text in a list must be str, not {type(text).__name__}")
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


class ForeignEvents(NamedTuple):
    """Events that wait on one shard for executions of another, as columns; the texts are handed on as they are."""

    seqs: list[int]
    targets: list[str]
    events: list[str]


class ForeignSpawns(NamedTuple):
    """Children that are to be created on another shard, as columns."""

    seqs: list[int]
    parents: list[str]
    children: list[str]
    root_paths: list[str]
    contexts: list[str]
    definitions: list[str]
    priorities: list[int]
    statuses: list[str]


class CallsOfSchema(ABC):
    """Calls of the store in one schema, in terms of the models of one engine.

    names_commits: whether the store knows a commit again by its id, which one of version 1.0 does not.

    Each public method makes a call; it raises TypeError for an argument of another type than its annotation.
    """

    def __init_subclass__(cls) -> None:
        for name, method in list(vars(cls).items()):
            if inspect.isfunction(method) and not name.startswith("_"):
                setattr(cls, name, checked(method))

    def __init__(
        self,
        schema: str,
        execution_type: type[Execution] = Execution,
        event_type: type[Event] = Event,
        names_commits: bool = True,
    ) -> None:
        self.schema = schema
        self.names_commits = names_commits
        self.execution_type = execution_type
        self.event_type = event_type
        self._prepare(function_prefix(schema))

    @abstractmethod
    def _prepare(self, prefix: str) -> None:
        """Makes the statements, for functions whose names begin with `prefix`."""


class Calls(CallsOfSchema):
    """The calls of the store."""

    def _prepare(self, prefix: str) -> None:
        self._load = f"SELECT data, already_processed, version FROM {prefix}load_for_event(%s, %s)"
        commit_id = ", %s::uuid" if self.names_commits else ""
        self._commit_cas = f"SELECT {prefix}commit_cas(%s, %s, %s, %s::bigint, %s{commit_id})"
        self._commit = (
            f"SELECT committed, stored_version, outbox_seqs FROM {prefix}commit(%s, %s, %s, %s::bigint, %s, "
            "%s::text[], %s::text[], %s::text[], %s::text[], %s::text[], "
            f"%s::text[], %s::text[], %s::double precision[], %s, %s::integer{commit_id})"
        )
        self._outcome = (
            f"SELECT outcome, stored_version, outbox_seqs FROM {prefix}outcome(%s, %s::bigint, %s::uuid, %s)"
        )
        self._is_processed = f"SELECT {prefix}is_processed(%s, %s)"
        self._list = (
            "SELECT id, definition_id, status, outcome, active_path, version, parent_id, "
            "extract(epoch FROM finished_at)::double precision, next_cursor "
            f"FROM {prefix}list(%s, %s::text[], %s, %s::integer, %s)"
        )
        self._pending_outbox = f"SELECT seq, target_id, event, source_id FROM {prefix}pending_outbox(%s::integer)"
        self._ack_outbox = f"SELECT {prefix}ack_outbox(%s::bigint)"
        self._pending_spawns = (
            f"SELECT seq, parent_id, child_id, root_path, context FROM {prefix}pending_spawns(%s::integer)"
        )
        self._ack_spawn = f"SELECT {prefix}ack_spawn(%s::bigint)"
        self._due_timers = f"SELECT execution_id, path, fire_at FROM {prefix}due_timers(%s, %s::integer)"
        self._take_outbox = f"SELECT seq, target_id, event, source_id FROM {prefix}take_outbox(%s::integer)"
        self._settle_outbox = f"SELECT {prefix}settle_outbox(%s::bigint[])"
        self._purge = f"SELECT {prefix}purge(%s, %s::bigint)"
        self._purge_finished = f"SELECT {prefix}purge_finished(%s, %s::integer, %s)"
        self._purge_processed = f"SELECT {prefix}purge_processed(%s, %s::integer)"
        numbers = ", ".join(field.name for field in fields(Stats)[1:])
        self._stats = f"SELECT executions::text, {numbers} FROM {prefix}stats()"
        self._health = f"SELECT problem, detail, remedy FROM {prefix}health(%s, %s)"
        self._ids_with_prefix = f"SELECT {prefix}ids_with_prefix(%s)"
        verbs = ("suspend", "resume", "cancel")
        self._control = {verb: f"SELECT {prefix}{verb}(%s)" for verb in verbs}
        self._control_all = {verb: f"SELECT {prefix}{verb}_all(%s, %s::text[], %s, %s)" for verb in verbs}
        self._control_tree = {verb: f"SELECT ids, changed FROM {prefix}{verb}_tree(%s::text[])" for verb in verbs}
        self._cursor = f"SELECT {prefix}cursor(%s)"
        self._shards = f"SELECT name FROM {prefix}shards()"
        self._name_shard = f"SELECT {prefix}name_shard(%s)"
        self._join_shards = f"SELECT {prefix}join_shards(%s::text[], %s)"
        self._waiting_shards = f"SELECT {prefix}waiting_shards()"
        self._foreign_outbox = f"SELECT seq, target_id, event FROM {prefix}foreign_outbox(%s, %s::integer, %s::text[])"
        self._receive_events = f"SELECT {prefix}receive_events(%s, %s::bigint[], %s::text[], %s::text[])"
        self._foreign_spawns = (
            "SELECT seq, parent_id, child_id, root_path, context, definition_id, priority, status "
            f"FROM {prefix}foreign_spawns(%s, %s::integer)"
        )
        self._receive_spawns = (
            f"SELECT {prefix}receive_spawns(%s, %s::bigint[], %s::text[], %s::text[], %s::text[], %s::text[], "
            "%s::text[], %s::integer[], %s::text[])"
        )
        self._settle_spawns = f"SELECT {prefix}settle_spawns(%s::bigint[])"
        self._purge_receipts = f"SELECT {prefix}purge_receipts(%s, %s::integer)"
        self._delete_timer = f"SELECT {prefix}delete_timer(%s, %s, %s)"
        self._append_trace = f"SELECT {prefix}append_trace(%s, %s, %s::integer)"
        self._read_trace = f"SELECT idx, entry FROM {prefix}read_trace(%s)"

    def load(self, execution_id: str) -> Call[Execution | None]:
        return Call(self._load, (execution_id, None), lambda rows: self._loaded(execution_id, rows[0])[0])

    def load_for_event(self, execution_id: str, event_id: str) -> Call[tuple[Execution | None, bool]]:
        return Call(self._load, (execution_id, event_id), lambda rows: self._loaded(execution_id, rows[0]))

    def stored_version(self, execution_id: str) -> Call[int | None]:
        return Call(self._load, (execution_id, None), lambda rows: rows[0][2])

    def commit(
        self,
        exe: Execution,
        emits: Iterable[Emit],
        processed_event_id: str | None,
        timers: Iterable[TimerOp],
        spawns: Iterable[Spawn],
        trace: TraceEntry | None,
        trace_max: int | None,
        commit_id: str,
    ) -> Call[Outcome]:
        """The commit of `exe` as its next version, by the fast path where there is nothing to enqueue."""
        check_state(exe)
        what = f"the data of execution {exe.id!r}"
        data = dump_model(exe.model_copy(update={"version": exe.version + 1}), what)
        head = (key("execution id", exe.id), exe.definition_id, data, exe.version, processed_event_id)
        name = (commit_id,) if self.names_commits else ()
        emits, timers, spawns = list(emits), list(timers), list(spawns)
        if not (emits or timers or spawns or trace is not None):
            return Call(self._commit_cas, (*head, *name), _swapped)
        params = (
            *head,
            array([target for target, _ in emits]),
            array([dump_event(event, f"an event of execution {exe.id!r}") for _, event in emits]),
            array([child_id for child_id, _, _ in spawns]),
            array([root_path for _, root_path, _ in spawns]),
            array([dump_dict(context, f"a spawn of execution {exe.id!r}") for _, _, context in spawns]),
            array([timer.action for timer in timers]),
            array([timer.path for timer in timers]),
            array([str(timer.fire_at) for timer in timers]),
            None if trace is None else dump_dict(trace, f"a trace entry of execution {exe.id!r}"),
            trace_max,
            *name,
        )
        return Call(self._commit, params, _committed)

    def outcome(
        self, execution_id: str, expected: int, commit_id: str, processed_event_id: str | None
    ) -> Call[Outcome]:
        """What became of a commit whose answer was lost, once the same commit, made again, has lost."""
        if not self.names_commits:
            # Of one that handled an event the ledger tells, and of another nothing does.
            lost = False if processed_event_id else None
            return Call(
                self._load,
                (execution_id, None),
                lambda rows: Outcome(None if rows[0][2] is None else lost, [], rows[0][2]),
            )
        return Call(self._outcome, (execution_id, expected, commit_id, processed_event_id), _found_out)

    def is_processed(self, execution_id: str, event_id: str) -> Call[bool]:
        return Call(self._is_processed, (execution_id, event_id), scalar)

    def list_executions(
        self,
        status: Status | str | Iterable[Status | str] | None,
        definition_id: str | None,
        roots_only: bool,
        limit: int,
        cursor: str | None,
    ) -> Call[ExecutionPage]:
        return Call(self._list, (definition_id, _statuses(status), roots_only, limit, cursor), _page)

    def pending_outbox(self, limit: int | None) -> Call[list[OutboxEntry]]:
        return Call(self._pending_outbox, (limit,), self._outbox)

    def take_outbox(self, limit: int | None) -> Call[list[OutboxEntry]]:
        return Call(self._take_outbox, (limit,), self._outbox)

    def settle_outbox(self, seqs: Iterable[int]) -> Call[int]:
        return Call(self._settle_outbox, (_numbers(seqs),), scalar)

    def purge(self, execution_id: str, expected_version: int) -> Call[bool]:
        return Call(self._purge, (execution_id, expected_version), scalar)

    def purge_finished(self, older_than: float, limit: int | None, archive: str | None) -> Call[int]:
        return Call(self._purge_finished, (older_than, limit, archive), scalar)

    def purge_processed(self, older_than: float, limit: int | None) -> Call[int]:
        return Call(self._purge_processed, (older_than, limit), scalar)

    def stats(self) -> Call[Stats]:
        return Call(self._stats, (), lambda rows: Stats(json.loads(rows[0][0]), *rows[0][1:]))

    def health(self, version: str, now: float) -> Call[list[Problem]]:
        return Call(self._health, (version, now), lambda rows: [Problem(*row) for row in rows])

    def ids_with_prefix(self, prefix: str) -> Call[list[str]]:
        return Call(self._ids_with_prefix, (prefix,), lambda rows: [row[0] for row in rows])

    def ack_outbox(self, seq: int) -> Call[bool]:
        return Call(self._ack_outbox, (seq,), any_row)

    def pending_spawns(self, limit: int | None) -> Call[list[SpawnEntry]]:
        return Call(
            self._pending_spawns,
            (limit,),
            lambda rows: [
                SpawnEntry(seq, parent_id, child_id, root_path, json.loads(context))
                for seq, parent_id, child_id, root_path, context in rows
            ],
        )

    def ack_spawn(self, seq: int) -> Call[bool]:
        return Call(self._ack_spawn, (seq,), any_row)

    def due_timers(self, now: float, limit: int | None) -> Call[list[tuple[str, str, float]]]:
        return Call(self._due_timers, (now, limit), lambda rows: [(id, path, fire_at) for id, path, fire_at in rows])

    def delete_timer(self, execution_id: str, path: str, fire_at: float) -> Call[bool]:
        return Call(self._delete_timer, (execution_id, path, fire_at), any_row)

    def append_trace(self, execution_id: str, entry: TraceEntry, trace_max: int | None) -> Call[int]:
        text = dump_dict(entry, f"a trace entry of execution {execution_id!r}")
        return Call(self._append_trace, (key("execution id", execution_id), text, trace_max), scalar)

    def read_trace(self, execution_id: str) -> Call[list[dict[str, Any]]]:
        return Call(
            self._read_trace,
            (execution_id,),
            lambda rows: [{**load_entry(entry), "index": index} for index, entry in rows],
        )

    def control(self, verb: str, execution_id: str) -> Call[bool]:
        return Call(self._control[verb], (execution_id,), scalar)

    def control_all(
        self,
        verb: str,
        status: Status | str | Iterable[Status | str] | None,
        definition_id: str | None,
        roots_only: bool,
        dry_run: bool,
    ) -> Call[int]:
        return Call(self._control_all[verb], (definition_id, _statuses(status), roots_only, dry_run), scalar)

    def control_tree(self, verb: str, execution_ids: Collection[str]) -> Call[tuple[list[str], bool]]:
        return Call(
            self._control_tree[verb], (array(execution_ids) or "{}",), lambda rows: (list(rows[0][0]), rows[0][1])
        )

    def cursor(self, execution_id: str) -> Call[str]:
        return Call(self._cursor, (execution_id,), scalar)

    def shards(self) -> Call[list[str]]:
        return Call(self._shards, (), lambda rows: [row[0] for row in rows])

    def name_shard(self, name: str | None) -> Call[str]:
        return Call(self._name_shard, (name,), scalar)

    def join_shards(self, names: Collection[str], name: str) -> Call[bool]:
        return Call(self._join_shards, (array(names) or "{}", name), scalar)

    def waiting_shards(self) -> Call[list[str]]:
        return Call(self._waiting_shards, (), lambda rows: [row[0] for row in rows])

    def foreign_outbox(self, shard: str, limit: int, without: Collection[str]) -> Call[ForeignEvents]:
        return Call(
            self._foreign_outbox, (shard, limit, array(without)), lambda rows: ForeignEvents(*_columns(rows, 3))
        )

    def receive_events(self, sender: str, events: ForeignEvents) -> Call[list[int]]:
        params = (sender, _numbers(events.seqs), array(events.targets), array(events.events))
        return Call(self._receive_events, params, lambda rows: list(rows[0][0]))

    def foreign_spawns(self, shard: str, limit: int) -> Call[ForeignSpawns]:
        return Call(self._foreign_spawns, (shard, limit), lambda rows: ForeignSpawns(*_columns(rows, 8)))

    def receive_spawns(self, sender: str, spawns: ForeignSpawns) -> Call[list[int]]:
        params = (
            sender, _numbers(spawns.seqs), array(spawns.parents), array(spawns.children), array(spawns.root_paths),
            array(spawns.contexts), array(spawns.definitions), _numbers(spawns.priorities), array(spawns.statuses),
        )  # fmt: skip
        return Call(self._receive_spawns, params, lambda rows: list(rows[0][0]))

    def settle_spawns(self, seqs: Iterable[int]) -> Call[int]:
        return Call(self._settle_spawns, (_numbers(seqs),), scalar)

    def purge_receipts(self, older_than: float, limit: int | None) -> Call[int]:
        return Call(self._purge_receipts, (older_than, limit), scalar)

    def _outbox(self, rows: list[Row]) -> list[OutboxEntry]:
        return [
            OutboxEntry(seq, target_id, load_event(self.event_type, event, f"outbox row {seq}"), source_id)
            for seq, target_id, event, source_id in rows
        ]

    def _loaded(self, execution_id: str, row: Row) -> tuple[Execution | None, bool]:
        data, already_processed, version = row
        if data is None:
            return None, False
        exe = load_model(self.execution_type, data, f"execution {execution_id!r}")
        # What guards a commit is the version of the row; a writer in another language may leave it out of the data.
        if exe.version != version:
            exe.version = version
        return exe, already_processed


def _statuses(status: Status | str | Iterable[Status | str] | None) -> str | None:
    if status is None:
        return None
    return array([status] if isinstance(status, str) else list(status)) or "{}"


def _numbers(numbers: Iterable[int]) -> str:
    return array([str(number) for number in numbers]) or "{}"


def _columns(rows: list[Row], count: int) -> list[list[Any]]:
    return [[row[column] for row in rows] for column in range(count)]


def scalar(rows: list[Row]) -> Any:
    return rows[0][0]


def any_row(rows: list[Row]) -> bool:
    return bool(rows[0][0])


def _swapped(rows: list[Row]) -> Outcome:
    return Outcome(rows[0][0], [], found_known=False)


def _committed(rows: list[Row]) -> Outcome:
    committed, stored_version, seqs = rows[0]
    return Outcome(committed, list(seqs), stored_version)


def _found_out(rows: list[Row]) -> Outcome:
    outcome, stored_version, seqs = rows[0]
    return Outcome({"committed": True, "conflict": False}.get(outcome), list(seqs), stored_version)


def _page(rows: list[Row]) -> ExecutionPage:
    names = ("id", "definition_id", "status", "outcome", "active_path", "version", "parent_id", "finished_at")
    items = [ExecutionSummary(**dict(zip(names, row[:-1], strict=True))) for row in rows]
    return ExecutionPage(items=items, next_cursor=rows[-1][-1] if rows else None)
