"""An output that would replace what the command reads is refused, before any request."""

from pathlib import Path

import pytest

from harness.program import Program, Servers, one_line


@pytest.fixture(scope="module")
def folder(program: Program, server: Servers) -> Path:
    """A folder with a file of rows, links to it, a file of keys, and an export."""
    root, url = program.home / "overwritten", server("--tip", "400")
    root.mkdir()
    assert program("records", "5:9", "-o", str(root / "r.jsonl"), url=url).code == 0
    (root / "soft.jsonl").symlink_to("r.jsonl")
    (root / "hard.jsonl").hardlink_to(root / "r.jsonl")
    (root / "k").write_text("AViewKey1\n")
    lake = str(root / "lake")
    assert program("export", "records", "--to", lake, "0:4", "--partition", "2", url=url).code == 0
    profiles = {"exported": f'url = "file:{lake}"', "both": f'url = "{url}"\nlake = "{lake}"'}
    program.config.parent.mkdir(parents=True, exist_ok=True)
    program.config.write_text("".join(f"[profiles.{name}]\n{lines}\n" for name, lines in profiles.items()))
    return root


READ, INSIDE = "is a file that this command reads", "is inside the export that is read"


@pytest.mark.parametrize(
    ("words", "output", "said"),
    [
        *((["verify", "r.jsonl"], name, READ) for name in ("r.jsonl", "soft.jsonl", "hard.jsonl")),
        (["verify", "soft.jsonl", "--full"], "./r.jsonl", READ),
        (["owned", "k", "5:6"], "k", READ),
        (["owned", "5:6", "--view-key-file", "k"], "k", READ),
        (["blocks", "5:6", "--cert", "k"], "k", READ),
        (["verify", "lake"], "lake/records/new.jsonl", INSIDE),
        (["records", "0:2", "--lake", "lake"], "lake/chainq.json", INSIDE),
        (["sql", "lake", "select 1"], "lake/records/start=000000000/data.parquet", INSIDE),
        (["sql", "file:{root}/lake", "select 1"], "lake/records/new.jsonl", INSIDE),
        (["records", "0:2", "--profile", "exported"], "lake/records/new.jsonl", INSIDE),
        (["records", "0:2", "--profile", "both"], "lake/records/new.jsonl", INSIDE),
    ],
)
def test_2_an_output_that_is_read(
    words: list[str], output: str, said: str, folder: Path, program: Program, nowhere: str
) -> None:
    """The same file by any name, and the files of an export."""
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    command, *others = words
    named = [str(folder / word) if (folder / word).exists() else word.format(root=folder) for word in others]
    url = None if "--profile" in words else nowhere
    line = one_line(program(command, *named, "-o", str(folder / output), url=url), 2)
    assert said in line
    assert line.endswith("name another file for the output\n")
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_findings_may_be_beside_what_is_verified(folder: Path, program: Program) -> None:
    """A file at the top of an export is not part of it."""
    for _ in range(2):
        assert program("verify", str(folder / "lake"), "-o", str(folder / "lake" / "found.jsonl")).code == 0
