"""chainq sql: queries over an export or over the last blocks, and nothing else within their reach."""

import importlib
import json
import math
import re
import shutil
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from chainq.demo.exchange import Reply
from harness.program import Program, Servers, finish, one_line
from harness.search import some
from harness.services import FULL_BLOCKS, Moving, serving, witnessed
from harness.truth import Truth

pytest.importorskip("duckdb")
pytest.importorskip("pyarrow")

LACKS = "records lacks {}: the data set has no whole partition of them"


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory, server: Servers) -> Path:
    """A data set."""
    chainq = Program(tmp_path_factory.mktemp("exported"))
    words = ("blocks", "records", "full-blocks", "2400:2500", "--partition", "50", "--to", "lake", "-w", "1", "-q")
    assert chainq("export", *words, url=server()).code == 0
    return chainq.home / "lake"


@pytest.fixture
def exported(chainq: Program, lake: Path) -> Program:
    """A program in whose folder is a data set `lake` of its own."""
    shutil.copytree(lake, chainq.home / "lake")
    return chainq


@pytest.fixture(scope="module")
def gapped(tmp_path_factory: pytest.TempPathFactory, lake: Path, server: Servers) -> Program:
    """A program in whose folder is a data set `lake` with records of more heights, and none between; to be read."""
    chainq = Program(tmp_path_factory.mktemp("gapped"))
    shutil.copytree(lake, chainq.home / "lake")
    assert chainq("export", "records", "2650:2700", "--to", "lake", "-w", "1", "-q", url=server()).code == 0
    return chainq


def test_tables_of_an_export(exported: Program, truth: Truth) -> None:
    """Each command is a table, typed, and hyphens are underscores; the partition is the column start."""
    rows = [json.loads(row) for row in truth.rows("records", 2400, 2500)]
    ran = exported("sql", "lake", "select program_id, count(*) as n from records group by 1 order by 1", "--jsonl")
    assert ran.code == 0, ran.err
    due = sorted(Counter(row["program_id"] for row in rows).items())
    assert [json.loads(row) for row in ran.rows] == [{"program_id": name, "n": n} for name, n in due]
    query = """
        select count(*), min(b.height), max(b.start), sum(coinbase_target), max(b.timestamp)
        from blocks b join full_blocks f on b.height = f."header.metadata.height"
    """
    blocks = [json.loads(truth.block(height)) for height in range(2400, 2500)]
    (found,) = [json.loads(row) for row in exported("sql", "lake", query, "--jsonl").rows]
    assert list(found.values())[:4] == [100, 2400, 2450, sum(int(block["coinbase_target"]) for block in blocks)]
    assert str(found['max(b."timestamp")']).endswith("Z")


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
    assert exported("sql", url=folder).out.count(b"-- heights 2400-2499\n") == 3


def test_views_of_an_export_with_gaps(gapped: Program, exported: Program) -> None:
    """DuckDB would leave out the heights and say nothing: no view is printed unless --partial says so."""
    line = one_line(gapped("sql", "lake"), 6)
    assert f"{LACKS.format('heights 2500-2649')}; chainq export records 2500:2650 --to lake writes them" in line
    assert line.endswith("; --partial leaves them out\n")
    ran = gapped("sql", "lake", "--partial")
    assert LACKS.format("heights 2500-2649") in one_line(ran, 0)
    assert b"CREATE VIEW records AS " in ran.out
    shutil.rmtree(exported.home / "lake/records/start=000002400")
    assert LACKS.format("heights 2400-2449") in one_line(exported("sql", "lake"), 6)
    shutil.rmtree(exported.home / "lake/records")  # a file without a receipt is no partition, either
    (receipt,) = (exported.home / "lake/_chainq/receipts/blocks").glob("*2400*")
    receipt.unlink()
    assert "blocks lacks heights 2400-2449" in one_line(exported("sql", "lake"), 6)


@pytest.mark.parametrize("words", [("lake",), ("lake", "-")])
def test_a_query_on_standard_input(words: tuple[str, ...], exported: Program) -> None:
    """From a file or a pipe, as other SQL programs take it."""
    ran = exported("sql", *words, "--jsonl", stdin=b"select count(*) as n from blocks\n")
    assert (ran.code, ran.rows) == (0, [b'{"n":100}']), ran.err


def test_transitions_have_the_id_of_their_program(chainq: Program, truth: Truth) -> None:
    """The column program_id, as for --columns: over the last blocks, and over an export."""
    words = ("transitions", "2999990:3000001", "--partition", "100", "--to", "lake", "-w", "1", "-q")
    assert chainq("export", *words, url="demo:").code == 0
    sent = [json.loads(row) for row in truth.rows("transitions", 2999990, 3000001)]
    due = Counter(re.findall(r"(?m)^program (.*);", row["program"])[0] for row in sent)
    assert len(due) > 1
    query = "select program_id, count(*) as n from transitions where height >= 2999990 group by 1"
    for place in (["lake"], ["--last", "11", "--url", "demo:"]):
        ran = chainq("sql", *place, query, "--jsonl")
        assert {row["program_id"]: row["n"] for row in map(json.loads, ran.rows)} == due, ran.err


