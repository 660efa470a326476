"""One pass of `chainq verify`: the windows of a source, checked by the rules and compared with a second source."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

import pyarrow as pa

from chainq.errors import ChainqError, IncompleteError
from chainq.fetching.service import Service
from chainq.heights.range import HeightRange
from chainq.process.progress import UNSEEN, Progress
from chainq.verify.check import Check
from chainq.verify.findings import Step, by_height
from chainq.verify.service_rows import ServiceRows
from chainq.verify.windows import Window

if TYPE_CHECKING:
    from chainq.verify.hashed import Hashes


LAST = 250  # blocks whose hashes are remembered, to tell where a reorg began; one request lists that many


class Second:
    """A second source for windows: a service, at some heights.

    `spans`: by command, the heights of the first source. `heights`: those that are compared; `sample`: only these of
    them. `listed`: those whose lists of transactions are compared, None for all. `progress` counts what is read.
    """

    def __init__(
        self,
        service: Service,
        spans: Mapping[str, Iterable[HeightRange]],
        heights: HeightRange,
        sample: Collection[int] | None = None,
        *,
        listed: Collection[int] | None = None,
        derived: Collection[str] = (),
        progress: Progress = UNSEEN,
    ) -> None:
        self._heights, self._sample = heights, sample
        places = {command: [place for span in some for place in self._places(span)] for command, some in spans.items()}
        self.total = sum(len(place) for some in places.values() for place in some)
        self._rows = ServiceRows(service, places, listed=listed, derived=derived, progress=progress)

    def _places(self, heights: HeightRange) -> list[HeightRange]:
        both = heights.common(self._heights)
        if self._sample is None:
            return [both] if len(both) else []
        return [HeightRange(at, at + 1) for at in sorted(self._sample) if at in both]

    def read(self, window: Window) -> tuple[Window, frozenset[int] | None] | None:
        """Return the rows at the heights of a window that are compared, and these heights, None for all; None for no
        rows."""
        places = self._places(window.heights)
        if not places:
            return None
        every = places == [window.heights]
        chosen = None if every else frozenset(at for place in places for at in range(*place.edges))
        return self._rows.read(places, window.tables), chosen


def steps(
    windows: Iterable[Window],
    check: Check,
    second: Second | None = None,
    hashes: "Hashes | None" = None,
    replaced: Callable[[], int | None] = lambda: None,
    progress: Progress = UNSEEN,
) -> Iterator[Step]:
    """Yield the findings in each window, in order of height. `progress` counts rows.

    `replaced` returns the lowest block that a reorg has replaced, if there is one: then the rows above are of two
    chains, and IncompleteError is raised instead of findings about them.
    """
    pa.set_memory_pool(pa.system_memory_pool())  # Arrow's own keeps what was freed: 90 MB more
    for window in windows:
        found = [*check.findings(window, None if second is None else second.read(window))]
        if hashes is not None:
            found += hashes.findings(window)
        if found and (at := replaced()) is not None:
            yield Step(HeightRange(window.heights.start, at), [one for one in found if by_height(one) < at], {})
            raise IncompleteError(f"a reorg during this run replaced the blocks from height {at} on", "verify again")
        rows = {command: table.num_rows for command, table in window.tables.items()}
        progress.wrote(0, sum(rows.values()))
        yield Step(window.heights, sorted(dict.fromkeys(found), key=by_height), rows)
    if hashes is not None:
        yield Step(HeightRange(0, 0), list(hashes.ended()), {})


def spans_of(commands: Iterable[str], heights: HeightRange) -> dict[str, list[HeightRange]]:
    """Return the same heights for each command."""
    return {command: [heights] for command in commands}


def replaced(service: Service, heights: HeightRange) -> Callable[[], int | None]:
    """Return what returns the lowest of the last blocks that the service has replaced since, None for none."""
    last = HeightRange(max(heights.start, heights.end - LAST), heights.end)

    def hashes() -> dict[int, str]:
        with suppress(ChainqError):  # the findings stand without an answer
            return service.blocks.block_hashes(last) if len(last) else {}
        return {}

    begun = hashes()

    def lowest() -> int | None:
        now = hashes()
        return min((at for at, found in begun.items() if now.get(at, found) != found), default=None)

    return lowest
