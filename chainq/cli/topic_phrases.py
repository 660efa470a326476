"""What several words after `chainq help` name together."""

import re
from collections.abc import Sequence

from chainq.cli.help import PlainGroup
from chainq.cli.topic_words import WORDS
from chainq.cli.topics import PLACE_OF, TOPICS, entry, is_known, options_of_all

_COMMON = """
number limit last first height block request check every list row file time order page size from state stop input query
print max top data user head tail output run test find search key type index status id value table name error chain
column field job program function command option date api http server setting variable
"""
COMMON = frozenset(_COMMON.split())
"""Words, without the s of a plural, that tell little beside others."""
_FILLERS = """
a an and the of to in on at by for over per with i do does can my is are it me how what where which why use using only
all each get make want need please one two three five ten
without between after before its this that show display
another other change see write read mean meaning turn off chainq
"""
FILLERS = frozenset(_FILLERS.split())
"""Words that do not tell what is asked."""
_OWN = {"my"}  # tells something only in a name: `my-records` are those of a view key


def found(text: str) -> tuple[list[str], list[str]]:
    """Return what the words of a text name: commands by their names, anything else as `write` takes it. It is one thing
    if they name it together, else what each of them names, and the text itself if they name nothing.

    Also those of its words that are unknown, if others are not."""
    words = text.split()
    telling = [word for word in words if word.lower() not in FILLERS] if len(words) > 1 else words
    rest = [word for word in telling if not word.isdecimal() or word in PLACE_OF]
    for name in dict.fromkeys((text, " ".join(telling), " ".join(rest))):
        joined = re.sub(r"(?<=\w)[\s_-]+(?=\w)", "", name)
        for one in (name, name.removesuffix("s"), f"{name}s", joined, joined.removesuffix("s")):
            if entry(one) in PlainGroup.catalogue:
                return [entry(one)], []
            if is_known(one):
                return [entry(one) if re.search(r"[\s_-]\b", one) else one], []
    named = _by_word([*rest, *(word for word in words if word.lower() in _OWN)])
    return named or [text], [word for word in rest if named and not _tells(word)]


def _tells(word: str) -> bool:
    """Return whether a word names something, alone or in a name of several words."""
    folded = _folded(word)
    parts = {part for name in _names() for part in map(_folded, name.strip("-").split("-"))}
    return folded in COMMON | parts or is_known(word) or is_known(folded)


def _names() -> list[str]:
    """Return the names of commands, topics and options, and the words that stand for them."""
    options = (name for _, param, _ in options_of_all() for name in param.opts)
    return [*PlainGroup.catalogue, *TOPICS, *WORDS, *PLACE_OF, *options]


def _by_word(words: Sequence[str]) -> list[str]:
    """Return what words name, alone or together in any order: first what most of them name, and nothing for words that
    are named before. Common words count only beside commands, or if no other word is there; empty if none counts."""
    folded = [_folded(word) for word in words]
    alone = {word: {_folded(word)} for word in words if word.lower() in PlainGroup.catalogue or is_known(word)}
    parts = {
        name: {_folded(part) for part in name.strip("-").split("-") if part not in FILLERS - _OWN} for name in _names()
    }
    together = {name: some for name, some in parts.items() if len(some) > 1 and some <= {*folded}}
    named: dict[str, tuple[str, set[str]]] = {}
    for name, some in (*alone.items(), *together.items()):
        meant = entry(name)
        shown = meant if len(some) > 1 or meant in PlainGroup.catalogue else name
        named[meant] = (shown, some | named.get(meant, ("", set()))[1])
    named.pop("topics", None)
    found: list[str] = []
    common: list[str] = []
    lone = True  # whether the words that are not common name commands alone, each one
    seen: set[str] = set()
    order = sorted(named.values(), key=lambda one: (-len(one[1]), one[1] <= COMMON, min(map(folded.index, one[1]))))
    for name, some in order:
        if not some <= seen:
            rare = not some - seen <= COMMON or (len(some) > 1 and not found)
            (found if rare else common).append(name)
            lone = lone and not (rare and (len(some) > 1 or name not in PlainGroup.catalogue))
            seen |= some
    return found + common if lone and (found or {*folded} <= COMMON) else found


def _folded(word: str) -> str:
    return word.lower().removesuffix("s")
