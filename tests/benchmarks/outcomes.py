"""How runs end against every kind of server: in the truth, an error, rows that rest on belief, or silently wrong rows.

    python tests/benchmarks/outcomes.py [--seeds FIRST:END] [--kinds NAME ...] [--seconds N] [--processes N]

The property test of tests/planning/test_completeness.py, counted by kind of server: each kind with each of the seeds.
No run may end in silently wrong rows on a server that keeps the assumptions of docs/completeness.md; those that do are
printed as they occur, with what repeats them, and so are runs that do not end. Calls are set against the fewest, rows /
page size, over the runs that ended in the truth. After --seconds no seed is begun any more.
"""

import argparse
import sys
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from math import ceil
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from harness.attempts import attempt
from harness.model import KINDS, NARROW
from harness.wrong import WRONG

ROWS = 4000  # of a chain, as in the property test
ALL = (*(KINDS | NARROW | WRONG), "two at once")
HEADINGS = (
    "kind of server", "runs", "truth", "exit 3", "exit 4", "exit 6", "belief", "silent", "endless",
    "calls", "fewest", "ratio",
)  # fmt: skip


def count(seed: int, kinds: Sequence[str] = ALL) -> dict[str, Counter[str]]:
    """Return how the runs of each kind with that seed ended; print those that were silently wrong."""
    counts = {}
    for kind in kinds:
        counted = counts[kind] = Counter({"runs": 1})
        try:
            found, outcome = attempt(seed, kind, rows=ROWS, partitions=seed % 4 == 0)
        except AssertionError:  # so many requests that `drive` gave up
            found, outcome = "endless", None
        except Exception as error:
            found, outcome = repr(error), None
        if found == "truth" and outcome is not None:
            counted.update(truth=1, calls=outcome.calls, fewest=max(1, ceil(len(outcome.rows) / outcome.page_size)))
        elif found == "error" and outcome is not None and outcome.error is not None:
            counted[f"exit {outcome.error.exit_code:d}"] += 1
        elif found == "belief":
            counted["belief"] += 1
        else:
            counted["endless" if found == "endless" else "silent"] += 1
            sys.stderr.write(f"attempt({seed}, {kind!r}, rows={ROWS}, partitions={seed % 4 == 0}): {found}\n")
    return counts


def main() -> int:
    """Run and print; return 0 if no run was silently wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="0:40", metavar="FIRST:END")
    parser.add_argument("--kinds", nargs="+", choices=ALL, default=ALL, metavar="NAME")
    parser.add_argument("--seconds", type=float, default=float("inf"), metavar="N")
    parser.add_argument("--processes", type=int, default=1, metavar="N")
    asked = parser.parse_args()
    kinds, began = asked.kinds, time.monotonic()
    counts: dict[str, Counter[str]] = {kind: Counter() for kind in kinds}
    first, end = map(int, asked.seeds.split(":"))
    begun = first
    with ProcessPoolExecutor(asked.processes) as pool:
        while begun < end and time.monotonic() - began < asked.seconds:
            seeds = range(begun, min(end, begun + 4 * asked.processes))
            for found in pool.map(partial(count, kinds=kinds), seeds):
                for kind, counted in found.items():
                    counts[kind] += counted
            begun = seeds.stop
    width = max(map(len, kinds))
    sys.stdout.write(HEADINGS[0].ljust(width) + "".join(f"{name:>8}" for name in HEADINGS[1:]) + "\n")
    counts["all"] = sum(counts.values(), Counter())
    for kind, counted in counts.items():
        numbers = "".join(f"{counted[name]:8}" for name in HEADINGS[1:-1])
        sys.stdout.write(f"{kind:{width}}{numbers}{counted['calls'] / max(1, counted['fewest']):8.2f}\n")
    sys.stdout.write(f"seeds {first} to {begun - 1} of {len(kinds)} kinds\n")
    return 1 if counts["all"]["silent"] else 0


if __name__ == "__main__":
    sys.exit(main())
