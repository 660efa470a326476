"""Servers that cut, clamp, leak or lie without a word: a run prints exactly the truth, or ends with exit 6.

Each of these once ended in exit 0 with rows missing or doubled.
"""

from itertools import product

import pytest

from harness.program import Program, Servers
from harness.search import some
from harness.truth import Truth, difference

RANGE = (3_000, 3_300)

# What chainq makes good.
MENDED = {
    "cap in bytes": ("--fault", "byte-cap:60000"),
    "small cap in bytes": ("--fault", "byte-cap:40000"),
    "range clamped": ("--fault", "clamp-heights:60"),
    "cap that varies": ("--fault", "row-cap:100", "--fault", "cap-varies"),
    "empty now and then": ("--fault", "empty-rate:0.1"),
    "empty when wide": ("--fault", "empty-above:80"),
    "no page but the first": ("--fault", "no-pages"),
    "no page but the first, and a cap": ("--fault", "no-pages", "--fault", "row-cap:140"),
    "the same page always": ("--fault", "repeat-pages", "--fault", "row-cap:140"),
    "page size ignored, and a cap": ("--fault", "ignore-page-size", "--fault", "row-cap:140"),
    "pages by the size given": ("--fault", "row-cap:140"),
    "pages by the size asked": ("--fault", "row-cap:140", "--fault", "offset-by-asked"),
}
# What nobody can mend: an error, and a whole prefix before it.
REFUSED = {
    "end included": ("--fault", "inclusive-end"),
    "start left out": ("--fault", "exclusive-start"),
    "rows of neighbours": ("--fault", "neighbor-rows"),
    "rows doubled": ("--fault", "duplicate-rate:0.01"),
}


@pytest.mark.parametrize(
    ("command", "name"),
    some(
        product(["records", "transitions"], MENDED),
        *product(["records"], [name for name in MENDED if name not in ("cap in bytes", "no page but the first")]),
        *product(["transitions"], ["empty when wide"]),
        several=True,
    ),
)
def test_rows_come_whole_from(command: str, name: str, chainq: Program, server: Servers, truth: Truth) -> None:
    """Rows with heights: whatever cuts a response, none is lost."""
    ran = chainq(command, "--start", str(RANGE[0]), "--end", str(RANGE[1]), "-q", url=server(*MENDED[name]))
    assert (ran.code, difference(ran.rows, truth.groups(command, *RANGE))) == (0, ""), ran.err


@pytest.mark.parametrize(
    ("command", "start"),
    some(
        product(["ownership", "address-transactions"], [3_000, 3_001, 3_007]),
        ("ownership", 3_001),
        several=True,
    ),
)
@pytest.mark.parametrize(
    "name", ["cap in bytes", "range clamped", "cap that varies", "no page but the first", "empty when wide"]
)
def test_rows_without_heights_come_whole_from(
    command: str, name: str, start: int, chainq: Program, server: Servers, truth: Truth
) -> None:
    """Rows without heights: a server that shows none of a wide range has none of them left out either."""
    address = truth.chain.addresses[0] if command == "address-transactions" else ""
    words = (command, address) if address else (command,)
    ran = chainq(*words, "--start", str(start), "--end", "3300", "-q", url=server(*MENDED[name]))
    assert (ran.code, difference(ran.rows, truth.groups(command, start, 3_300, address))) == (0, ""), ran.err


@pytest.mark.parametrize(
    ("command", "fault"),
    some(
        product(["records", "transitions", "ownership", "address-transactions"], ["empty-above", "clamp-heights"]),
        *(("records", "empty-above"), ("transitions", "clamp-heights"), ("ownership", "empty-above")),
        ("address-transactions", "clamp-heights"),
        several=True,
    ),
)
def test_a_server_that_looks_at_a_few_heights_only(
    command: str, fault: str, chainq: Program, server: Servers, truth: Truth
) -> None:
    """No width is trusted that no row has shown, however narrow; and the tip ends what has to be looked at."""
    address = truth.chain.addresses[0] if command == "address-transactions" else ""
    words = (command, address) if address else (command,)
    for start, end in ((3_000, 3_300), (3_290, 9_000)):
        ran = chainq(*words, f"{start}:{end}", "-q", url=server("--fault", f"{fault}:20", "--tip", "3299"))
        due = truth.groups(command, start, min(end, 3_300), address)
        assert (ran.code, difference(ran.rows, due)) == (0, ""), ran.err


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("command", ["records", "ownership", "transitions"])
def test_an_error_from(command: str, name: str, chainq: Program, server: Servers, truth: Truth) -> None:
    """What contradicts itself ends in exit 6, and nothing wrong was printed before."""
    ran = chainq(command, "--start", "3000", "--end", "3400", "-q", url=server(*REFUSED[name]))
    due = {row for group in truth.groups(command, 3_000, 3_400) for row in group}
    if ran.code == 0:
        assert difference(ran.rows, truth.groups(command, 3_000, 3_400)) == "", ran.err
    assert ran.code in (0, 6), ran.err
    assert set(ran.rows) <= due
    assert len(set(ran.rows)) == len(ran.rows)


def test_a_server_in_no_order_is_proved_by_counts(chainq: Program, server: Servers, truth: Truth) -> None:
    """Responses in no order of height come whole, with a warning that says how they were proved."""
    for faults in (
        ("--fault", "shuffle-heights"),
        ("--fault", "shuffle-heights", "--fault", "row-cap:280"),
    ):
        ran = chainq("records", "--start", "3000", "--end", "3400", url=server(*faults))
        assert (ran.code, difference(ran.rows, truth.groups("records", 3_000, 3_400))) == (0, ""), ran.err
        assert ran.err.count("does not order rows by height") == 1


def test_two_runs_print_the_same_before_an_error(chainq: Program, server: Servers) -> None:
    """An error waits for its turn: what comes before it is the same in every run."""
    url = server("--fault", "missing-height:7500")
    outs = {chainq("blocks", "--start", "5000", "--end", "12000", url=url).out for _ in range(3)}
    assert len(outs) == 1
    assert next(iter(outs)).count(b"\n") == 2_000


def test_how_a_chunk_was_proved_is_shown(chainq: Program, server: Servers) -> None:
    """-v names the proof of each chunk."""
    ran = chainq("records", "--start", "3000", "--end", "3600", "-v", url=server())
    assert ran.code == 0
    assert "rows, proof: order (1 response)" in ran.err
