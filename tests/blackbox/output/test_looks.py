"""How output looks, where no record of `tests/golden/commands/` (screens*.txt, columns.txt) says it."""

import json
import os
import pty
import re
import subprocess
from fcntl import ioctl
from struct import pack
from termios import TIOCSWINSZ

import pytest

from chainq.catalog.methods import METHODS
from harness.models.search import some
from harness.running.program import Program
from harness.running.truth import Truth


def test_a_table_in_a_pipe_is_as_wide_as_the_terminal(chainq: Program) -> None:
    """`--table | less -R`: the width is that of the terminal on stderr."""
    ours, theirs = pty.openpty()
    ioctl(theirs, TIOCSWINSZ, pack("HHHH", 40, 200, 0, 0))
    with os.fdopen(theirs, "wb", buffering=0) as terminal:
        words = [chainq.path, "blocks", "--last", "1", "--table", "--url", "demo:"]
        ended = subprocess.run(
            words, env=chainq.environment(), cwd=chainq.home, stdout=subprocess.PIPE, stderr=terminal, check=True
        )
    os.close(ours)
    assert max(map(len, ended.stdout.decode().splitlines())) > 150


@pytest.mark.parametrize("widths", some([(60, 200), (80, 100)], (60, 200)), ids=str)
@pytest.mark.parametrize("command", [*(method.command for method in METHODS), "owned", "verify"])
def test_columns_help_fits_the_terminal(command: str, widths: tuple[int, int], chainq: Program) -> None:
    """Notes are wrapped between words and names never broken; the words are those of a pipe."""
    piped = chainq(command, "--columns", "help").out.decode()
    names = {line.split()[0] for line in piped.splitlines() if line}
    for columns in widths:
        text = chainq.shown(command, "--columns", "help", columns=columns, url=None, NO_COLOR="1")
        assert {line for line in text.splitlines() if len(line) > columns} <= names
        assert names <= {line.split()[0] for line in text.splitlines() if line}
        assert sorted(re.findall(r"[\w.\[\]*]+", text)) == sorted(re.findall(r"[\w.\[\]*]+", piped))


def test_a_whole_object_is_a_column_of_parquet(chainq: Program, truth: Truth) -> None:
    """`header` is its text there, beside a column for one of its members."""
    words = ("full-blocks", "5", "--columns", "header,header.metadata.height", "-o", "x.parquet")
    assert chainq(*words, url="demo:").code == 0
    files = pytest.importorskip("pyarrow.parquet", reason="Parquet needs the extra chainq[parquet]")
    (found,) = files.read_table(chainq.home / "x.parquet").to_pylist()
    assert json.loads(found["header"]) == json.loads(truth.rows("full-blocks", 5, 6)[0])["header"]
    assert found["header.metadata.height"] == 5
