"""What an action has to say, kept until the page after it shows that."""

import secrets
from collections import OrderedDict
from threading import Lock
from typing import NamedTuple

# As many as can be on their way at once.
KEPT = 100


class Said(NamedTuple):
    """The result of an action, in words."""

    text: str
    detail: str = ""
    hint: str = ""
    failed: bool = False


class Messages:
    """Each is shown once, to whoever has its key."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Said] = OrderedDict()
        self._lock = Lock()

    def put(self, said: Said) -> str:
        key = secrets.token_urlsafe(9)
        with self._lock:
            self._kept[key] = said
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return key

    def take(self, key: str) -> Said | None:
        with self._lock:
            return self._kept.pop(key, None)
