"""What to do about arguments that a command does not take. Loaded only if there are some."""

import os
import re
from shlex import quote
from typing import TYPE_CHECKING

from chainq.catalog.kinds import TextKind, kind_of
from chainq.catalog.methods import BY_COMMAND
from chainq.cli.help import PlainGroup
from chainq.cli.query import OF_EXPORT, OF_URL, is_range, is_url
from chainq.errors import UsageError
from chainq.heights.bounds import LATEST, MINUS, as_range, parse_height

if TYPE_CHECKING:
    from chainq.cli.options import MethodOptions

_HEIGHT = re.compile(r"[0-9_.KkMm]+|latest")


def advice(
    command: str, start: str | None, extra: list[str], *, columns: list[str] | None, first: str | None = None
) -> str:
    """Return how arguments too many are written instead; empty if that is not known.

    `start`: the range that the command took; `columns`: those that are named; `first`: the program or address.
    """
    word = " ".join(extra)
    if any(map(is_url, filter(None, (first, start, *extra)))):
        return OF_URL
    if command == "serve" and word.isdecimal():
        return f"use --port {word}"
    if columns and command in BY_COMMAND and {*extra} <= {column.path for column in BY_COMMAND[command].selectable}:
        return with_commas([*columns, *extra])
    if command == "latest" and all(map(_is_number, extra)):
        return f"use {f'chainq blocks --last {word} or ' * (len(extra) == 1)}chainq block {word}"
    return _about_range(command, start, extra) if start else ""


def with_commas(columns: list[str]) -> str:
    """Return how columns are written that were separated with spaces."""
    return f"separate columns with commas: --columns {','.join(name.strip(',') for name in columns)}"


def in_order(command: str, given: "MethodOptions") -> str:
    """Return the arguments of a method's command in their order; empty if they are not in another one."""
    first, second = (given.program, given.function) if given.program else (given.address, given.range)
    if is_url(first or ""):
        return OF_URL
    if kind_of(second or "") in (TextKind.PROGRAM, TextKind.ADDRESS):
        return swapped(command, first or "", second or "")
    if given.address and is_range(given.address) and not second:
        return f"a range follows the address: chainq {command} ADDRESS {given.address.replace(MINUS, '-')}"
    return ""


def swapped(command: str, first: str, second: str) -> str:
    """Return the two arguments of a command in their order, which is the other one."""
    return f"the arguments seem to be swapped; use chainq {command} {quote(second)} {quote(first)}"


def _about_range(command: str, start: str, extra: list[str]) -> str:
    """Return how several heights or ranges are written, the first one being `start`; empty if they are not some."""
    word = extra[0]
    if len(extra) == 1:
        if command == "verify":
            for heights, other in ((start, word), (word, start)):
                if other in PlainGroup.catalogue and is_range(heights):
                    return f"use chainq verify {heights} --commands {other}"
        if command == "verify" and os.path.isdir(start):  # noqa: PTH112  # a Path raises for a name that is too long
            return OF_EXPORT
        if (bounds := re.fullmatch(r"([0-9_.KkMm]*):([0-9_.KkMm]*)", word)) and not is_range(start):
            named = [
                f"--{name} {bound}" for name, bound in zip(("start", "end"), bounds.groups(), strict=True) if bound
            ]
            return f"use {' '.join(named)}"
        if _HEIGHT.fullmatch(word) and ":" not in start[:-1]:
            whole = start.endswith(":") or word == LATEST
            return f"a range is one argument, {start.rstrip(':')}:{word}" if whole else as_range(start, word)
    if not all(map(is_range, (start, *extra))):
        return ""
    if not all(map(_is_number, (start, *extra))):
        return f"{command} takes one range"
    numbers = list(map(parse_height, (start, *extra)))
    return f"{command} takes one range, such as {min(numbers)}:{max(numbers) + 1}"


def _is_number(word: str) -> bool:
    try:
        parse_height(word)
    except UsageError:
        return False
    return True
