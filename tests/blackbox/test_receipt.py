"""--receipt: a file has a record of what it holds beside it, and verify finds what the file alone cannot show."""

import hashlib
import json
from itertools import count, product
from pathlib import Path
from typing import Any

import pytest

from chainq import __version__
from harness.jobs import assassin
from harness.program import Program, Servers, one_line
from harness.search import some
from harness.wallet import PUBLISHED, VARIABLE

RANGE = "100:220"
FORMATS = ("jsonl", "csv", "parquet")


def written(chainq: Program, server: Servers, command: str, name: str, *words: str) -> Path:
    """A file with its receipt."""
    path = chainq.home / name
    ran = chainq(command, RANGE, "-o", str(path), "--receipt", "-q", *words, url=server("--tip", "400"))
    assert (ran.code, ran.err) == (0, "")
    return path


def beside(path: Path) -> Path:
    return path.with_name(f"{path.name}.receipt.json")


def receipt(path: Path) -> Any:
    return json.loads(beside(path).read_bytes())


def test_what_a_receipt_says(chainq: Program, server: Servers) -> None:
    """Command, range, rows, bytes, hash, URL without secrets, grades by heights, time and version."""
    url = server("--tip", "400").replace("http://", "http://me:secret@") + "?token=abcdefghijklmnop"
    path = chainq.home / "some.jsonl"
    assert chainq("records", RANGE, "-o", str(path), "--receipt", "-q", url=url).code == 0
    said, content = receipt(path), path.read_bytes()
    assert (said["receipt"], said["command"], said["format"]) == (1, "records", "jsonl")
    assert (said["start"], said["end"]) == (100, 220)
    assert said["rows"] == content.count(b"\n") > 0
    assert (said["bytes"], said["sha256"]) == (len(content), hashlib.sha256(content).hexdigest())
    assert said["version"] == __version__
    assert sum(said["grades"].values()) == 120
    assert said["time"].endswith("Z")
    text = beside(path).read_text()
    assert "secret" not in text
    assert "abcdefghijklmnop" not in text
    assert "127.0.0.1" in said["url"]


@pytest.mark.parametrize(
    ("command", "kind"),
    some(
        product(["blocks", "records", "ownership"], FORMATS),
        *zip(["blocks", "records", "ownership"], FORMATS, strict=False),
        several=True,
    ),
)
def test_a_file_with_its_receipt_is_verified(command: str, kind: str, chainq: Program, server: Servers) -> None:
    """The verdict rests on the receipt: range, rows and hash."""
    path = written(chainq, server, command, f"{command}.{kind}")
    ran = chainq("verify", str(path))
    said = one_line(ran, 0)
    assert "heights 100-219: no findings" in said
    as_written = f"as its receipt says (SHA-256, {receipt(path)['rows']:,} rows)"
    assert as_written in said
    assert "not checked" not in said
    compared = one_line(chainq("verify", str(path), "--sample", "2", url=server("--tip", "400")), 0)
    assert f"{as_written}; 2 of 120 heights compared" in compared


@pytest.mark.parametrize(
    ("place", "command", "kind"),
    some(
        product(["first", "last"], ["blocks", "records", "ownership"], ["jsonl", "csv"]),
        *(("first", "blocks", "csv"), ("last", "blocks", "jsonl"), ("last", "records", "csv")),
        ("first", "ownership", "jsonl"),
        several=True,
    ),
)
def test_lost_first_and_last_rows_are_found(
    place: str, command: str, kind: str, chainq: Program, server: Servers
) -> None:
    """By the number of rows and the hash; of blocks by their heights, too."""
    path = written(chainq, server, command, f"{command}.{kind}")
    lines, head = path.read_bytes().splitlines(keepends=True), kind == "csv"
    del lines[int(head) if place == "first" else -1]
    path.write_bytes(b"".join(lines))
    ran = chainq("verify", str(path), "--jsonl")
    found = [json.loads(row) for row in ran.rows]
    assert ran.code == 6
    assert "not checked" not in ran.err  # the receipt shows it
    rows = receipt(path)["rows"]
    due = {(one["check"], one["expected"], one["found"]) for one in found}
    assert ("receipt", f"{rows} rows", f"{rows - 1} rows") in due
    assert any(check == "receipt" and (expected or "").startswith("SHA-256 ") for check, expected, _ in due)
    if command == "blocks":
        assert {one["height"] for one in found if one["check"] == "missing"} == {100 if place == "first" else 219}


