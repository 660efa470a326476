"""Finds out whether a list of pages ends where a short page did (docs/completeness.md, "Lists in pages").

A page with fewer rows than were asked for may be the last, or may have been cut: by a cap in rows or bytes, by a limit
of the service on how far its pages go, by chance. So the end is believed only where pages of another size agree: one
that begins with the last rows shows them and none after them, and two that begin after them are empty: one of a single
row, and the run's own next page.

What this cannot find out is a service that ends its list early in the same way for every page.
"""

from collections.abc import Sequence
from math import ceil
from typing import NamedTuple

from chainq.errors import IncompleteError
from chainq.planning.page_facts import PageFacts
from chainq.planning.page_steps import PageAsking, PageRequest, Time, times_of
from chainq.planning.steps import DIVISIBLE

ATTEMPTS = 6  # requests for rows that are known to exist, before a service that does not show them is given up
LOOKS = 3  # for rows after the end, where no known row can be shown beside them
LOOKS_BESIDE = 2  # the same, where one was
PROBE = 64  # rows of a page that looks at the end, at most
ROUND = 500  # rows: a list that ends at a multiple of these may have been ended by a limit of the service


def list_ends(end: int, times: Sequence[Time], facts: PageFacts) -> PageAsking[bool]:
    """Return whether the list has no rows from position `end` on. `times`: of the last rows before it.

    Raises IncompleteError where these rows are not shown again, and the failures of requests.
    """
    looks = LOOKS
    if end and not facts.fixed:
        shown = yield from _show_last(end, times, facts)
        if shown.more:
            yield from _check_size(facts)
            return False
        if shown.number and shown.size > 1:
            looks = LOOKS_BESIDE
    beyond = [PageRequest(ceil(end / facts.size), facts.size)]  # where a service goes on that ignores the page size
    if not facts.fixed:
        beyond.append(PageRequest(end, 1))
    for look in range(looks):
        if (yield beyond[look % len(beyond)]):
            yield from _check_size(facts)
            return False
    if end and end % ROUND == 0:
        facts.notes.append(f"the list ends after exactly {end} rows: the service may show no more than that")
    return True


class _Shown(NamedTuple):
    """Return the page that showed the last rows again, and whether it showed more after them."""

    number: int
    size: int
    more: bool = False


def _show_last(end: int, times: Sequence[Time], facts: PageFacts) -> PageAsking[_Shown]:
    """Have the last rows shown again by a page of another size. Raises IncompleteError where that cannot be."""
    number, size, known = _around(end, facts)
    for attempt in range(ATTEMPTS):
        try:
            rows = yield PageRequest(number, size)
        except DIVISIBLE:
            if size == 1:
                raise
            number, size, known = end - 1, 1, 1
            continue
        if known <= len(rows) <= size and _agree(times_of(rows)[:known], times):
            return _Shown(number, size, len(rows) > known)
        if attempt == 0 and number and (yield from _check_size(facts)):
            return _Shown(number, size)
    raise IncompleteError(
        f"row {end - 1}: page {number} of {size} rows does not show the last row, so that nothing shows where the list"
        " ends",
        "the service has no further pages, or ends its list early",
    )


def _check_size(facts: PageFacts) -> PageAsking[bool]:
    """Return whether the service ignores the page size: a page of one row has more."""
    if not (facts.fixed or facts.capped) and len(first := (yield PageRequest(0, 1))) > 1:
        facts.ignores_size(len(first))
    return facts.fixed


def _around(end: int, facts: PageFacts) -> tuple[int, int, int]:
    """Return number and size of a page that begins before a position and goes beyond it, and the rows before it there.

    As few as can be, so that what follows is shown even where responses are cut; and another size than that of the
    page which ended there.
    """
    most = facts.size if facts.capped else PROBE
    sizes = [size for size in range(2, min(PROBE, most) + 1) if size != facts.size and end % size]
    best = min(sizes, key=lambda size: end % size, default=0)
    return (end // best, best, end % best) if best else (end - 1, 1, 1)


def _agree(shown: Sequence[Time], times: Sequence[Time]) -> bool:
    """Return whether the times shown are the last of those known, as far as both go back."""
    known = min(len(shown), len(times))
    return list(shown[len(shown) - known :]) == list(times[len(times) - known :])
