"""chainq sql: queries over an export or over the last blocks, and nothing else within their reach."""

import importlib
import json
import re
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from chainq.demo.registry import Reply
from harness.lake.exports import Exports
from harness.lake.lake import file_of
from harness.models.search import some
from harness.running.program import Program, finish, one_line
from harness.running.truth import Truth
from harness.servers.services import FULL_BLOCKS, Moving, serving, witnessed

pytest.importorskip("duckdb")
pytest.importorskip("pyarrow")


@pytest.fixture
def exported(chainq: Program, exports: Exports) -> Program:
    """A program in whose folder is a data set `lake` of its own, of heights 2400-2599 in partitions of 50."""
    exports.copy("served", chainq.home / "lake")
    return chainq


def views(chainq: Program, lake: str = "lake") -> Any:
    """DuckDB itself with the views that are printed without a query."""
    ran = chainq("sql", url=lake)
    assert (ran.code, ran.err) == (0, "")
    connection = importlib.import_module("duckdb").connect()
    connection.execute(ran.out.decode())
    return connection


@pytest.mark.parametrize("folder", ["lake", "a [la*ke]? of 'mine'"])
def test_views_for_duckdb(folder: str, exported: Program) -> None:
    """DuckDB has the rows, columns and types that chainq has, whatever the folder is called; each view
    says its heights."""
    if folder != "lake":
        (exported.home / "lake").rename(exported.home / folder)
    connection = views(exported, folder)
    for query in (
        "select count(*), sum(height), min(start), max(start) from records",
        "select sum(coinbase_target), max(timestamp)::varchar from blocks",
        'select sum("header.metadata.height"), count(*) from full_blocks',
    ):
        ran = exported("sql", query, "--jsonl", url=folder)
        due = [*json.loads(ran.out).values()]
        assert [
            value if isinstance(value, str) else int(value) for value in connection.execute(query).fetchone()
        ] == due
    names = {name for name, *_ in connection.execute("describe records").fetchall()}
    assert names == set(json.loads(exported("sql", "select * from records limit 1", "--jsonl", url=folder).out))
    assert exported("sql", url=folder).out.count(b"-- heights 2400-2599\n") == 5


def test_files_of_other_heights_are_not_opened(exported: Program) -> None:
    """A filter of heights or of the column start: the other file may hold anything."""
    for command in ("records", "blocks", "full-blocks"):
        path = file_of(exported.home / "lake", command, 2450)
        path.write_bytes(bytes(path.stat().st_size))
    for table, height, wheres in (
        ("records", "height", ("height = 2449", "height in (2401, 2410)", "start < 2450", "start = 2400")),
        ("blocks", "height", ("height < 2450",)),
        ("full_blocks", '"header.metadata.height"', ('"header.metadata.height" < 2450',)),
    ):
        each = [f"select max({height}) as h from {table} where {where}" for where in wheres]  # noqa: S608
        query = f"select coalesce(max(h), 0) < 2450 as inside from ({' union all '.join(each)})"  # noqa: S608
        ran = exported("sql", "lake", query, "--jsonl")
        assert (ran.code, ran.out) == (0, b'{"inside":true}\n'), ran.err
        line = one_line(exported("sql", "lake", f"select * from {table} where {height} > 2440"), 6)  # noqa: S608
        assert "/start=0000002450/" in line


