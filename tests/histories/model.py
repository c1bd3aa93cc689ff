"""What a store promises, as a plain program: dictionaries, one caller at a time, and a clock that is given.

Each method has the effect of the method of the client or of the function of the same name.
"""

import hashlib
import json
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import count
from math import inf
from typing import Any

from content import Content, Group

FINAL = ("DONE", "CANCELLED", "FAILED")
Emits = list[tuple[str | None, str]]
Timers = list[tuple[str, str, float]]
Spawns = list[tuple[str, str, str]]


@dataclass
class Row:
    """An execution."""

    definition: str
    data: dict[str, Any]
    version: int

    @property
    def status(self) -> str:
        return str(self.data["status"])

    @property
    def parent(self) -> str | None:
        return self.data.get("parent_id")

    @property
    def priority(self) -> int:
        return int(self.data.get("priority") or 0)


@dataclass
class Message:
    """One in the queue or among the dead letters. `number` counts what was published."""

    event: str
    number: int


@dataclass
class Queue:
    """A group with messages."""

    available_at: float
    priority: int
    messages: list[Message]
    attempts: int = 0
    token: str | None = None
    worker: str | None = None

    def free(self, available_at: float) -> None:
        self.available_at, self.token, self.worker = available_at, None, None


@dataclass
class Letter:
    """A dead letter."""

    group: str
    message: Message
    reason: str
    attempts: int


@dataclass
class Step:
    """What is to become of a leased message; without data it only goes. `seqs` are those that the store gave."""

    id: str
    token: str
    event: str
    definition: str
    data: dict[str, Any] | None
    old: int
    emits: Emits
    timers: Timers
    spawns: Spawns
    trace: str | None
    seqs: list[int]


