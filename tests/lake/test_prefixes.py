"""Whatever an export has done when it is killed, its data set can be read: no row lost without a word, none twice."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import pytest

from chainq.errors import IncompleteError, UsageError
from chainq.fetching.service import Service
from chainq.heights.bounds import Bounds
from chainq.heights.range import HeightRange
from chainq.lake.export import Export, ExportQuery
from chainq.lake.folder import FolderStore
from chainq.lake.job import Done, Job, Task
from chainq.transport.base import ServiceOptions

pytest.importorskip("pyarrow")

from chainq.lake.partition import Worker
from chainq.lake.reader import Reader

Step = Callable[[Path], object]
"""An operation of an export, on a copy of its data set."""


class Inside:
    """An engine within the process of the test."""

    def check(self) -> None:
        """Do nothing."""

    def run(self, job: Job, tasks: Sequence[Task]) -> Iterator[Done]:
        """Write one partition after another."""
        with Worker(job) as worker:
            for task in tasks:
                yield worker.write(task)


def placed(name: str, data: bytes) -> Step:
    """A file appears."""

    def step(root: Path) -> None:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)

    return step


def removed(name: str) -> Step:
    """A file is removed."""
    return lambda root: (root / name).unlink()


@pytest.fixture
def steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Step]:
    """The operations of two exports, of which the second one lets the last partitions grow."""
    found: list[Step] = []
    place, delete = FolderStore.place, FolderStore.delete

    def placing(store: FolderStore, path: Path, name: str) -> int:
        found.append(placed(name, path.read_bytes()))
        return place(store, path, name)

    def deleting(store: FolderStore, names: Iterable[str]) -> None:
        every = list(names)
        found.extend(map(removed, every))
        delete(store, every)

    monkeypatch.setattr(FolderStore, "place", placing)
    monkeypatch.setattr(FolderStore, "delete", deleting)
    options, root = ServiceOptions("demo:", dialect="chain"), tmp_path / "lake"
    for end in (25, 38):
        with Service(options) as service:
            query = ExportQuery(("blocks", "records"), Bounds(0, end), partition=10)
            export = Export(service, FolderStore(root), query, lambda _: None)
            made = export.run(Inside(), options, str(root), begin=lambda _: None, wrote=lambda _: None)
            assert made is not None
    return found


def test_each_prefix_of_the_operations_can_be_read(steps: list[Step], tmp_path: Path) -> None:
    """Before `chainq.json` there is no data set; then it has each row once, up to its tip, or says what it lacks."""
    root, lacking = tmp_path / "copy", 0
    root.mkdir()
    with pytest.raises(UsageError, match=r"no chainq\.json"):
        Reader(str(root))
    with Service(ServiceOptions("demo:", dialect="chain")) as service:
        due = [service.blocks.block_hash(height) for height in range(38)]
    for step in steps:
        step(root)
        reader = Reader(str(root))
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
