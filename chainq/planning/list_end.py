"""Finds out whether a list of pages ends where a short page did (docs/completeness.md, "Lists in pages").

A page with fewer rows than were asked for may be the last, or may have been cut: by a cap in rows or bytes, by a limit
of the service on how far its pages go, by chance, or by a row that never comes. So the end is believed only where pages
of another size agree: one that begins with the last rows shows them and none after them, and those that begin after
them are empty: the run's own next page, and single rows at the end and further on.

What this cannot find out is a service that ends its list early in the same way for every page.
"""

from collections.abc import Sequence
from math import ceil

from chainq.errors import IncompleteError
from chainq.planning.page_facts import PageFacts
from chainq.planning.page_steps import PageAsking, PageRequest, Time, times_of

ATTEMPTS = 6  # requests for rows that are known to exist, before a service that does not show them is given up
BEYOND = (0, 1, 2, 4, 8, 16)  # rows after the end: one that never comes may hide those after it in longer pages
LOOKS = 3  # at the next page, where its size is ignored and single rows cannot be requested
PROBE = 64  # rows of a page that looks at the end, at most
ROUND = 500  # rows: a list that ends at a multiple of these may have been ended by a limit of the service
SHORT = 8  # rows: what shorter pages show may be too little


def list_ends(end: int, times: Sequence[Time], facts: PageFacts) -> PageAsking[bool]:
    """Return whether the list has no rows from position `end` on. `times`: of the last rows before it.

    Raises IncompleteError where these rows are not shown again, and the failures of requests.
    """
    if facts.fixed is None and (first := (yield PageRequest(0, 1))):
        facts.fixed = False
        if len(first) > 1:
            facts.ignores_size(len(first))
    if end and not facts.fixed and (yield from _shows_more(end, times, facts)):
        return False
    size = facts.size if facts.fixed else max(facts.size, min(SHORT, facts.largest))
    following = PageRequest(ceil(end / size), size)  # where a service goes on that ignores the page size
    looks = [following] * LOOKS if facts.fixed else [following, *(PageRequest(end + more, 1) for more in BEYOND)]
    for look in looks:
        if (yield from facts.ask(look)) != []:
            return False
    if end and end % ROUND == 0:
        facts.notes.append(f"the list ends after exactly {end} rows: the service may show no more than that")
    return True


def _shows_more(end: int, times: Sequence[Time], facts: PageFacts) -> PageAsking[bool]:
    """Have the last rows shown again by a page of another size; return whether it has more after them.

    The page begins as short before the end as can be, so that what follows is shown even where responses are cut, and
    ends two rows or more after it: a service may leave out the last row of a full page. Raises IncompleteError where it
    does not show the last rows.
    """
    sizes = range(3, min(PROBE, facts.largest) + 1)
    fitting = [size for size in sizes if size != facts.size and 0 < end % size <= size - 2]
    size = min(fitting, key=lambda size: end % size, default=1)
    number, known = end // size - (size == 1), end % size or 1
    for _ in range(ATTEMPTS):
        rows = yield from facts.ask(PageRequest(number, size))
        if rows is None:
            number, size, known = end - 1, 1, 1
            continue
        both = min(known, len(times))
        if known <= len(rows) <= size and times_of(rows)[known - both : known] == [*times[len(times) - both :]]:
            return len(rows) > known
    raise IncompleteError(
        f"row {end - 1}: page {number} of {size} rows does not show the last row, so nothing shows where the list ends",
        "the service has no further pages, or ends its list early",
    )
