"""What no caller should pass and some caller will, as PostgreSQL writes it (None: NULL), by the type of an argument."""

import base64
import json
import random
import re

Value = str | None

# What a level of nesting costs differs between the parsers; both give up somewhere between the last two.
_DEEP = [depth * "[" + depth * "]" for depth in (1_000, 5_000, 100_000)]
JSON: list[Value] = [
    "null",
    "1",
    '"text"',
    "[]",
    "[1,",
    "{",
    "\ufeff{}",
    "NaN",
    '{"a": Infinity}',
    "{'a': 1}",
    '{"a": 1} {}',
    ' \t\n{"a":\n1}\r\n ',
    '{"a": "\\u0000"}',
    '{"status": "\\u0000", "active_path": "\\\\u0000"}',
    '{"status": "\\ud800", "outcome": "\\udc00\\ud800"}',
    '{"status": "\\u00e9\\u20ac\\ud83e\\udd89"}',
    '{"status": "\\x"}',
    '{"n": 1e400, "m": -1e400, "status": "RUNNING"}',
    '{"n": 1e999999999999, "status": "DONE", "finished_at": 1e308}',
    '{"status": "DONE", "finished_at": 1e999999999999}',
    '{"status": "DONE", "finished_at": -99999999999.9999999}',
    '{"status": "DONE", "finished_at": "yesterday"}',
    '{"status": {"status": "DONE"}}',
    '{"status": ["DONE"], "version": {}}',
    '{"status": null, "outcome": null, "parent_id": null, "priority": null}',
    '{"status": "RUNNING", "status": "SUSPENDED", "version": 1, "version": 2}',
    '{"status": "CANCELLED"}',
    '{"st\\u0061tus": "RUNNING", "": 1}',
    '{"priority": 99999999999, "version": -1}',
    '{"priority": "4", "parent_id": "e"}',
    '{"parent_id": "by-1", "id": 7}',
    '{"parent_id": ""}',
    json.dumps({"parent_id": 1_001 * "p", "status": 1_000_000 * "s"}),
    json.dumps({"id": 1_000_000 * "i", "outcome": 1_000_000 * "\\"}),
    *_DEEP,
]
CURSORS: list[Value] = [
    "=",
    "aDF8",
    "aDF8" + 40 * "A",
    base64.b64encode(b"h2|" + bytes(4)).decode(),
    base64.b64encode(b"h1|" + bytes(4) + b"\xff").decode(),
    base64.b64encode(b"h1|\xe3\xb0\xc4\x42").decode(),
    base64.b64encode(b'{"id": "e"}').decode(),
    base64.b64encode(1_000_000 * b"x").decode(),
]
WORDS: list[Value] = [
    None,
    "",
    " ",
    "e",
    "'",
    '"',
    "\\",
    "$$; DROP TABLE executions; --",
    "%s %I %L %",
    "{}",
    "a\nb\r\tc\x01\x7f",
    "\u202e\u0301\ufffd\uffff🦉",
    "NULL",
    "schedule",
    "worker",
    1_000 * "x",
    1_001 * "x",
    500 * "é",
    501 * "é",
    1_000_000 * "x",
]
INTEGER: list[Value] = [
    None,
    *("0", "-0", "1", "2", "-1", "5", "32767", "32768", "2147483646", "2147483647", "-2147483648"),
    *("2147483648", "-2147483649", "9223372036854775807", "-9223372036854775808", "9223372036854775808"),
    *("", "x", "1.5", "NaN", "0x1F", 1_000 * "9"),
]
DOUBLE: list[Value] = [
    None,
    *(
        "0",
        "-0",
        "1",
        "-1",
        "0.1",
        "5e-324",
        "-5e-324",
        "1e12",
        "-1e12",
        "9223372036854.775807",
        "-9223372036854.775807",
    ),
    *("1e15", "-1e15", "1e19", "-1e19", "1e300", "-1e300", "1e308", "-1e308", "1.7976931348623157e308"),
    *("NaN", "Infinity", "-Infinity", "1e309", "1e-400", "", "x", "2026-01-01"),
]
BOOLEAN: list[Value] = [None, "true", "false", "", "2", "maybe"]
UUID: list[Value] = [
    None,
    "00000000-0000-0000-0000-000000000000",
    "ffffffffffffffffffffffffffffffff",
    "{A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11}",
    "",
    "x",
    "00000000-0000-0000-0000-00000000000g",
    1_000 * "0",
]
NAME: list[Value] = [None, "", "PUBLIC", "none", "current_user", "no such role", 'a"b', 63 * "x", 1_000 * "x"]
SIGNATURES: list[Value] = [
    *("length(text)", "pg_catalog.textcat(text,text)", "no.such(text,text)", "count(*)", "a.b.c.d(text)", "(", "0"),
    "4294967295",
]


def element(value: Value) -> str:
    """A value as an element of the literal of an array."""
    return "NULL" if value is None else '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def array(*values: Value) -> str:
    """The literal of an array."""
    return "{" + ",".join(element(value) for value in values) + "}"


def _arrays(values: list[Value]) -> list[Value]:
    """Arrays of every odd shape, and one of each value."""
    plain = values[3]
    e = element(plain)
    shapes = [
        "{}",
        f"{{{{{e}}}}}",
        f"{{{{{e},{e}}},{{{e},{e}}}}}",
        f"[0:0]={{{e}}}",
        f"[2:2]={{{e}}}",
        f"[-2147483648:-2147483648]={{{e}}}",
        "{",
        "x",
        "",
        array(plain, None),
        array(None, plain, plain),
        array(plain, plain),
        array(*1_000 * [plain]),
    ]
    return [None, *shapes, *(array(value) for value in values)]


VALUES: dict[str, list[Value]] = {
    "text": [*WORDS, *JSON, *CURSORS, *SIGNATURES],
    "name": NAME,
    "integer": INTEGER,
    "bigint": INTEGER,
    "double precision": DOUBLE,
    "boolean": BOOLEAN,
    "uuid": UUID,
    "text[]": _arrays([*WORDS, *JSON]),
    "integer[]": _arrays(INTEGER),
    "bigint[]": _arrays(INTEGER),
    "double precision[]": _arrays(DOUBLE),
    "uuid[]": _arrays(UUID),
}


_NO_JSON = re.compile("_ids?$|target|child|path|action|defn|status|worker|prefix|role|access")


def hostile(argument: str, kind: str) -> list[Value]:
    """The values of the type that are worth trying for the argument: JSON is not where a key is meant."""
    if "cursor" in argument or not kind.startswith("text") or not _NO_JSON.search(argument):
        return VALUES[kind]
    return [*WORDS, *JSON[:3]] if kind == "text" else _arrays([*WORDS, *JSON[:3]])


def some(seed: int, types: dict[str, str], count: int) -> list[dict[str, Value]]:
    """`count` choices of hostile values for two arguments or more, the same for the same seed."""
    chance = random.Random(seed)
    if len(types) < 2:
        return []
    choices = [chance.sample(sorted(types), chance.randint(2, min(4, len(types)))) for _ in range(count)]
    return [{name: chance.choice(hostile(name, types[name])) for name in names} for names in choices]