def test_joins_with_using(exported: Program, truth: Truth) -> None:
    """A join may name its columns by USING, also over rows of the service; an unknown column is an error."""
    join = "select count(*) as n from records r join blocks b using ({})"
    ran = exported("sql", "lake", join.format("height"), "--jsonl")
    assert ran.rows == [b'{"n":%d}' % len(truth.rows("records", 2400, 2500))], ran.err
    assert "does not exist" in one_line(exported("sql", "lake", join.format("nothing")), 2)
    ran = exported("sql", "lake", join.format("height, start") + " where b.start = 2450", "--jsonl")
    assert ran.rows == [b'{"n":%d}' % len(truth.rows("records", 2450, 2500))], ran.err
    ran = exported("sql", "--start", "2400", "--end", "2410", join.format("height"), "--jsonl", "-q", url="demo:")
    assert ran.rows == [b'{"n":%d}' % len(truth.rows("records", 2400, 2410))], ran.err


@pytest.mark.parametrize(
    ("query", "due"),
    [
        ("select count(*) as transactions from records semi join blocks using (height)", 580),
        ("select count(*) as n from records r asof join blocks b using (height)", 580),
        ("select count(*) as calls from (select height, round from blocks) natural join (from records)", 580),
        ("select max(columns('^hei.*')) as inputs from blocks", 2499),
        ("with outputs as (select 2401 as height) select height from blocks natural join outputs", 2401),
    ],
)
def test_tables_of_queries_that_need_their_columns(query: str, due: int, exported: Program, truth: Truth) -> None:
    """Joins by common columns and COLUMNS are answered; a name of theirs may be that of a table that is not there."""
    assert len(truth.rows("records", 2400, 2500)) == 580
    ran = exported("sql", "lake", query, "--jsonl")
    assert ran.code == 0, ran.err
    assert list(json.loads(ran.out).values()) == [due]


def test_heights_between_partitions_that_are_missing(gapped: Program, chainq: Program, server: Servers) -> None:
    """Exit code 6 names them, for the tables of the query only; with --partial the rest is queried, with a warning."""
    shutil.copytree(gapped.home / "lake", chainq.home / "lake")
    query = "select count(*) from records r join blocks b on r.height = b.height"
    line = one_line(chainq("sql", "lake", query, "-q"), 6)
    writes = "chainq export records 2500:2650 --to lake"
    lacks = LACKS.format("heights 2500-2649")
    assert line == f"chainq sql: {lacks}; {writes} writes them; --partial, or a filter on height, leaves them out\n"
    ran = chainq("sql", "lake", query, "--partial")
    assert ran.code == 0
    ends = "blocks: heights 2400-2499 only; the tables of the query span heights 2400-2699"
    assert ran.err.splitlines() == [f"chainq: warning: {text}" for text in (LACKS.format("heights 2500-2649"), ends)]
    ran = chainq("sql", "lake", "select count(*) from blocks")
    assert (ran.code, ran.err) == (0, "")
    assert chainq(*writes.split()[1:], "-w", "1", "-q", url=server()).code == 0
    assert chainq("sql", "lake", query, "-q").code == 0


def test_tables_that_end_at_different_heights(exported: Program, server: Servers) -> None:
    """A query of two or more of them that needs the rest gets one warning with their ranges, another query none."""
    words = ("records", "2500:2530", "transitions", "--to", "lake", "-w", "1", "-q")
    assert exported("export", *words, url=server()).code == 0
    span = "the tables of the query span heights 2400-2529"
    joined = "select count(*) from records left join blocks using (height)"
    three = f"{joined} left join transitions using (height)"
    for query, said in (
        (joined, f"blocks: heights 2400-2499 only; {span}"),
        (three, f"blocks: heights 2400-2499 only; transitions: heights 2500-2529 only; {span}"),
        ("select count(*) from blocks union all select count(*) from full_blocks", None),
        ("select count(*) from records where height < 2510", None),
        ("select count(*) from records r left join blocks b on r.height = b.height and b.height < 2450", None),
        (f"explain {joined}", None),
    ):
        ran = exported("sql", "lake", query)
        assert (ran.code, ran.err) == (0, f"chainq: warning: {said}\n" if said else ""), ran.err
    assert "heights 2400-2499 only" in exported("sql", "lake", joined, "-q").err


BOUNDS = {
    "height between 2300 and 2450": "2300-2450",
    "height between 2450 and 2600": "2450-2600",
    "height >= 2300 and height < 2601": "2300-2600",
    "height = 3000": "3000",
    "height >= 2300": "from 2300 on",
    "height > 1000000000": "from 1000000001 on",
    "height >= 2500": "from 2500 on",
    "height < 2400": "up to 2399",
    "height < 0": None,
    "height <= 2700": "up to 2700",
    "height between 0 and 2450": "0-2450",
    "height >= 0": None,
    "height >= 2400": None,
    "height >= 2450": None,
    "height < 2450": None,
    "height < 2500": None,
    "height between 2400 and 2499": None,
    "start = 2450": None,
    "program_id = 'credits.aleo'": None,
    "true": None,
}


