"""The input of a worker as plain, picklable values: an export, and partitions of it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Self

import msgspec

from chainq.config.server import completed
from chainq.config.values import LEAST_MEMORY
from chainq.fetching.blocks import Tip
from chainq.fetching.service import Service
from chainq.heights.range import HeightRange
from chainq.lake.names import Entry, PartitionSpec
from chainq.lake.store import Store, open_store
from chainq.planning.exchange import NOTHING_KNOWN, Known
from chainq.transport.base import Report, ServiceOptions


class Job(msgspec.Struct, frozen=True):
    """One export, the same for all its partitions. `tip`: the coordinator's.

    `service`: the coordinator's, without the headers and names of its profile. Each worker reads these itself, so that
    no secret is sent. Rate, concurrency and memory are totals for all workers until the job is `shared`. `hashes`:
    whether block hashes are recomputed."""

    service: ServiceOptions
    tip: Tip
    destination: str
    hashes: bool = False

    def shared(self, workers: int) -> Self:
        """Return one worker's job: its share of the concurrent requests, the rate and the memory."""
        service = self.service
        share = service._replace(
            rate=None if service.rate is None else service.rate / workers,
            concurrency=-(-service.concurrency // workers),
            max_memory=max(LEAST_MEMORY, service.max_memory // workers),
        )
        return msgspec.structs.replace(self, service=share)

    def open_service(
        self, report: Callable[[Report], None], warn: Callable[[str], None], trace: Callable[[str], None]
    ) -> Service:
        """Return the service, which uses the coordinator's tip. Raises UsageError."""
        service = Service(completed(self.service), report=report, warn=warn, trace=trace)
        service.blocks.know_tip(self.tip)
        return service

    def open_store(self) -> Store:
        """Return the store of the data set."""
        return open_store(self.destination)


class Hold(msgspec.Struct, frozen=True):
    """A pause in seconds for calls of a method that the service refused (HTTP 429) to another worker."""

    method: str
    seconds: float


class Task(msgspec.Struct, frozen=True):
    """One partition of a read to write. `tables`: which tables of the read to write (`reads.py`), none for the one of
    its name. `known`: learned from partitions of this export. `holds`: that apply from the start."""

    spec: PartitionSpec
    tables: tuple[str, ...] = ()
    known: Known = NOTHING_KNOWN
    holds: Sequence[Hold] = ()

    def knowing(self, known: Mapping[str, Known]) -> "Task":
        """Return the task with what is known about its command, if anything."""
        return msgspec.structs.replace(self, known=known.get(self.spec.command, self.known))


class Advance(msgspec.Struct, frozen=True):
    """A worker's progress in a partition: how many heights and rows are written."""

    spec: PartitionSpec
    heights: int = 0
    rows: int = 0


class Done(msgspec.Struct, frozen=True):
    """A written partition of a read, and its files. `known`: what it learned; `believed`: the unproved heights;
    `unhashed`: what `--hashes` could not check, counted."""

    spec: PartitionSpec
    files: tuple[Entry, ...]
    calls: int
    known: Known = NOTHING_KNOWN
    believed: tuple[HeightRange, ...] = ()
    unhashed: Mapping[str, int] = {}

    @property
    def rows(self) -> int:
        """Return how many rows its files have."""
        return sum(entry.rows for entry in self.files)

    @property
    def size(self) -> int:
        """Return how many bytes its files have."""
        return sum(entry.size for entry in self.files)
