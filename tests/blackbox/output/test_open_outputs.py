"""Outputs that are open already: what `>> FILE` holds stays, whichever way the program is told to write there."""

import os
import subprocess
from pathlib import Path

import pytest

from harness.running.jobs import capped, lines, said
from harness.running.program import Program, Ran, Servers, finish, one_line
from harness.running.truth import Truth

BLOCKS = ("blocks", "--start", "5", "--end", "9", "--url", "demo:")


def sh(program: Program, script: str, *words: str) -> Ran:
    """Run a line of shell in which "$@" is the program with its arguments."""
    line = ["sh", "-c", script, "sh", program.path, *words]
    environment, home = program.environment(), program.home
    pipe = subprocess.PIPE
    return finish(subprocess.Popen(line, env=environment, cwd=home, stdout=pipe, stderr=pipe))


@pytest.mark.parametrize(
    ("name", "redirection"),
    [("/dev/stdout", ">> log"), ("/dev/fd/1", ">> log"), ("/dev/fd/7", "7>> log"), ("link", ">> log")],
)
@pytest.mark.parametrize("more", [(), ("--checkpoint", "kept")], ids=["plain", "checkpoint"])
def test_a_path_of_an_open_descriptor(
    name: str, redirection: str, more: tuple[str, ...], chainq: Program, truth: Truth
) -> None:
    """-o /dev/stdout, /dev/fd/N and links to them write where the shell has them write, after what is there."""
    (chainq.home / "link").symlink_to("/dev/stdout")
    log = chainq.home / "log"
    log.write_bytes(b"old\n")
    said(sh(chainq, f'exec "$@" {redirection}', *BLOCKS, *more, "-o", name), 0, *["only -o FILE"] * bool(more))
    assert log.read_bytes() == b"old\n" + lines(truth.rows("blocks", 5, 9))
    assert not list(chainq.home.glob(".log*"))


def test_a_failure_behind_an_open_descriptor(chainq: Program, server: Servers) -> None:
    """Rows stay there, so the error says how to go on, and not that nothing was written."""
    words = ("blocks", "0:3000", "--url", server("--fault", "missing-height:2500"))
    ran = sh(chainq, 'exec "$@" 3>> log', *words, "-o", "/dev/fd/3")
    rows = (chainq.home / "log").read_bytes().count(b"\n")
    assert rows
    assert one_line(ran, 6).endswith(f"; resume with --start {rows} --end 3000\n")


@pytest.mark.parametrize("more", [(), ("--checkpoint", "kept")], ids=["plain", "checkpoint"])
@pytest.mark.parametrize("number", [3, 9, 99999999999999999999])
def test_7_a_descriptor_that_is_not_open(number: int, more: tuple[str, ...], chainq: Program) -> None:
    """A descriptor that nobody opened for the run is exit 7; none of the program's own files is taken for it."""
    ran = sh(chainq, 'exec "$@" 3>&- 9>&-', *BLOCKS, *more, "-o", f"/dev/fd/{number}")
    assert f"/dev/fd/{number}" in one_line(ran, 7)
    assert ran.out == b""
    lock = chainq.home / "kept.lock"
    assert not lock.exists() or lock.read_bytes() == b""


@pytest.mark.parametrize(
    "words", [("blocks", "--start", "5", "--end", "90"), ("block", *map(str, range(5, 90)), "-j", "1")]
)
def test_7_no_half_row_in_a_file_that_is_appended_to(words: tuple[str, ...], chainq: Program, truth: Truth) -> None:
    """Out of room in `>> FILE`, whole rows stay after what was there: the end of the file is no offset of the run's."""
    log: Path = chainq.home / "log"
    log.write_bytes(b"old\n")
    descriptor = os.open(log, os.O_WRONLY | os.O_APPEND)  # as a shell opens it: at offset 0
    try:
        ran = capped(chainq, 50_000, *words, "--url", "demo:", stdout=descriptor)
    finally:
        os.close(descriptor)
    assert "File too large" in one_line(ran, 7)
    head, *rows = log.read_bytes().split(b"\n")
    assert (head, rows.pop()) == (b"old", b"")
    assert rows == truth.rows("blocks", 5, 5 + len(rows))
