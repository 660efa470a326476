"""`--receipt`: counts what a run writes, for the receipt of its file."""

import os
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from chainq._version import __version__
from chainq.cli.output import OutputSettings
from chainq.errors import UsageError
from chainq.heights.range import HeightRange
from chainq.query import Batch, Query
from chainq.sinks.open import descriptor_of
from chainq.sinks.receipt import VERSION, FileReceipt

if TYPE_CHECKING:
    from chainq.resume.settings import ResumeSettings


def check(file: Path | None, resume: "ResumeSettings | None") -> None:
    """Raise UsageError for a run that writes no file as a whole."""
    if resume is not None:
        raise UsageError(f"--receipt cannot be combined with {'--checkpoint' if resume.checkpoint else '--follow'}")
    other = file is not None and os.path.exists(file) and not file.is_file()  # noqa: PTH110  # a Path raises for a long name
    if file is None or other or descriptor_of(file) is not None:
        raise UsageError("--receipt needs -o FILE, the name of a regular file")


class Account:
    """What a run has written so far. `heights`: of its range, once they are known; `url`: masked."""

    heights: HeightRange | None = None

    def __init__(self, query: Query, settings: OutputSettings, url: str) -> None:
        self._query, self._settings, self._url = query, settings, url
        self._rows = self._read = self._end = 0
        self._grades: Counter[str] = Counter()

    def counted(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        """Pass batches on, and count them."""
        for batch in batches:
            self._rows += len(batch.rows)
            self._read += batch.shown
            if batch.heights is not None:
                if batch.proof is not None:
                    self._grades[batch.proof.grade.value] += len(batch.heights)
                self._end = max(self._end, batch.heights.end)
            yield batch

    def receipt(self, size: int, sha256: str) -> FileReceipt:
        """Return the receipt of a file that has so many bytes, with that hash."""
        query, heights = self._query, self.heights
        whole = query.limit is None and query.page is None
        return FileReceipt(
            receipt=VERSION,
            command=query.method.command,
            format=self._settings.format,
            url=self._url,
            rows=self._rows,
            bytes=size,
            sha256=sha256,
            time=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            version=__version__,
            start=None if heights is None else heights.start,
            end=None if heights is None else max(self._end, heights.start) if whole else heights.end,
            arguments={role.value: value for role, value in query.arguments.items()},
            columns=self._settings.requested,
            where={} if query.where is None else query.where.given,
            limit=query.limit,
            page=query.page,
            read=None if query.where is None else self._read,
            grades=dict(self._grades),
        )
