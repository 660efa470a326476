"""Whatever an export has done when it is killed, its data set can be read: no row lost without a word, none twice."""

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from chainq.errors import IncompleteError, UsageError
from chainq.fetching.service import Service
from chainq.heights.bounds import Bounds
from chainq.heights.range import HeightRange
from chainq.lake.export import Export, ExportQuery, Listener
from chainq.lake.store import Store, Upload, open_store
from chainq.lake.workers import Hear, Job, LocalCrew, Worker
from chainq.options import ServiceOptions

pytest.importorskip("pyarrow")

from chainq.lake.reader import Reader

Step = Callable[[Store], object]
"""An operation of an export, on another store."""


class Recorded:
    """A store that keeps the operations on it."""

    def __init__(self, store: Store, steps: list[Step]) -> None:
        self._store, self._steps = store, steps

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def create(self, name: str, data: bytes) -> None:
        """A small file appears."""
        self._store.create(name, data)
        self._steps.append(lambda store: store.create(name, data))

    def delete(self, names: Iterable[str]) -> None:
        """Files are removed, one after another."""
        for name in names:
            self._store.delete([name])
            self._steps.append(partial(_delete, name))

    @contextmanager
    def upload(self) -> Iterator[Upload]:
        """A large file appears."""
        written = bytearray()
        with self._store.upload() as upload:

            def write(data: bytes) -> None:
                upload.write(data)
                written.extend(data)

            def publish(name: str) -> int:
                self._steps.append(partial(_create, name, bytes(written)))
                return upload.publish(name)

            yield Upload(write, publish)


def _create(name: str, data: bytes, store: Store) -> None:
    store.create(name, data)


def _delete(name: str, store: Store) -> None:
    store.delete([name])


class Inside(LocalCrew):
    """A worker within the process of the test."""

    def __init__(self, store: Any, job: Job, tasks: int, hear: Hear) -> None:
        super().__init__(1, job, tasks, hear)
        self._worker = Worker(job)
        self._worker._store = store
        self.write = self._worker.write  # type: ignore[method-assign]


@pytest.fixture(params=["folder", "bucket"])
def root(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Where data sets lie."""
    if request.param == "folder":
        yield str(tmp_path)
        return
    pytest.importorskip("obstore")
    from harness.lake.buckets import Bucket, storing

    with storing() as endpoint:
        bucket = Bucket(endpoint)
        for name, value in bucket.environment().items():
            monkeypatch.setenv(name, value)
        yield bucket.url


@pytest.fixture
def steps(root: str) -> list[Step]:
    """The operations of two exports, of which the second one lets the last partitions grow."""
    found: list[Step] = []
    options, destination = ServiceOptions("demo:", dialect="chain"), f"{root}/lake"
    store: Any = Recorded(open_store(destination), found)
    for end in (25, 38):
        with Service(options) as service:
            query = ExportQuery(("blocks", "records"), Bounds(0, end), partition=10)
            export = Export(service, store, query, lambda _: None)
            assert export.run(partial(Inside, store), options, Listener()) is not None
    return found


def test_each_prefix_of_the_operations_can_be_read(steps: list[Step], root: str) -> None:
    """Before `chainq.json` there is no data set; then it has each row once, up to its tip, or says what it lacks."""
    copy, lacking = f"{root}/copy", 0
    with pytest.raises(UsageError, match=r"no data set in .*/copy: "):
        Reader(copy)
    with Service(ServiceOptions("demo:", dialect="chain")) as service:
        due = [service.blocks.block_hash(height) for height in range(38)]
    for step in steps:
        step(open_store(copy))
        reader = Reader(copy)
        heights = HeightRange(0, reader.tip + 1)
        for table in ("blocks", "records"):
            try:
                rows = [bytes(row) for row in reader.rows(table, heights)]
            except IncompleteError:
                lacking += 1
                continue
            assert len(rows) == len(set(rows))
            if table == "blocks":
                assert [json.loads(row)["block_hash"] for row in rows] == due[: len(heights)]
    assert (reader.tip, len(steps)) == (37, 1 + 6 + 4 + 2)
    assert 0 < lacking < len(steps)