def test_one_changed_digit_is_found(chainq: Program, server: Servers) -> None:
    """In a field without a checksum, which the file alone does not show."""
    path = written(chainq, server, "records", "some.jsonl")
    text = path.read_text()
    path.write_text(text.replace('"output_index":0', '"output_index":7', 1))
    said = one_line(chainq("verify", str(path), "--jsonl"), 6)
    assert "1 receipt" in said
    assert said.endswith("; --full shows which rows are wrong\n")


def test_rows_in_another_order_are_those_of_the_service(chainq: Program, server: Servers) -> None:
    """Two rows of one height changed places: --full finds no wrong row, and says what is left to differ."""
    path = written(chainq, server, "records", "some.jsonl")
    lines = path.read_bytes().splitlines(keepends=True)
    heights = [json.loads(line)["height"] for line in lines]
    at = next(at for at in range(1, len(lines)) if heights[at] == heights[at - 1])
    lines[at - 1 : at + 1] = lines[at], lines[at - 1]
    path.write_bytes(b"".join(lines))
    ran = chainq("verify", str(path), "--full", "--jsonl", url=server("--tip", "400"))
    assert (ran.code, [json.loads(row)["check"] for row in ran.rows]) == (6, ["receipt"])
    same = "the rows equal the service's; only their order or the bytes of the file differ: write the file again"
    assert ran.err.endswith(f"{same} with -o FILE\n"), ran.err


@pytest.mark.parametrize("full", [(), ("--full",)], ids=["alone", "full"])
def test_rows_of_two_heights_that_changed_places(full: tuple[str, ...], chainq: Program, server: Servers) -> None:
    """Sorting would not bring the bytes of the receipt back, and --full would show no more."""
    path = written(chainq, server, "records", "some.jsonl")
    first, *lines, last = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([last, *lines, first]))
    ran = chainq("verify", str(path), *full, "--jsonl", url=server("--tip", "400"))
    assert (ran.code, [json.loads(row)["check"] for row in ran.rows]) == (6, ["receipt", "order"])
    assert ran.err.endswith("; write the file again with -o FILE\n")
    assert "--full" not in ran.err and "sort" not in ran.err


def test_full_takes_the_range_of_the_receipt(chainq: Program, server: Servers) -> None:
    """verify --full compares the heights that the command wrote, though the rows of the last ones are lost."""
    path = written(chainq, server, "records", "some.jsonl")
    lines = path.read_bytes().splitlines(keepends=True)
    kept = [line for line in lines if json.loads(line)["height"] < 210]
    path.write_bytes(b"".join(kept))
    ran = chainq("verify", str(path), "--full", "--jsonl", url=server("--tip", "400"))
    missing = {json.loads(row)["height"] for row in ran.rows if json.loads(row)["check"] == "missing"}
    assert ran.code == 6
    assert missing == {json.loads(line)["height"] for line in lines} - {json.loads(line)["height"] for line in kept}


