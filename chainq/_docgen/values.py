"""The values that a shell can offer for an option or argument: the only module that knows options by name."""

import re
from collections.abc import Iterable
from functools import cache
from importlib.metadata import entry_points
from typing import Any, NamedTuple

from chainq.catalog.dialects import DIALECTS
from chainq.catalog.methods import BY_COMMAND, METHODS
from chainq.cli.commands import COMMANDS
from chainq.cli.completion import SCRIPTS
from chainq.demo.list_faults import KINDS
from chainq.demo.programs import PROGRAMS
from chainq.demo.wire import DIALECTS as DEMO_DIALECTS
from chainq.formats import registry
from chainq.lake.reads import EXPORTED
from chainq.text.spelling import spelled
from chainq.verify.service_rows import COMMANDS as VERIFIED

# Functions of credits.aleo that people ask for, besides those that the sample chain has.
_CREDITS = (
    *("transfer_public", "transfer_private", "transfer_public_as_signer"),
    *("transfer_private_to_public", "transfer_public_to_private"),
    *("bond_public", "bond_validator", "claim_unbond_public", "unbond_public", "set_validator_state"),
)

_PATH = re.compile("FILE|DEST|CHECKPOINT")
"""What stands for a path in the name of a value."""
ASKS = "help"
"""The command whose argument may be an option of any command."""
Words = tuple[tuple[str, str], ...]


class Values(NamedTuple):
    """What a value is, and the words to offer, each with a note that can be empty.

    `kind`: flag (no value), text (free), words (one of these), list (some of these with commas between), path (a file
    or folder, or one of these), profile (of the configuration file), function (one of those whose note is the first
    argument).
    """

    kind: str
    words: Words = ()


def values_of(command: str, param: Any, metavar: str, text: str) -> Values:
    """Return the values of a parameter: free text for an option that is not known here and has no choices."""
    choices = getattr(param.type, "choices", None) or (metavar.split("|") if metavar.islower() else ())
    if not metavar:
        return Values("flag")
    if choices:
        return Values("words", _plain(map(str, choices)))
    if param.name == "columns" and command in BY_COMMAND:
        columns = ((column.path, spelled(column.note) or column.type) for column in BY_COMMAND[command].selectable)
        return Values("list", (*columns, ("all", "every column"), ("help", "list the columns")))
    if param.name == "function":
        known = (("credits.aleo", _CREDITS), *PROGRAMS.items())
        return Values("function", tuple(dict.fromkeys((name, program) for program, names in known for name in names)))
    if param.name == "profile":
        return Values("profile")
    if param.name == "commands":
        return Values("list", _plain(VERIFIED))
    words = _words(command, param.name, text)
    if _PATH.search(metavar) or param.name == "url":
        return Values("path", words)
    return Values("words" if words else "text", words)


@cache  # every option is read with it, and looking through the installed packages takes longer than all else
def own_formats() -> list[str]:
    """Return the names of chainq's own formats; those of other packages differ from machine to machine."""
    found = entry_points(group=registry.GROUP)
    own = {*registry.BUILT_IN, *(entry.name for entry in found if entry.module.startswith("chainq."))}
    return [name for name in registry.names() if name in own]


def _plain(words: Iterable[str]) -> Words:
    return tuple((word, "") for word in words)


def _words(command: str, name: str, text: str) -> Words:
    tip, stdin = ("latest", "the block at the tip"), ("-", "one per line on standard input")
    heights = (tip, ("-100:", "the last 100 blocks"), ("0:100", "blocks 0 to 99"))
    dialects = dict.fromkeys((*DIALECTS, *DEMO_DIALECTS, "auto"))
    named = dict.fromkeys(word for word in re.findall(r"[a-z]+", text) if word in dialects)
    known: dict[str, Words] = {
        # Never one alone: a shell would insert it at once.
        "url": (
            ("demo:", "the sample chain, with no network"),
            ("http://127.0.0.1:8545", "the default of chainq serve"),
        ),
        "heights": (tip, stdin),
        "objects": (tip, stdin),
        "range": heights,
        "shell": _plain(SCRIPTS),
        "format": _plain(name for name in own_formats() if name in re.findall("[a-z]+", text)),  # nor all formats
        "dialect": _plain(named or DIALECTS),  # not every command takes all
        "network": _plain(("mainnet", "testnet")),
        "program": _plain(PROGRAMS),
        "method": tuple((method.name, method.purpose) for method in METHODS),
        "command": tuple((one, purpose) for one, (_, purpose, _) in COMMANDS.items()),
        "words": _plain(EXPORTED) if command == "export" else heights,  # of sql
        "fault": tuple((f"{name}:" if kind.number else name, kind.text) for name, kind in KINDS.items()),
    }
    return known.get(name, ())
