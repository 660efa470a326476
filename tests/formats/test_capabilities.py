"""What a format can do is declared by the format; commands read it and refuse the rest before any request."""

import ast
from pathlib import Path

import pytest

import chainq
from chainq.formats import protocol
from chainq.formats.protocol import Capabilities, capabilities
from harness.program import Program

DECLARED = {
    "table": Capabilities(endless=True),
    "jsonl": Capabilities(append=True, endless=True, verbatim=True),
    "json": Capabilities(verbatim=True),
    "csv": Capabilities(append=True, endless=True),
    "text": Capabilities(append=True, endless=True),
    "tsv": Capabilities(append=True, endless=True),
    "parquet": Capabilities(binary=True),
    "chart": Capabilities(needs_heights=True),
}
# What a format may import, by chainq.formats.protocol; its own modules too.
PUBLIC = ("chainq.formats.protocol", "chainq.rows.fields", "chainq.text.", "chainq.catalog.methods", "chainq.errors")


@pytest.mark.parametrize("name", DECLARED)
def test_what_each_format_declares(name: str) -> None:
    """Each of chainq's formats declares exactly what it can do."""
    assert capabilities(protocol.load(name)) == DECLARED[name]


@pytest.mark.parametrize(
    ("words", "title"),
    [
        ("transactions 5:30", "rows per block"),
        ("transactions 5:9 700 --columns index", "index"),
        ("block 5:30", "rows per block"),
    ],
)
def test_heights_that_chainq_adds(chainq: Program, words: str, title: str) -> None:
    """The height that was looked up counts, also if --columns does not name it."""
    ran = chainq(*words.split(), "--format", "chart", url="demo:")
    assert (ran.code, ran.err, ran.out.decode().splitlines()[0]) == (0, "", title)
    assert b"blocks 5 to " in ran.out


def test_chart_is_written_against_the_public_protocol() -> None:
    """The proof that the protocol suffices: of chainq, chart imports what is public and its own modules."""
    folder = Path(chainq.__file__).parent / "formats"
    found = set()
    for node in ast.walk(ast.parse((folder / "chart.py").read_bytes())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("chainq"):
            found.add(f"{node.module}")
    assert [name for name in found if not name.startswith(PUBLIC)] == []
    assert "chainq.formats.protocol" in found
    assert "chart" not in protocol.BUILT_IN
