"""How many calls chainq makes, against the fewest: rows / 10,000, rounded up.

    python tests/benchmarks/calls.py [--rows N]

The planner itself is driven, in process and against a model of an honest server, so this takes no network and no clock.
"""

import argparse
import sys
from math import ceil
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parents[1]))

from harness.attempts import drive, verdict
from harness.model import Chain, Faults, Server

ROWS = 1_000_000
PAGE = 10_000  # rows: the documented page size
SPARSE = 0.05  # rows a height
TARGETS = {"even": 1.15, "sparse": 1.3, "bursty": 1.3, "dense height": 1.3}


def counts(kind: str, rows: int, rng: Random) -> list[int]:
    """The rows of each height of a chain."""
    if kind == "even":
        return [20] * (rows // 20)
    if kind == "sparse":
        return [int(rng.random() < SPARSE) for _ in range(int(rows / SPARSE))]
    if kind == "bursty":
        bursts = (50, 400, 1500)
        return [rng.choice(bursts) if rng.random() < 0.002 else int(rng.expovariate(1 / 3)) for _ in range(rows // 4)]
    made = [int(rng.expovariate(1 / 5)) for _ in range(rows // 5)]
    made[len(made) // 3] = 25_000
    return made


def chain(numbers: list[int]) -> Chain:
    """A chain with so many rows at each height."""
    rows, row_id = [], 0
    for height, number in enumerate(numbers):
        rows.append([b'{"id":%d,"height":%d}' % (row_id + place, height) for place in range(number)])
        row_id += number
    return Chain(Random(0), "records", 0.0, bursts=False, rows=rows)  # noqa: S311  # it makes no rows of its own


def main() -> int:
    """Count and print; give 0 where every target is met."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=ROWS)
    rows, met = parser.parse_args().rows, True
    for kind, target in TARGETS.items():
        made = chain(counts(kind, rows, Random(7)))  # noqa: S311  # a seed is to be repeated
        end = len(made.rows)
        for reverse in (False, True):
            server = Server(made, Faults(stable=True), Random(7))  # noqa: S311  # as above
            outcome = drive(server, 0, end, tip=made.tip, reverse=reverse)
            found = verdict(outcome, made.due(0, end))
            fewest = ceil(len(outcome.rows) / PAGE)
            ratio = outcome.calls / fewest
            met &= found == "truth" and ratio <= target
            sys.stdout.write(
                f"{kind:14}{'reverse' if reverse else '':9}{len(outcome.rows):>9,} rows {outcome.calls:4} calls"
                f" {ratio:6.2f} times the fewest, at most {target:g}; {found}\n"
            )
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
