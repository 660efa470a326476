"""The values that a shell can offer for an option or argument: the only module that knows options by name."""

import re
from enum import Enum
from importlib.metadata import entry_points
from typing import Any, NamedTuple

from chainq.catalog.dialects import DIALECTS
from chainq.catalog.methods import BY_COMMAND, METHODS
from chainq.cli.commands import COMMANDS
from chainq.cli.completion import SCRIPTS
from chainq.demo.programs import PROGRAMS
from chainq.demo.wire import DIALECTS as DEMO_DIALECTS
from chainq.formats import registry

# Functions of credits.aleo that people ask for, besides those that the sample chain has.
CREDITS = (
    "transfer_public",
    "transfer_private",
    "transfer_public_as_signer",
    "transfer_private_to_public",
    "transfer_public_to_private",
    "bond_public",
    "bond_validator",
    "claim_unbond_public",
    "unbond_public",
    "set_validator_state",
)
WELL_KNOWN = {
    program: tuple(dict.fromkeys((*(CREDITS if program == "credits.aleo" else ()), *functions)))
    for program, functions in PROGRAMS.items()
}


_TIP = ("latest", "the block at the tip")
_STDIN = ("-", "one per line on standard input")
_FIXED = {
    "url": (("demo:", "the sample chain, with no network"),),
    "heights": (_TIP, _STDIN),
    "range": (_TIP,),
    "ids": (_STDIN,),
    "shell": tuple((shell, "") for shell in SCRIPTS),
}


class Kind(Enum):
    """How a value is completed."""

    NONE = "free text"
    WORDS = "one of some words"
    LIST = "some of these words, separated by commas"
    PROFILE = "a profile of the configuration file"
    FILE = "a file"
    FUNCTION = "a function of the program that stands before it"


class Values(NamedTuple):
    """A kind of value, and its words, each with a note that can be empty."""

    kind: Kind
    words: tuple[tuple[str, str], ...] = ()


def values_of(command: str, param: Any, metavar: str, text: str) -> Values:
    """Return the values of a parameter: free text for an option that is not known here and has no choices."""
    name = param.name
    choices = getattr(param.type, "choices", None) or (metavar.split("|") if "|" in metavar else ())
    if choices:
        return Values(Kind.WORDS, tuple((str(choice), "") for choice in choices))
    if "FILE" in metavar or name in ("output", "checkpoint"):
        return Values(Kind.FILE)
    if name == "columns" and command in BY_COMMAND:
        columns = tuple((column.path, column.note or column.type) for column in BY_COMMAND[command].columns)
        return Values(Kind.LIST, (*columns, ("all", "every column"), ("help", "list the columns")))
    if name == "function":
        return Values(Kind.FUNCTION)
    if name == "profile" or (command.startswith("profile") and metavar.strip(".") in ("NAME", "PROFILE")):
        return Values(Kind.PROFILE)
    words = _words(name, text)
    return Values(Kind.WORDS, words) if words else Values(Kind.NONE)


def own_formats() -> list[str]:
    """Return the names of chainq's own formats; those of other packages differ from machine to machine."""
    found = entry_points(group=registry.GROUP)
    own = {*registry.BUILT_IN, *(entry.name for entry in found if entry.module.startswith("chainq."))}
    return [name for name in registry.names() if name in own]


def _words(name: str, text: str) -> tuple[tuple[str, str], ...]:
    if name in _FIXED:
        return _FIXED[name]
    match name:
        case "format":
            return tuple((known, "") for known in own_formats())
        case "dialect":
            known = dict.fromkeys((*DIALECTS, *DEMO_DIALECTS, "auto"))
            said = [word for word in re.findall(r"[a-z]+", text) if word in known]  # not every command takes all
            return tuple((word, "") for word in dict.fromkeys(said) or DIALECTS)
        case "network":
            return tuple((network, "") for network in ("mainnet", "testnet"))
        case "program":
            return tuple((program, "") for program in WELL_KNOWN)
        case "method":
            return tuple((method.name, method.purpose) for method in METHODS)
        case "command":
            return tuple((command, purpose) for command, (_, purpose, _) in COMMANDS.items())
    return ()