@pytest.mark.parametrize(
    ("where", "places"),
    some(product(["", "where height >= 0"], [5, 24]), ("where height >= 0", 5), several=True),
)
def test_bits_that_changed(exported: Program, where: str, places: int) -> None:
    """In the pages that a query reads, and the number of rows in a footer: exit code 6 and no other result."""
    path = file_of(exported.home / "lake", "records", 2450)
    whole = path.read_bytes()
    footer = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    query = f"select * from records {where}"  # noqa: S608
    due = exported("sql", "lake", query, "--jsonl").out
    told = 0
    for at in range(4, footer, footer // places):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :])
        ran = exported("sql", "lake", query, "--jsonl", "-o", "found.jsonl")
        told += ran.code == 6
        if ran.code == 6:
            assert ".parquet of lake is damaged: " in one_line(ran, 6)
            assert ran.err.endswith(" --to lake writes them again\n")
        else:
            assert (ran.code, (exported.home / "found.jsonl").read_bytes()) == (0, due)
    assert told >= places * 5 // 6
    path.write_bytes(whole)
    end, tip, rows, *rest = path.name.split("-")
    path.rename(path.with_name("-".join((end, tip, str(int(rows) + 1), *rest))))
    assert f"is damaged: {rows} rows, its name says {int(rows) + 1}" in one_line(exported("sql", "lake", query), 6)


def test_a_damaged_file_beside_a_gap(exported: Program) -> None:
    """With --partial, the gap is left out with a warning that names its heights, also with -q; a damaged file that the
    query needs is exit 6 all the same."""
    path, gone = (file_of(exported.home / "lake", "records", start) for start in (2450, 2500))
    path.write_bytes(bytes(path.stat().st_size))
    gone.unlink()
    query = "select count(record_ciphertext) as n, min(height), max(height) from records"
    due = exported("sql", "lake", f"{query} where height < 2450 or height >= 2550")
    for words in ((f"{query} where height < 2500",), (query, "--partial", "-q")):
        line = one_line(exported("sql", "lake", *words), 6)
        assert "records/start=0000002450/" in line
        assert line.endswith("; remove it, and chainq export records 2450:2500 --to lake writes them again\n")
    path.unlink()
    ran = exported("sql", "lake", query, "--partial", "-q")
    assert (ran.code, ran.out) == (0, due.out)
    assert ran.err.startswith("chainq: warning: records lacks heights 2450-2549: ")


@pytest.mark.parametrize(
    ("query", "typed"),
    [
        ("select ratifications, ratifications as r from full_blocks limit 3", "json json"),
        (
            """select list(height order by height) as aborted_transaction_ids, count(*) as finalize,
                [{'a': 1}] as transactions, {'timestamp': 'x', 'other': null} as ratifications from blocks""",
            "json n json json",
        ),
        (
            """select [1, 2] as transactions, [7]::int[1] as "transaction.fee.transition.inputs",
                18446744073709551615::ubigint as height, 'rejected' as status""",
            "json json n text",
        ),
        ("select 'x' as timestamp, 1.5 as height, true as coinbase_target, null as ratifications", "text n b n"),
        ("""select 2 as "a.b", 1 as a, 3 as "a[].b", [4] as "a[]", {'b': 5} as c, 6 as "c.b" """, "n n n json json n"),
    ],
    ids=["lists", "counts", "arrays", "values", "dots"],
)
def test_names_of_columns_choose_no_type(query: str, typed: str, exported: Program) -> None:
    """A result may have any names: its Parquet types and values are those of DuckDB, lists and structs as JSON text."""
    parquet = pytest.importorskip("pyarrow.parquet")
    due = [json.loads(row) for row in exported("sql", "lake", query, "--jsonl").rows]
    ran = exported("sql", "lake", query, "-o", "names.parquet")
    assert (ran.code, ran.err) == (0, "")
    kinds = typed.split()
    read: dict[str, Callable[[Any], object]] = {"json": json.loads, "n": lambda number: number, "b": bool, "text": str}
    for row, expected in zip(parquet.read_table(exported.home / "names.parquet").to_pylist(), due, strict=True):
        assert list(row) == list(expected)
        found = [read[kind](value) for kind, value in zip(kinds, row.values(), strict=True)]
        assert found == list(expected.values())


def test_without_an_export_the_last_blocks_are_fetched(chainq: Program, truth: Truth) -> None:
    """Only the tables that the query names are fetched."""
    with witnessed() as (url, calls):
        ran = chainq("sql", "--last", "50", "select count(*) as n, min(height) as h from records", "--jsonl", url=url)
        assert ran.code == 0, ran.err
        first = truth.tip - 49
        assert json.loads(ran.out) == {"n": len(truth.rows("records", first, truth.tip + 1)), "h": first}
        assert {call.method for call in calls} <= {"latest/block", "records/all", *FULL_BLOCKS}
        assert ran.err == ""  # nobody watches
        words = ("sql", "--last", "50", "select count(*) from records", "--jsonl", "-v")
        assert f"fetching records of heights {first}-{truth.tip}\n" in chainq(*words, url=url).err


def test_transactions_are_those_of_the_command(chainq: Program) -> None:
    """`sql` has the table `transactions` of a service, with the values that the command prints."""
    query = 'select * exclude (extra) from transactions order by height, "index"'
    ran = chainq("sql", "2440:2445", query, "--csv", url="demo:")
    assert ran.code == 0, ran.err
    assert ran.out == chainq("transactions", "2440:2445", "--csv", url="demo:").out


class Heavy(Moving):
    """A service whose block 2449 has a weight of 39 digits."""

    def respond(self, body: bytes) -> Reply:
        reply = super().respond(body)
        heavy = re.sub(rb'("height":"2449".*?"cumulative_weight":")[0-9]+', rb"\g<1>" + b"9" * 39, reply.body)
        return reply._replace(body=heavy)


def test_values_that_no_type_can_hold(chainq: Program) -> None:
    """They are NULL, which a warning says: of fetched rows as other commands say it, of an export by query."""
    highest = "select max(cumulative_weight) as w from blocks"
    words = ("export", "blocks", "2400:2500", "--partition", "50", "--to", "lake", "-w", "1", "-q")
    with serving(Heavy(9000)) as url:
        ran = chainq("sql", "2440:2460", highest, "--jsonl", url=url)
        assert chainq(*words, url=url).code == 0
    live = "blocks: a value of 'cumulative_weight' does not fit decimal128(38, 0): as sent it goes to the column extra"
    assert (ran.code, ran.err) == (0, f"chainq: warning: {live}\n")
    stored = (
        "chainq: warning: blocks: values of 'cumulative_weight' that do not fit decimal128(38, 0) are NULL here; "
        "the column extra has them as sent\n"
    )
    for query in (
        highest,
        "select count(*) from blocks where height between 2440 and 2460 and cumulative_weight > 7",
    ):
        assert chainq("sql", "lake", query).err == stored, query


IN_PARQUET = {
    "timestamp": ("timestamp[us, tz=UTC]", "2023-06-01 06:40:05.000000Z"),
    "timestamp::timestamp + interval 1 microsecond": ("timestamp[us]", "2023-06-01 06:40:05.000001"),
    "timestamp::date": ("date32[day]", "2023-06-01"),
    "timestamp '1969-12-31 23:59:59.25'": ("timestamp[us]", "1969-12-31 23:59:59.250000"),
    "timestamp_ns '2024-01-02 03:04:05.123456789'": ("timestamp[ns]", "2024-01-02 03:04:05.123456789"),
    "null::timestamp": ("timestamp[us]", None),
    "height > 2400": ("bool", "false"),
    "[1, 2]": ("string", "[1,2]"),
    "height / 5": ("double", "480"),
    "1.50::decimal(10,2)": ("decimal128(10, 2)", "1.50"),
    "2 * 170141183460469231731687303715::hugeint": ("decimal128(38, 0)", "340282366920938463463374607430"),
    "'inf'::double": ("double", "inf"),
}
"""Expressions, each with its type in Parquet and its value as text."""


def test_types_in_parquet(exported: Program) -> None:
    """Times, booleans and numbers have types of their own, with every digit."""
    parquet = pytest.importorskip("pyarrow.parquet")
    query = f"select {', '.join(IN_PARQUET)} from blocks where height = 2400"  # noqa: S608
    ran = exported("sql", "lake", query, "-o", "types.parquet")
    assert ran.code == 0, ran.err
    columns = parquet.read_table(exported.home / "types.parquet").columns
    assert [(str(one.type), one.cast("string")[0].as_py()) for one in columns] == [*IN_PARQUET.values()]


def test_no_progress_bar_of_duckdb(exported: Program) -> None:
    """DuckDB would draw one on stdout, between the rows, in any query of two seconds."""
    ran = exported("sql", "lake", "select current_setting('enable_progress_bar') as drawn", "--jsonl")
    assert (ran.code, ran.rows) == (0, [b'{"drawn":false}']), ran.err


def test_without_duckdb(chainq: Program, tmp_path: Path) -> None:
    """The message has the line that installs it."""
    (tmp_path / "duckdb.py").write_text("raise ModuleNotFoundError(name='duckdb')")
    ran = chainq("sql", "lake", "select 1", env={"PYTHONPATH": str(tmp_path)})
    assert "sql needs the duckdb package; it comes with chainq[sql] (docs/install.md)" in one_line(ran, 2)


def test_a_query_without_end_ends_by_the_signal(chainq: Program) -> None:
    """Ctrl-C ends the run, although DuckDB looks at no signal."""
    query = "select count(*) from range(100000000000) a, range(1000) b, blocks"
    process = chainq.start("sql", "-v", "--last", "50", query, url="demo:")
    assert process.stderr is not None
    while b"fetching" not in process.stderr.readline():
        assert process.poll() is None
    process.send_signal(2)
    ran = finish(process)
    assert ran.code == -2, ran.err
