"""Sanitizes text for terminals and masks secrets. All text from outside passes through here before it is shown."""

import os
import re
from collections.abc import Mapping
from urllib.parse import urlsplit, urlunsplit

# Cc: control characters (ANSI sequences begin with one); Cf: bidirectional overrides, zero-width marks;
# Cs: lone surrogates; Zl, Zp: separators that some terminals take for a new line.
_HARMFUL = {"Cc", "Cf", "Cs", "Zl", "Zp"}
_MASK = "***"
KEYS = PRIVATE_KEY, VIEW_KEY = "APrivateKey1", "AViewKey1"
"""How private keys and view keys begin: they are neither shown nor sent."""
# Hosts of chain services put the caller's API key into the path, and it can have any form. So only parts that cannot be
# keys are shown: lower-case words of at most five letters, numbers of at most five digits (such as a chain's), and
# common path words, perhaps with a number (v1, testnet3, json-rpc). Compiled at first use, because every start loads
# this module.
_WORDS = (
    "v|api|rpc|json|jsonrpc|http|https|rest|ext|graphql|net|network|mainnet|testnet|devnet|testnetbeta|canary|beta|alpha|"
    "main|test|dev|prod|production|staging|local|latest|public|private|aleo|chain|chains|block|blocks|blockchain|"
    "explorer|transactions|transitions|programs|mempool|ledger|status|health|node|nodes|"
    "full|archive|gateway|proxy|service|services|server|data|query|records|index|indexer"
)
_NO_KEY = rf"[a-z]{{0,5}}|[0-9]{{1,5}}|(?:{_WORDS})[0-9]{{0,3}}(?:[-_.](?:{_WORDS})?[0-9]{{0,3}})*"
_LABEL = "[a-z0-9-]{1,20}"
_HOST = rf"{_LABEL}(?:\.{_LABEL})*:[0-9]{{1,5}}|(?:{_LABEL}\.)+[a-z]{{2,12}}|[0-9]{{1,3}}(?:\.[0-9]{{1,3}}){{3}}"
"""A host without a scheme before it."""
_FOLDER = r"[A-Za-z][a-z]{0,11}(?:/[A-Za-z][a-z]{0,11})*/?"  # names without digits, and no host
_LOCAL = re.compile(r"(?:~|\.{1,2})?/(?:[^/@?;][^@?;]*)?")  # a path of this machine, which holds no secret
_MOST_SENT = 64  # requests whose secrets are kept; bounds the memory of a process that keeps making clients
_sent: dict[str, re.Pattern[str]] = {}  # by what finds them


def encoding(start: bytes) -> str:
    """Return the encoding of a text by its first bytes: UTF-16, as PowerShell writes it, by its byte order mark."""
    return "utf-16" if start.startswith((b"\xff", b"\xfe")) else "utf-8-sig"


def printable(text: str) -> str:
    r"""Return the text with every character that could act on a terminal as an escape (`\x1b`, `\u202e`)."""
    if text.isascii() and text.isprintable():
        return text
    import unicodedata  # here and below: loaded only when needed, because most runs do not need it

    return "".join(c if unicodedata.category(c) not in _HARMFUL else c.encode("unicode_escape").decode() for c in text)


def printable_json(text: bytes) -> bytes:
    r"""Return the same JSON text with characters that could act on a terminal as escapes (`\u202e`); values stay.

    Inside a string, JSON forbids only the control characters below U+0020.
    """
    if text.isascii() and b"\x7f" not in text:
        return text
    import json
    import unicodedata

    return "".join(
        c if c == "\n" or unicodedata.category(c) not in _HARMFUL else json.dumps(c)[1:-1].replace("\x7f", "\\u007f")
        for c in text.decode(errors="surrogateescape")
    ).encode(errors="surrogateescape")


