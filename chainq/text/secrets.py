"""Finds the secrets of requests in other text: header values, and all parts of a URL except its host.

Servers repeat requests in their errors: `Cannot POST /v1/<key>`, or all headers. A secret is found as it was sent, in
base64 and percent-encoded, also inside JSON or HTML, and in no other encoding.
"""

import re
from base64 import b64encode
from collections.abc import Iterator, Mapping
from urllib.parse import unquote, urlsplit

_PUBLIC = {"accept", "accept-encoding", "accept-language", "cache-control", "connection", "host", "user-agent"}
# A sign as it is, and as URLs, JSON, HTML and programming languages escape it. Repetitions are bounded: searching for
# an unbounded one takes the square of the length.
_SIGN = r"(?:(?:%[\da-fA-F]{2}){1,4}|\\{1,3}(?:u[\da-fA-F]{4}|x[\da-fA-F]{2})|&(?:amp;)?#?\w{1,8};|\\{0,3}[^A-Za-z0-9])"
LONG = 8  # characters of a secret that is found inside of words, too; a shorter one may be a word by chance
LONGEST = 5_000  # characters of a secret that is found in other encodings, too; the expression would take seconds


def pattern(url: str, headers: Mapping[str, str], harmless: str) -> str:
    """Return an expression for the parts of a request that must not be shown, in each of their encodings.

    `harmless`: an expression for path parts, query values and header values that cannot be secrets.
    """
    raw = {secret for secret in _secrets(url, headers, harmless) if len(secret) > 1}
    packed = {b64encode(secret.encode()).decode().rstrip("=") for secret in raw if len(secret) >= LONG // 2}
    packed |= {text.translate({43: "-", 47: "_"}) for text in packed}  # as in URLs (RFC 4648, section 5)
    ordered = sorted(raw | packed, key=len, reverse=True)
    return "|".join(_expression(text) + "={0,2}" * (text in packed) for text in ordered)


def _secrets(url: str, headers: Mapping[str, str], harmless: str) -> Iterator[str]:
    try:
        parts = urlsplit(url)
    except ValueError:  # an invalid URL: nothing is sent to it
        return
    login = parts.netloc.rpartition("@")[0]
    yield from (login, unquote(login), *login.split(":", 1), *unquote(login).split(":", 1))
    words = [*re.split("[/;]", parts.path), *(pair.partition("=")[2] or pair for pair in parts.query.split("&"))]
    for name, value in headers.items():
        if name.lower() not in _PUBLIC:
            words += [value, *(part for part in re.split(r"[\s;,=]+", value) if len(part) >= LONG)]
    yield from (form for word in words for form in {word, unquote(word)} if not re.fullmatch(harmless, word))


def _expression(secret: str) -> str:
    if len(secret) > LONGEST or not re.search("[A-Za-z0-9]", secret):  # signs alone would be found everywhere
        return re.escape(secret)
    # A letter or digit as it is, or percent-encoded; any other sign as any sign, for it may be in any encoding.
    alike = (f"(?:{one}|%(?i:{ord(one):02x}))" if one.isascii() and one.isalnum() else _SIGN for one in secret)
    whole = "".join(alike)
    return whole if len(secret) >= LONG else rf"(?<![A-Za-z0-9]){whole}(?![A-Za-z0-9])"
