r"""Writes manual pages in man(7): sections, lists, literal blocks.

Whatever is special in roff is escaped here and nowhere else: a hyphen to `\-`, so that options can be copied; quotes,
which would be replaced by others; a full stop or an apostrophe at the start of a line. The output is ASCII.
"""

import re
from collections.abc import Iterable

_ESCAPES = str.maketrans(
    {
        "\\": r"\e",
        "-": r"\-",
        "'": r"\(aq",
        "`": r"\(ga",
        "^": r"\(ha",
        "~": r"\(ti",
        "…": "...",
        "–": r"\(en",
        "—": r"\(em",
    }
)
_CODE = re.compile(r"`([^`]+)`")
_SENTENCE = re.compile(r"(?<=[.:;!?]) +(?=[A-Z])")


def escaped(text: str) -> str:
    """Return text with everything special escaped, but for the start of a line."""
    plain = text.translate(_ESCAPES)
    return "".join(letter if letter.isascii() else f"\\[u{ord(letter):04X}]" for letter in plain)


def bold(text: str) -> str:
    """Return text in bold: what is typed as shown."""
    return rf"\fB{escaped(text)}\fR"


def italic(text: str) -> str:
    """Return text in italics: a placeholder."""
    return rf"\fI{escaped(text)}\fR"


def cross(name: str, section: int) -> str:
    """Return a reference to another page."""
    return f"{bold(name)}({section})"


def prose(text: str) -> str:
    """Return running text, each sentence on a line of its own; `code` in backquotes is bold."""
    parts = _CODE.split(" ".join(text.split()))
    marked = "".join(bold(part) if place % 2 else escaped(part) for place, part in enumerate(parts))
    return "\n".join(_line(line) for line in _SENTENCE.split(marked))


def _line(text: str) -> str:
    return rf"\&{text}" if text[:1] in (".", "'") else text


def _quoted(text: str) -> str:
    return '"' + text.replace('"', r"\(dq") + '"'


class Page:
    """A manual page that grows by calls. Tags and synopsis parts are marked up already; all other text is plain."""

    def __init__(self, name: str, section: int, date: str, source: str, manual: str) -> None:
        parts = (escaped(name.upper()), str(section), date, escaped(source), escaped(manual))  # the date as it is
        title = " ".join(map(_quoted, parts))
        self._lines = [r".\" Written by python -m chainq._docgen; change what it is written from.", f".TH {title}"]

    def __str__(self) -> str:
        return "\n".join((*self._lines, ""))

    def section(self, heading: str) -> None:
        """Begin a section."""
        self._lines.append(f".SH {_quoted(escaped(heading.upper()))}")

    def subsection(self, heading: str) -> None:
        """Begin a subsection."""
        self._lines.append(f".SS {_quoted(escaped(heading))}")

    def name(self, name: str, purpose: str) -> None:
        """Write the NAME section."""
        self.section("Name")
        self._lines.append(rf"{escaped(name)} \- {escaped(purpose)}")

    def paragraphs(self, *texts: str) -> None:
        """Write paragraphs of running text."""
        for text in texts:
            if not self._lines[-1].startswith((".SH", ".SS")):
                self._lines.append(".PP")
            self._lines.append(prose(text))

    def synopsis(self, command: str, *parts: str) -> None:
        """Write a synopsis; `parts` are marked up already and are not broken."""
        self._lines += [".nh", ".ad l", f".TP {len(command) + 1}n", bold(command)]
        self._lines += [part.replace(" ", r"\ ") for part in parts] or [r"\&"]
        self._lines += [".ad b", ".hy"]

    def entry(self, tag: str, text: str) -> None:
        """Write an entry of a list; the tag is marked up already."""
        self._lines += [".TP", _line(tag), prose(text) if text.strip() else r"\&"]

    def literal(self, lines: Iterable[str]) -> None:
        """Write lines as they are, indented."""
        if not self._lines[-1].startswith((".SH", ".SS")):
            self._lines.append(".PP")
        self._lines += [".RS 4", ".EX", *(_line(escaped(line)) or r"\&" for line in lines), ".EE", ".RE"]

    def references(self, pages: Iterable[tuple[str, int]]) -> None:
        """Write the SEE ALSO section."""
        self.section("See also")
        known = list(pages)
        for place, (name, section) in enumerate(known):
            self._lines.append(f".BR {escaped(name)} ({section}){',' if place < len(known) - 1 else ''}")
