"""`chainq verify` of a server that lists what deployed ones do: what it never lists is a note, a loss a finding."""

import json
from collections import Counter
from typing import Any

import pytest

from chainq.demo.chain import Chain
from chainq.demo.faults import Faults
from chainq.demo.plants import UNLISTED
from chainq.demo.service import Service
from harness.program import Program, Servers
from harness.sample import paged
from harness.search import some

END = 330
CHAIN = Chain(tip=400)
LISTED = Counter(
    int(row["height"])
    for row in paged(Service(CHAIN, Faults("deployed-lists")), "transitionsWithoutRecordInputs", 0, END, 0, 10_000)
)
"""How many transitions of each height are listed."""


def unlisted() -> tuple[int, int]:
    """How many transitions below END are not listed: all of them, and those of a fee."""
    plans = [plan for height in range(END) for plan in open_calls(height)]
    external = sum("external_record" in function.inputs for _, _, function in plans)
    fees = sum(function.name.startswith("fee_") for _, _, function in plans)
    return len(plans) - external - LISTED.total(), fees


def open_calls(height: int) -> Any:
    return CHAIN.layout.plan(height).open_calls


def lost_at(rank: int) -> int:
    """A height in the middle of the range that has a listed transition of an ordinary execution."""
    return next(height for height in range(rank, END) if LISTED[height])


def found(rows: list[bytes]) -> list[dict[str, Any]]:
    return [json.loads(row) for row in rows]


def test_what_a_deployed_server_never_lists_is_a_note(program: Program, server: Servers) -> None:
    """Transitions of fees and of a program that its table lacks, and rejected transactions of the type Fee: exit 0."""
    ran = program("verify", f"0:{END}", "--full", "--jsonl", url=server("--tip", "400", "--fault", "deployed-lists"))
    assert (ran.code, ran.out) == (0, b""), ran.err
    total, fees = unlisted()
    assert fees > 100
    assert total > fees
    note = f"; {total:,} transitions not listed by this server ({fees:,} of fees, {total - fees:,} of {UNLISTED}); the"
    assert note in ran.err
    assert ran.err.startswith(f"chainq: heights 0-{END - 1}: no findings in ")
    assert program("verify", f"0:{END}", "-q", url=server("--tip", "400", "--fault", "deployed-lists")).err == ""


@pytest.mark.parametrize("height", some([lost_at(20), lost_at(160), lost_at(300)], lost_at(160)))
def test_a_row_that_such_a_server_lost_is_a_finding(height: int, program: Program, server: Servers) -> None:
    """A transition of an execution, of a program that is listed elsewhere, and a record of the same server."""
    url = server(
        *("--tip", "400", "--fault", "deployed-lists"),
        *("--fault", f"lost-transition:{height}", "--fault", "lost-record:131"),
    )
    ran = program("verify", f"0:{END}", "--jsonl", url=url)
    assert ran.code == 6
    places = {(row["height"], row["command"], row["check"]) for row in found(ran.rows)}
    assert places == {(height, "transitions", "missing"), (131, "records", "missing")}
    assert "not listed by this server" in ran.err


def test_a_server_that_lists_a_kind_must_list_all_of_it(program: Program, server: Servers) -> None:
    """Where the transitions of fees are listed, a missing one is a finding and no note; also when it is the first."""
    height = next(at for at in range(1, END) if [made.name for _, _, made in open_calls(at)] == ["fee_public"])
    url = server("--tip", "400", "--fault", f"lost-transition:{height}")
    ran = program("verify", f"{height}:{END}", "--jsonl", url=url)
    assert [(row["height"], row["check"]) for row in found(ran.rows)] == [(height, "missing")]
    assert "not listed" not in ran.err
