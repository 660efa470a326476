"""What many tests compute again from the same input, and each process needs to compute only once.

Rows of the sample chain, which every service of the tests makes anew, and hashes of its blocks. They are what the
package itself makes, once for all chains with the same values.
"""

import marshal
from collections.abc import Callable, Sequence
from functools import lru_cache, wraps
from typing import Any

import orjson

from chainq.demo.chain import Chain
from chainq.demo.faults import NO_FAULTS, Memory
from chainq.demo.layout import Tally
from chainq.demo.results import Ask, Results
from chainq.hashes import formulas

Rows = Callable[[int, Sequence[int]], list[Any]]
LISTS = ("records", "ownership", "transitions", "transactions")
HASHES = ("block_hash", "transactions_root", "ratifications_root", "subdag_root", "batch_id", "transition_id")
LARGEST = 1000  # rows of a height that are kept

_list, _full_block = Results._list, Results._full_block


class _Values:
    """The values of a chain: equal for chains that have the same rows."""

    def __init__(self, results: Results) -> None:
        self.results, chain = results, results._chain
        marks = (*chain.planted.items(), *chain.tags.items(), *chain._sides)
        self._key = (type(chain), chain.genesis, chain._again, chain.layout, marks)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Values) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


def _values(results: Results) -> _Values | None:
    """Return the values of a chain; None for one whose rows also depend on something else."""
    if type(results._chain) is not Chain:
        return None
    if "values" not in vars(results):
        vars(results)["values"] = _Values(results)
    found: _Values = vars(results)["values"]
    return found


@lru_cache(maxsize=2048)
def _blocks(values: _Values, height: int) -> orjson.Fragment:
    return orjson.Fragment(orjson.dumps(_full_block(values.results, height)))


@lru_cache(maxsize=8192)
def _rows(values: _Values, handler: str, height: int, count: int) -> list[orjson.Fragment]:
    ask = Ask(handler, height, height + 1, height, 0, values.results, NO_FAULTS, Memory())
    _, rows = _list(values.results, ask)
    return [orjson.Fragment(orjson.dumps(row)) for row in rows(height, range(count))]


def _kept_block(results: Results, height: int) -> Any:
    values = _values(results)
    return _blocks(values, height) if values else _full_block(results, height)


def _kept_list(results: Results, ask: Ask) -> tuple[Tally, Rows]:
    tally, rows = _list(results, ask)
    values = _values(results)
    if values is None or ask.handler not in LISTS:
        return tally, rows

    def kept(height: int, positions: Sequence[int]) -> list[Any]:
        count = tally.count(height)
        if count > LARGEST:
            return rows(height, positions)
        every = _rows(values, ask.handler, height, count)
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


def keep() -> None:
    """Keep rows and hashes from now on, in this process."""
    Results._list, Results._full_block = _kept_list, _kept_block  # type: ignore[method-assign]
    for name in HASHES:
        setattr(formulas, name, _kept_hash(getattr(formulas, name)))