@pytest.mark.parametrize(
    "condition",
    some(
        BOUNDS,
        *("height between 2300 and 2450", "height between 2450 and 2600", "height = 3000", "height >= 2300"),
        *("height >= 2500", "height < 2400", "height < 0", "height <= 2700", "height >= 0", "height < 2500"),
        *("height between 2400 and 2499", "program_id = 'credits.aleo'"),
    ),
)
def test_a_filter_with_a_bound_outside_the_table(condition: str, exported: Program) -> None:
    """The result lacks heights that the query names: one warning. An open end asks for what there is, if anything."""
    query, asked = f"select count(*) from records where {condition}", BOUNDS[condition]  # noqa: S608
    ran = exported("sql", "lake", query)
    said = "records: heights 2400-2499 only; the query asks for others"
    assert (ran.code, ran.err) == (0, f"chainq: warning: {said}\n" if asked else ""), ran.err


@pytest.mark.parametrize(
    ("condition", "heights"),
    some(
        [
            ("r.height < 2500", ((2400, 2500),)),
            ("r.height >= 2650 and r.program_id <> ''", ((2650, 2700),)),
            ("r.height in (2401, 2660)", ((2401, 2402), (2660, 2661))),
            ("r.height < 2410 or r.height > 2690", ((2400, 2410), (2691, 2700))),
            ("start = 2650", ((2650, 2700),)),
            ("r.height < 2501", None),
            ("r.height < 2410 or r.program_id = ''", None),
            ("r.height >= 2649", None),
        ],
        ("r.height >= 2650 and r.program_id <> ''", ((2650, 2700),)),
        ("r.height in (2401, 2660)", ((2401, 2402), (2660, 2661))),
        ("start = 2650", ((2650, 2700),)),
        ("r.height < 2501", None),
        ("r.height < 2410 or r.program_id = ''", None),
        several=True,
    ),
)
def test_a_gap_that_the_filter_excludes(
    condition: str, heights: tuple[tuple[int, int], ...] | None, gapped: Program, truth: Truth
) -> None:
    """The heights of the query decide: if it needs none of the missing ones, its result is complete."""
    query = f"select count(*) as n from records r where {condition}"  # noqa: S608
    lacks = LACKS.format("heights 2500-2649")
    ran = gapped("sql", "lake", query, "--jsonl", "--partial")
    if heights is None:
        assert lacks in one_line(gapped("sql", "lake", query), 6)
        assert (ran.code, ran.err) == (0, f"chainq: warning: {lacks}\n")
        return
    due = b'{"n":%d}\n' % sum(len(truth.rows("records", *bounds)) for bounds in heights)
    assert (ran.code, ran.out, ran.err) == (0, due, "")
    ran = gapped("sql", "lake", query, "--jsonl")
    assert (ran.code, ran.out, ran.err) == (0, due, "")


def test_a_gap_in_two_tables_is_one_message(exported: Program, server: Servers) -> None:
    """A join names the gaps of both of its tables, and one command that closes them; EXPLAIN reads no rows."""
    words = ("records", "blocks", "2650:2700", "--to", "lake", "-w", "1", "-q")
    assert exported("export", *words, url=server()).code == 0
    query = "select count(*) from records join blocks using (height)"
    line = one_line(exported("sql", "lake", query), 6)
    assert "records lacks heights 2500-2649" in line
    assert "blocks lacks heights 2500-2649" in line
    assert " 2500:2650 --to lake writes them" in line
    assert exported("sql", "lake", f"explain {query}").code == 0


@pytest.mark.parametrize(
    ("lost", "start"),
    some(
        product(["bytes", "file", "receipt"], [2400, 2450]),
        *(("bytes", 2400), ("file", 2450)),
        several=True,
    ),
)
def test_partitions_that_are_not_whole(lost: str, start: int, exported: Program, server: Servers) -> None:
    """The first or the last partition has another size than its receipt, no file or no receipt: exit code 6, and the
    command that the message names writes it."""
    root = exported.home / "lake"
    path = root / f"records/start={start:09d}/data.parquet"
    if lost == "bytes":
        path.write_bytes(path.read_bytes()[:-1])
    elif lost == "file":
        path.unlink()
    else:
        (receipt,) = (root / "_chainq/receipts/records").glob(f"{start:09d}-*")
        receipt.unlink()
    lacks = LACKS.format(f"heights {start}-{start + 49}")
    query = "select count(distinct start) as n from records"
    line = one_line(exported("sql", "lake", query), 6)
    writes = f"chainq export records {start}:{start + 50} --to lake"
    assert lacks in line
    assert f"{writes} writes them" in line
    ran = exported("sql", "lake", query, "--jsonl", "--partial")
    assert (ran.code, ran.out, ran.err) == (0, b'{"n":1}\n', f"chainq: warning: {lacks}\n")
    assert exported(*writes.split()[1:], "-w", "1", "-q", url=server()).code == 0
    assert exported("sql", "lake", query, "--jsonl").out == b'{"n":2}\n'


def test_files_of_other_heights_are_not_opened(exported: Program) -> None:
    """A filter of heights or of the column start: the other file may hold anything, as long as its size is right."""
    for command in ("records", "blocks", "full-blocks"):
        path = exported.home / f"lake/{command}/start=000002450/data.parquet"
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
        assert "start=000002450/data.parquet of lake is damaged" in line


