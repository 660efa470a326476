"""Aligns columns of plain text, for the helpers that report to a person (`doctor`, `--columns help`)."""

from collections.abc import Sequence

from chainq.text.sanitize import printable
from chainq.text.width import GAP, terminal_width, width_of, wrap

_LEAST = 24  # character cells of the last column; a narrower terminal gets longer lines


def aligned(lines: Sequence[Sequence[str]], caps: Sequence[int], width: int | None = None) -> str:
    """Return the lines as columns, sanitized and wrapped to `width` cells (None: those of the terminal).

    `caps`: the greatest width of each column but the last, which takes what is left.
    """
    room = terminal_width() if width is None else width
    clean = [[printable(text) for text in line] for line in lines]
    widths = [min(cap, max((width_of(line[number]) for line in clean), default=0)) for number, cap in enumerate(caps)]
    widths.append(max(_LEAST, room - sum(size + GAP for size in widths)))
    output = []
    for line in clean:
        pieces = [wrap(text, size) for text, size in zip(line, widths, strict=True)]
        for row in range(max(map(len, pieces))):
            texts = [piece[row] if row < len(piece) else "" for piece in pieces]
            padded = [text + " " * (size - width_of(text)) for text, size in zip(texts, widths, strict=True)]
            output.append((" " * GAP).join(padded).rstrip())
    return "".join(f"{line}\n" for line in output)
