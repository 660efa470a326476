"""What to do after a run that stopped early. Loaded only by such runs."""

import os
from contextlib import suppress
from itertools import islice
from shlex import quote
from stat import S_ISREG

from chainq.catalog.methods import Role
from chainq.cli.output import OutputSettings
from chainq.cli.query import LookupsLeft, lookups
from chainq.heights.bounds import Bounds
from chainq.heights.range import HeightRange
from chainq.query import STDIN, Lookup, Query

MOST_NAMED = 10  # lookups that are left


def of(
    query: Query,
    settings: OutputSettings,
    heights: HeightRange | None,
    asked: LookupsLeft,
    limit: int | None,
    *,
    again: bool,
    begun: bool,
    opened: bool,
) -> str:
    """Return how to get the rest of a query; empty if nothing of it can have been written.

    `heights`: those of its range that are not written yet. `limit`: rows that are left, None without a limit.
    `again`: whether the same command may succeed later. `begun`: whether any of it is written.
    `opened`: whether the header is, if there is one.
    """
    if query.single or not (again or begun or settings.file):
        return ""
    if settings.file is not None:
        if not again:
            return settings.unchanged
        kept = settings.can.append and query.bounds is not None and query.limit is None and not query.reverse
        return settings.run_again(", or add --checkpoint FILE to keep what came" if kept else "")
    if not settings.can.endless:
        return f"the {settings.format} output is incomplete{'; run the command again' if again else ''}"
    if query.lookups is not None:
        rest = _lookups_left(query, asked)
    elif heights is not None:
        one_word = query.bounds is not None and query.bounds.one_word
        rest = f"{heights.start}:{heights.end}" if one_word else f"--start {heights.start} --end {heights.end}"
        rest += " --reverse" if query.reverse else ""
    else:
        return "a list without heights cannot be resumed; run the command again"
    more = [] if limit is None else [f"--limit {limit}"]
    headed = settings.has_header and opened
    if headed:  # which is written once
        more.append("--no-header")
    joint = " and " if more and rest.startswith("the ") else " "
    words = f"resume with {joint.join((rest, ' '.join(more)))}".rstrip()
    return rest and words + ", and append with >>" * ((begun or headed) and _is_file())


def _is_file() -> bool:
    """Return whether standard output is a regular file, which `>` would empty."""
    with suppress(OSError):
        return S_ISREG(os.fstat(1).st_mode)
    return False


def _lookups_left(query: Query, asked: LookupsLeft) -> str:
    """Return the arguments that are left, or how to find them; empty if only standard input has them all."""
    names = query.lookups or ()
    if STDIN in names:
        kind = "IDs" if query.method.param(Role.ID) else "heights"
        return "" if asked.last is None else f"the {kind} after {asked.last}"
    left = [
        _word(lookup) for lookup in (*asked.begun, *islice(lookups(query), asked.taken, None)) if lookup is not None
    ]
    if not all(left):
        return ""
    return " ".join(left) if len(left) <= MOST_NAMED else f"the last {len(left)} arguments, from {left[0]}"


def _word(lookup: Lookup | Bounds | HeightRange) -> str:
    """Return a lookup as an argument; empty for a range that block times bound, which none can say."""
    if isinstance(lookup, HeightRange):
        return f"{lookup.start}:{lookup.end}" if len(lookup) > 1 else str(lookup.start)
    if isinstance(lookup, Bounds):
        if lookup.since is not None or lookup.until is not None:
            return ""
        if lookup.last is not None:
            return f"-{lookup.last}:"
        return f"{lookup.start or 0}:{'' if lookup.end is None else lookup.end}"
    return quote(str(lookup))
