"""What a format can do is declared by the format; commands read it and refuse the rest before any request."""

import pytest

from chainq.formats import protocol
from chainq.formats.protocol import Capabilities, capabilities
from harness.running.program import Program

CSV = Capabilities(append=True, endless=True, no_header=True, flatten=True, typed=True)
DECLARED = {
    "table": Capabilities(endless=True),
    "jsonl": Capabilities(append=True, endless=True, verbatim=True, flatten=True, typed=True),
    "json": Capabilities(verbatim=True, typed=True),
    "csv": CSV,
    "tsv": CSV,
    "text": Capabilities(append=True, endless=True),
    "parquet": Capabilities(binary=True),
    "chart": Capabilities(needs_heights=True),
}


@pytest.mark.parametrize("name", protocol.BUILT_IN)
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
