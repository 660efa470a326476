"""What a worker is given, as plain values that can be pickled: an export, and partitions of it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Self

import msgspec

from chainq.config.server import completed
from chainq.config.values import LEAST_MEMORY
from chainq.fetching.service import Service
from chainq.fetching.tip import Tip
from chainq.heights.grid import PartitionSpec
from chainq.heights.range import HeightRange
from chainq.planning.exchange import NOTHING_KNOWN, Known
from chainq.stored.open import open_store
from chainq.stored.store import Store
from chainq.transport.base import Report, ServiceOptions


class Access(msgspec.Struct, frozen=True):
    """How the workers of one run reach its service. `tip`: the tip that the coordinator saw.

    `service`: as the coordinator has it, without the headers and names of its profile: each worker reads these itself,
    so that no secret of it travels. Rate, concurrency and memory are those of all workers until the access is `shared`.
    """

    service: ServiceOptions
    tip: Tip

    def shared(self, workers: int) -> Self:
        """Return the access of one of so many workers: its share of the requests at a time, the rate and the memory."""
        service = self.service
        share = service._replace(
            rate=None if service.rate is None else service.rate / workers,
            concurrency=-(-service.concurrency // workers),
            max_memory=max(LEAST_MEMORY, service.max_memory // workers),
        )
        return msgspec.structs.replace(self, service=share)

    def open_service(
        self,
        report: Callable[[Report], None] = lambda _: None,
        warn: Callable[[str], None] = lambda _: None,
        trace: Callable[[str], None] = lambda _: None,
    ) -> Service:
        """Return the service, which takes the coordinator's tip for its own. Raises UsageError."""
        service = Service(completed(self.service), report=report, warn=warn, trace=trace)
        service.know_tip(self.tip)
        return service


class Job(Access, frozen=True):
    """One export, the same for all its partitions. `hashes`: whether block hashes are recomputed. `extra`: by table,
    paths of what older partitions keep in the column `extra`, of which nothing more is said."""

    destination: str
    hashes: bool = False
    extra: Mapping[str, Sequence[str]] = {}

    def open_store(self) -> Store:
        """Return the store of the data set."""
        return open_store(self.destination)


class Hold(msgspec.Struct, frozen=True):
    """Make no call of a method for so many seconds: the service refused it (HTTP 429) to another worker."""

    method: str
    seconds: float


class Task(msgspec.Struct, frozen=True):
    """One partition of a read to write. `stale`: names of receipts to remove before. `tables`: those to write of what
    the read fills (`reads.py`), none for the one of its name. `known`: by partitions of this export. `holds`: to keep
    from the beginning."""

    spec: PartitionSpec
    stale: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    known: Known = NOTHING_KNOWN
    holds: Sequence[Hold] = ()

    def knowing(self, known: Mapping[str, Known]) -> "Task":
        """Return the task with what is known of its command, if anything is."""
        return msgspec.structs.replace(self, known=known.get(self.spec.command, self.known))


class Advance(msgspec.Struct, frozen=True):
    """How far a worker has come with a partition: how many of its heights are written, and with how many rows."""

    spec: PartitionSpec
    heights: int = 0
    rows: int = 0


class Done(msgspec.Struct, frozen=True):
    """A partition of a read that is written. `rows`, `size`: rows and bytes of its files; `receipts`: the names of
    their receipts; `hashes`: the SHA-256 of each file; `known`: what it taught; `believed`: the heights that rest on
    belief; `unhashed`: what `--hashes` could not check, counted."""

    spec: PartitionSpec
    rows: int
    size: int
    calls: int
    receipts: tuple[str, ...]
    hashes: tuple[str, ...]
    known: Known = NOTHING_KNOWN
    believed: tuple[HeightRange, ...] = ()
    unhashed: Mapping[str, int] = {}
