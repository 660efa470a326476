"""An output that would replace what the command reads is refused, before any request."""

from pathlib import Path

import pytest

from harness.program import Program, Servers, one_line


@pytest.fixture(scope="module")
def folder(program: Program, server: Servers) -> Path:
    """A folder with a file of rows, links to it, and a file of keys."""
    root = program.home / "overwritten"
    root.mkdir()
    assert program("records", "5:9", "-o", str(root / "r.jsonl"), url=server("--tip", "400")).code == 0
    (root / "soft.jsonl").symlink_to("r.jsonl")
    (root / "hard.jsonl").hardlink_to(root / "r.jsonl")
    (root / "k").write_text("AViewKey1\n")
    return root


@pytest.mark.parametrize(
    ("words", "output"),
    [
        *((["verify", "r.jsonl"], name) for name in ("r.jsonl", "soft.jsonl", "hard.jsonl")),
        (["verify", "soft.jsonl", "--full"], "./r.jsonl"),
        (["owned", "k", "5:6"], "k"),
        (["owned", "5:6", "--view-key-file", "k"], "k"),
        (["blocks", "5:6", "--cert", "k"], "k"),
    ],
)
def test_2_an_output_that_is_read(words: list[str], output: str, folder: Path, program: Program, nowhere: str) -> None:
    """The same file by any name."""
    before = {path: path.read_bytes() for path in folder.rglob("*")}
    command, *others = words
    named = [str(folder / word) if (folder / word).exists() else word for word in others]
    line = one_line(program(command, *named, "-o", str(folder / output), url=nowhere), 2)
    assert line.endswith("is a file that this command reads\n")
    assert {path: path.read_bytes() for path in folder.rglob("*")} == before
