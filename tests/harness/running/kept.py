"""What many tests compute again from the same input, and each process needs to compute only once.

Hashes of the blocks of the sample chain, and who owns its records. They are what the package itself makes, once for all
chains with the same values.
"""

import hashlib
import marshal
from collections.abc import Callable, Sequence
from functools import lru_cache, wraps
from typing import Any

import typer.main

from chainq.hashes import formulas
from chainq.wallet.ownership import Matcher

HASHES = ("block_hash", "transactions_root", "ratifications_root", "subdag_root", "batch_id", "transition_id")

_begin, _owners = Matcher.__init__, Matcher._owners
_known: dict[Any, list[int]] = {}


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
    """Keep hashes, owners and commands from now on, in this process."""
    replaced: list[tuple[Any, str, Any]] = [
        (Matcher, "__init__", _kept_begin),
        (Matcher, "_owners", _kept_owners),
        (formulas, "value_id", lru_cache(maxsize=None)(formulas.value_id)),
        (typer.main, "get_command", lru_cache(typer.main.get_command)),
        (hashlib, "scrypt", lru_cache(hashlib.scrypt)),  # 60 ms for each run with a checkpoint and a key
        *((formulas, name, _kept_hash(getattr(formulas, name))) for name in HASHES),
    ]
    for owner, name, value in replaced:
        setattr(owner, name, value)
