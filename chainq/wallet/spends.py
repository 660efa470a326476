"""Finds which owned records are spent, and by which transaction.

The tag of a record is the Poseidon2 hash of `sk_tag`, derived from the view key, and the record's commitment, which is
its output ID. The input that spends a record contains that tag (docs/protocol.md, "Records and their outputs").
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from chainq.catalog.identifiers import is_data_set
from chainq.catalog.methods import BY_COMMAND
from chainq.errors import IncompleteError
from chainq.fetching.service import Service
from chainq.hashes.sdk import load
from chainq.heights.range import HeightRange
from chainq.planning.chunking import first_requests
from chainq.query import Query
from chainq.rows.block import Block, RecordOutput
from chainq.text.humanize import counted
from chainq.text.sanitize import excerpt
from chainq.wallet.keys import ViewKey
from chainq.wallet.records import Key, shown

MANY = 200  # requests for full blocks; the user is told before more are sent


def announce(reader: str, heights: HeightRange, service: Service, warn: Callable[[str], None], ways: str) -> None:
    """Say that `reader`, a command or an option, is about to read the full blocks of a range, if that takes long.

    `ways`: what helps beside a lake.
    """
    calls = sum(1 for _ in first_requests(Query(BY_COMMAND["full-blocks"]), heights))
    if calls > MANY and not is_data_set(service.url):
        less = f"{f'{ways}, ' if ways else ''}--lake DEST requests fewer"
        warn(f"{reader} reads the full blocks of {heights}, up to {counted(calls, 'call')}; {less}")


class Spend(NamedTuple):
    """The block and the transaction that spend a record."""

    height: int
    transaction: str


class Tags:
    """Computes the tags of records of these keys, 60 microseconds each."""

    def __init__(self, keys: Sequence[ViewKey]) -> None:
        sdk = load()
        self._field, self._tag = sdk.Field.from_string, sdk.RecordCiphertext.tag
        self._graph_keys: dict[str, Any] = {
            key.address: sdk.GraphKey.from_view_key(sdk.ViewKey.from_string(key.text)) for key in keys
        }

    def of(self, owner: str, output: RecordOutput) -> str:
        """Return the digits of the tag of a record of an owner. Raises IncompleteError for an output without an ID."""
        try:
            return str(self._tag(self._graph_keys[owner], self._field(output.id))).removesuffix("field")
        except RuntimeError:
            raise IncompleteError(
                f"full blocks: {shown((output.transition, output.place))} has no valid id: {excerpt(output.id, 80)}",
                "report it to the operator of the server",
            ) from None


class Spends:
    """Finds the spends of owned records in full blocks.

    `owners`: by record, the address that owns it. Read blocks in order of height, starting at the first record: a
    record cannot be spent before its block.
    """

    def __init__(self, keys: Sequence[ViewKey], owners: dict[Key, str]) -> None:
        self._tags, self._owners = Tags(keys), owners
        self._by_tag: dict[str, Key] = {}
        self._seen: set[Key] = set()
        self._spends: dict[Key, Spend] = {}

    def read(self, block: Block) -> None:
        """Read the next full block."""
        for output in block.outputs:  # before the inputs: a transaction can spend its own outputs
            key = (output.transition, output.place)
            if key in self._owners:
                self._by_tag[self._tags.of(self._owners[key], output)] = key
                self._seen.add(key)
        for tag, transaction in block.spent:
            if tag in self._by_tag and block.height is not None:
                self._spends[self._by_tag[tag]] = Spend(block.height, transaction)

    @property
    def all_spent(self) -> bool:
        """Return whether every record is spent, so that later blocks have nothing to tell."""
        return len(self._spends) == len(self._owners)

    def of(self, key: Key) -> Spend | None:
        """Return the spend of a record, None if it is unspent. Raises IncompleteError if no block contains it."""
        if key not in self._seen:
            raise IncompleteError(
                f"full blocks: {shown(key)} is owned, but in no block: the chain may have been reorganized",
                "run the command again",
            )
        return self._spends.get(key)
