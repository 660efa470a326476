"""How fast block hashes are recomputed, against a loop that only calls the SDK's primitives on the same inputs.

    python tests/benchmarks/hashes.py [--blocks N] [--runs N]

The loop is given what the hash functions of the SDK were given, ready made. Both run in turn in this process, and are
compared in processor time; what two processes gain shows by the clock alone, on idle cores. Blocks are those of a
sealed sample chain, each of which is checked once in a run, with nothing remembered from the run before.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from measure import heading, line, say, spread

from chainq.demo import bodies
from chainq.demo.sealed import SealedChain
from chainq.hashes import check, trees
from chainq.hashes.processes import BlockChecks

Calls = list[tuple[Callable[[Any], Any], Any]]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--blocks", type=int, default=300)
    parser.add_argument("--runs", type=int, default=5)
    asked = parser.parse_args()
    chain = SealedChain(0, asked.blocks)
    rows = {
        "blocks": [json.dumps(chain.block(height)).encode() for height in range(asked.blocks)],
        "full-blocks": [json.dumps(bodies.block(chain, height)).encode() for height in range(asked.blocks)],
    }
    heading("`--hashes`")
    for command, found in rows.items():
        full = command == "full-blocks"
        calls = recorded(found, full=full)
        took = [(bare(calls), checked(found, full=full)) for _ in range(asked.runs)]
        rate = len(found) / statistics.median(ours for _, ours in took)
        name = f"`{command} --hashes -w 1`, {rate:,.0f} blocks a second of processor time"
        share = spread(theirs / ours for theirs, ours in took)
        say(line(name, f"{len(calls):,} hashes alone", share, "at least 0.8"))
    gains = spread(clock(rows["full-blocks"], 1) / clock(rows["full-blocks"], 2) for _ in range(asked.runs))
    say(line("`full-blocks --hashes -w 2`, by the clock", "`-w 1`", gains))


def recorded(rows: Sequence[bytes], *, full: bool) -> Calls:
    """Return the calls of the hash functions that checking rows makes."""
    calls: Calls = []

    class Recorder:
        def __init__(self, inner: Any) -> None:
            self._hash = inner.hash

        def hash(self, given: Any) -> Any:
            calls.append((self._hash, list(given)))
            return self._hash(given)

    functions = trees.hashes()
    before = dict(vars(functions))
    try:
        for name in ("_bhp512", "_bhp1024", "_poseidon8"):
            setattr(functions, name, Recorder(before[name]))
        checked(rows, full=full)
    finally:
        vars(functions).update(before)
    return calls


def bare(calls: Calls) -> float:
    """Return the seconds of processor time that the primitives take."""
    begun = time.process_time()
    for function, given in calls:
        function(given)
    return time.process_time() - begun


def checked(rows: Sequence[bytes], *, full: bool) -> float:
    """Return the seconds of processor time that checking rows takes, none of which may be wrong."""
    with forgotten():
        begun = time.process_time()
        for row in rows:
            if check.check_row(row, full=full).wrong:
                raise SystemExit("a block of the sealed chain does not hold")
        return time.process_time() - begun


def clock(rows: Sequence[bytes], workers: int) -> float:
    """Return the seconds by the clock that checking full blocks takes in so many processes, once they have started."""
    with BlockChecks(workers) as checks, forgotten():
        list(checks.check(rows[: 8 * workers + 8], full=True))
        begun = time.perf_counter()
        list(checks.check(rows, full=True))
        return time.perf_counter() - begun


@contextmanager
def forgotten() -> Iterator[None]:
    """Forget what was remembered of rows."""
    trees.element.cache_clear()
    trees.element_bits.cache_clear()
    check._block_hash.cache_clear()
    yield


if __name__ == "__main__":
    main()
