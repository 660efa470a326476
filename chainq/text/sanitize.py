"""Makes text from outside harmless to show: what servers, files and users wrote reaches a terminal only from here."""

import json
import re
import unicodedata
from urllib.parse import urlsplit, urlunsplit

# Cc: control characters (ANSI sequences begin with one); Cf: bidirectional overrides, zero-width marks;
# Cs: lone surrogates; Zl, Zp: separators that some terminals take for a new line.
_HARMFUL = {"Cc", "Cf", "Cs", "Zl", "Zp"}
_MASK = "***"
# Hosts of chain services put the caller's key into the path, as a long word or a UUID; names of versions and networks
# are shorter.
_KEY = r"(?=[^/]*[0-9])(?=[^/]*[A-Za-z])[A-Za-z0-9_-]{20,}"


def printable(text: str, keep: str = "") -> str:
    r"""The text with every character that could act on a terminal written as an escape (`\x1b`, `\u202e`).

    Characters in `keep` stay as they are.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        c if c in keep or unicodedata.category(c) not in _HARMFUL else c.encode("unicode_escape").decode() for c in text
    )


def printable_json(text: bytes) -> bytes:
    r"""The same JSON text with harmful characters as escapes (`\u202e`): the values stay, and a terminal is safe.

    JSON itself allows no control character below U+0020 inside a string, but all of the others.
    """
    if text.isascii() and b"\x7f" not in text:
        return text
    return "".join(
        c if c == "\n" or unicodedata.category(c) not in _HARMFUL else json.dumps(c)[1:-1].replace("\x7f", "\\u007f")
        for c in text.decode(errors="surrogateescape")
    ).encode(errors="surrogateescape")


def excerpt(text: str, length: int = 200) -> str:
    """One harmless line of at most `length` characters, for an error message: tags and runs of space are dropped."""
    line = " ".join(re.sub(r"<[^>]*>", " ", text).split())
    return printable(line if len(line) <= length else line[: length - 1] + "…")


def mask_url(url: str) -> str:
    """The URL as it may be shown and kept: without name, password, query values, parameters and keys in its path."""
    try:
        parts = urlsplit(url)
    except ValueError:
        parts = urlsplit("")
    if "@" in url and "@" not in parts.netloc:  # no URL, but perhaps with secrets all the same
        host = re.split(r"[^\w.:-]", url.rpartition("@")[2], maxsplit=1)[0]
        return f"{_MASK}@{host}"
    if url and not any(parts):
        return _MASK
    where = parts.netloc.rpartition("@")[2]
    place = f"{_MASK}@{where}" if "@" in parts.netloc else where
    query = "&".join(map(_masked_pair, parts.query.split("&"))) if parts.query else ""
    path = "/".join(map(_masked_step, parts.path.split("/")))
    return printable(urlunsplit((parts.scheme, place, path, query, "")))


def _masked_pair(pair: str) -> str:
    name, equals, _ = pair.partition("=")
    return f"{name}={_MASK}" if equals else _MASK


def _masked_step(step: str) -> str:
    name, semicolon, _ = step.partition(";")
    return (_MASK if re.fullmatch(_KEY, name) else name) + (f";{_MASK}" if semicolon else "")
