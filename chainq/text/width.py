"""Widths of text on a terminal: measuring, truncating, wrapping and aligning."""

import os
from collections.abc import Sequence
from contextlib import suppress
from itertools import zip_longest

from chainq.text.sanitize import printable

ELLIPSIS = "…"
NARROWEST = 40  # character cells: a narrower terminal is treated as this wide, since below it no row can be read
GAP = 2  # cells between two columns
LEAST = 24  # cells of the last column of `aligned`; a narrower terminal gets longer lines
ENDLESS = 1 << 24  # character cells of a line that has no end


def width_of(text: str) -> int:
    """Return how many character cells of a terminal the text takes."""
    if text.isascii() or text.replace(ELLIPSIS, "").isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def truncate(text: str, room: int, *, middle: bool = False) -> str:
    """Return the text in at most `room` cells, at least one, with `…` for what is left out at its end.

    `middle`: abbreviate an ID in its middle, so that both ends can be compared (`ab17uppp…c2zv99`), and keep the type
    suffix of a number (`592151…075field`).
    """
    if width_of(text) <= room:
        return text
    suffix = 5 if middle and room > 10 and text.endswith(("field", "group")) else 0
    keep = suffix + (room - 1 - suffix) * 3 // 7 if middle else 0
    head, tail = text[: max(0, room - 1 - keep)], text[len(text) - keep :]
    while width_of(short := f"{head}{ELLIPSIS}{tail}") > room and short != ELLIPSIS:
        head, tail = (head[:-1], tail) if head else (head, tail[1:])
    return short


def wrap(text: str, room: int) -> list[str]:
    """Return the text in lines of at most `room` cells, broken at spaces if possible; drops only those spaces."""
    lines, at = [], 0
    # One extra character shows whether the text continues. Rejected: slicing lines off the text itself, which copies
    # the rest each time and takes minutes for megabytes.
    while len(rest := text[at : at + room + 1]) > room or width_of(rest) > room:
        end = room
        while end > 1 and width_of(rest[:end]) > room:
            end -= 1
        space = rest.rfind(" ", 1, end + 1)
        end = space if space > 0 else end
        lines.append(rest[:end])
        at += end
        while text[at : at + 1] == " ":
            at += 1
    return [*lines, rest]


def aligned(lines: Sequence[Sequence[str]], room: int = ENDLESS, most: int = ENDLESS) -> list[str]:
    """Return lines as columns, sanitized; the last column is wrapped to what is left of `room` cells, all others to
    `most`."""
    clean = [[printable(text) for text in line] for line in lines]
    widths = [min(most, max(map(width_of, texts))) for texts in zip(*clean, strict=True)][:-1]
    rooms = [*widths, max(LEAST, room - sum(size + GAP for size in widths))]
    drawn = []
    for line in clean:
        pieces = [wrap(text, size) for text, size in zip(line, rooms, strict=True)]
        for row in zip_longest(*pieces, fillvalue=""):
            padded = [text + " " * (size - width_of(text)) for text, size in zip(row, [*widths, 0], strict=True)]
            drawn.append((" " * GAP).join(padded).rstrip())
    return drawn


def stated_width() -> int:
    """Return the width of a line that COLUMNS states, as `watch` sets it; 0 if it states none."""
    given = os.environ.get("COLUMNS", "")
    return int(given) if given.isdecimal() else 0


def terminal_width() -> int:
    """Return the character cells of a line of the terminal, also if standard output is a pipe to a pager."""
    if width := stated_width():
        return width
    for descriptor in (1, 2, 0):
        with suppress(OSError):
            return os.get_terminal_size(descriptor).columns or 80
    return 80
