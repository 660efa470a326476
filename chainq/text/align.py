"""Aligns columns of plain text, for the helpers that report to a person (`doctor`, `--columns help`)."""

from collections.abc import Sequence

from chainq.text.sanitize import printable
from chainq.text.width import ENDLESS, GAP, width_of, wrap

LEAST = 24  # character cells of the last column; a narrower terminal gets longer lines


def aligned(lines: Sequence[Sequence[str]], room: int = ENDLESS, most: int = ENDLESS) -> list[str]:
    """Return lines as columns, sanitized; the last column is wrapped to what is left of `room` cells, all others to
    `most`."""
    clean = [[printable(text) for text in line] for line in lines]
    widths = [min(most, max(map(width_of, texts))) for texts in zip(*clean, strict=True)][:-1]
    widths.append(max(LEAST, room - sum(size + GAP for size in widths)))
    output = []
    for line in clean:
        pieces = [wrap(text, size) for text, size in zip(line, widths, strict=True)]
        for row in range(max(map(len, pieces))):
            *texts, last = [piece[row] if row < len(piece) else "" for piece in pieces]
            padded = [text + " " * (size - width_of(text)) for text, size in zip(texts, widths, strict=False)]
            output.append((" " * GAP).join([*padded, last]).rstrip())
    return output
