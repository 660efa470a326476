"""Messages on a terminal: wrapped between words, but never within a command, which can be copied as one line."""

import re
from textwrap import TextWrapper

from chainq.text.width import terminal_width

_OPTIONS = r"-{1,2}[A-Za-z][^\s;,]*(?: [^\s;,()-][^\s;,()]*)?"
_COMMAND = re.compile(
    rf"(?<=[ (])(?:(?:chainq|pipx?|uv|export|python3?)(?: [^\s;,()-][^\s;,()]*){{1,4}}(?: {_OPTIONS})*"
    rf"|{_OPTIONS}(?: {_OPTIONS})*|'[^']{{1,80}}'(?=[ ;,.)]|$))"
)
_JOINED = "\0"  # stands for a space that must not become the end of a line; no message has it


def wrapped(text: str) -> str:
    """Return a message in lines as wide as the terminal; those after the first one are indented.

    A command, options with their values and quoted text stay together, also if they are longer than a line: the
    terminal breaks them then, and what is copied has no line break.
    """
    width = terminal_width()
    if len(text) <= width:
        return text
    # Without the replacement of white space, and without breaks at hyphens: the message stays as it is.
    lines = TextWrapper(
        width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False, replace_whitespace=False
    )
    joined = _COMMAND.sub(lambda match: match[0].replace(" ", _JOINED), text)
    return "\n".join(map(lines.fill, joined.split("\n"))).replace(_JOINED, " ")
