"""A wallet that receives, splits, joins, sends on and pays fees, and a chain that shows it among the rows of others.

The transitions are those that aleo-sdk itself authorizes, without a network and without proofs: the outputs,
ciphertexts and tags that the chain shows are theirs. The wallet keeps a book of its own, from its plaintexts.
"""

import json
import random
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, NamedTuple

from aleo import mainnet as sdk

from chainq.demo.planted import Input, Planted
from chainq.demo.registry import NO_END
from harness.lake.fork import Fork

FEE = 2_000


class Ledger(Fork):
    """A sample chain on which records and tags are planted while it grows, and which can be reorganized."""

    def __init__(self) -> None:
        super().__init__(NO_END)
        self.forks = 0
        self.owned_rows: dict[int, Planted] = {}
        self.tags: dict[Input, str] = {}
        self.planted = self.owned_rows

    def fork(self, at: int) -> None:
        """Replace the blocks from a height on; what was planted there is gone."""
        self.forks += 1
        self.turn(at, self.forks)  # each fork has other blocks
        first = self.records.before(at)
        for number in [number for number in self.owned_rows if number >= first]:
            del self.owned_rows[number]
        for place in [place for place in self.tags if place[0] >= at]:
            del self.tags[place]


class Held(NamedTuple):
    """A record of the wallet: the number of its key, its plaintext, its amount, and where it came."""

    owner: int
    plaintext: Any
    amount: int
    height: int
    number: int


@cache
def private_key(_number: int) -> Any:
    """A key that nobody had before this process."""
    return sdk.PrivateKey.random()


@cache
def process() -> Any:
    """What authorizes transitions."""
    return sdk.Process.load()


def transitions(key: Any, function: str, *given: str) -> list[dict[str, Any]]:
    """The transitions that a private key authorizes for a call of credits.aleo."""
    names = sdk.ProgramID.from_string("credits.aleo"), sdk.Identifier.from_string(function)
    made = process().authorize(key, *names, [sdk.Value.parse(value) for value in given])
    return [json.loads(one.to_json()) for one in made.transitions()]


def fee(key: Any, record: Any) -> dict[str, Any]:
    """The transition that pays a fee by a record."""
    (one,) = process().authorize_fee_private(key, record, FEE, 0, sdk.Field.random()).transitions()
    found: dict[str, Any] = json.loads(one.to_json())
    return found


class Slots:
    """The places of one block where records and tags can be planted: those of credits.aleo that are free."""

    def __init__(self, chain: Ledger, height: int) -> None:
        plan, first = chain.layout.plan(height), chain.records.before(height)
        self.records = [
            first + at
            for at, slot in enumerate(plan.slots)
            if slot.function.program == "credits.aleo" and first + at not in chain.owned_rows
        ]
        self.tags = [place for place in _inputs(plan, height, fees=False) if place not in chain.tags]
        self.fees = [place for place in _inputs(plan, height, fees=True) if place not in chain.tags]
        self.rejected = [
            (height, index, 32 + number, position)
            for index, one in enumerate(plan.transactions)
            if one.kind == "rejected"
            for number, call in enumerate(one.calls)
            for position, kind in enumerate(call.function.inputs)
            if kind == "record"
        ]


def _inputs(plan: Any, height: int, *, fees: bool) -> Iterator[Input]:
    for index, one in enumerate(plan.transactions):
        for number, call in enumerate(one.transitions):
            if call.function.program == "credits.aleo" and call.function.name.startswith("fee") == fees:
                for position, kind in enumerate(call.function.inputs):
                    if kind == "record":
                        yield height, index, number, position


