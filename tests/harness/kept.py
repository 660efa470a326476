"""What many tests compute again from the same input, and each process needs to compute only once.

Rows of the sample chain, which every service of the tests makes anew, hashes of its blocks, and who owns its records.
They are what the package itself makes, once for all chains with the same values.
"""

import hashlib
import marshal
from collections.abc import Callable, Sequence
from functools import lru_cache, wraps
from typing import Any

import msgspec
import typer.main

from chainq.demo.chain import Chain
from chainq.demo.faults import NO_FAULTS
from chainq.demo.layout import Tally
from chainq.demo.registry import Ask, Item, Memory
from chainq.demo.results import Results
from chainq.hashes import formulas
from chainq.wallet.ownership import Matcher

Rows = Callable[[int, Sequence[int]], list[Any]]
LISTS = ("records", "ownership", "transitions", "transactions")
HASHES = ("block_hash", "transactions_root", "ratifications_root", "subdag_root", "batch_id", "transition_id")
LARGEST = 2_000  # rows of a height that are kept: of one with 25,000 most requests take few
CHAINS: set[type[Chain]] = {Chain}  # whose rows depend on nothing but what `_Block` compares

_list, _block = Results._list, Results._block
_begin, _owners = Matcher.__init__, Matcher._owners
_known: dict[Any, list[int]] = {}


class _Block:
    """What the rows of a block are made of: equal for blocks of any chains that have the same rows."""

    def __init__(self, results: Results, height: int) -> None:
        self.results, self.height, chain = results, height, results._chain
        first = chain.records.before(height)
        numbers = range(first, first + chain.records.count(height))
        planted = [(number, one) for number, one in chain.planted.items() if number in numbers]
        tags = [(place, tag) for place, tag in chain.tags.items() if place[0] == height]
        sides = [side for side in chain._sides if side[0] <= height]
        self._key = (height, chain.genesis, chain._again == height, chain.layout, *planted, *tags, *sides)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Block) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


def _plain(results: Results) -> bool:
    """Return whether rows depend on nothing else: a test may replace a method of a chain."""
    return type(results._chain) in CHAINS and "ownership_rows" not in vars(results._chain)


def _made(block: _Block, handler: str) -> bytes:
    return msgspec.json.encode(_block(block.results, handler, block.height))


_full, _summary = lru_cache(maxsize=2048)(_made), lru_cache(maxsize=32_768)(_made)  # a full block has 100 KB


@lru_cache(maxsize=8192)
def _rows(block: _Block, handler: str, count: int) -> list[bytes]:
    ask = Ask(handler, block.height, block.height + 1, block.height, 0, block.results, NO_FAULTS, Memory())
    _, rows = _list(block.results, ask)
    return list(map(msgspec.json.encode, rows(block.height, range(count))))


def _item(height: int, row: Any, position: int = 0) -> Item:
    return Item(height, position, row if isinstance(row, bytes) else msgspec.json.encode(row))


def _kept_block(results: Results, handler: str, height: int) -> Any:
    if not _plain(results):
        return _block(results, handler, height)
    return (_full if handler == "full_blocks" else _summary)(_Block(results, height), handler)


def _kept_list(results: Results, ask: Ask) -> tuple[Tally, Rows]:
    tally, rows = _list(results, ask)
    if ask.handler not in LISTS or not _plain(results):
        return tally, rows

    def kept(height: int, positions: Sequence[int]) -> list[Any]:
        count = tally.count(height)
        if count > LARGEST:
            return rows(height, positions)
        every = _rows(_Block(results, height), ask.handler, count)
        return [every[position] for position in positions]

    return tally, kept


def _kept_hash(function: Callable[..., int]) -> Callable[..., int]:
    known: dict[bytes, int] = {}

    @wraps(function)
    def hashed(*args: Any) -> int:
        try:
            key = marshal.dumps(args, 2)  # without references, which equal values need not share
        except ValueError:  # not the values of JSON
            return function(*args)
        if key not in known:
            known[key] = function(*args)
        return known[key]

    return hashed


def _kept_begin(matcher: Any, view_keys: Sequence[str]) -> None:
    _begin(matcher, view_keys)
    matcher.of = tuple(view_keys)


def _kept_owners(matcher: Any, row: Any) -> list[int]:
    values = (matcher.of, row.nonce_x, row.nonce_y, row.owner_x)
    if any(isinstance(value, list | dict) for value in values):  # made up, and refused
        return list(_owners(matcher, row))
    if values not in _known:
        _known[values] = list(_owners(matcher, row))
    return _known[values]


def keep() -> None:
    """Keep rows, hashes, owners and commands from now on, in this process."""
    replaced: list[tuple[Any, str, Any]] = [
        (Results, "_list", _kept_list),
        (Results, "_block", _kept_block),
        (Results, "_item", staticmethod(_item)),
        (Matcher, "__init__", _kept_begin),
        (Matcher, "_owners", _kept_owners),
        (formulas, "value_id", lru_cache(maxsize=None)(formulas.value_id)),
        (typer.main, "get_command", lru_cache(typer.main.get_command)),
        (hashlib, "scrypt", lru_cache(hashlib.scrypt)),  # 60 ms for each run with a checkpoint and a key
        *((formulas, name, _kept_hash(getattr(formulas, name))) for name in HASHES),
    ]
    for owner, name, value in replaced:
        setattr(owner, name, value)