@pytest.mark.parametrize(
    ("where", "places"),
    some(product(["", "where height >= 0"], [5, 24]), ("where height >= 0", 5), several=True),
)
def test_bits_that_changed(exported: Program, where: str, places: int) -> None:
    """In the pages that a query reads, and the number of rows in a footer: exit code 6 and no other result."""
    path = exported.home / "lake/records/start=000002450/data.parquet"
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
            assert "start=000002450/data.parquet of lake is damaged: " in one_line(ran, 6)
            assert ran.err.endswith("; see chainq verify lake\n")
        else:
            assert (ran.code, (exported.home / "found.jsonl").read_bytes()) == (0, due)
    assert told >= places * 5 // 6
    (receipt,) = (exported.home / "lake/_chainq/receipts/records").glob("000002450-*")
    start, end, tip, rows, *rest = receipt.name.split("-")
    path.write_bytes(whole)
    receipt.rename(receipt.with_name("-".join((start, end, tip, str(int(rows) + 1), *rest))))
    assert f"is damaged: {rows} rows, the receipt names {int(rows) + 1}" in one_line(exported("sql", "lake", query), 6)


def test_a_damaged_file_beside_a_gap(gapped: Program, chainq: Program) -> None:
    """With --partial the query fails because of the file; it was to leave out the gap."""
    shutil.copytree(gapped.home / "lake", chainq.home / "lake")
    path = chainq.home / "lake/records/start=000002450/data.parquet"
    path.write_bytes(bytes(path.stat().st_size))
    line = one_line(chainq("sql", "lake", "select max(record_ciphertext) from records", "--partial", "-q"), 6)
    assert "start=000002450/data.parquet of lake is damaged" in line
    assert "--partial" not in line


def test_formats(exported: Program) -> None:
    """The usual formats; every digit of a decimal; dotted names as they are."""
    query = """select "header.metadata.height", 340282366920938463463374607431768211455 as big, null as nothing
               from full_blocks order by 1 limit 1"""
    ran = exported("sql", "lake", query, "--jsonl")
    assert ran.out == b'{"header.metadata.height":2400,"big":340282366920938463463374607431768211455,"nothing":null}\n'
    csv = exported("sql", "lake", query, "--csv").out.decode().splitlines()
    assert csv == ["header.metadata.height,big,nothing", "2400,340282366920938463463374607431768211455,"]
    table = exported("sql", "lake", "select 1 as a, 2 as a", "--table").out.decode()
    assert "a_1" in table
    query = 'select min(b.height), max(b.height), 1.5, "header.metadata.height" from blocks b, full_blocks group by 4'
    head, *_ = exported("sql", "lake", query, "--table").out.decode().splitlines()
    assert head.split() == ["min(b.height)", "max(b.height)", "1.5", "height"]
    assert exported("sql", "lake", "select height from blocks", "-o", "heights.csv", "--csv").code == 0
    assert len((exported.home / "heights.csv").read_text().splitlines()) == 101


def test_times_of_a_query_have_no_age(exported: Program) -> None:
    """A table shows the days of a query as it computed them: the age of a day, or of a maximum, says nothing."""
    query = "select date_trunc('day', min(timestamp)) as day, max(timestamp) as newest from blocks"
    day, newest = exported("sql", "lake", query, "--csv").out.decode().splitlines()[1].split(",")
    head, row, _ = exported("sql", "lake", query, "--table").out.decode().splitlines()
    assert head.split() == ["day", "newest"]
    assert row.split() == [*day.split("T"), *newest.split("T")]


def test_text_has_every_column(exported: Program) -> None:
    """`--text` and a file .txt have all columns of the query, whatever they are called."""
    query = "select min(height) as height, 7 as n from blocks"
    assert exported("sql", "lake", query, "--text").out == b"2400\t7\n"
    assert exported("sql", "lake", "select max(height) as h from blocks", "-o", "h.txt").code == 0
    assert (exported.home / "h.txt").read_bytes() == b"2499\n"


def test_names_with_dots_and_brackets(exported: Program) -> None:
    """No name of a column hides the value of another one, in any format."""
    query = """select 2 as "a.b", 1 as a, 3 as "a[].b", [4] as "a[]", {'b': 5} as c, 6 as "c.b" """
    ran = exported("sql", "lake", query, "--jsonl")
    assert ran.out == b'{"a.b":2,"a":1,"a[].b":3,"a[]":[4],"c":{"b":5},"c.b":6}\n', ran.err
    assert json.loads(exported("sql", "lake", query, "--json").out) == [json.loads(ran.out)]
    assert exported("sql", "lake", query, "--text").out == b'2\t1\t3\t[4]\t{"b":5}\t6\n'
    assert exported("sql", "lake", query, "--csv").out == b'a.b,a,a[].b,a[],c,c.b\r\n2,1,3,[4],"{""b"":5}",6\r\n'
    assert exported("sql", "lake", query, "--table").out.split(b"\n")[1].split()[:3] == [b"2", b"1", b"3"]
    assert exported("sql", "lake", query, "-o", "names.parquet").code == 0
    (row,) = pytest.importorskip("pyarrow.parquet").read_table(exported.home / "names.parquet").to_pylist()
    assert row == {"a.b": 2, "a": 1, "a[].b": 3, "a[]": "[4]", "c": '{"b":5}', "c.b": 6}


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
    ],
    ids=["lists", "counts", "arrays", "values"],
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


