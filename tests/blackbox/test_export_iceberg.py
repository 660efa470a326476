"""chainq export --iceberg: the same files as Iceberg tables, whose snapshots are whole runs, read back by pyiceberg."""

import json
import shutil
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from chainq.installer import install_command
from harness.chain_tables import TABLES, table_rows
from harness.lake import Lake
from harness.packages import needs
from harness.program import Program, Ran, Servers, one_line
from harness.services import Moving, serving
from harness.truth import Truth

needs("pyiceberg")
parquet = pytest.importorskip("pyarrow.parquet")


def export(chainq: Program, url: str, *words: str) -> Ran:
    """Run `chainq export --iceberg` into a folder of the test's own."""
    return chainq("export", *words, "--to", "lake", "-w", "1", "--iceberg", url=url)


def table(lake: Lake, command: str) -> Any:
    """The Iceberg table of a command, as a reader opens it."""
    from pyiceberg.catalog.sql import SqlCatalog

    catalog = SqlCatalog("chainq", uri=f"sqlite:///{lake.root}/_chainq/iceberg.db")
    return catalog.load_table(f"chainq.{command.replace('-', '_')}")


def starts(lake: Lake, command: str) -> list[int]:
    """The partitions in a table."""
    paths = map(Path, table(lake, command).inspect.files()["file_path"].to_pylist())
    return sorted(int(path.parent.name.removeprefix("start=")) for path in paths)


def heights(lake: Lake, command: str) -> list[int]:
    """The heights of all rows, by reading every file."""
    return sorted(table(lake, command).scan(selected_fields=("height",)).to_arrow()["height"].to_pylist())


def expected(truth: Truth, command: str, start: int, end: int) -> list[int]:
    """The heights of the rows of the service."""
    return sorted(int(json.loads(row)["height"]) for row in truth.rows(command, start, end))


def test_a_table_for_each_command(chainq: Program, server: Servers, lake: Lake) -> None:
    """The rows as the files have them; a run is one snapshot with the hash of its receipts; a repeated run is none."""
    url, commands = server(), ("records", "full-blocks", "ownership")
    ran = export(chainq, url, *commands, "2400:2480", "--partition", "20")
    assert ran.code == 0, ran.err
    assert "12 committed to Iceberg tables" in ran.err
    for command in commands:
        found = table(lake, command)
        files = [parquet.read_table(lake.root / one.name, partitioning=None) for one in lake.partitions(command)]
        rows = [row for file in files for row in file.to_pylist()]
        assert sorted(map(repr, found.scan().to_arrow().to_pylist())) == sorted(map(repr, rows))
        folder = f"_chainq/receipts/{command}"
        names = sorted(f"{folder}/{path.name}\n" for path in (lake.root / folder).iterdir())
        assert len(found.snapshots()) == 1
        assert found.current_snapshot().summary["chainq.receipts"] == sha256("".join(names).encode()).hexdigest()
    before = lake.files()
    ran = export(chainq, url, *commands, "2400:2480")
    assert "Iceberg" not in ran.err
    assert lake.files() == before
    assert chainq("verify", "lake").code == 0
    assert chainq("sql", "lake", "select count(*) from records").code == 0


@pytest.mark.parametrize("copied", [False, True])
def test_a_data_set_that_was_moved(chainq: Program, server: Servers, lake: Lake, copied: bool) -> None:
    """The catalog in it names the files where they were: the next export says what to delete, which helps."""
    url = server()
    assert export(chainq, url, "records", "2400:2420", "--partition", "10").code == 0
    moved = chainq.home / "moved"
    shutil.copytree(lake.root, moved) if copied else lake.root.rename(moved)
    words = ("export", "records", "2400:2430", "--to", "moved", "--iceberg")
    advice = "delete its _chainq/iceberg.db and all folders _iceberg, and pass --iceberg again"
    assert advice in one_line(chainq(*words, url=url), 2)
    for path in (moved / "_chainq/iceberg.db", *moved.glob("*/_iceberg")):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    ran = chainq(*words, url=url)
    assert "3 committed to Iceberg tables" in ran.err


def test_a_filter_on_heights_opens_the_files_that_have_them(chainq: Program, server: Servers, lake: Lake) -> None:
    """The statistics of the files leave out the others, although the table is not partitioned."""
    assert export(chainq, server(), "chain", "2400:2480", "--partition", "20", "--no-full-blocks").code == 0
    for command in (name for name in TABLES if name != "full-blocks"):
        (task,) = table(lake, command).scan("height >= 2410 and height < 2415").plan_files()
        assert "start=000002400" in task.file.file_path


def test_duckdb_reads_the_tables(chainq: Program, server: Servers, truth: Truth, lake: Lake) -> None:
    """All rows, and those of some heights; its extension for Iceberg is loaded if it is there, and never downloaded."""
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect(config={"autoinstall_known_extensions": "false"})
    try:
        connection.execute("LOAD iceberg")
    except duckdb.Error as error:
        pytest.skip(f"DuckDB has no extension for Iceberg here: {str(error).splitlines()[0]}")
    assert export(chainq, server(), "records", "blocks", "2400:2600", "--partition", "100").code == 0
    for command in ("records", "blocks"):
        scan = f"from iceberg_scan('{table(lake, command).metadata_location}')"
        found = connection.execute(f"select height {scan} order by 1").fetchall()
        assert [height for (height,) in found] == expected(truth, command, 2400, 2600)
        (count,) = connection.execute(f"select count(*) {scan} where height < 2500").fetchone()
        assert count == len(truth.rows(command, 2400, 2500))