def excerpt(text: str, length: int = 200) -> str:
    """Return one sanitized line of at most `length` characters, for error messages; tags and repeated spaces go.

    Text that is too long loses its middle, because the end often says what happened. Masks secrets that were sent.
    """
    return printable(abridged(" ".join(re.sub(r"<[^>]*>", " ", mask_sent(text)).split()), length))


def recordable(message: str) -> str:
    """Return the message of an error for a file that `chainq status` reads: an excerpt without keys."""
    return excerpt(printable(mask_keys(message)), 400)


def abridged(text: str, length: int) -> str:
    """Return the text; if it has more than `length` characters, its beginning and end with `…` between them."""
    if len(text) <= length:
        return text
    text = mask_keys(text)  # first, because a key is recognized by its beginning
    head = length * 2 // 5
    return text if len(text) <= length else f"{text[:head]}…{text[head + 1 - length :]}"


def quoted(text: str, length: int = 80) -> str:
    """Return an argument as messages repeat it: in quotes, on one line, and at most about `length` characters of it."""
    return repr(abridged(text, length))


def mask_keys(text: str) -> str:
    """Return the text with every private or view key masked as `***` after its prefix."""
    return re.sub(rf"({'|'.join(KEYS)})\w+", rf"\1{_MASK}", text)


def keys_in(text: str) -> set[str]:
    """Return the prefixes of the private and view keys in the text, or of large parts of such keys."""
    return set(re.findall(rf"({'|'.join(KEYS)})\w{{20}}", text))


def keep_secret(url: str, headers: Mapping[str, str]) -> None:
    """Register the secrets in a URL and in headers for `mask_sent`, for the rest of this process.

    Rejected: passing them to every place where text from a server is shown, because one would be forgotten.
    """
    if headers or mask_url(url) != url:
        from chainq.text import secrets

        if found := secrets.pattern(secrets.secrets(url, headers, _NO_KEY)):
            _sent.pop(found, None)
            _sent[found] = re.compile(found)
            for old in list(_sent)[:-_MOST_SENT]:
                _sent.pop(old, None)


def mask_sent(text: str) -> str:
    """Return the text with `***` for secrets that were sent (`text.secrets`): servers repeat requests.

    Call it before truncating a text, because part of a secret is not recognized. `excerpt` calls it itself.
    """
    for found in list(_sent.values()):
        text = found.sub(_MASK, text)
    return text


def mask_url(url: str) -> str:
    """Return the URL with `***` for user name, password, query values, parameters and API keys in its path.

    A local path, which begins with `/`, `./`, `../` or `~/`, consists of short words or is a folder's, is unchanged.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        parts = urlsplit("")
    is_folder = "://" not in url and os.path.isdir(url)  # noqa: PTH112  # a Path takes longer to load
    if is_folder or _LOCAL.fullmatch(url) or re.fullmatch(_FOLDER, url):
        return printable(url)
    if "@" in url and "@" not in parts.netloc:  # not a valid URL, but perhaps with secrets in it
        host = re.split(r"[^\w.:-]", url.rpartition("@")[2], maxsplit=1)[0]
        return f"{_MASK}@{host}"
    if url and not any(parts):
        return _MASK
    where = parts.netloc.rpartition("@")[2]
    host = f"{_MASK}@{where}" if "@" in parts.netloc else where
    query = "&".join(map(_masked_pair, parts.query.split("&"))) if parts.query else ""
    first, *rest = parts.path.split("/")
    if parts.netloc or not re.fullmatch(_HOST, f"{parts.scheme}:{first}" if parts.scheme else first):
        first = _masked_step(first)
    path = "/".join([first, *map(_masked_step, rest)])
    return printable(urlunsplit((parts.scheme, host, path, query, "")))


def _masked_pair(pair: str) -> str:
    name, equals, _ = pair.partition("=")
    return f"{name}={_MASK}" if equals else _MASK


def _masked_step(step: str) -> str:
    name, semicolon, _ = step.partition(";")
    return (name if re.fullmatch(_NO_KEY, name) else _MASK) + (f";{_MASK}" if semicolon else "")
