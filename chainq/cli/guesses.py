"""What people type for a command: the one that they most likely mean. Loaded only where a command is unknown."""

from collections.abc import Collection
from difflib import get_close_matches

from chainq.catalog.dialects import DIALECTS
from chainq.catalog.kinds import WITH_SCREEN, kind_of
from chainq.catalog.methods import METHODS

# Words of other explorers and of everyday speech.
_WORDS = {
    "tx": "transaction",
    "txn": "transaction",
    "txs": "transactions",
    "tip": "latest",
    "head": "latest",
    "height": "latest",
    "block-number": "latest",
    "address": "address-transactions",
    "account": "address-transactions",
    "history": "address-transactions",
    "program": "program-transactions",
    "function": "program-transactions",
    "calls": "program-transactions",
    "owner": "ownership",
    "call": "rpc",
    "config": "profiles",
    "check": "doctor",
    "server": "serve",
    "mock": "serve",
    "man": "help",
}


def guess(word: str, commands: Collection[str]) -> str | None:
    """Return the command that a word most likely means, for a height or an ID with it; None where none is near.

    >>> guess("tx", ["transaction", "transactions"])
    'transaction'
    """
    named = {dialect.wire(method).name: method.command for dialect in DIALECTS.values() for method in METHODS}
    if "show" in commands and kind_of(word) in WITH_SCREEN:
        return f"show {word}"
    meant = _WORDS.get(word.lower()) or named.get(word)
    if meant in commands:
        return meant
    return next(iter(get_close_matches(word.lower(), commands, 1, 0.6)), None)
