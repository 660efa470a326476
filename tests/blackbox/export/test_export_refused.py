"""An export that is refused, or cannot reach its service, leaves its destination as it was."""

from pathlib import Path

import pytest

from harness.lake.lake import Lake
from harness.running.program import Program, Servers, one_line

pytest.importorskip("pyarrow")
pytest.importorskip("duckdb")


def without(package: str, folder: Path) -> dict[str, str]:
    """The environment of a program that lacks a package, or several with commas between them."""
    lines = (f"sys.modules['{name}'] = None\n" for name in package.split(","))
    (folder / "sitecustomize.py").write_text("import sys\n" + "".join(lines))
    return {"PYTHONPATH": str(folder)}


@pytest.mark.parametrize(
    ("packages", "words", "said"),
    [
        (
            "deltalake,aleo,distributed,pyarrow",
            ("--delta", "--hashes", "--engine", "dask", "--to", "lake"),
            "pyarrow; *chainq[parquet] ",
        ),
        ("deltalake", ("--delta", "--to", "lake"), "deltalake; *chainq[delta] "),
        ("distributed", ("--engine", "dask", "--to", "lake"), "distributed; *chainq[dask] "),
        ("obstore", ("--to", "s3://lake/x"), "obstore; *chainq[export] "),
    ],
)
def test_a_package_that_is_missing_is_named_before_any_request(
    chainq: Program, nowhere: str, tmp_path: Path, packages: str, words: tuple[str, ...], said: str
) -> None:
    """With the extra that it comes with."""
    line = one_line(chainq("export", "blocks", "0:5", *words, url=nowhere, env=without(packages, tmp_path)), 2)
    package, extra = said.split("*")
    assert f"needs the package {package}" in line
    assert f"it comes with {extra}(docs/install.md)\n" in line


def test_a_package_that_is_broken(chainq: Program, tmp_path: Path) -> None:
    """It is as if it were missing."""
    (tmp_path / "pyarrow.py").write_text("raise ImportError")
    ran = chainq("export", "records", "0:9", "--to", "lake", "-q", url="demo:", env={"PYTHONPATH": str(tmp_path)})
    assert "it comes with chainq[parquet] " in one_line(ran, 2)


def test_a_table_whose_package_is_gone(chainq: Program, server: Servers, tmp_path: Path, lake: Lake) -> None:
    """A later export keeps a Delta table up to date, so it is refused as well, before it begins."""
    pytest.importorskip("deltalake")
    url = server("--tip", "400")
    words = ("export", "records", "--to", "lake", "--partition", "100", "-q")
    assert chainq(*words, "100:200", "--delta", url=url).code == 0
    before = lake.files()
    one_line(chainq(*words, "200:400", url=url, env=without("deltalake", tmp_path)), 2)
    assert lake.files() == before


def test_an_export_into_itself(chainq: Program, server: Servers, lake: Lake) -> None:
    """By any name of the folder: the service of CHAINQ_URL would be the destination."""
    made = ("export", "blocks", "100:200", "--partition", "100", "--to", "lake", "-q")
    assert chainq(*made, url=server("--tip", "400")).code == 0
    (chainq.home / "link").symlink_to("lake")
    before = lake.files()
    for words in (
        ("export", "blocks", "0:100", "--to", "./lake/"),
        ("export", "blocks", "0:100", "--to", "lake", "--dry-run"),
    ):
        line = one_line(chainq(*words, url="link"), 2)
        assert line.endswith("lake would be exported into itself; pass the URL of the service with --url\n"), words
    assert lake.files() == before


def test_a_service_that_is_unreachable_from_the_start(
    chainq: Program, server: Servers, nowhere: str, lake: Lake
) -> None:
    """A new folder is not made, and a data set stays as it is."""
    words = ("export", "records", "100:400", "--partition", "100", "--to", "lake", "-q", "--retries", "0")
    one_line(chainq(*words, url=nowhere), 4)
    assert not lake.root.exists()
    made = ("export", "blocks", "100:400", "--partition", "100", "--to", "lake", "-q")
    assert chainq(*made, url=server("--tip", "400")).code == 0
    before = lake.files()
    one_line(chainq(*words, url=nowhere), 4)
    assert lake.files() == before


def test_an_export_of_the_earlier_layout(chainq: Program, server: Servers, lake: Lake) -> None:
    """One sentence says how to make it anew, in each command; nothing is changed."""
    lake.root.mkdir()
    (lake.root / "chainq.json").write_text('{"chainq":1,"chain":{"height":0,"hash":"ab1"},"partition":100}')
    before = lake.files()
    for words in (
        ("export", "blocks", "0:100", "--to", "lake"),
        ("sql", "lake", "select 1"),
        ("verify", "lake"),
        ("status", "lake"),
        ("blocks", "0:5", "--lake", "lake"),
    ):
        line = one_line(chainq(*words, env={"CHAINQ_URL": server("--tip", "400")}), 2)
        assert "lake has layout 1, this chainq writes layout 2; make it anew: chainq export TABLES RANGE --to " in line
    assert lake.files() == before


def test_a_scheduler_that_is_unreachable(chainq: Program, server: Servers, lake: Lake) -> None:
    """It is reached before anything is written."""
    pytest.importorskip("distributed")
    with chainq.executed():  # dask reads its settings once
        ran = chainq(
            *("export", "records", "100:400", "--to", "lake", "-q", "--engine", "dask"),
            *("--scheduler", "tcp://127.0.0.1:1"),
            url=server("--tip", "400"),
            env={"DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "1s"},
        )
    assert "no dask scheduler" in one_line(ran, 4)
    assert not lake.root.exists()