@pytest.mark.parametrize("kind", ["jsonl", "csv"])
def test_transactions_of_a_range_are_compared(kind: str, chainq: Program, server: Servers) -> None:
    """By the lists of the heights that the receipt names, or --start and --end. A table has one header."""
    path, url = written(chainq, server, "transactions", f"some.{kind}"), server("--tip", "400")
    assert "all 120 heights compared" in one_line(chainq("verify", str(path), "--full", url=url), 0)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:4] + lines[5:]))
    assert one_line(chainq("verify", str(path), "--jsonl"), 6).endswith("; --full shows which rows are wrong\n")
    found = [json.loads(row) for row in chainq("verify", str(path), "--full", "--jsonl", url=url).rows]
    (lost,) = (row for row in found if row["check"] == "missing")
    assert lost["expected"].removeprefix("transaction ").encode() in lines[4]
    assert lost["repair"] == f"chainq transactions {lost['height']} --url {url}"
    shown = chainq("verify", str(path), "--full", "--table", url=url).out.decode()
    assert shown.count("expected") == 1 and lost["expected"][-20:] in "".join(shown.split())
    beside(path).unlink()
    ran = chainq("verify", str(path), "--full", "--jsonl", "--start", "100", "--end", "220", url=url)
    assert [json.loads(row) for row in ran.rows] == [lost]


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (("--where", "height ~ 7$"), "blocks.jsonl"),
        (("--limit", "7"), "blocks.csv"),
        (("--columns", "round", "--text"), "blocks.txt"),
        (("--reverse",), "blocks.jsonl"),
    ],
)
def test_files_that_are_no_whole_range(words: tuple[str, ...], name: str, chainq: Program, server: Servers) -> None:
    """What a filter, a limit or columns leave out is not missing; a lost row still is."""
    path = written(chainq, server, "blocks", name, *words)
    assert "as its receipt says" in one_line(chainq("verify", str(path)), 0)
    compared = chainq("verify", str(path), "--full", url=server("--tip", "400"))
    assert compared.code == 2, "nothing was compared, so nothing may say so"
    if words[0] in ("--where", "--limit"):
        told = f"its rows are not all rows of a range: {' '.join(words)} left rows out; without --full, its bytes"
        assert told in compared.err
    if words[0] == "--where":
        beside(path).unlink()
        ran = chainq("verify", str(path), "--full", "--start", "200", "--end", "220", url=server("--tip", "400"))
        assert "if --where, --program, --function or --limit left these rows out" in one_line(ran, 6)
        written(chainq, server, "blocks", name, *words)
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))
    assert "receipt" in one_line(chainq("verify", str(path), "--jsonl"), 6)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("records", RANGE, "--program", "token_registry.aleo"), "in {} records"),
        (("blocks", RANGE, "--where", "height ~ 7$"), "in {} blocks"),
        (("block", "5", "6", "7"), "in {} rows; its rows were only counted"),
    ],
)
def test_rows_are_counted_not_repeated_from_the_receipt(
    words: tuple[str, ...], said: str, chainq: Program, server: Servers
) -> None:
    """Of files that a filter or heights chose the rows of, too; a duplicate of a filtered row is named."""
    path = chainq.home / "some.jsonl"
    assert chainq(*words, "-o", str(path), "--receipt", "-q", url=server("--tip", "400")).code == 0
    lines = path.read_bytes().splitlines(keepends=True)
    for kept, doubled in ((lines[:-1], False), ([*lines, lines[-1]], words[0] != "block")):
        path.write_bytes(b"".join(kept))
        ran = chainq("verify", str(path), "--jsonl")
        line = one_line(ran, 6)
        assert line.endswith(f"{said.format(len(kept))}; write the file again\n"), (
            "no word of --full, which cannot compare it"
        )
        found = [(one["check"], one["expected"], one["found"]) for one in map(json.loads, ran.rows)]
        assert ("receipt", f"{len(lines)} rows", f"{len(kept)} rows") in found
        assert any(check == "doubled" for check, _, _ in found) == doubled


def test_rows_that_are_not_counted(chainq: Program, server: Servers) -> None:
    """The verdict names no number of rows of a format that only people read."""
    path = written(chainq, server, "blocks", "blocks.txt", "--columns", "round", "--text")
    assert "no findings; the file is as its receipt says" in one_line(chainq("verify", str(path)), 0)
    path.write_bytes(path.read_bytes()[:-5])
    said = one_line(chainq("verify", str(path), "--jsonl"), 6)
    assert said.endswith("(2 receipt); its rows were not counted; write the file again\n")


def test_receipts_that_do_not_fit(chainq: Program, server: Servers) -> None:
    """A damaged receipt is a finding; a run without --receipt says that the old one is of another file."""
    path = written(chainq, server, "blocks", "blocks.jsonl")
    beside(path).write_text('{"receipt":1,"rows":"x"}')
    assert "receipt" in one_line(chainq("verify", str(path), "--jsonl"), 6)
    written(chainq, server, "blocks", "blocks.jsonl")
    ran = chainq("blocks", RANGE, "-o", str(path), url=server("--tip", "400"))
    line = one_line(ran, 0)
    assert "blocks.jsonl.receipt.json is of the file that this run replaces; delete it, or add --receipt" in line