@dataclass
class Model:
    """A store. `trace_max` and `max_attempts` are those of the clients."""

    trace_max: int
    max_attempts: int
    executions: dict[str, Row] = field(default_factory=dict)
    outbox: dict[int, tuple[str | None, str, str]] = field(default_factory=dict)
    processed: set[tuple[str, str]] = field(default_factory=set)
    timers: dict[tuple[str, str], float] = field(default_factory=dict)
    spawns: list[tuple[str, str, str, str]] = field(default_factory=list)
    trace: dict[str, list[tuple[int, str]]] = field(default_factory=dict)
    groups: dict[str, Queue] = field(default_factory=dict)
    letters: list[Letter] = field(default_factory=list)
    numbers: Iterator[int] = field(default_factory=count)
    resumptions: Iterator[int] = field(default_factory=count)

    def content(self) -> Content:
        return Content(
            {
                id: (e.definition, e.data, e.version, e.status, e.parent, e.priority, e.status in FINAL)
                for id, e in self.executions.items()
            },
            [(seq, *self.outbox[seq]) for seq in self.waiting()],
            self.processed,
            self.timers,
            self.waiting_spawns(),
            {id: entries for id, entries in self.trace.items() if entries},
            {
                id: Group(q.available_at, q.priority, q.attempts, q.token, q.worker, tuple(m.event for m in q.messages))
                for id, q in self.groups.items()
            },
            sorted((d.group, d.message.event, d.reason, d.attempts, d.attempts > 0) for d in self.letters),
        )

    # Commits

    def swap(self, id: str, definition: str, data: dict[str, Any], old: int, event: str | None) -> bool:
        row = self.executions.get(id)
        if (row.version if row else 0) != old:
            return False
        self.executions[id] = Row(definition, deepcopy(data), old + 1)
        if event:
            self.processed.add((id, event))
        return True

    def commit(
        self,
        id: str,
        definition: str,
        data: dict[str, Any],
        old: int,
        event: str | None = None,
        emits: Emits = [],  # noqa: B006
        timers: Timers = [],  # noqa: B006
        spawns: Spawns = [],  # noqa: B006
        trace: str | None = None,
        seqs: list[int] = [],  # noqa: B006
    ) -> bool:
        """`seqs` are those that the store gave the events."""
        if not self.swap(id, definition, data, old, event):
            return False
        assert len(seqs) == len(emits)
        assert seqs == sorted(seqs)
        assert not seqs or seqs[0] > max((seq for seq in self.outbox if self.precedes(seq, id)), default=0)
        self.outbox.update(zip(seqs, ((target, text, id) for target, text in emits), strict=True))
        self.spawns += [(id, *spawn) for spawn in spawns]
        for action, path, fire_at in timers:
            if action == "schedule":
                self.timers[id, path] = fire_at
            else:
                self.timers.pop((id, path), None)
        if trace is not None:
            self.append_trace(id, trace)
        return True

    def append_trace(self, id: str, entry: str) -> int:
        entries = self.trace.setdefault(id, [])
        index = entries[-1][0] + 1 if entries else 0
        entries.append((index, entry))
        self.trace[id] = [(i, text) for i, text in entries if i > index - self.trace_max]
        return index

    def purge(self, id: str, version: int) -> bool:
        row = self.executions.get(id)
        if row and row.version != version:
            return False
        self.executions.pop(id, None)
        self.groups.pop(id, None)
        self.trace.pop(id, None)
        self.letters = [letter for letter in self.letters if letter.group != id]
        self.timers = {key: at for key, at in self.timers.items() if key[0] != id}
        self.processed = {key for key in self.processed if key[0] != id}
        self.spawns = [spawn for spawn in self.spawns if spawn[0] != id]
        self.outbox = {seq: row for seq, row in self.outbox.items() if row[0] != id}
        return row is not None

    # Control

    def suspend(self, *ids: str) -> bool:
        changed = [id for id in self._tree(ids) if self.can_become(id, "SUSPENDED")]
        for id in changed:
            row = self.executions[id]
            kept = {"resumes_as": None if row.status == "RUNNING" else row.status}
            if kept["resumes_as"] is None and row.data.get("resumes_as") is None:
                kept = {}
            self._control(id, "SUSPENDED", kept)
            if id in self.groups:
                self.groups[id].free(inf)
        return bool(changed)

    def resume(self, *ids: str) -> bool:
        changed = [id for id in self._tree(ids) if self.can_become(id, "RUNNING")]
        # By the clock of the database, which here is long before that of the other calls.
        now = float(next(self.resumptions))
        for id in changed:
            was = self.executions[id].data.get("resumes_as")
            self._control(id, was or "RUNNING", {"resumes_as": None} if was else {})
            if id in self.groups and self.groups[id].available_at == inf:
                self.groups[id].available_at = now
        return bool(changed)

    def cancel(self, *ids: str) -> bool:
        changed = [id for id in self._tree(ids) if self.can_become(id, "CANCELLED")]
        for id in changed:
            self._control(id, "CANCELLED", {})
            self._bury_all(id, "the execution was cancelled")
            self.timers = {key: at for key, at in self.timers.items() if key[0] != id}
            self.spawns = [spawn for spawn in self.spawns if spawn[0] != id]
        return bool(changed)

    def can_become(self, id: str, status: str) -> bool:
        row = self.executions.get(id)
        if row is None or row.status in FINAL:
            return False
        return status == "CANCELLED" or (row.status == "SUSPENDED") == (status == "RUNNING")

    def _tree(self, ids: Any) -> list[str]:
        tree = list(dict.fromkeys(ids))
        for id in tree:
            tree += [child for child, row in self.executions.items() if row.parent == id and child not in tree]
        return tree

    def _control(self, id: str, status: str, fields: dict[str, Any]) -> None:
        row = self.executions[id]
        row.version += 1
        row.data = {**row.data, **fields, "version": row.version, "status": status}

    # Queue

    def publish(self, id: str, event: str, priority: int | None, now: float) -> None:
        message = Message(event, next(self.numbers))
        if id in self.groups:
            self.groups[id].messages.append(message)
            return
        if priority is None:
            priority = self.executions[id].priority if id in self.executions else 0
        self.groups[id] = Queue(now, priority, [message])

    def available(self, min_priority: int, now: float) -> list[str]:
        """The groups that can be claimed, in the order in which they are."""
        ready = [id for id, q in self.groups.items() if q.available_at <= now and q.priority >= min_priority]
        return sorted(
            ready, key=lambda id: (-self.groups[id].priority * bool(min_priority), self.groups[id].available_at)
        )

    def exhaust(self, ids: list[str], now: float) -> bool:
        """Makes the first messages of those delivered too often dead letters."""
        exhausted = [id for id in ids if self.groups[id].attempts >= self.max_attempts]
        for id in exhausted:
            self._bury_first(id, None, now)
        return bool(exhausted)

    def lease(self, id: str, worker: str, deadline: float, token: str) -> Queue:
        queue = self.groups[id]
        queue.available_at, queue.token, queue.worker = deadline, token, worker
        queue.attempts += 1
        return queue

    def holds(self, id: str, token: str, now: float) -> bool:
        queue = self.groups.get(id)
        return queue is not None and queue.token == token and queue.available_at > now

    def settle(self, id: str, now: float) -> None:
        queue = self.groups[id]
        del queue.messages[0]
        queue.free(now)
        queue.attempts = 0
        if not queue.messages:
            del self.groups[id]

    def nack(self, id: str, delay: float, reason: str | None, now: float) -> None:
        queue = self.groups[id]
        queue.free(now + delay)
        if queue.attempts >= self.max_attempts:
            self._bury_first(id, reason, now)

    def sort_out(self, id: str, now: float) -> bool:
        """What harel_next() does with a message that it has leased; whether it is to be delivered."""
        queue = self.groups[id]
        row = self.executions.get(id)
        if row is None:
            if any(child == id for _, child, *_ in self.spawns):
                queue.free(now + 0.1)
                queue.attempts -= 1
            else:
                self._bury_all(id, "there is no such execution")
        elif row.status == "SUSPENDED":
            queue.free(inf)
            queue.attempts -= 1
        elif row.status in ("CANCELLED", "FAILED") and not self.is_processed(id, queue.messages[0].event):
            self._bury_all(id, f"the execution is {row.status}")
        else:
            return True
        return False

    def is_processed(self, id: str, event: str) -> bool:
        return (id, json.loads(event)["id"]) in self.processed

    def _bury_first(self, id: str, reason: str | None, now: float) -> None:
        queue = self.groups[id]
        reason = reason or f"delivered {queue.attempts} times without having been handled"
        self.letters.append(Letter(id, queue.messages[0], reason, queue.attempts))
        self.settle(id, now)

    def _bury_all(self, id: str, reason: str) -> None:
        queue = self.groups.pop(id, None)
        for place, message in enumerate(queue.messages if queue else []):
            self.letters.append(Letter(id, message, reason, queue.attempts if place == 0 and queue else 0))

    def redrive(self, id: str | None, now: float) -> int:
        back = [letter for letter in self.letters if id in (None, letter.group)]
        self.letters = [letter for letter in self.letters if letter not in back]
        for letter in sorted(back, key=lambda letter: -letter.message.number):
            queue = self.groups.get(letter.group)
            if queue is None:
                row = self.executions.get(letter.group)
                self.groups[letter.group] = Queue(now, row.priority if row else 0, [letter.message])
                continue
            queue.messages.insert(0, letter.message)
            queue.free(inf if queue.available_at == inf else now)
            queue.attempts = 0
        return len(back)

    def finish(self, steps: list[Step], now: float) -> list[tuple[str, int | None]]:
        held = [self.holds(step.id, step.token, now) for step in steps]
        answers: list[tuple[str, int | None]] = [("expired", None)] * len(steps)
        published: list[tuple[str, str]] = []
        done: list[str] = []
        for place in sorted(range(len(steps)), key=lambda place: (steps[place].id.encode(), place)):
            step = steps[place]
            if not held[place] or step.id in done:
                continue
            answers[place] = ("finished", None)
            if step.data is not None:
                row = self.executions.get(step.id)
                sent = self._step(step)
                if sent is None:
                    answers[place] = ("conflict", row.version if row else None)
                    continue
                answers[place] = ("finished", step.old + 1)
                published += sent
            done.append(step.id)
        for id, event in published:
            self.publish(id, event, None, now)
        for id in done:
            self.settle(id, now)
        return answers

    def _step(self, step: Step) -> list[tuple[str, str]] | None:
        """What is to be published, in order; None where another commit was first."""
        assert step.data is not None
        # What waits in the outbox must not be overtaken.
        waiting = {target for target, _, source in self.outbox.values() if source == step.id}
        kept = [(target, event) for target, event in step.emits if target is None or target in waiting]
        sent = [(target, event) for target, event in step.emits if target is not None and target not in waiting]
        if not self.commit(
            step.id, step.definition, step.data, step.old, step.event, kept, step.timers, [], step.trace, step.seqs
        ):
            return None
        row = self.executions[step.id]
        starts = [
            (child, self.create_child(step.id, row, child, path, context)) for child, path, context in step.spawns
        ]
        return [(child, start) for child, start in starts if start is not None] + sent

    # From the store into the queue

    def waiting(self) -> list[int]:
        """The seqs of the outbox, in the order in which they leave it."""
        return sorted(self.outbox)

    def precedes(self, seq: int, source: str) -> bool:
        """Whether an event in the outbox has a smaller seq than those that a source emits after it."""
        return True

    def waiting_spawns(self) -> list[tuple[str, str, str, str]]:
        """The children to make, in the order in which they are."""
        return self.spawns

    def relay(self, limit: int, now: float) -> int:
        moved = [seq for seq in self.waiting() if self.outbox[seq][0] is not None][:limit]
        for seq in moved:
            target, event, _ = self.outbox.pop(seq)
            assert target is not None
            self.publish(target, event, None, now)
        return len(moved)

    def relay_spawns(self, limit: int, now: float) -> int:
        settled = [
            (spawn, deepcopy(self.executions[spawn[0]]))
            for spawn in self.waiting_spawns()
            if spawn[0] in self.executions
        ]
        suspended = []
        for spawn, parent in settled[:limit]:
            self.spawns.remove(spawn)
            _, child, root_path, context = spawn
            created = self.create_child(spawn[0], parent, child, root_path, context)
            if created:
                self.publish(child, created, None, now)
                if parent.status == "SUSPENDED":
                    suspended.append(child)
        if suspended:
            self.suspend(*suspended)
        return len(settled[:limit])

    def create_child(self, parent_id: str, parent: Row, child: str, root_path: str, context: str) -> str | None:
        """The event that starts the child; None where its id is taken."""
        data = {
            "id": child,
            "definition_id": parent.definition,
            "root_path": root_path,
            "status": "PENDING",
            "context": json.loads(context),
            "parent_id": parent_id,
            "child_id": child,
            "priority": parent.priority,
            "version": 1,
        }
        if not self.swap(child, parent.definition, data, 0, None):
            return None
        return f'{{"id":"{derived("Start", child)}","kind":"Start","data":{{}}}}'

    def due(self, now: float) -> list[tuple[float, str, str]]:
        return sorted((at, id.encode(), path.encode()) for (id, path), at in self.timers.items() if at <= now)

    def due_timers(self, now: float) -> list[tuple[str, str, float]]:
        return [(id.decode(), path.decode(), at) for at, id, path in self.due(now)]

    def fire_timers(self, limit: int, now: float) -> int:
        fired = self.due_timers(now)[:limit]
        for id, path, fire_at in fired:
            del self.timers[id, path]
            at = str(int(fire_at))
            event_id = derived("Timeout", id, path, at)
            data = f'{{"path":{json.dumps(path, ensure_ascii=False)},"fire_at":{at}}}'
            self.publish(id, f'{{"id":"{event_id}","kind":"Timeout","data":{data}}}', None, now)
        return len(fired)

    def next_at(self, now: float) -> float | None:
        waiting = (q.available_at for q in self.groups.values() if now < q.available_at < inf)
        return min([*self.timers.values(), *waiting], default=None)


@dataclass
class ClusterModel(Model):
    """A store that is spread over nodes: there is an order of what one source emits and asks for, not of all.

    What a step causes for others waits until it is moved, as it may have to go to another node.
    """

    def waiting(self) -> list[int]:
        return sorted(self.outbox, key=lambda seq: (self.outbox[seq][2].encode(), seq))

    def precedes(self, seq: int, source: str) -> bool:
        return self.outbox[seq][2] == source

    def waiting_spawns(self) -> list[tuple[str, str, str, str]]:
        return sorted(self.spawns, key=lambda spawn: spawn[0].encode())

    def _step(self, step: Step) -> list[tuple[str, str]] | None:
        assert step.data is not None
        head = (step.id, step.definition, step.data, step.old, step.event)
        return [] if self.commit(*head, step.emits, step.timers, step.spawns, step.trace, step.seqs) else None


def derived(*parts: str) -> str:
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:32]
