"""Finds the words that a misspelt one may mean: rather none than one that is far away."""

import re
from collections.abc import Iterable

LIKENESS = 0.7  # of 1; below it `where` is like `serve`, and `filters` like `profiles`
LIKENESS_AT_FIRST = 0.8  # if the first letters differ, as those of `reverse` and `verbose`
SHORTEST = 3  # letters of a part by which a longer word is found


def alike(word: str, known: Iterable[str], most: int = 1) -> list[str]:
    """Return up to `most` known words that are like a word, the nearest first; case does not matter.

    If none is, these are words of which it is a part, from its beginning or after `_`, `-`, `.` or `/`.

    >>> alike("recrods", ["blocks", "records"]), alike("hash", ["round", "block_hash"]), alike("reverse", ["verbose"])
    (['records'], ['block_hash'], [])
    """
    from difflib import get_close_matches

    folded = {name.lower(): name for name in known}
    same = [name for name in folded if name[:1] == word[:1].lower()]
    near = get_close_matches(word.lower(), folded, most, LIKENESS_AT_FIRST)
    near = near or get_close_matches(word.lower(), same, most, LIKENESS)
    if not near and len(word) >= SHORTEST:
        part = re.compile(rf"(?:.*[-_./])?{re.escape(word.lower())}")
        near = sorted(filter(part.match, folded), key=lambda name: not name.startswith(word.lower()))[:most]
    return [folded[name] for name in near]
