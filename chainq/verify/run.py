"""One pass of `chainq verify`: the windows of a source, checked by the rules and compared with a second source."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

import pyarrow as pa

from chainq.fetching.service import Service
from chainq.heights.range import HeightRange
from chainq.process.progress import Progress
from chainq.verify.check import Check
from chainq.verify.findings import Step, Window, by_height
from chainq.verify.service_rows import ServiceRows

if TYPE_CHECKING:
    from chainq.verify.hashed import Hashes


class Second:
    """A second source for windows: a service, at some heights.

    `spans`: by command, the heights of the first source. `heights`: those that are compared; `sample`: only these of
    them. `listed`: those whose lists of transactions are compared, None for all.
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
    ) -> None:
        self._heights, self._sample = heights, sample
        places = {command: [place for span in some for place in self._places(span)] for command, some in spans.items()}
        self._rows = ServiceRows(service, places, listed=listed, derived=derived)

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
    progress: Progress,
    second: Second | None = None,
    hashes: "Hashes | None" = None,
) -> Iterator[Step]:
    """Yield the findings in each window, in order of height. `progress` counts heights and rows."""
    pa.set_memory_pool(pa.system_memory_pool())  # Arrow's own keeps what was freed: 90 MB more
    read = 0
    for window in windows:
        found = [*check.findings(window, None if second is None else second.read(window))]
        if hashes is not None:
            found += hashes.findings(window)
        rows = {command: table.num_rows for command, table in window.tables.items()}
        start, end = window.heights.edges
        progress.wrote(max(0, end - max(start, read)), sum(rows.values()))
        read = max(read, end)
        yield Step(window.heights, sorted(dict.fromkeys(found), key=by_height), rows)
    if hashes is not None:
        yield Step(HeightRange(0, 0), list(hashes.ended()), {})