def test_a_table_shows_what_a_query_computed(exported: Program) -> None:
    """Lists and structs are shown if they fit, and on one line with --no-trunc; no name of a column adds a sign."""
    query = "select 'rejected' as status, {'a': 1, 'b': 'x'} as s, [1, 2, 3] as l, range(300) as r"
    _, row, _ = exported("sql", "lake", query, "--table", "--no-trunc").out.decode().splitlines()
    assert row.split() == ["rejected", '{"a":1,"b":"x"}', "[1,2,3]", f"[{','.join(map(str, range(300)))}]"]
    for columns, struct in (("40", "2 items"), ("60", '{"a":1,"b":"x"}')):
        _, row, _ = exported("sql", "lake", query, "--table", env={"COLUMNS": columns}).out.decode().splitlines()
        assert re.split("  +", row) == ["rejected", struct, "[1,2,3]", "300 items"]


def test_numbers_of_a_query_in_a_file(exported: Program) -> None:
    """Averages, decimals, and sums of 128 bits keep their digits in Parquet."""
    pytest.importorskip("pyarrow")
    query = (
        "select avg(height) a, 1.50::decimal(10,2) d, 2 * 170141183460469231731687303715::hugeint s,"
        " 'inf'::double i, null::double n from blocks"
    )
    assert exported("sql", "lake", query, "-o", "numbers.parquet").code == 0
    (row,) = pytest.importorskip("pyarrow.parquet").read_table(exported.home / "numbers.parquet").to_pylist()
    expected = {"d": Decimal("1.50"), "s": Decimal(2 * 170141183460469231731687303715), "i": math.inf, "n": None}
    assert isinstance(row.pop("a"), float)
    assert row == expected
    query = "select 170141183460469231731687303715884105::hugeint * 1000 h from blocks"
    line = one_line(exported("sql", "lake", query, "-o", "huge.parquet"), 2)
    assert "of 39 digits: expected a number of at most 38 digits; cast it to VARCHAR" in line


@pytest.mark.parametrize(
    "due",
    [
        {
            "'inf'::double": "inf",
            "'-inf'::float": "-inf",
            "'nan'::double": "nan",
            "[1.5, 'inf'::double]": [1.5, "inf"],
            "[timestamptz '2024-02-03 04:05:06']": ["2024-02-03T04:05:06Z"],
        },
        {
            "interval 1 month": "1 month",
            "interval '3 days 1 second'": "3 days 00:00:01",
            "'infinity'::date": "infinity",
            "date '9999-12-31'": "9999-12-31",
            "'-infinity'::timestamptz": "-infinity",
            "timestamptz '2024-02-03 04:05:06.5+01'": "2024-02-03T03:05:06.5Z",
            "timestamp '2024-02-03 04:05:06'": "2024-02-03T04:05:06",
            "timestamp_ns '2024-02-03 04:05:06.123456789'": "2024-02-03T04:05:06.123456789",
            "time '24:00:00'": "24:00:00",
        },
    ],
    ids=["numbers", "times"],
)
def test_values_that_json_or_python_lacks(due: dict[str, object], exported: Program) -> None:
    """They are exact texts, beside which order and names stay."""
    values = ", ".join(f"{value} as v{number}" for number, value in enumerate(due))
    query = f"select {values}, height from blocks order by height desc limit 2; -- newest"  # noqa: S608
    ran = exported("sql", "lake", query, "--jsonl")
    assert ran.code == 0, ran.err
    names = [*(f"v{number}" for number in range(len(due))), "height"]
    found = [list(json.loads(row).items()) for row in ran.rows]
    assert found == [list(zip(names, [*due.values(), height], strict=True)) for height in (2499, 2498)]


@pytest.mark.parametrize(
    "value",
    some(
        [
            "[interval 1 month]",
            "[timestamp_ns '2024-02-03 04:05:06.123456789']",
            "{'a': 'infinity'::date}",
            "map {'-infinity'::timestamp: 1}",
        ],
        *("[interval 1 month]", "{'a': 'infinity'::date}"),
    ),
)
def test_values_that_an_array_or_object_cannot_hold(value: str, exported: Program) -> None:
    """Exit 2, and what to do."""
    line = one_line(exported("sql", "lake", f"select {value} as v, height from blocks", "--jsonl"), 2)  # noqa: S608
    assert "the column 'v' of type " in line
    assert "cannot hold exactly; cast the dates, times or intervals in it to VARCHAR" in line


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("; select height, timestamp from blocks where height < 2402; ; -- all", 2),
        ("/* a; */ select timestamp from blocks where height < 2402 -- b;", 2),
        ("describe blocks;", None),
        ("explain analyze select timestamp from blocks natural join blocks b", None),
        ("from blocks select timestamp where height < 2402", 2),
        ("(select timestamp from blocks) limit 2", 2),
    ],
)
def test_ways_to_write_a_query(query: str, rows: int | None, exported: Program) -> None:
    """Semicolons and comments around a query, and all that is a SELECT for DuckDB."""
    ran = exported("sql", "lake", query, "--jsonl")
    assert ran.code == 0, ran.err
    assert len(ran.rows) == rows if rows else ran.rows


