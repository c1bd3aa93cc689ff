"""Which of several shards owns an execution, and how the numbers of their rows are told apart."""

from collections.abc import Iterable
from hashlib import sha256

from ._base import translated


class ShardMap:
    """The shards by their names, in the order of these as bytes: a shard is known by its position there.

    By rendezvous hashing (Thaler and Ravishankar, 1998) an id belongs to the shard with the greatest SHA-256 of its
    name, a zero byte and the id, all in UTF-8, as harel_shard_of() has it. A further shard would take ids from each of
    the others and move none between them.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self.names = sorted(names, key=str.encode)
        self._prefixes = [sha256(name.encode() + b"\0") for name in self.names]

    def position(self, execution_id: str) -> int:
        """Of the shard that owns an execution; raises InvalidArgument for an id that no database can hold."""
        try:
            id = execution_id.encode()
        except UnicodeEncodeError as error:
            raise translated(error) or error from error
        greatest, owner = b"", 0
        for position, prefix in enumerate(self._prefixes):
            hashed = prefix.copy()
            hashed.update(id)
            if hashed.digest() > greatest:
                greatest, owner = hashed.digest(), position
        return owner

    def number(self, position: int, seq: int) -> int:
        """The number among all shards of a row that has this one in its own."""
        return seq * len(self.names) + position

    def parted(self, number: int) -> tuple[int, int]:
        """The position of the shard and the seq there that a number stands for."""
        seq, position = divmod(number, len(self.names))
        return position, seq
