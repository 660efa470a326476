"""Finds the words that a misspelt one may mean: rather none than one that is far away."""

import re
from collections.abc import Iterable

LIKENESS = 0.7  # of 1, if the first letters are the same; below it `sort` is like `start`
LIKENESS_AT_FIRST = 0.8  # if the first letters differ, as those of `reverse` and `verbose`
SHORTEST = 3  # letters of a part by which a longer word is found


def alike(word: str, known: Iterable[str], most: int = 1) -> list[str]:
    """Return up to `most` known words that are like a word, the nearest first; case does not matter.

    One with two letters swapped is the nearest, however short. If none is like it, these are words of which it is a
    part, from its beginning or after `_`, `-`, `.` or `/`; else words that are such a part of it, or that begin with
    all of its letters but the last one.

    >>> alike("recrods", ["blocks", "records"]), alike("hash", ["round", "block_hash"]), alike("reverse", ["verbose"])
    (['records'], ['block_hash'], [])
    >>> alike("cvs", ["csv"]), alike("a.heigth", ["a.height", "a.weight"], 2)
    (['csv'], ['a.height'])
    >>> alike("retry", ["rate", "retries"]), alike("max_retries", ["rate", "retries"])
    (['retries'], ['retries'])
    """
    from difflib import get_close_matches

    folded = {name.lower(): name for name in known}
    if swapped := [name for name in folded if _swapped(word.lower(), name)]:
        return [folded[name] for name in swapped[:most]]
    same = [name for name in folded if name[:1] == word[:1].lower()]
    near = get_close_matches(word.lower(), folded, most, LIKENESS_AT_FIRST)
    near = near or get_close_matches(word.lower(), same, most, LIKENESS)
    if not near and len(word) >= SHORTEST:
        part = re.compile(rf"(?:.*[-_./])?{re.escape(word.lower())}")
        near = sorted(filter(part.match, folded), key=lambda name: not name.startswith(word.lower()))[:most]
        parts = re.split("[-_./]", word.lower())
        near = near or [name for name in folded if len(name) >= SHORTEST and name in parts][:most]
    if not near and len(word) > SHORTEST + 1:
        near = [name for name in folded if name.startswith(word.lower()[:-1])][:most]
    return [folded[name] for name in near]


def _swapped(word: str, name: str) -> bool:
    """Return whether two words differ only in the order of two letters side by side."""
    at = next((place for place, (one, other) in enumerate(zip(word, name, strict=False)) if one != other), 0)
    return word != name and word[:at] + word[at : at + 2][::-1] + word[at + 2 :] == name