def test_errors_of_a_query_are_one_line(exported: Program) -> None:
    """The line that is wrong, as DuckDB shows it."""
    for query in (
        "select nonsense from records",
        "select abs('a') from blocks",  # with many candidates, which the message leaves out
    ):
        line = one_line(exported("sql", "lake", query), 2)
        assert f"LINE 1: {query}" in line
        assert "^" not in line
        assert "…" not in line
    line = one_line(exported("sql", "lake", "select starts_with(1) from blocks"), 2)
    assert "Candidate functions: starts_with(" in line


@pytest.mark.parametrize(
    "query",
    some(
        [
            "select * from read_text('secret')",
            "select * from 'secret'",
            "select * from read_csv('secret')",
            "select * from read_parquet('lake/records/*/*.parquet')",
            "copy (select 1) to 'written'",
            "attach 'written'",
            "install httpfs",
            "load httpfs",
            "set enable_external_access = true",
            "create table t as select 1",
            "drop view records",
            "pragma database_list",
            "select 1; copy (select 1) to 'written'",
            "select * from paths",
            "select nonsense from records",
            "select '\udcff' from records",
            "",
        ],
        *("select * from read_text('secret')", "select * from 'secret'", "copy (select 1) to 'written'"),
        *("attach 'written'", "load httpfs", "set enable_external_access = true", ""),
        "select 1; copy (select 1) to 'written'",
    ),
)
def test_what_a_query_cannot_do(exported: Program, query: str) -> None:
    """Read or write another file, change a setting, load code, run a second statement: exit 2, one line."""
    (exported.home / "secret").write_text("open-sesame")
    ran = exported("sql", "lake", query)
    line = one_line(ran, 2)
    assert "open-sesame" not in line
    assert ran.out == b""
    assert not (exported.home / "written").exists()


def test_partitions_without_a_receipt_are_not_read(exported: Program) -> None:
    """A query sees what an export has completed, and no file that lies beside it."""
    root = exported.home / "lake"
    (root / "records/start=000009900").mkdir()
    (root / "records/start=000009900/data.parquet").write_bytes(b"half")
    ran = exported("sql", "lake", "select count(distinct start) as n from records", "--jsonl", "--partial")
    assert ran.out == b'{"n":2}\n', ran.err


def test_a_table_without_a_whole_partition(exported: Program) -> None:
    """It is incomplete, not unknown: an export was to write it and has not, or its files are gone."""
    shutil.rmtree(exported.home / "lake/full-blocks")
    shutil.rmtree(exported.home / "lake/_chainq/receipts/full-blocks")
    for words in ((), ("--partial",)):
        line = one_line(exported("sql", "lake", "select count(*) from full_blocks", *words), 6)
        assert "the data set has no whole partition of full_blocks; chainq export full-blocks 2400:2500 --to " in line
    for folder in ("lake/_chainq", "lake/blocks", "lake/records"):
        shutil.rmtree(exported.home / folder)
    line = one_line(exported("sql", "lake", "select count(*) from records"), 6)
    assert (
        "the data set has no whole partition of records; chainq export blocks full-blocks records RANGE --to " in line
    )


def test_without_an_export_the_last_blocks_are_fetched(chainq: Program, truth: Truth) -> None:
    """Only the tables that the query names are fetched, and how many calls that takes is said before."""
    with witnessed() as (url, calls):
        ran = chainq("sql", "--last", "50", "select count(*) as n, min(height) as h from records", "--jsonl", url=url)
        assert ran.code == 0, ran.err
        first = truth.tip - 49
        assert json.loads(ran.out) == {"n": len(truth.rows("records", first, truth.tip + 1)), "h": first}
        assert {call.method for call in calls} <= {"latest/block", "records/all", *FULL_BLOCKS}
        assert ran.err == ""  # nobody watches
        words = ("sql", "--last", "50", "select count(*) from records", "--jsonl", "-v")
        assert f"fetching records of heights {first}-{truth.tip}: about 1 call" in chainq(*words, url=url).err


def test_the_last_blocks_are_named_if_nobody_chose_them(chainq: Program) -> None:
    """In a pipe, too: a filter on other heights finds nothing in them."""
    query = "select count(*) as n from blocks where height < 100"
    note = "chainq: only the last 10 blocks are queried; a range such as 0:500 queries others\n"
    ran = chainq("sql", query, url="demo:")
    assert (ran.code, ran.out, ran.err) == (0, b'{"n":0}\n', note)
    assert chainq("sql", "-q", query, url="demo:").err == ""
    assert chainq("sql", "--last", "10", query, url="demo:").err == ""


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
    others = f"{highest} where height < 2449 union all select max(round) from blocks where extra is not null"  # noqa: S608
    assert chainq("sql", "lake", others).err == ""


