"""Decodes text that people write: UTF-8, or UTF-16 as PowerShell writes it, with a byte order mark or (UTF-8) without.

The mark is dropped: it is no part of the text.
"""

import codecs


def encoding_of(data: bytes) -> str:
    """Return the encoding of a text, by its first bytes."""
    return "utf-16" if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig"


def decoded(data: bytes, errors: str = "strict") -> str:
    """Return the text of a file. `errors`: as of `bytes.decode`; by default it raises UnicodeDecodeError."""
    return data.decode(encoding_of(data), errors)