def test_rows_of_all_tables_that_full_blocks_fill(chainq: Program, server: Servers, truth: Truth, lake: Lake) -> None:
    """Also partitions without rows, which a repeated run does not commit again."""
    url = server()
    assert export(chainq, url, "chain", "2400:2404", "--partition", "1").code == 0
    ran = export(chainq, url, "chain", "2400:2404")
    assert (ran.code, "Iceberg" in ran.err) == (0, False), ran.err
    for command in TABLES:
        rows = table(lake, command).scan().to_arrow().num_rows
        assert rows == len(table_rows(truth, command, 2400, 2404))
        assert starts(lake, command) == list(range(2400, 2404))


def test_the_partition_that_grows_follows_when_it_is_full(chainq: Program, lake: Lake) -> None:
    """Its file is replaced in place, so no snapshot names it before."""
    service = Moving(2749)
    with serving(service) as url:
        for tip, due_starts, snapshots in (
            (2749, [2500, 2600], 1),
            (2780, [2500, 2600], 1),
            (2820, [2500, 2600, 2700], 2),
        ):
            service.tip = tip
            ran = export(chainq, url, "records", "2500:", "--partition", "100")
            assert ran.code == 0, ran.err
            assert starts(lake, "records") == due_starts
            assert len(table(lake, "records").snapshots()) == snapshots
            assert heights(lake, "records") == expected(Truth(tip), "records", 2500, due_starts[-1] + 100)


def test_with_delta_tables(chainq: Program, server: Servers, lake: Lake) -> None:
    """Both kinds over the same files; partitions that were there before are committed without a request for them."""
    deltalake = pytest.importorskip("deltalake")
    assert chainq("export", "records", "2400:2600", "--partition", "100", "--to", "lake", url=server()).code == 0
    ran = export(chainq, server(), "records", "2400:2600", "--delta")
    assert "; 2 committed to Delta tables; 2 committed to Iceberg tables" in ran.err
    assert deltalake.DeltaTable(lake.root / "records").to_pyarrow_dataset().count_rows() == len(
        heights(lake, "records")
    )
    found = json.loads((lake.root / "_chainq/manifest.json").read_bytes())
    assert found["registered"] == {"delta": ["records"], "iceberg": ["records"]}


def test_a_table_that_others_have_rewritten(chainq: Program, server: Servers, lake: Lake) -> None:
    """Files of other names hold rows of partitions: to add these again would double them. Nothing is changed."""
    words = ("records", "2400:2600", "--partition", "100")
    assert export(chainq, server(), *words).code == 0
    found = table(lake, "records")
    found.append(found.scan(limit=1).to_arrow())
    before = sorted(path for path in lake.root.rglob("*") if path.is_file())
    line = one_line(export(chainq, server(), "records", "2400:2700"), 2)
    assert "has files that export did not write" in line
    assert sorted(path for path in lake.root.rglob("*") if path.is_file()) == before


def test_an_object_store_needs_a_catalog(chainq: Program) -> None:
    """SQLite is a file of one machine."""
    pytest.importorskip("obstore")
    buckets = pytest.importorskip("harness.buckets")
    with buckets.storing() as endpoint:
        bucket = buckets.Bucket(endpoint)
        words = ("export", "records", "2400:2410", "--partition", "10", "--to", bucket.url, "--iceberg", "-w", "1")
        ran = chainq(*words, url="demo:", env=bucket.environment())
        assert "configure one with the name chainq for pyiceberg" in one_line(ran, 2)
        assert bucket.names("records/") == []


def test_without_pyiceberg(chainq: Program, tmp_path: Path) -> None:
    """Where pyiceberg is missing the message has the line that installs it."""
    (tmp_path / "pyiceberg.py").write_text("raise ImportError")
    ran = chainq("export", "records", "--to", "lake", "--iceberg", url="demo:", env={"PYTHONPATH": str(tmp_path)})
    assert install_command("iceberg") in one_line(ran, 2)


def test_metadata_that_somebody_else_wrote(chainq: Program, server: Servers, lake: Lake) -> None:
    """Properties of a table name a module to import and an endpoint: neither is used, and without the option nothing
    of it is opened."""
    words = ("records", "--partition", "20")
    assert export(chainq, server(), *words, "2400:2420").code == 0
    (chainq.home / "foreign.py").write_text("open('imported', 'w')\nclass Files: pass\n")
    for path in (lake.root / "records/_iceberg").glob("*.metadata.json"):
        found = json.loads(path.read_bytes())
        found["properties"] |= {"py-io-impl": "foreign.Files", "s3.endpoint": "http://127.0.0.1:9"}
        path.write_text(json.dumps(found))
    env = {"PYTHONPATH": str(chainq.home)}
    ran = chainq("export", *words, "2400:2440", "--to", "lake", "-w", "1", "--iceberg", url=server(), env=env)
    assert "1 committed to Iceberg tables" in ran.err
    (lake.root / "_chainq/iceberg.db").write_bytes(b"no database")
    ran = chainq("export", *words, "2400:2460", "--to", "lake", "-w", "1", url=server(), env=env)
    assert (ran.code, "committed" in ran.err) == (0, False), ran.err
    assert not (chainq.home / "imported").exists()