def test_an_export_as_url_is_queried_whole(exported: Program) -> None:
    """By option, environment or profile, as the argument DEST; a range reads that range from it."""
    counted = ("select count(*) as n, min(height) as h from blocks", "--jsonl")
    exported.config.parent.mkdir(parents=True)
    exported.config.write_text('[profiles.own]\nurl = "lake"\n')
    for ran in (
        exported("sql", *counted, url="lake"),
        exported("sql", "--url", "lake", *counted),
        exported("sql", "--profile", "own", *counted),
        exported("sql", "lake", *counted),
    ):
        assert (ran.code, ran.out, ran.err) == (0, b'{"n":100,"h":2400}\n', "")
    assert exported("sql", "--last", "5", *counted, url="lake").out == b'{"n":5,"h":2495}\n'
    assert exported("sql", "2410:2412", *counted, url="lake").out == b'{"n":2,"h":2410}\n'


def test_times_and_booleans_in_parquet(exported: Program) -> None:
    """They have types of their own, with every digit; a value that a type does not hold is an error."""
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    query = """
        select timestamp as zoned, timestamp::timestamp + interval 1 microsecond as plain, timestamp::date as day,
            timestamp '1969-12-31 23:59:59.25' as before, timestamp_ns '2024-01-02 03:04:05.123456789' as fine,
            height > 2400 as later, null::timestamp as none, [1, 2] as several from blocks where height = 2400
    """
    ran = exported("sql", "lake", query, "-o", "times.parquet")
    assert ran.code == 0, ran.err
    table = parquet.read_table(exported.home / "times.parquet")
    zoned, plain, fine = arrow.timestamp("us", tz="UTC"), arrow.timestamp("us"), arrow.timestamp("ns")
    due = [zoned, plain, arrow.date32(), plain, fine, arrow.bool_(), plain, arrow.string()]
    assert table.schema.types == due
    import duckdb

    with duckdb.connect() as connection:
        connection.execute("set TimeZone = 'UTC'")
        read = f"from '{exported.home / 'times.parquet'}' select columns(*)::varchar"
        found = connection.execute(read).fetchall()
    said = json.loads(exported("sql", "lake", query, "--jsonl").out)
    texts = [str(one).replace("T", " ").replace("Z", "+00") for one in list(said.values())[:5]]
    assert list(found[0]) == [*texts, "false", None, "[1,2]"]
    line = one_line(exported("sql", "lake", "select timestamp 'infinity' as t", "-o", "times.parquet"), 2)
    assert "expected a time of the years 1 to 9999; cast it to VARCHAR" in line


def test_usage_errors(chainq: Program, exported: Program, nowhere: str, tmp_path: Path) -> None:
    """Mistakes are one line; those in the output's options come before any request."""
    assert "no data set in nowhere: that folder does not exist" in one_line(chainq("sql", "nowhere", "select 1"), 2)
    assert "the query names no table" in one_line(chainq("sql", "select 1", url="demo:"), 2)
    assert "cannot be combined with DEST" in one_line(exported("sql", "lake", "select 1", "--last", "5"), 2)
    assert "a range cannot be combined with DEST" in one_line(exported("sql", "lake", "5:9", "select 1"), 2)
    line = one_line(exported("sql", "--lake", "lake", "select 1"), 2)
    assert "no such option: --lake" in line
    assert "--partial needs DEST" in one_line(exported("sql", "select 1", "--partial"), 2)
    for given in (["lake", "-"], ["-"], []):
        assert "no query on standard input: expected one SELECT in quotes" in one_line(exported("sql", *given), 2)
    assert "'select' is not a query: expected one SELECT in quotes" in one_line(exported("sql", "select"), 2)
    assert exported("sql", "lake", "show tables", "--text").rows == [b"blocks", b"full_blocks", b"records"]
    line = one_line(exported("sql", "lake", "copy blocks to 'x.csv'"), 2)
    assert line.endswith("invalid query: COPY, expected a SELECT\n")
    line = one_line(exported("sql", "lake", "pivot records on program_id using count(*)"), 2)
    assert line.endswith("expected pivot TABLE on COLUMN in ('a', 'b') using count(*)\n")
    line = one_line(exported("sql", "lake", "select 1; select 2"), 2)
    assert line.endswith("invalid query: 2 statements, expected one SELECT\n")
    swapped = one_line(exported("sql", "select count(*) from blocks", "lake"), 2)
    assert "'lake' is not a query: expected one SELECT in quotes" in swapped
    line = one_line(exported("sql", "lake", "select * from transitions"), 2)
    writes = "chainq export transitions 2400:2500 --to lake writes it"
    assert line.endswith(f"no table 'transitions'; the data set has blocks, full_blocks, records; {writes}\n")
    line = one_line(exported("sql", "lake", "select * from nonsense"), 2)
    assert line.endswith("no table 'nonsense'; the data set has blocks, full_blocks, records\n")
    words = ("sql", "--last", "5", "select 1 from records")
    assert "unknown format 'nope'" in one_line(chainq(*words, "--format", "nope", url=nowhere), 2)
    for place in (words[1:3], ("lake",)):  # before any request
        line = one_line(exported("sql", *place, "select 1 from records", "-o", "missing/x.csv", url=nowhere), 7)
        assert line == "chainq sql: cannot write missing/x.csv: there is no folder missing\n"
    (chainq.home / "blocks.parquet").touch()
    no_table = one_line(chainq("sql", "--last", "5", "select * from transactions", url=nowhere), 2)
    assert "no table 'transactions'; the tables are " in no_table
    assert no_table.endswith(" writes transactions, and chainq sql DEST has it (recipes: docs/tables.md)\n")
    file = "is a file: expected the folder or URL of an export"
    assert file in one_line(chainq("records", "5", "--lake", "blocks.parquet", url="demo:"), 2)
    assert file in one_line(chainq("export", "records", "--to", "blocks.parquet", url="demo:"), 2)
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


