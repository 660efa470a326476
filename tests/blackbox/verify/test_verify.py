"""`chainq verify` against services that hold single rows wrongly: each is found, and nothing else is."""

import json
import os
import random
from typing import Any

import pytest

from chainq.demo.chain import Chain
from chainq.demo.faults import KINDS, Faults
from chainq.demo.service import SampleService
from harness.models.search import some
from harness.running.program import DIALECT, Program, Ran, one_line
from harness.servers.services import Moving, serving
from harness.wallet.planted import Plant, plantable
from harness.wallet.planted import planted as wrong

SEEDS = range(int(os.environ.get("CHAINQ_TEST_SEEDS", "1")))
TIP = 210  # above all that is planted
CHAIN = Chain(tip=TIP)
MUST = {
    "lost": {(0, "missing")},
    "doubled": {(0, "doubled")},
    "altered": {(0, "altered")},
    "misplaced": {(0, "missing")},
    "altered-ownership": {(0, "missing")},  # the fields that can be compared identify the row
    **{kind: {(0, kind)} for kind in ("link", "time", "round", "checksum", "count")},
}
"""What is found of each plant: how many heights above it, and by which check."""
MAY = {
    "altered-ownership": {(0, "unexpected"), (0, "doubled")},  # doubled: as another record of its transition
    "time": {(0, "altered")},  # other rows have the time that the block should have
    "count": {(0, "altered")},
    "misplaced": {(1, "misplaced"), (1, "unexpected")},
}
"""What may be found beside it."""
COMMANDS = {
    "record": {"records"},
    "ownership": {"ownership"},
    "transition": {"transitions"},
    "transaction": {"transactions"},
    "block": {"blocks"},
    "": {"blocks", "full-blocks", "records", "transitions", "transactions"},
}
"""By what is planted: whose rows show it."""


def planted(seed: int) -> tuple[Plant, ...]:
    """One plant of every kind, some heights apart."""
    rng = random.Random(seed)  # noqa: S311  # no secret
    kinds = rng.sample(KINDS, len(KINDS))
    return tuple(
        next(plant for at in range(8 * (number + 2), 8 * (number + 3)) if plantable(CHAIN, plant := Plant(kind, at)))
        for number, kind in enumerate(kinds)
    )


def findings(ran: Ran) -> list[dict[str, Any]]:
    return [json.loads(row) for row in ran.rows]


@pytest.mark.search
@pytest.mark.parametrize("seed", SEEDS)
def test_every_planted_fault_is_found_and_nothing_else(seed: int, program: Program) -> None:
    """One wrong row of every kind: each is named by its height and its kind, and exit 6; no other row is named.

    `tests/golden/commands/plants.txt` has what is found of each alone.
    """
    plants = planted(seed)
    service = SampleService(CHAIN, wrong(*plants, seed=seed), DIALECT)
    with serving(service) as url:
        ran = program("verify", "--start", "0", "--end", str(TIP + 1), "--full", "--jsonl", url=url)
    assert ran.code == 6, ran.err
    found = findings(ran)
    assert len(found) == len({tuple(row.items()) for row in found})
    assert [int(row["height"]) for row in found] == sorted(int(row["height"]) for row in found)
    for plant in plants:
        here = [row for row in found if int(row["height"]) - plant.height in (0, 1)]
        assert {row["command"] for row in here} <= COMMANDS[plant.row], (plant, here)
        seen = {(int(row["height"]) - plant.height, row["check"]) for row in here}
        must = MUST.get(plant.kind) or MUST[plant.action]
        assert must <= seen <= must | MAY.get(plant.kind, MAY.get(plant.action, set())), (plant, here)
        assert plant.action != "misplaced" or len(seen) == 2  # which of the two, by the heights compared together
    near = {plant.height + above for plant in plants for above in (0, 1)}
    assert {int(row["height"]) for row in found} <= near


@pytest.mark.parametrize(("height", "seed"), [(669, 0), (678, 6)])
def test_a_misplaced_record_is_no_fault_of_its_ownership_row(height: int, seed: int, program: Program) -> None:
    """With these seeds, `records` ends a response of `ownership` before a row of the height that the record lacks."""
    plant = Plant("misplaced-record", height)
    with serving(SampleService(Chain(tip=900), wrong(plant, seed=seed), DIALECT)) as url:
        args = (f"{height - 2}:{height + 6}", "--commands", "ownership", "--jsonl", "-j", "1", "--dialect", DIALECT)
        ran = program("verify", *args, url=url)
    assert (ran.code, ran.out) == (0, b"")


@pytest.mark.parametrize(
    ("options", "lists"),
    some(
        [((), 64), (("--sample", "5"), 5), (("--full",), 90), (("--commands", "transactions"), 90)],
        ((), 64),
        (("--commands", "transactions"), 90),
        several=True,
    ),
)
def test_lists_of_transactions_are_sampled(options: tuple[str, ...], lists: int, program: Program) -> None:
    """Each is a call of its own, and the full block says the same: some at random, unless all are wanted."""
    service = Moving(330)
    with serving(service) as url:
        ran = program("verify", "0:90", *options, url=url)
    assert ran.code == 0, ran.err
    assert sum("ransactions" in call for call in service.calls) == lists
    assert (f"the transactions of all but {lists} random heights (--full)" in ran.err) == (lists < 90)


def test_a_failure_says_where_to_resume(program: Program) -> None:
    """Where the service goes away, the findings so far are printed, and the message has the range that is left."""
    service = Moving(330)
    service.hook = lambda _: service.change(service.chain, Faults("fail-rate:1")) if len(service.calls) > 30 else None
    with serving(service) as url:
        ran = program("verify", "--start", "0", "--end", "300", "--retries", "0", "-j", "1", url=url)
    assert ran.code in (3, 4)
    assert " findings so far; resume with --start " in ran.err
    assert ran.err.rstrip().endswith("--end 300")


def test_an_export_is_not_its_own_witness(program: Program) -> None:
    """Also by a link."""
    assert program("export", "full-blocks", "0:5", "--to", "lake", "-q", url="demo:").code == 0
    (program.home / "link").symlink_to("lake")
    for other in ("link",):
        said = one_line(program("verify", "2:3", "--witness", other, url="lake"), 2)
        assert "agrees with itself" in said
