"""How runs end against every kind of server: in the truth, in an error, or in rows lost without one.

    python tests/benchmarks/outcomes.py [--examples N] [--start SEED]

The property test of tests/planning/test_completeness.py, counted by kind of server. Nothing but `truth` and `error` may
occur. Calls are set against the fewest, rows / page size, over the runs that ended in the truth.
"""

import argparse
import sys
from collections import Counter
from math import ceil
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from harness.attempts import attempt
from harness.model import KINDS

HEADINGS = ("kind of server", "runs", "truth", "exit 3", "exit 4", "exit 6", "wrong", "calls", "fewest", "ratio")


def main() -> int:
    """Run and print; give 0 where no run lost or doubled rows without an error."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", type=int, default=2000)
    parser.add_argument("--start", type=int, default=0, metavar="SEED")
    asked = parser.parse_args()
    kinds = [*KINDS, "two at once"]
    counts: dict[str, Counter[str]] = {kind: Counter() for kind in kinds}
    for seed in range(asked.start, asked.start + asked.examples):
        kind = kinds[seed % len(kinds)]
        try:
            found, outcome = attempt(seed, kind)
        except Exception as error:
            found, outcome = repr(error), None
        counted = counts[kind]
        counted["runs"] += 1
        if found == "truth" and outcome is not None:
            counted.update(truth=1, calls=outcome.calls, fewest=max(1, ceil(len(outcome.rows) / outcome.page_size)))
        elif found == "error" and outcome is not None and outcome.error is not None:
            counted[f"exit {outcome.error.exit_code:d}"] += 1
        else:
            counted["wrong"] += 1
            sys.stderr.write(f"seed {seed}, {kind}: {found}\n")
    width = max(map(len, kinds))
    sys.stdout.write(HEADINGS[0].ljust(width) + "".join(f"{name:>8}" for name in HEADINGS[1:]) + "\n")
    counts["all"] = sum(counts.values(), Counter())
    for kind, counted in counts.items():
        numbers = "".join(f"{counted[name]:8}" for name in HEADINGS[1:-1])
        sys.stdout.write(f"{kind:{width}}{numbers}{counted['calls'] / max(1, counted['fewest']):8.2f}\n")
    return 1 if counts["all"]["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
