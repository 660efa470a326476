"""Lines of plain aligned text for the helpers that tell a person something (`doctor`, `profiles`)."""

import shutil
from collections.abc import Sequence

from chainq.text.sanitize import printable
from chainq.text.width import GAP, width_of, wrap

_LEAST = 24  # character cells of the last column; on a narrower screen lines are longer than it


def aligned(lines: Sequence[Sequence[str]], caps: Sequence[int], width: int | None = None) -> str:
    """The lines as columns, harmless to show and wrapped to `width` cells (None: the terminal's).

    `caps`: the most cells of each column but the last, which takes what is left.
    """
    room = shutil.get_terminal_size().columns if width is None else width
    clean = [[printable(text) for text in line] for line in lines]
    widths = [min(cap, max((width_of(line[place]) for line in clean), default=0)) for place, cap in enumerate(caps)]
    widths.append(max(_LEAST, room - sum(size + GAP for size in widths)))
    drawn = []
    for line in clean:
        pieces = [wrap(text, size) for text, size in zip(line, widths, strict=True)]
        for row in range(max(map(len, pieces))):
            texts = [piece[row] if row < len(piece) else "" for piece in pieces]
            padded = [text + " " * (size - width_of(text)) for text, size in zip(texts, widths, strict=True)]
            drawn.append((" " * GAP).join(padded).rstrip())
    return "".join(f"{line}\n" for line in drawn)
