"""Delta and Iceberg tables of chainq export alike: what their last version names is what the files hold."""

import importlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chainq.demo.chain import Chain
from chainq.demo.fork import Fork
from harness.lake import Lake, due
from harness.program import Program
from harness.services import Moving, fork_truth, serving
from harness.truth import Truth

pytest.importorskip("pyarrow")
Opened = tuple[list[str], Any, int]
"""The files of the last version of a table, its rows as Arrow, and the number of versions."""


def delta(lake: Lake, command: str) -> Opened:
    """A Delta table as its readers see it."""
    table = importlib.import_module("deltalake").DeltaTable(lake.root / command)
    return table.file_uris(), table.to_pyarrow_table(columns=["height"]), table.version() + 1


def iceberg(lake: Lake, command: str) -> Opened:
    """An Iceberg table as its readers see it."""
    sql = importlib.import_module("pyiceberg.catalog.sql")
    table = sql.SqlCatalog("chainq", uri=f"sqlite:///{lake.root}/_chainq/iceberg.db").load_table(f"chainq.{command}")
    files = table.inspect.files()["file_path"].to_pylist()
    return files, table.scan(selected_fields=("height",)).to_arrow(), len(table.snapshots())


@pytest.mark.parametrize("read", [delta, iceberg])
def test_a_reorg_takes_partitions_out_before_they_are_replaced(
    chainq: Program, read: Callable[[Lake, str], Opened]
) -> None:
    """One version is without the partitions that the fork touches, the next one has the new ones."""
    pytest.importorskip("deltalake" if read is delta else "pyiceberg")
    service, trunk, lake = Moving(2749), Chain(tip=2749), Lake(chainq.home / "lake")
    truth = fork_truth(2450, 2749)
    words = ("export", "records", "blocks", "2300:", "--partition", "100", "--to", "lake", f"--{read.__name__}")
    with serving(service) as url:
        assert chainq(*words, url=url).code == 0
        service.swap(Fork(trunk, 2450))
        seen: set[str] = set()

        def fail(method: str) -> None:
            seen.add(method)
            if "records/all" in seen:
                raise ConnectionError

        service.hook = fail
        assert chainq(*words, "--retries", "0", url=url).code == 4
        check(read(lake, "records"), truth, "records", [2300], versions=2)
        service.hook = lambda _: None
        assert chainq(*words, url=url).code == 0
    for command in ("records", "blocks"):
        check(read(lake, command), truth, command, [2300, 2400, 2500, 2600], versions=3)
    assert lake.rows("records") == due(truth.rows("records", 2300, 2750))


def check(opened: Opened, truth: Truth, command: str, starts: list[int], *, versions: int) -> None:
    """The table has these partitions with the rows of the service; half a run is no version."""
    files, rows, count = opened
    assert sorted(int(Path(path).parent.name.removeprefix("start=")) for path in files) == starts
    due_rows = truth.rows(command, starts[0], starts[-1] + 100)
    assert sorted(rows["height"].to_pylist()) == sorted(int(json.loads(row)["height"]) for row in due_rows)
    assert count == versions
