"""Servers that cut, clamp, leak or lie without a word: a run prints exactly the truth, or ends with exit 6.

Each of these once ended in exit 0 with rows missing or doubled.
"""

from collections import Counter

import pytest

from harness.models.search import some
from harness.running.program import Program, Servers
from harness.running.truth import Truth, difference


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
    assert next(iter(outs)).count(b"\n") == 2_500


def test_how_a_chunk_was_proved_is_shown(chainq: Program, server: Servers) -> None:
    """-v names the proof of each chunk."""
    ran = chainq("records", "--start", "3000", "--end", "3600", "-v", url=server())
    assert ran.code == 0
    assert "rows, proof: order (1 response)" in ran.err


FAULTS = {
    "byte-cap:60000": True,
    "byte-cap:40000": True,
    "clamp-heights:20": True,
    "clamp-heights:60": True,
    "row-cap:100 cap-varies": True,
    "empty-rate:0.1": True,
    "empty-above:20": True,
    "empty-above:80": True,
    "no-pages": True,
    "no-pages row-cap:140": True,
    "repeat-pages row-cap:140": True,
    "ignore-page-size:10000 row-cap:140": True,
    "row-cap:140": True,
    "row-cap:140 offset-by-asked": True,
    "inclusive-end": False,
    "exclusive-start": False,
    "duplicate-rate:0.01": False,
}


@pytest.mark.parametrize("faults", FAULTS)
@pytest.mark.parametrize("command", some(["records", "transitions", "ownership", "address-transactions"], "records"))
def test_rows_come_whole_or_with_an_error(
    command: str, faults: str, chainq: Program, server: Servers, truth: Truth
) -> None:
    """Exactly the truth, exit 6 where nobody can mend it, or a warning that nothing proves the rows; nothing wrong was
    printed before. The tip ends what has to be looked at."""
    address = truth.chain.addresses[0] if command == "address-transactions" else ""
    words = [command, *([address] if address else []), "-q", "--start"]
    url = server("--tip", "3299", *(word for fault in faults.split() for word in ("--fault", fault)))
    for start, end in ((3_001, 3_300), (3_290, 9_000)):
        ran = chainq(*words, str(start), "--end", str(end), url=url)
        groups = truth.groups(command, start, 3_300, address)
        if ran.code == 0 and "nothing proves" not in ran.err:
            assert difference(ran.rows, groups) == "", ran.err
        assert ran.code in ((0,) if FAULTS[faults] else (0, 6)), ran.err
        assert not Counter(ran.rows) - Counter(row for group in groups for row in group)
