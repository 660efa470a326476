"""Styles of text on a terminal, as ANSI escape sequences.

Rejected: `rich.style`, which would take a third of the time of a long table for the few styles that are needed.
"""

BOLD, DIM, RED, YELLOW, CYAN = "1", "2", "31", "33", "36"


def paint(text: str, style: str, color: bool) -> str:
    """Return the text in that style; unchanged if `color` is False, or text or style are empty."""
    return f"\x1b[{style}m{text}\x1b[0m" if color and style and text else text
