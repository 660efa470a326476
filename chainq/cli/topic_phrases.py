"""What several words after `chainq help` name together."""

import re
from collections.abc import Sequence

from chainq.catalog.kinds import shown
from chainq.cli.help import PlainGroup
from chainq.cli.list_columns import columns_by_command
from chainq.cli.topic_words import WORDS
from chainq.cli.topics import PLACE_OF, TOPICS, as_name, is_known, options_of_all, topic_of
from chainq.errors import UsageError

_COMMON = """
number limit last first height block request check every list row file time order page size from state stop input query
print max top data user head tail output run test find search key type index status id value table name error chain
column field job program function command option date api http server setting variable
"""
COMMON = frozenset(_COMMON.split())
"""Words, without the s of a plural, that tell little beside others."""
_FILLERS = """
a an and the of to in on at by for per with i do does can my is are it me how what where which why use using only all
each get make want need please one two three five ten
another other change see write read mean meaning
"""
FILLERS = frozenset(_FILLERS.split())
"""Words that do not tell what is asked."""
_OWN = {"my"}  # tells something only in a name: `my-records` are those of a view key


def found(text: str) -> str:
    """Return what the words of a text name together: a command by its name, anything else as `write` takes it. Raises
    UsageError, with the word that tells most, if only some of them name something."""
    words = text.split()
    telling = [word for word in words if word.lower() not in FILLERS] if len(words) > 1 else words
    rest = [word for word in telling if not word.isdecimal() or word in PLACE_OF]
    for name in dict.fromkeys((text, " ".join(telling), " ".join(rest))):
        for one in (name, name.removesuffix("s"), f"{name}s"):
            command = topic_of(one) if topic_of(one) in PlainGroup.catalogue else as_name(one)
            if command in PlainGroup.catalogue:
                return command
            if is_known(one):
                return (topic_of(one) or one) if re.search(r"[\s_-]\b", one) else one
    phrase = _phrase([*rest, *(word for word in words if word.lower() in _OWN)])
    if phrase and len(rest) == len([part for part in phrase.strip("-").split("-") if part not in _OWN]):
        return found(phrase)
    if len(words) > 1 and (one := _certain(rest, phrase)):
        return found(one)
    if len(words) > 1 and (named := _telling(rest, phrase)):
        listing = [word for word in rest if word in columns_by_command() and topic_of(named) == "--columns"]
        use = f"chainq {listing[0]} --columns help" if listing else f"chainq help {named}"
        raise UsageError(f"unknown help topic{shown(text)}", f"use {use}")
    return text


def _phrase(words: Sequence[str]) -> str:
    """Return the longest name of several words that are all among some, in any order; empty if there is none."""
    folded = {_folded(word) for word in words}
    options = (name for _, param, _ in options_of_all() for name in param.opts)
    known = (*PlainGroup.catalogue, *TOPICS, *WORDS, *PLACE_OF, *options)
    parts = {
        name: {_folded(part) for part in name.strip("-").split("-") if part not in FILLERS - _OWN} for name in known
    }
    names = [name for name, some in parts.items() if len(some) > 1 and some <= folded]
    return max(names, key=lambda name: (len(parts[name]), -len(parts[name] & COMMON)), default="")


def _certain(words: Sequence[str], phrase: str) -> str:
    """Return the word or phrase that names the one topic that all words but the common ones are about; empty if they
    are about several, about a command, or one of them names nothing."""
    parts = {_folded(part) for part in phrase.strip("-").split("-")}
    rare = [word for word in words if _folded(word) not in COMMON | parts] + [phrase] * bool(phrase)
    named = {topic_of(word) or word for word in rare}
    return rare[0] if len(named) == 1 and is_known(rare[0]) and rare[0].lower() not in PlainGroup.catalogue else ""


def _telling(words: Sequence[str], phrase: str) -> str:
    """Return what tells most among words: the last rare one that names something, else a phrase; if all of them name
    something or are common, else the last one that is not a command, else the first command. Empty if none does."""
    known = [word for word in words if word.lower() in PlainGroup.catalogue or is_known(word)]
    parts = {_folded(part) for part in phrase.strip("-").split("-")}
    commands = [word for word in known if word.lower() in PlainGroup.catalogue]
    others = [word for word in known if word not in commands]
    rare = [word for word in others if _folded(word) not in COMMON | parts]
    unknown = {_folded(word) for word in words if word not in known}
    if rare or phrase or not unknown <= COMMON:
        return rare[-1] if rare else phrase
    return (others[-1:] or commands[:1] or [""])[0]


def _folded(word: str) -> str:
    return word.lower().removesuffix("s")
