"""One command that prints how fast chainq is, as ratios to what a user would take instead.

    python tests/benchmarks/run.py [--quick] [--rows N] [--runs N] [--only NAME]

Each row is a number of interleaved runs of whole processes against a server in C on a loopback port, which answers
from memory. The table of docs/performance.md goes to stdout: medians by the clock, and their spread. Notes go to
stderr, with the ratio in processor time of all processes, which says more where others use the machine too. Peers
that read slowly read fewer rows, and rates are compared.
"""

import argparse
import importlib.util
import os
import platform
import sys
import tempfile
from pathlib import Path

from measure import heading, say
from native import missing, server

from rows import ROWS, Bench, Row, Unmeasured


def main() -> int:
    """Measure, print, and give the exit code: 0 where every row that was measured is met, and none failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="3 runs, and a tenth of the rows: no verdicts")
    parser.add_argument("--rows", type=int, help="records that chainq reads in one run (2000000)")
    parser.add_argument("--runs", type=int, help="interleaved runs of each row (10)")
    parser.add_argument("--only", metavar="NAME", help="rows whose name holds this")
    asked = parser.parse_args()
    if lacking := missing():
        _note(f"nothing can be measured without {lacking}")
        return 2
    rows = asked.rows or (200_000 if asked.quick else 2_000_000)
    runs = asked.runs or (3 if asked.quick else 10)
    _note(f"{_machine()}; {runs} interleaved runs, {rows:,} records; load {_load()}")
    heading("chainq")
    with tempfile.TemporaryDirectory(prefix="chainq-bench-") as name, server(Path(name)) as native:
        bench = Bench(native, Path(name), rows, runs)
        missed = sum(not _measure(bench, row, asked.quick) for row in ROWS if (asked.only or "") in row.name)
    return 1 if missed else 0


def _measure(bench: Bench, row: Row, quick: bool) -> bool:
    """Measure and print a row; False where it missed its target, which no quick run can tell: start-up weighs more."""
    try:
        found = row.measure(bench)
    except (Unmeasured, FileNotFoundError) as reason:
        _note(f"{row.name}: not measured: {reason}")
        return True
    except RuntimeError as reason:
        _note(f"{row.name}: FAILED: {reason}")
        return False
    say(row.line(found, judged=not quick))
    cpu = "" if found.cpu is None else f"{found.cpu:.2f} in processor time; "
    _note(f"{row.name}: {cpu}{found.note}; load {_load()}")
    return quick or row.meets(found.clock.median)


def _note(line: str) -> None:
    sys.stderr.write(line + "\n")


def _machine() -> str:
    place = importlib.util.find_spec("chainq")
    return f"{os.cpu_count()} cores, Python {platform.python_version()}, {place.origin if place else 'no chainq'}"


def _load() -> str:
    return f"{os.getloadavg()[0]:.1f}"


if __name__ == "__main__":
    sys.exit(main())
