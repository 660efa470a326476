"""Values that no chain has, in responses that are otherwise right: a clear end or none at all, and never a bug."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from harness.lake.examined import Odd
from harness.running.jobs import said
from harness.running.program import DIALECT, Program
from harness.running.truth import Truth
from harness.servers.services import serving
from harness.wallet.wallet import PUBLISHED, key_file

Row = dict[str, Any]


@contextmanager
def altered(change: Callable[[str, Row], object], tip: int = 50) -> Iterator[str]:
    """A sample server with that tip whose every row is given to `change` with the name of the method."""

    def mend(request: Row, response: Row) -> Row:
        result = response.get("result")
        for row in result if isinstance(result, list) else [result]:
            if isinstance(row, dict):
                change(request["method"], row)
        return response

    service = Odd(DIALECT, mend=mend, tip=tip)
    with serving(service) as url:
        yield url


@pytest.mark.parametrize(
    "words",
    [
        ("blocks",),
        ("records", "--last", "5"),
        ("blocks", "--until", "2h"),
        ("blocks", "--start", "-5"),
        ("block", "latest"),
        ("blocks", "--start", "5", "--checkpoint", "kept"),
        ("blocks", "--start", "5", "--checkpoint", "kept", "-o", "out", "--lag", "3"),
        ("blocks", "--follow", "--limit", "3"),
    ],
)
def test_5_a_tip_beyond_any_height(words: tuple[str, ...], chainq: Program) -> None:
    """A tip of 10^30 is no height, as no height of the command line is: exit 5, and nothing is printed."""

    def change(method: str, row: Row) -> None:
        if method == "latest/block":
            row["height"] = str(10**30)

    with altered(change) as url:
        ran = chainq(*words, url=url)
    said(ran, 5, "latest/block", "no valid height")
    assert ran.out == b""


@pytest.mark.parametrize("digits", [20, 400])
def test_a_time_beyond_any_time(digits: int, chainq: Program) -> None:
    """A block of the second 10^400 has no valid time: a search by time says so, and a table shows the digits."""

    def change(_: str, row: Row) -> None:
        for name in ("timestamp", "last_coinbase_timestamp"):
            if name in row:
                row[name] = "1" + "0" * digits

    with altered(change) as url:
        for words in (("--since", "2h"), ("--until", "2h")):
            ran = chainq("blocks", *words, url=url)
            said(ran, 5, "no valid timestamp")
            assert ran.out == b""
        for command in ("blocks", "latest", "records"):
            for flag in ("--table", "--csv", "--jsonl"):
                said(chainq(command, flag, url=url), 0)


@pytest.mark.parametrize("digits", [14, 400])
def test_a_balance_as_of_a_time_beyond_any_time(digits: int, chainq: Program) -> None:
    """Seconds that no calendar has are shown as they are, and none that no number of a program holds."""
    pytest.importorskip("aleo")

    def change(_: str, row: Row) -> None:
        if isinstance(header := row.get("header"), dict):
            header["metadata"]["timestamp"] = "1" + "0" * digits

    with altered(change) as url:
        for flags in ((), ("--json",)):
            words = ("balance", key_file(chainq.home, PUBLISHED), "--start", "40", "--checkpoint", "kept", *flags)
            ran = chainq(*words, url=url)
            assert ran.code == 0, ran.err
            assert ("1" + "0" * digits in ran.err) == (digits == 14)


@pytest.mark.parametrize("command", ["blocks", "records"])
def test_a_hash_that_utf_8_cannot_hold(command: str, chainq: Program, truth: Truth) -> None:
    """A lone surrogate in the hashes of a chain: the checkpoint holds them all the same, and knows them again."""

    def change(_: str, row: Row) -> None:
        for name in ("block_hash", "previous_hash"):
            if name in row:
                row[name] += "\ud800"

    with altered(change) as url:
        words = (command, "--start", "5", "--checkpoint", "kept", "-o", "out")
        said(chainq(*words, "--end", "20", url=url), 0)
        said(chainq(*words, "--end", "40", url=url), 0)
        said(chainq(command, "--start", "5", "--follow", "--limit", "30", url=url), 0)
    rows = (chainq.home / "out").read_bytes().splitlines()
    assert len(rows) == len(truth.rows(command, 5, 40))
    assert all("\ud800" in json.loads(row)["block_hash"] for row in rows)
