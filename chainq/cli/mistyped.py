"""Command lines that a shell or a text program has changed: values split at spaces, dashes that are not `-`; and those
that ask for help.

Loaded only if the command line is wrong."""

import os
import re
from collections.abc import Callable, Sequence
from shlex import quote

from chainq.cli.help import PlainGroup
from chainq.heights.block_time import is_time
from chainq.text.sanitize import abridged

_DASHES = "\N{EN DASH}\N{EM DASH}\N{NON-BREAKING HYPHEN}\N{MINUS SIGN}"
_COMPARISON = r"[^\s=!~]+ ?(?:==?|!=|!?~) ?[^\s=!~]+"  # a shell takes < and > for itself
_WHOLE: dict[str, Callable[[str], bool]] = {
    "--since": is_time,
    "--until": is_time,
    "--where": lambda text: bool(re.fullmatch(rf"{_COMPARISON}(?: (?:and|or) {_COMPARISON})*", text)),
    "--header": lambda text: bool(re.fullmatch(r"[\w-]+: .+", text)),
}
"""Options whose values may contain spaces, each with whether a text is such a value."""


def advice(arguments: Sequence[str]) -> str:
    """Return what is wrong with a command line as a shell passed it on, and how it is written; empty if nothing is.

    >>> advice(["blocks", "--since", "2", "days", "ago"])
    "a value with spaces needs quotes: --since '2 days ago'"
    """
    if arguments[1:] == ["help"] and arguments[0] in PlainGroup.catalogue:
        return f"for help use chainq {arguments[0]} --help"
    for word in arguments:
        if re.fullmatch(rf"[{_DASHES}]+[a-z][a-z-]*(=.*)?", word):
            name = word.partition("=")[0].lstrip(_DASHES + "-")
            meant = f"-{name}" if len(name) == 1 else f"--{name}"
            return f"{abridged(word.partition('=')[0], 80)!r} begins with a dash that is not '-'; did you mean {meant}?"
    words = [part for word in arguments for part in (word.split("=", 1) if word.startswith("--") else [word])]
    for place, word in enumerate(words):
        group = [*words[place:], "-"]
        group = group[: next(at for at, one in enumerate(group) if at and (one.startswith("-") or " " in one))]
        if word == "--columns" and len(group) > 3 and all(map(os.path.exists, group[1:])):
            return "the shell replaced * with the names of files; use --columns all"
        if joined := _joined(word, group):
            return f"a value with spaces needs quotes: {joined}"
    return ""


def _joined(first: str, words: Sequence[str]) -> str:
    """Return the longest value that words of a command line form, quoted, after its option if `first` is one; empty if
    they form none of several words."""
    if first in _WHOLE:
        whole = _WHOLE[first]
        found = next((end for end in range(len(words), 2, -1) if whole(" ".join(words[1:end]))), 0)
        text = "NAME: VALUE" if first == "--header" else " ".join(words[1:found])  # VALUE may be a secret
        return f"{first} {quote(text)}" if found else ""
    if not first.startswith(("{", "[")) or first.endswith(("}", "]")):
        return ""
    found = next((end for end in range(len(words), 1, -1) if words[end - 1].endswith(("}", "]"))), 0)
    return quote(" ".join(words[:found])) if found else ""
