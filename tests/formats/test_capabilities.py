"""What a format can do is declared by the format; commands read it and refuse the rest before any request."""

import ast
from pathlib import Path

import pytest

import chainq
from chainq.formats import registry
from chainq.formats.protocol import Capabilities, Output, OutputSpec, Writer, capabilities
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
    assert capabilities(registry.load(name)) == DECLARED[name]


def test_what_is_not_declared_is_false() -> None:
    """A bare function can do nothing special, and only True counts: not a method that has the name by chance."""

    def bare(out: Output, spec: OutputSpec) -> Writer:
        raise AssertionError(f"not to be called: {out}, {spec}")

    class Odd:
        binary = 1

        def __init__(self, out: Output, spec: OutputSpec) -> None: ...

        def append(self) -> None: ...

        def write(self, rows: object) -> None: ...

        def close(self) -> None: ...

    assert capabilities(bare) == capabilities(Odd) == Capabilities()


IN_A_PIPE = "with --checkpoint in a pipe or redirection"
IN_A_FILE = "with --checkpoint or --follow for -o FILE"


@pytest.mark.parametrize(
    ("option", "where"),
    [
        (("--checkpoint", "c"), IN_A_PIPE),
        (("--checkpoint", "c", "-o", "rows"), IN_A_FILE),
        (("--follow", "-o", "rows"), IN_A_FILE),
    ],
)
def test_formats_that_cannot_be_appended_to(chainq: Program, nowhere: str, option: tuple[str, ...], where: str) -> None:
    """--checkpoint and --follow -o need a format that declares `append`: exit 2, no request, no file."""
    ran = chainq("records", "--format", "table", *option, url=nowhere)
    words = f"table cannot be used {where}: rows are appended"
    assert (ran.code, ran.out, ran.err) == (2, b"", f"chainq records: {words}\n")
    assert list(chainq.home.iterdir()) == []


def test_formats_that_need_an_end(chainq: Program, nowhere: str) -> None:
    """--follow needs a format that declares `endless`: exit 2, no request."""
    ran = chainq("records", "--format", "json", "--follow", url=nowhere)
    words = "json needs a finished range and cannot be used with --follow"
    assert (ran.code, ran.out, ran.err) == (2, b"", f"chainq records: {words}\n")


def test_formats_that_need_heights(chainq: Program, nowhere: str) -> None:
    """A format that declares `needs_heights` is refused where rows have none: exit 2."""
    ran = chainq("ownership", "--format", "chart", url=nowhere)
    words = "chart needs rows with heights, and ownership has none\n"
    assert (ran.code, ran.out, ran.err) == (2, b"", f"chainq ownership: {words}")
    for given in (("block", "5:30"), ("full-blocks", "5:30"), ("transactions", "5:30"), ("transitions", "5:300")):
        drawn = chainq(*given, "--format", "chart", url="demo:")
        assert (drawn.code, b"block height" in drawn.out) == (0, True), given


def test_heights_that_chainq_adds(chainq: Program) -> None:
    """The height that was looked up counts, also if --columns does not name it."""
    for words, title in (
        (("transactions", "5:30"), "transactions per block"),
        (("transactions", "5:9", "700", "--columns", "index"), "index"),
        (("block", "5:30"), "block time"),
    ):
        ran = chainq(*words, "--format", "chart", url="demo:")
        lines = ran.out.decode().splitlines()
        assert (ran.code, ran.err, lines[0]) == (0, "", title)
        assert b"left out" not in ran.out


def test_chart_is_written_against_the_public_protocol() -> None:
    """The proof that the protocol suffices: of chainq, chart imports what is public and its own modules."""
    folder = Path(chainq.__file__).parent / "formats"
    found = set()
    for path in folder.glob("chart*.py"):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("chainq"):
                found.add(f"{node.module}")
    assert [name for name in found if not name.startswith((*PUBLIC, "chainq.formats.chart_"))] == []
    assert "chainq.formats.protocol" in found
    assert "chart" not in registry.BUILT_IN
