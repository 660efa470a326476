"""How the command line spells the parameters that errors and warnings name (`errors.Phrase`)."""

from shlex import quote
from typing import Any

from chainq.errors import Phrase

_WORDS = {"concurrency": "-j", "workers": "-w", "output": "-o", "headers": "--header"}
"""The options that do not have the name of their parameter, or have a short one that users know."""


def spelled(text: str) -> str:
    """Return a text with options in the place of parameters, `--timeout`, `--end -10`, `--no-verify`, and commands."""
    return text.spelled(_option) if isinstance(text, Phrase) else text


def options_in(text: str) -> set[str]:
    """Return the options that a text names as parameters."""
    named = list[str]()

    def note(name: str, value: Any) -> str:
        named.append(_option(name, value))
        return named[-1]

    if isinstance(text, Phrase):
        text.spelled(note)
    return {option.split()[0] for option in named if option.startswith("-")}


def _option(name: str, value: Any) -> str:
    """Return an option with its value; a switch has none, and is off by a word of its own. A command has its name."""
    if name.endswith("()"):
        return f"chainq {name[:-2].replace('_', '-')}"
    switch = isinstance(value, bool)
    word = _WORDS.get(name) or f"--{'no-' if value is False else ''}{name.replace('_', '-')}"
    return word if switch or value is None else f"{word} {quote(str(value))}"