def test_a_range_before_the_query(chainq: Program, exported: Program) -> None:
    """As other commands take it; with an export the query says which heights."""
    counted = "select count(*) as n, min(height) as h from blocks"
    assert chainq("sql", "100:120", counted, "--jsonl", url="demo:").out == b'{"n":20,"h":100}\n'
    line = one_line(chainq("sql", "100:120", "--last", "5", counted, url="demo:"), 2)
    assert "the range 100:120 cannot be combined with --last" in line
    assert "a range cannot be combined with DEST" in one_line(exported("sql", "100:120", "lake", counted), 2)


def test_a_chart_has_a_bar_for_each_label(exported: Program) -> None:
    """Many bars with the same label show nothing, nor do more than fit on some screens."""
    line = one_line(exported("sql", "lake", "select height, program_id from records", "--format", "chart"), 2)
    assert "chart draws one bar for each program_id, but several rows have " in line
    assert "group by program_id" in line
    many = "select format('block {}', n) b, n from range(501) t(n) where exists (from blocks)"
    assert "draws at most 500 bars; add LIMIT" in one_line(exported("sql", "lake", many, "--format", "chart"), 2)


def test_charts_of_a_result(exported: Program) -> None:
    """Bars for a text and a number, a line for a time and a number, over height as ever; other columns are refused."""

    def chart(query: str) -> list[str]:
        ran = exported("sql", "lake", query, "--format", "chart")
        assert ran.code == 0, ran.err
        return ran.out.decode().splitlines()

    query = "select * from (values ('one', 10), ('two', 5), ('minus', -2.5), ('none', null)) t(label, n)"
    title, *bars, left_out = chart(query)
    assert title == "n by label"
    assert [bar.split()[:2] for bar in bars] == [["one", "10"], ["two", "5"], ["minus", "-2.5"]]
    assert left_out == "left out: 1 row without a number"
    lengths = [bar.count("█") for bar in bars]
    assert lengths[0] > 50
    assert abs(lengths[1] * 2 - lengths[0]) <= 1
    assert bars[2].count("░") > 10
    stated = exported("sql", "lake", query, env={"CHAINQ_FORMAT": "chart"})
    assert stated.out.decode().splitlines() == [title, *bars, left_out], stated.err
    exact = "select * from (values (2, 18741942424705933850::uhugeint), (1, 3)) t(round, n)"
    assert [bar.split()[:2] for bar in chart(exact)[1:]] == [["2", "18,741,942,424,705,933,850"], ["1", "3"]]
    rounded = "select * from (values ('a', 1162 / 3), ('b', 12345678.9), ('c', 1e20), (null, 1)) t(label, n)"
    due = [["a", "387.333"], ["b", "12,345,679"], ["c", "1e+20"], ["-", "1"]]
    assert [bar.split()[:2] for bar in chart(rounded)[1:]] == due
    long = chart("select repeat('long', 20) || n as label, n from range(2) t(n)")
    assert [bar.split()[0][-5:] for bar in long[1:]] == ["long0", "long1"]
    same = chart("select timestamp '2024-01-01' as t, height from blocks")
    assert "the line is the mean of the rows of 1 second, " in " ".join(same)
    *_, said, means, left_out = chart("""
        select timestamp '2023-06-02 03:00' + to_seconds(3 * n) as t, n from range(900) s(n) union all select null, 3
    """)
    assert said == "lowest 0, mean 449.5, highest 899 at 2023-06-02 03:44"
    assert means == "the line is the mean of 20 seconds, dots are the lowest and the highest"
    assert left_out == "left out: 1 row without a time"
    line = chart("select timestamp, height::double as h2 from blocks")
    assert line[0] == "h2 by timestamp"
    assert any(shown.strip() == "UTC" for shown in line)
    assert any(shown.startswith("lowest 2,400") for shown in line)
    assert any("block height" in shown for shown in chart("select height, count(*) as n from records group by 1"))
    assert chart("select timestamp, height from blocks limit 40")[0] == "height by timestamp"
    assert chart("select height from records")[:2] == ["rows per block", "rows"]
    for columns, names in (
        ("1 as a, 'b' as b, 2 as c", "a, b, c"),
        ("timestamp, height, round", "timestamp, height, round"),
    ):
        refused = one_line(exported("sql", "lake", f"select {columns} from blocks", "--format", "chart"), 2)  # noqa: S608
        assert f"chart cannot draw the columns {names}; it draws a text or number and a number (bars in" in refused
