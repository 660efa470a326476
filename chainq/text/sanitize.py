"""Sanitizes text for terminals and masks secrets. All text from outside passes through here before it is shown.

Servers repeat requests in their errors: `Cannot POST /v1/<key>`, or all headers. A secret is found as it was sent, in
base64 and percent-encoded, also inside JSON or HTML, and in no other encoding.
"""

import os
import re
from binascii import b2a_base64
from collections.abc import Callable, Iterator, Mapping
from urllib.parse import unquote, urlsplit, urlunsplit

# Cc: control characters (ANSI sequences begin with one); Cf: bidirectional overrides, zero-width marks;
# Cs: lone surrogates; Zl, Zp: separators that some terminals take for a new line.
_HARMFUL = {"Cc", "Cf", "Cs", "Zl", "Zp"}
_MASK = "***"
KEYS = PRIVATE_KEY, VIEW_KEY = "APrivateKey1", "AViewKey1"
"""How private keys and view keys begin: they are neither shown nor sent."""
# Hosts of chain services put the caller's API key into the path, and it can have any form. So only parts that cannot be
# keys are shown: words of at most five letters, numbers of at most five digits (such as a chain's), versions, networks.
_NO_KEY = r"[a-z]{0,5}|[0-9]{1,5}|v[0-9.]{1,5}|json-?rpc|(?:main|test|dev)net[0-9]?|canary|testnetbeta"
_HOST = r"[a-z0-9.-]{1,253}[.:][a-z0-9]{0,12}"  # of a URL that lacks its scheme
# A path of this machine, which holds no secret, or names without digits.
_LOCAL = r"(?:~|\.{1,2})?/(?!/)[^@?;]*|[A-Za-z][a-z]{0,11}(?:/[A-Za-z][a-z]{0,11})*/?"
_PUBLIC = {"accept", "accept-encoding", "accept-language", "cache-control", "connection", "host", "user-agent"}
# A sign as it is, and as URLs, JSON, HTML and programming languages escape it. Repetitions are bounded: searching for
# an unbounded one takes the square of the length.
_SIGN = r"(?:(?:%[\da-fA-F]{2}){1,4}|\\{1,3}(?:u[\da-fA-F]{4}|x[\da-fA-F]{2})|&(?:amp;)?#?\w{1,8};|\\{0,3}[^A-Za-z0-9])"
_LONG = 8  # characters of a secret that is found inside of words, too; a shorter one may be a word by chance
_LONGEST = 5_000  # characters of a secret that is found in other encodings, too; the expression would take seconds
_sent: set[re.Pattern[str]] = set()


def encoding(start: bytes) -> str:
    """Return the encoding of a text by its first bytes: UTF-16, as PowerShell writes it, by its byte order mark."""
    return "utf-16" if start.startswith((b"\xff", b"\xfe")) else "utf-8-sig"


def printable(text: str, escaped: Callable[[str], str] = lambda c: c.encode("unicode_escape").decode()) -> str:
    r"""Return the text with every character that could act on a terminal as an escape (`\x1b`, `\u202e`)."""
    if text.isascii() and text.isprintable():
        return text
    import unicodedata  # loaded only when needed, because most runs do not need it

    return "".join(escaped(c) if unicodedata.category(c) in _HARMFUL else c for c in text)


def printable_json(text: bytes) -> bytes:
    r"""Return the same JSON text with characters that could act on a terminal as escapes (`\u202e`); values stay.

    Inside a string, JSON forbids only the control characters below U+0020.
    """
    if text.isascii() and b"\x7f" not in text:
        return text
    import json

    sent = text.decode(errors="surrogateescape")
    shown = printable(sent, lambda c: c if c == "\n" else json.dumps(c)[1:-1].replace("\x7f", "\\u007f"))
    return shown.encode(errors="surrogateescape")


