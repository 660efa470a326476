"""What a worker is given, as plain values that can be pickled: an export, and partitions of it."""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from chainq.config.values import LEAST_MEMORY
from chainq.fetching.service import Service
from chainq.fetching.tip import Tip
from chainq.heights.grid import PartitionSpec
from chainq.heights.range import HeightRange
from chainq.lake.open import open_store
from chainq.lake.store import Store
from chainq.planning.steps import NOTHING_KNOWN, Known
from chainq.transport.base import Report


class ServiceSettings(msgspec.Struct, frozen=True):
    """How a worker opens the service: as `Service` takes it, for this worker alone.

    `profile`: the profile whose headers and names are used, read by the worker itself, so that no secret of it travels;
    empty for the default profile, None for none. `headers`: those beside it. `rate`, `concurrency` and `max_memory` are
    those of all workers together until the job is `shared`.
    """

    url: str
    dialect: str
    timeout: float
    retries: int
    rate: float | None
    concurrency: int
    max_memory: int
    headers: dict[str, str]
    profile: str | None
    strict: bool = False


class Job(msgspec.Struct, frozen=True):
    """One export, the same for all its partitions. `tip`: the tip that the coordinator saw."""

    destination: str
    service: ServiceSettings
    tip: Tip

    def shared(self, workers: int) -> "Job":
        """Return the job of one of so many workers: its share of the requests at a time, the rate and the memory."""
        service = self.service
        share = msgspec.structs.replace(
            service,
            rate=None if service.rate is None else service.rate / workers,
            concurrency=-(-service.concurrency // workers),
            max_memory=max(LEAST_MEMORY, service.max_memory // workers),
        )
        return msgspec.structs.replace(self, service=share)

    def open_store(self) -> Store:
        """Return the store of the data set."""
        return open_store(self.destination)

    def open_service(
        self, report: Callable[[Report], None], warn: Callable[[str], None], trace: Callable[[str], None]
    ) -> Service:
        """Return the service, which takes the coordinator's tip for its own. Raises UsageError."""
        settings = self.service
        headers, names = dict(settings.headers), None
        if settings.profile is not None:
            from chainq.config import profiles

            profile = profiles.profile(settings.profile or None, profiles.read())
            names = profile.names
            if profiles.same_host(settings.url, profile.url or ""):
                headers = {**profile.headers, **headers}
        service = Service(
            settings.url,
            dialect=settings.dialect,
            names=names,
            timeout=settings.timeout,
            retries=settings.retries,
            rate=settings.rate,
            headers=headers,
            concurrency=settings.concurrency,
            max_memory=settings.max_memory,
            strict=settings.strict,
            report=report,
            warn=warn,
            trace=trace,
        )
        service.know_tip(self.tip)
        return service


class Hold(msgspec.Struct, frozen=True):
    """Make no call of a method for so many seconds: the service refused it (HTTP 429) to another worker."""

    method: str
    seconds: float


class Task(msgspec.Struct, frozen=True):
    """One partition to write. `stale`: names of receipts to remove before. `known`: by partitions of this export.
    `holds`: to keep from the beginning."""

    spec: PartitionSpec
    stale: tuple[str, ...] = ()
    known: Known = NOTHING_KNOWN
    holds: Sequence[Hold] = ()

    def knowing(self, known: Mapping[str, Known]) -> "Task":
        """Return the task with what is known of its command, if anything is."""
        return msgspec.structs.replace(self, known=known.get(self.spec.command, self.known))


class Done(msgspec.Struct, frozen=True):
    """A partition that is written. `size`: bytes of its file; `receipt`: the name of its receipt; `known`: what it
    taught; `believed`: the heights that rest on belief."""

    spec: PartitionSpec
    rows: int
    size: int
    calls: int
    receipt: str
    known: Known = NOTHING_KNOWN
    believed: tuple[HeightRange, ...] = ()
