"""An output that would replace what the command reads is refused, before any request."""

import pytest

from harness.program import Program, one_line


@pytest.mark.parametrize("output", ["r.jsonl", "soft.jsonl", "hard.jsonl"])
def test_2_an_output_that_is_read(output: str, chainq: Program, nowhere: str) -> None:
    """The same file by any name; `tests/golden/commands/files-unchanged.txt` has other commands."""
    read = chainq.home / "r.jsonl"
    read.write_text('{"height":"5"}\n')
    (chainq.home / "soft.jsonl").symlink_to(read)
    (chainq.home / "hard.jsonl").hardlink_to(read)
    line = one_line(chainq("verify", "soft.jsonl", "-o", f"./{output}", url=nowhere), 2)
    assert line.endswith("is a file that this command reads\n")
    assert read.read_text() == '{"height":"5"}\n'