def excerpt(text: str, length: int = 200) -> str:
    """Return one sanitized line of at most `length` characters, for error messages; tags and repeated spaces go.

    Text that is too long loses its middle, because the end often says what happened. Masks secrets that were sent.
    """
    return printable(abridged(" ".join(re.sub(r"<[^>]*>", " ", mask_sent(text)).split()), length))


def abridged(text: str, length: int) -> str:
    """Return the text with keys masked; if it has more than `length` characters, its beginning and end with `…` between
    them."""
    text, head = mask_keys(text), length * 2 // 5
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
    if not headers and mask_url(url) == url:
        return
    raw = {secret for secret in _secrets(url, headers) if len(secret) > 1}
    packed = {b2a_base64(one.encode(), newline=False).decode().rstrip("=") for one in raw if len(one) >= _LONG // 2}
    packed |= {text.translate({43: "-", 47: "_"}) for text in packed}  # as in URLs (RFC 4648, section 5)
    ordered = sorted(raw | packed, key=len, reverse=True)
    if ordered:
        _sent.add(re.compile("|".join(_expression(text) + "={0,2}" * (text in packed) for text in ordered)))


def _secrets(url: str, headers: Mapping[str, str]) -> Iterator[str]:
    """Yield header values, and all parts of a URL except its host; none that cannot be secrets."""
    try:
        parts = urlsplit(url)
    except ValueError:  # an invalid URL: nothing is sent to it
        return
    login = parts.netloc.rpartition("@")[0]
    yield from (login, unquote(login), *login.split(":", 1), *unquote(login).split(":", 1))
    words = [*re.split("[/;]", parts.path), *(pair.partition("=")[2] or pair for pair in parts.query.split("&"))]
    for name, value in headers.items():
        if name.lower() not in _PUBLIC:
            words += [value, *(part for part in re.split(r"[\s;,=]+", value) if len(part) >= _LONG)]
    yield from (form for word in words for form in {word, unquote(word)} if not re.fullmatch(_NO_KEY, word))


def _expression(secret: str) -> str:
    if len(secret) > _LONGEST or not re.search("[A-Za-z0-9]", secret):  # signs alone would be found everywhere
        return re.escape(secret)
    # A letter or digit as it is, or percent-encoded; any other sign as any sign, for it may be in any encoding.
    alike = (f"(?:{one}|%(?i:{ord(one):02x}))" if one.isascii() and one.isalnum() else _SIGN for one in secret)
    whole = "".join(alike)
    return whole if len(secret) >= _LONG else rf"(?<![A-Za-z0-9]){whole}(?![A-Za-z0-9])"


def mask_sent(text: str) -> str:
    """Return the text with `***` for secrets that were sent: servers repeat requests.

    Call it before truncating a text, because part of a secret is not recognized. `excerpt` calls it itself.
    """
    for found in list(_sent):
        text = found.sub(_MASK, text)
    return text


def mask_url(url: str) -> str:
    """Return the URL with `***` for user name, password, query values and API keys in its path.

    A local path, which begins with `/`, `./`, `../` or `~/` or is a folder's, is unchanged.
    """
    bare = "://" not in url
    if bare and (re.fullmatch(_LOCAL, url) or os.path.isdir(url)):  # noqa: PTH112  # a Path takes longer to load
        return printable(url)
    try:
        parts = urlsplit(f"//{url}" if bare else url)
    except ValueError:
        return _MASK
    _, at, host = parts.netloc.rpartition("@")
    if bare and not re.fullmatch(_HOST, host):
        host = _masked(host)
    query = re.sub("(?<==)[^&]+|(?<![^&])[^&=]+(?![^&])", _MASK, parts.query)
    path = "/".join(map(_masked, parts.path.split("/")))
    return printable(
        urlunsplit((parts.scheme, f"{_MASK}@{host}" if at else host, path, query, "")).removeprefix(bare * "//")
    )


def _masked(step: str) -> str:
    return step if re.fullmatch(_NO_KEY, step) else _MASK