def test_no_command_without_receipts_is_told_to_add_one(chainq: Program, server: Servers) -> None:
    """`owned` writes none, and neither does a run with a checkpoint."""
    pytest.importorskip("aleo")
    beside(chainq.home / "rows.jsonl").write_text("{}")
    told = "rows.jsonl.receipt.json is of the file that this run replaces; delete it\n"
    for words in (("owned", "0:20", "-o", "rows.jsonl"), ("blocks", "0:5", "--checkpoint", "kept", "-o", "rows.jsonl")):
        (chainq.home / "rows.jsonl").unlink(missing_ok=True)
        ran = chainq(*words, url=server("--tip", "400"), env={VARIABLE: PUBLISHED.text})
        assert ran.code == 0, ran.err
        assert told in ran.err


def test_where_there_is_no_receipt(chainq: Program, server: Servers) -> None:
    """It needs a file that is written at once; a run that fails leaves file and receipt as they were."""
    url = server("--tip", "400")
    assert "--receipt needs -o FILE" in one_line(chainq("blocks", RANGE, "--receipt", url=url), 2)
    assert "--receipt needs -o FILE" in one_line(chainq("blocks", RANGE, "--receipt", "-o", "/dev/null", url=url), 2)
    kept = ("blocks", "--receipt", "-o", "out", "--checkpoint", "kept")
    assert "--receipt cannot be combined with --checkpoint" in one_line(chainq(*kept, url=url), 2)
    path = written(chainq, server, "blocks", "blocks.jsonl")
    before = path.read_bytes(), beside(path).read_bytes()
    ran = chainq("blocks", RANGE, "-o", str(path), "--receipt", "--retries", "0", url="http://127.0.0.1:9")
    assert ran.code == 4
    assert (path.read_bytes(), beside(path).read_bytes()) == before
    assert sorted(one.name for one in chainq.home.iterdir() if "receipt" in one.name) == [beside(path).name]


def test_names_that_are_too_long_for_a_receipt(chainq: Program, server: Servers) -> None:
    """A file may have the longest name that there is: it has no receipt, and verify needs none."""
    path, url = chainq.home / f"{'x' * 249}.jsonl", server("--tip", "400")
    assert one_line(chainq("blocks", RANGE, "-o", str(path), "--receipt", url=url), 7)
    short = chainq.home / f"{'x' * 200}.jsonl"
    assert chainq("blocks", RANGE, "-o", str(short), "-q", url=url).code == 0
    assert short.rename(path).exists()
    assert "no findings" in one_line(chainq("verify", str(path), url=url), 0)
    assert one_line(chainq("blocks", "5", "-o", "x" * 5000, "--receipt", url=url), 7)


def test_a_receipt_of_lookups(chainq: Program, server: Servers) -> None:
    """Without a height range, rows and hash are what it says; what does not exist leaves no receipt of another file."""
    url = server("--tip", "400")
    path = chainq.home / "found.jsonl"
    assert chainq("transactions", "5", "8", "-o", str(path), "--receipt", url=url).code == 0
    assert "start" not in receipt(path)
    assert receipt(path)["rows"] == path.read_bytes().count(b"\n")
    assert chainq("transactions", "5", "9000", "-o", str(path), "--receipt", url=url).code == 1
    assert receipt(path)["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()


def test_no_kill_leaves_a_receipt_of_another_file(chainq: Program, server: Servers) -> None:
    """Before each step on the file system: the old file and its receipt, no receipt, or the new ones."""
    path, url = written(chainq, server, "blocks", "blocks.jsonl"), server("--tip", "400")
    killed, old = assassin(chainq), path.read_bytes()
    words = ("blocks", "300:310", "-o", str(path), "--receipt", "-q")
    for step in count(1):
        ran = chainq(*words, url=url, env=killed(step))
        if beside(path).exists():
            assert receipt(path)["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest(), step
        if ran.code == 0:
            break
        assert ran.code == -9, ran.err
    assert step > 5
    assert path.read_bytes() != old
    assert sorted(one.name for one in chainq.home.iterdir() if one.name.startswith(".blocks")) == []
