"""View keys and records for tests: fresh ones of the SDK, and a sample service that holds chosen records."""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from chainq.demo.chain import Chain
from chainq.demo.faults import NO_FAULTS, Faults
from chainq.demo.layout import Layout
from chainq.demo.planted import Input, Planted
from chainq.demo.registry import Reply
from harness.running.sample import ADDRESS, VIEW_KEY
from harness.servers.services import Moving

VARIABLE = "CHAINQ_VIEW_KEY"

PLAIN = ("--columns", "owner,nonce_x,nonce_y,owner_x,transition_id,output_index")
"""The columns of ownership rows, which `owned` prints without a request about the records."""


class Key(NamedTuple):
    """A view key: its text, its address, and its scalar as digits."""

    text: str
    address: str
    scalar: str


@cache
def fresh_key(_number: int = 0) -> Key:
    """A key that nobody had before this process, which compares the rows of the sample chain with it only once."""
    sdk = pytest.importorskip("aleo").mainnet
    view_key = sdk.PrivateKey.random().view_key
    return Key(str(view_key), str(view_key.address), str(view_key.to_scalar()).removesuffix("scalar"))


PUBLISHED = Key(VIEW_KEY, ADDRESS, "")


def tagged(key: Key, record: Planted) -> Planted:
    """The same record of a key, spent: by the tag that aleo-sdk makes of its commitment."""
    sdk = pytest.importorskip("aleo").mainnet
    graph_key = sdk.GraphKey.from_view_key(sdk.ViewKey.from_string(key.text))
    return record._replace(tag=str(sdk.RecordCiphertext.tag(graph_key, sdk.Field.from_string(record.output_id))))


def key_file(folder: Path, *keys: Key, mode: int = 0o600) -> str:
    """The path of a file with these keys."""
    file = folder / "keys"
    file.write_text("# wallet\n\n" + "".join(f"{key.text}\n" for key in keys))
    file.chmod(mode)
    return str(file)


class Holding(Moving):
    """The sample service with these planted records, up to `tip`; keeps every byte that it was sent.

    `first`: the height of the first one, where they are to stand `apart` heights apart, or a few more.
    """

    def __init__(
        self, owned: Sequence[Any], tip: int, faults: Faults = NO_FAULTS, first: int | None = None, apart: int = 15
    ) -> None:
        super().__init__(tip, Chain(tip=tip), faults)
        self.received: list[bytes] = []
        layout = self.chain.layout
        if first is None:
            self.chain.planted = places(layout, owned)
        else:
            self.chain.planted = dict(zip(self._places(first, apart), owned, strict=False))
        self.chain.tags = spends(layout, self.chain.planted)

    def respond(self, body: bytes) -> Reply:
        """As the service does, with the body kept."""
        self.received.append(body)
        return super().respond(body)

    def _places(self, height: int, apart: int) -> Iterator[int]:
        while True:
            slots = self.chain.layout.plan(height).slots
            at = next((at for at, slot in enumerate(slots) if slot.function.program == "credits.aleo"), None)
            if at is not None:
                yield self.chain.records.before(height) + at
            height += 1 if at is None else apart

    def planted(self, start: int, end: int) -> list[tuple[int, str, str]]:
        """Height, transition and `owner_x` of the planted records in a range of heights, in order."""
        rows = []
        for number in sorted(self.chain.planted):
            height, position = self.chain.records.locate(number) or (-1, 0)
            if start <= height < end:
                (row,) = self.chain.ownership_rows(height, [position])
                rows.append((height, row["transition_id"], row["owner_x"]))
        return rows


def transitions(rows: Sequence[bytes]) -> list[str]:
    """The transitions of jsonl rows."""
    return [json.loads(row)["transition_id"] for row in rows]


SPACING = 29
"""Record k (from 1) is planted at the first suitable place from height SPACING * k² on: dense at first, then sparse."""


def places(layout: Layout, planted: Sequence[Planted]) -> dict[int, Planted]:
    """Return the number of the record that each planted record replaces.

    They are records of credits.aleo; a record with a public owner replaces one with a public owner.
    """
    found: dict[int, Planted] = {}
    for k, record in enumerate(planted, 1):
        height = SPACING * k * k
        while not (free := _suitable(layout, height, public=not record.nonce_x) - found.keys()):
            height += 1
        found[min(free)] = record
    return found


LIFE = 20
"""Heights after which a planted record is spent at the earliest."""


def spends(layout: Layout, planted: Mapping[int, Planted]) -> dict[Input, str]:
    """Return the tags of the inputs that spend planted records: the first free inputs of credits.aleo."""
    found: dict[Input, str] = {}
    for number, record in sorted(planted.items()):
        located = layout.records.locate(number)
        if not record.tag or located is None:
            continue
        height = located[0] + LIFE
        while not (free := [at for at in _record_inputs(layout, height) if at not in found]):
            height += 1
        found[free[0]] = record.tag
    return found


def _record_inputs(layout: Layout, height: int) -> Iterator[Input]:
    """Yield the record inputs of a block's transitions of credits.aleo that took effect."""
    for index, plan in enumerate(layout.plan(height).transactions):
        for number, call in enumerate(plan.transitions):
            if call.function.program == "credits.aleo":
                for position, kind in enumerate(call.function.inputs):
                    if kind == "record":
                        yield height, index, number, position


def _suitable(layout: Layout, height: int, *, public: bool) -> set[int]:
    """Return the numbers of the records of a block that a planted one can replace."""
    first = layout.records.before(height)
    return {
        first + position
        for position, slot in enumerate(layout.plan(height).slots)
        if slot.function.program == "credits.aleo" and (slot.function.name == "mint") == public
    }
