"""Heights and IDs from standard input: closed, endless, or very many."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from harness.running.program import Program, finish, one_line
from harness.running.truth import Truth
from harness.servers.services import witnessed


@pytest.mark.parametrize("words", [("block", "5", "-"), ("transaction", "-"), ("rpc", "block", "-")])
def test_2_a_closed_standard_input(words: tuple[str, ...], chainq: Program) -> None:
    """Closed by the caller, it is a usage error before any call: the connection would take its place and be read."""
    with witnessed() as (url, calls):
        line = ["sh", "-c", 'exec "$@" <&-', "sh", chainq.path, *words, "--url", url]
        ran = finish(subprocess.Popen(line, env=chainq.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE))
    assert "standard input is closed" in one_line(ran, 2)
    assert (ran.out, calls) == (b"", [])


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("kind", ["bare", "JSON string", "JSON object"])
def test_lists_as_tools_write_them(kind: str, encoding: str, chainq: Program, truth: Truth) -> None:
    """IDs as jq and PowerShell write them: quoted, with a byte order mark, by which UTF-16 is known."""
    ids = [truth.transaction_id(640, 1), truth.transaction_id(640, 0)]
    shown = {
        "bare": ids,
        "JSON string": [json.dumps(one) for one in ids],
        "JSON object": [json.dumps({"transaction_id": one}) for one in ids],
    }[kind]
    listed = "".join(f"{one}\r\n" for one in shown).encode(encoding)
    ran = chainq("transaction", "-", url="demo:", stdin=listed)
    assert (ran.code, ran.err) == (0, "")
    assert ran.rows == [truth.transaction(640, 1), truth.transaction(640, 0)]
    ran = chainq("transaction", "-", url="demo:", stdin='"at1\n'.encode(encoding))
    assert "line 1 of standard input" in one_line(ran, 2)


def test_2_a_line_of_many_megabytes(chainq: Program) -> None:
    """A line that came in hundreds of pieces is one line, and is not repeated in the message."""
    ran = chainq("block", "-", url="demo:", stdin=b"7" * 30_000_000 + b"\n")
    assert "invalid height" in one_line(ran, 2)
    assert len(ran.err) < 300


def test_parameters_in_an_encoding(chainq: Program) -> None:
    """In UTF-16 with its mark they are read; bytes that are no text are a usage error before any call, and no bug."""
    words = ("rpc", "block", "-")
    assert chainq(*words, url="demo:", stdin='{"block": 5}'.encode("utf-16")).code == 0
    assert "not valid UTF-8" in one_line(chainq(*words, url="demo:", stdin=b'{"a": "\xff"}'), 2)
    assert "not valid UTF-16" in one_line(chainq(*words, url="demo:", stdin=b"\xff\xfe5"), 2)


def test_2_a_line_without_an_end(chainq: Program) -> None:
    """A line that never ends is given up, and does not take all memory."""
    with Path("/dev/zero").open("rb") as endless:
        process = chainq.start("block", "-", url="demo:", stdin=endless)
        ran = finish(process)
    assert "a line of standard input is longer than 64 MiB" in one_line(ran, 2)


def test_many_heights_take_no_more_memory(chainq: Program) -> None:
    """Four thousand lookups from standard input take as much memory as four hundred."""

    def peak(count: int) -> int:
        heights = "".join(f"{height}\n" for height in range(count)).encode()
        process = subprocess.Popen(
            [chainq.path, "block", "-", "--url", "demo:"],
            env=chainq.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
        )
        assert process.stdin is not None
        with process.stdin:
            process.stdin.write(heights)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0
        return usage.ru_maxrss

    assert peak(4000) < peak(400) * 1.2
