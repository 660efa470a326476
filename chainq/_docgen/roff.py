r"""Writes manual pages in man(7) from Markdown: headings, paragraphs, tables (as lists with tags), blocks of code.

Whatever is special in roff is escaped here and nowhere else: a hyphen to `\-`, so that options can be copied; quotes,
which would be replaced by others; a full stop or an apostrophe at the start of a line. The output is ASCII.

Rejected: docutils, which needs the same pages as nodes or in a third markup; roff and mrkd, which turn hyphens into
dashes or have had no release for years.
"""

import re

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

_ESCAPES = {"\\": r"\e", "-": r"\-", "'": r"\(aq", "`": r"\(ga", "^": r"\(ha", "~": r"\(ti", "…": "...", "—": r"\(em"}
_FONTS = {"code_inline": "B", "strong": "B", "em": "I"}
_SENTENCE = re.compile(r"(?<=[.:;!?]) +(?=[A-Z])")
# No links and no HTML: help texts have brackets and signs that are meant as they stand.
_MARKDOWN = MarkdownIt("zero").enable(["heading", "table", "fence", "backticks", "emphasis", "escape"])


def escaped(text: str) -> str:
    """Return text with everything special escaped, but for the start of a line."""
    letters = (_ESCAPES.get(letter, letter) for letter in text)
    return "".join(letter if letter.isascii() else f"\\[u{ord(letter):04X}]" for letter in letters)


def prose(text: str) -> str:
    """Return running text, each sentence on a line of its own; `code` in backquotes is bold."""
    return "\n".join(map(_line, _SENTENCE.split(_marked(text))))


def page(file: str, date: str, source: str, markdown: str) -> str:
    """Return a manual page. `file`: its name, such as `chainq.1`; `source`: program and version."""
    name, _, section = escaped(file.upper()).rpartition(".")
    title = " ".join(f'"{part}"' for part in (name, section, date, source, "chainq manual"))
    lines = [r".\" Written by python -m chainq._docgen; change what it is written from.", f".TH {title}"]
    for node in SyntaxTreeNode(_MARKDOWN.parse(markdown)).children:
        lines += [".PP"] if node.type in ("paragraph", "fence") and not lines[-1].startswith((".SH", ".SS")) else []
        lines += _block(node)
    return "\n".join((*lines, ""))


def _block(node: SyntaxTreeNode) -> list[str]:
    match node.type:
        case "heading":
            return [f'.SH "{_inline(node).upper()}"' if node.tag == "h1" else f'.SS "{_inline(node)}"']
        case "table":  # a row becomes its first cell as a tag, and the others as its text
            rows = ([cell.children[0].content for cell in row.children] for row in node.children[1].children)
            return [
                line for tag, *texts in rows for line in (".TP", _marked(tag), prose("; ".join(filter(None, texts))))
            ]
        case "fence":
            lines = (_line(escaped(line)) or r"\&" for line in node.content.splitlines())
            return [".RS 4", ".EX", *lines, ".EE", ".RE"]
        case _:
            return [prose(node.children[0].content)]


def _marked(text: str) -> str:
    return _inline(SyntaxTreeNode(_MARKDOWN.parseInline(" ".join(text.split()))))


def _inline(node: SyntaxTreeNode) -> str:
    inner = "".join(map(_inline, node.children)) or ("" if node.is_root else escaped(node.content))
    return rf"\f{_FONTS[node.type]}{inner}\fR" if node.type in _FONTS else inner


def _line(text: str) -> str:
    return rf"\&{text}" if text[:1] in (".", "'") else text
