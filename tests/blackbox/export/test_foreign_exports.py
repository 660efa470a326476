"""An export that somebody else made: whatever it holds, nothing outside is touched, and what is wrong is exit 6."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.lake.damages import rewrite, same
from harness.lake.exports import Exports
from harness.lake.lake import Lake
from harness.running.program import Program, one_line

pytest.importorskip("duckdb")
pytest.importorskip("deltalake")
pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
RUNS = {
    "status": ("status", "lake"),
    "verify": ("verify", "lake"),
    "sql": ("sql", "lake", "select count(*) from blocks"),
    "url": ("blocks", "0:150", "--url", "lake"),
    "lake": ("blocks", "0:150", "--lake", "lake", "--url", "demo:"),
    "export": ("export", "blocks", "--to", "lake", "0:250", "--url", "demo:", "-w", "1", "-q"),
}


@pytest.fixture
def lake(chainq: Program, exports: Exports) -> Lake:
    """An export of two partitions of two tables."""
    return Lake(exports.copy("two", chainq.home / "lake"))


@pytest.mark.parametrize(
    "change",
    [
        lambda found: found["tables"].append("\x1b]0;x\x07"),
        lambda found: found["tables"].append("blocks; touch x #"),
        lambda found: found.update(tables={"blocks": "\x1b[2J"}),
        lambda found: found.update(partition=10**30),
        lambda found: found.update(partition=0),
        lambda found: found.update(start=2**32),
        lambda found: found["chain"].update(height=2**32),
        lambda found: found.update(other=1),
    ],
)
def test_what_a_file_says_is_of_narrow_types(chainq: Program, lake: Lake, change: Callable[[Any], object]) -> None:
    """Else it is damaged, in words; names are not shown."""
    found = json.loads(lake.read("chainq.json"))
    change(found)
    (lake.root / "chainq.json").write_text(json.dumps(found))
    for words in RUNS.values():
        ran = chainq(*words)
        assert "chainq.json of " in one_line(ran, 6)
        assert "\x1b" not in ran.err + ran.out.decode()


@pytest.mark.parametrize(
    "name",
    [
        "blocks/start=0000000000/0000000100-0000000400-100-0-\x1b[2J.parquet",
        "blocks/start=0000000050/0000000100-0000000400-50-0-0.parquet",
        "blocks/x' union select 1 --/0000000100-0000000400-100-0-0.parquet",
        "blocks/start=0000000000/part-0.parquet",
    ],
)
def test_names_that_are_of_no_partition(chainq: Program, lake: Lake, name: str) -> None:
    """They are not of this data set, whatever is in them, and reach neither SQL nor a terminal."""
    (lake.root / name).parent.mkdir(exist_ok=True)
    (lake.root / name).write_text("no rows")
    for words in RUNS.values():
        ran = chainq(*words)
        assert ran.code == (6 if words == RUNS["verify"] else 0), ran.err
        assert "\x1b" not in ran.err + ran.out.decode()


def column(name: str, value: Callable[[Any], Any], kind: Any = None) -> Callable[[Any], Any]:
    """Change the first value of a column, and perhaps its type."""

    def change(table: Any) -> Any:
        at = table.schema.get_field_index(name)
        first, *rest = table[name].to_pylist()
        values = [value(first), *rest] if kind is None else [str(one) for one in (first, *rest)]
        field = table.schema.field(at) if kind is None else table.schema.field(at).with_type(kind)
        return table.set_column(at, field, pyarrow.array(values, field.type))

    return change


@pytest.mark.parametrize(
    ("table", "change", "words", "said"),
    [
        ("blocks", column("height", lambda _: None), {}, "a row of height None"),
        ("blocks", column("height", lambda _: 10**12), {}, "a row of height 1000000000000"),
        ("blocks", column("height", str, pyarrow.string()), {}, "its columns are not those of blocks"),
        ("records", column("height", lambda _: None), {}, "a row of height None"),
        ("records", lambda table: table.drop_columns("extra"), {}, "its columns are not those of records"),
        ("records", column("extra", lambda _: "{"), {}, "Expecting property name"),
        ("records", column("extra", lambda _: "7"), {}, "expected a JSON object"),
        ("records", column("extra", lambda _: "[" * 100_000), {}, ""),
        ("records", same, {"sealed": False}, "Object missing required field `name`"),
        ("records", same, {"cuts": (5, 5)}, None),
        ("records", lambda table: table[:0], {}, None),
    ],
)
def test_rows_that_are_none(
    chainq: Program, lake: Lake, table: str, change: Callable[[Any], Any], words: dict[str, Any], said: str | None
) -> None:
    """The file is damaged, by name, in each command that reads them; a row group without rows is none."""
    rewrite(lake.root, table, 100, change, **words)
    for run in (("--url", "lake"), ("--lake", "lake", "--url", "demo:")):
        ran = chainq(table, "0:200", *run)
        if said is None:
            assert (ran.code, ran.err) == (0, "")
        else:
            assert ".parquet of lake is damaged: " in one_line(ran, 6)
            assert said in ran.err
            assert f"{table}/start=0000000100/" in ran.err
        assert chainq(table, "120:130", *run).code in (0, 6)
    query = {"blocks": "select * from blocks", "records": "select * from records"}[table]
    export = ("export", table, *RUNS["export"][2:])
    assert {chainq(*run).code for run in (RUNS["verify"], ("sql", "lake", query), export)} <= {0, 6}


def swollen(table: Any) -> Any:
    """Rows whose texts are one long text, which a file holds once."""
    at = table.schema.get_field_index("record_ciphertext")
    text = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0] * len(table), pyarrow.int32()), ["x" * 10**5])
    return table.set_column(at, "record_ciphertext", text)


@pytest.mark.parametrize(
    "words",
    [
        ("records", "0:200", "--lake", "lake", "--url", "demo:"),
        ("sql", "lake", "select record_ciphertext from records where height > 150"),
        RUNS["verify"],
    ],
)
def test_rows_that_take_more_memory_than_they_may(chainq: Program, lake: Lake, words: tuple[str, ...]) -> None:
    """A small file of much more is refused before it is decoded; with enough memory its rows are rows."""
    rewrite(lake.root, "records", 100, swollen)
    file = lake.file("records", 100)
    assert file.stat().st_size < 10**6
    ran = chainq(*words, "--max-memory", "20M", *(["--jsonl"] if words[0] == "verify" else []))
    line = ran.out.decode() if words[0] == "verify" else one_line(ran, 6)
    assert ".parquet of lake is damaged: row group 0 takes " in line
    assert words[0] == "verify" or "raise --max-memory" in line
    assert "of memory" not in chainq(*words, "--max-memory", "400M").err


def contents(folder: Path) -> dict[str, bytes | str]:
    """All that is in a folder."""
    return {str(path): path.read_bytes() if path.is_file() else "" for path in folder.rglob("*")}


DELTA = (*RUNS["export"], "--delta")
PARTITION = "blocks/start=0000000100"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("_new", RUNS["export"]),
        ("chainq.json", RUNS["status"]),
        ("chainq.json", RUNS["sql"]),
        ("blocks", RUNS["export"]),
        ("blocks/_delta_log", DELTA),
        ("blocks/_delta_log/00000000000000000000.json", DELTA),
        (PARTITION, RUNS["url"]),
        (f"{PARTITION}/FILE", RUNS["sql"]),
        (f"{PARTITION}/FILE", RUNS["lake"]),
        (f"{PARTITION}/FILE", RUNS["verify"]),
    ],
)
@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_nothing_is_followed_out_of_it(
    chainq: Program, lake: Lake, exports: Exports, name: str, words: tuple[str, ...], kind: str
) -> None:
    """A link to the same of another export, or to nothing, and a pipe: refused by name, and not waited for."""
    name = name.replace("FILE", lake.file("blocks", 100).name)
    outside, inside = chainq.home / "outside", lake.root / name
    exports.copy("two", outside)
    (outside / "precious").write_text("")
    if inside.is_dir():
        shutil.rmtree(inside)
    inside.unlink(missing_ok=True)
    inside.parent.mkdir(parents=True, exist_ok=True)
    if kind == "pipe":
        os.mkfifo(inside)
    else:
        inside.symlink_to(Path(os.path.relpath(outside, inside.parent)) / name)
    before = contents(outside)
    line = one_line(chainq(*words), 6)
    assert f"{name} of " in line
    assert "is a symbolic link or a special file, which is not read; remove it, or " in line
    assert contents(outside) == before


def test_the_folder_itself_may_be_a_link(chainq: Program, lake: Lake) -> None:
    """The user named it. What lies beside the data set is not looked into."""
    (lake.root / "elsewhere").symlink_to("/")
    lake.root.rename(chainq.home / "other")
    lake.root.symlink_to("other")
    for words in RUNS.values():
        assert chainq(*words).code == 0


def test_files_without_end_are_not_read(chainq: Program, lake: Lake) -> None:
    """Too many bytes for what it is: their number is looked at first."""
    with (lake.root / "chainq.json").open("r+b") as file:
        file.truncate(2**40)
    assert f"chainq.json of lake is damaged: {2**40} bytes, expected " in one_line(chainq(*RUNS["verify"]), 6)