class Wallet:
    """Keys, the records that they hold, and the book; `height` is the last one at which something happened."""

    def __init__(self, keys: int, height: int, seed: str) -> None:
        self.dice = random.Random(seed)  # noqa: S311  # seeded on purpose
        self.private = sorted(map(private_key, range(keys)), key=lambda key: str(key.address))
        self.stranger = private_key(-1)
        self.chain, self.height = Ledger(), height
        self.held: dict[int, Held] = {}  # by the number of the record
        self.spent: dict[int, int] = {}  # number of a record -> height
        self.done: list[str] = []

    @property
    def key_text(self) -> str:
        """The file of view keys."""
        return "".join(f"{key.view_key}\n" for key in self.private)

    def left(self) -> list[Held]:
        """The records that are not spent."""
        return [held for number, held in self.held.items() if number not in self.spent]

    def totals(self, height: int) -> dict[str, tuple[int, int, int, int]]:
        """By address: records, their sum, unspent ones and their sum, as of a block."""
        found = {}
        for number, key in enumerate(self.private):
            mine = [held for held in self.held.values() if held.owner == number and held.height <= height]
            left = [held for held in mine if self.spent.get(held.number, height + 1) > height]
            if mine:
                sums = [sum(held.amount for held in part) for part in (mine, left)]
                found[str(key.address)] = (len(mine), sums[0], len(left), sums[1])
        return found

    def receive(self, amount: int) -> None:
        """A stranger sends one record."""
        owner = self.dice.choice(self.private)
        self._enter(transitions(self.stranger, "transfer_public_to_private", str(owner.address), f"{amount}u64"))

    def act(self) -> None:
        """Do one of the things that a wallet does, if it has the records for it."""
        name = self.dice.choice(("receive", "split", "join", "send", "pay", "rejected"))
        one = self.dice.choice(self.left()) if self.left() else None
        others = [held for held in self.left() if one and held.owner == one.owner and held is not one]
        if one is None or name == "receive" or one.amount < 10 * FEE or (name in ("join", "rejected") and not others):
            self.receive(self.dice.randrange(1, 50) * 1_000_000)
            return
        key, text, half = self.private[one.owner], str(one.plaintext), one.amount // 2
        self.done.append(name)
        if name == "split":
            self._enter(transitions(key, "split", text, f"{half}u64"))
        elif name == "join":
            self._enter(transitions(key, "join", text, str(self.dice.choice(others).plaintext)))
        elif name == "send":
            to = self.dice.choice((self.stranger, *self.private)).address
            self._enter(transitions(key, "transfer_private", text, str(to), f"{half}u64"))
        elif name == "pay":
            self._enter([fee(key, one.plaintext)])
        else:
            payer = self.dice.choice(others)
            wanted = transitions(key, "transfer_private", text, str(self.stranger.address), f"{half}u64")
            if payer.amount > 2 * FEE:
                self._enter([fee(key, payer.plaintext)], wanted)

    def undo(self, at: int) -> None:
        """Take back what happened from a height on, as a reorg does."""
        self.chain.fork(at)
        self.held = {number: held for number, held in self.held.items() if held.height < at}
        self.spent = {number: height for number, height in self.spent.items() if height < at and number in self.held}
        self.height = min(self.height, at - 1)

    def _enter(self, made: list[dict[str, Any]], rejected: Iterable[dict[str, Any]] = ()) -> None:
        """Show transitions on the chain, at the next height with room for them, and enter them in the book."""
        outputs = [opened for one in made for output in one["outputs"] if (opened := self._opened(output))]
        tags = [given["tag"] for one in made for given in one["inputs"] if "tag" in given]
        wanted = [given["tag"] for one in rejected for given in one["inputs"] if "tag" in given]
        fees = made[0]["function"] == "fee_private"
        while True:
            self.height += 1
            slots = Slots(self.chain, self.height)
            places = slots.fees if fees else slots.tags
            enough = len(slots.records) >= len(outputs) and len(places) >= len(tags)
            if enough and len(slots.rejected) >= len(wanted):
                break
        self.chain.tags.update(zip(slots.rejected, wanted, strict=False))
        for tag, place in zip(tags, places, strict=False):
            self.chain.tags[place] = tag
            self.spent.update((held.number, self.height) for held in self.left() if self._tag(held) == tag)
        for (owner, plaintext, planted), number in zip(outputs, slots.records, strict=False):
            self.chain.owned_rows[number] = planted
            self.held[number] = Held(owner, plaintext, plaintext.microcredits, self.height, number)

    def _tag(self, held: Held) -> str:
        view_key = self.private[held.owner].view_key
        names = sdk.ProgramID.from_string("credits.aleo"), sdk.Identifier.from_string("credits")
        commitment = held.plaintext.commitment(*names, held.plaintext.record_view_key(view_key))
        return str(held.plaintext.tag(sdk.GraphKey.from_view_key(view_key), commitment))

    def _opened(self, output: dict[str, Any]) -> tuple[int, Any, Planted] | None:
        """The number of the key that owns an output, its plaintext and its rows; None for one of a stranger."""
        if output["type"] != "record":
            return None
        ciphertext = sdk.RecordCiphertext.from_string(output["value"])
        for number, key in enumerate(self.private):
            if ciphertext.is_owner(key.view_key):
                plaintext = ciphertext.decrypt(key.view_key)
                rvk = plaintext.record_view_key(key.view_key)
                domain = sdk.Field.domain_separator("AleoSymmetricEncryption0")
                mask = sdk.Poseidon8.setup("AleoPoseidon8").hash_many([domain, rvk], 1)[0]
                owner_x = str(key.address.to_group().to_x_coordinate() + mask).removesuffix("field")
                nonce_x = str(ciphertext.nonce.to_x_coordinate()).removesuffix("field")
                rows = Planted(output["value"], nonce_x, nonce_x, owner_x, output["id"], output["sender_ciphertext"])
                return number, plaintext, rows
        return None
