"""How many calls chainq makes, against the fewest: full responses, and the tip where it is needed.

    python tests/benchmarks/calls.py [--rows N] [--only chains|commands|follow|export]

`chains` drives the planner itself, in process and against a model of an honest server: no network and no clock. The
others run the installed program against the sample service on a loopback socket, and count there.
"""

import argparse
import subprocess
import sys
import tempfile
from math import ceil
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parents[1]))

from measure import CHAINQ, environment, say

from chainq.catalog.methods import BY_COMMAND
from chainq.demo.chain import DEFAULT_TIP
from chainq.heights.range import HeightRange
from chainq.tuning import WIDEST_BLOCKS
from harness.models.attempts import drive, verdict
from harness.models.model import Chain, Faults, Server
from harness.running.sample import with_dense
from harness.running.truth import Truth
from harness.servers.services import Moving, serving

ROWS = 1_000_000
PAGE = 10_000  # rows: the documented page size
SPARSE = 0.05  # rows a height
TARGETS = {"even": 1.15, "sparse": 1.3, "bursty": 1.3, "dense height": 1.3}
DENSE = (7_777, 25_000)  # a height, and its records
TRANSACTION = "at1tkjagejw78alyv7pph55h584fs8lsgv6dcslps3rl2ec2t2jl8fq695ac3"
LOOKUPS = {  # commands, and the fewest calls for each where that is one number
    "block 5": 1,
    "block 5 6 7 8": 4,
    f"transaction {TRANSACTION}": 1,
    "transactions 5": 1,
    "latest": 1,
    "show 12345": None,
    f"show {TRANSACTION}": 1,
}
RANGES = (  # commands, and whether the server has a dense height
    ("blocks --last 10", False),
    ("records --last 10", False),
    ("records --limit 20 --reverse", False),
    ("ownership --last 10", False),
    ("records --last 1000", False),
    ("blocks 0:20000", False),
    ("full-blocks 0:2000", False),
    ("records 0:20000", False),
    ("records 0:20000", True),
    ("ownership 0:20000", False),
    ("ownership 0:20000", True),
    ("transitions 0:20000", False),
)


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
        row = b'{"id":%d,"height":%d,"transition_id":"t","output_index":%d}'
        rows.append([row % (row_id + place, height, row_id + place) for place in range(number)])
        row_id += number
    return Chain(Random(0), "records", 0.0, bursts=False, rows=rows)  # noqa: S311  # it makes no rows of its own


def chains(rows: int) -> bool:
    """Print the calls for whole chains of each kind; whether all targets are met."""
    met = True
    say("| chain | rows | calls | times the fewest | in reverse | target |\n|---|---|---|---|---|---|")
    for kind, target in TARGETS.items():
        made = chain(counts(kind, rows, Random(7)))  # noqa: S311  # a seed is to be repeated
        end = len(made.rows)
        ratios, calls, length = [], [], 0
        for reverse in (False, True):
            server = Server(made, Faults(stable=True), Random(7))  # noqa: S311  # as above
            outcome = drive(server, 0, end, tip=made.tip, reverse=reverse)
            length = len(outcome.rows)
            calls.append(outcome.calls)
            ratios.append(outcome.calls / ceil(length / PAGE))
            met &= verdict(outcome, made, HeightRange(0, end)) == "truth" and ratios[-1] <= target
        say(f"| {kind} | {length:,} | {calls[0]} | {ratios[0]:.2f} | {ratios[1]:.2f} | at most {target:g} |")
    return met


def fewest(line: str, rows: int) -> int:
    """Return the fewest calls for a range: pages of the documented size, or as many blocks as a call allows, and the
    tip."""
    method = BY_COMMAND[line.split()[0]]
    return ceil(rows / (method.page_size or method.max_heights or WIDEST_BLOCKS)) + ("--" in line)


def printed(service: Moving, line: str, folder: Path) -> int:
    """Run a command against a service; the lines that it prints. Raises CalledProcessError if it fails."""
    with serving(service) as url:
        command = [CHAINQ, *line.split(), "--url", url, "--dialect", "chain"]
        env = {**environment(), "HOME": str(folder)}
        done = subprocess.run(command, stdout=subprocess.PIPE, env=env, check=True)
    return done.stdout.count(b"\n")


def commands(folder: Path) -> None:
    """Print the calls of whole commands against a server whose dialect is known."""
    say("| command | rows | calls | fewest |\n|---|---|---|---|")
    for line, least in LOOKUPS.items():
        service = Moving(DEFAULT_TIP)
        rows = printed(service, line, folder)
        say(f"| `{line.replace(TRANSACTION, 'at1…')}` | {rows} | {len(service.calls)} | {least or ''} |")
    for line, dense in RANGES:
        service = Moving(DEFAULT_TIP, with_dense(*DENSE) if dense else None)
        rows = printed(service, line, folder)
        note = f", with {DENSE[1]} records at height {DENSE[0]}" if dense else ""
        say(f"| `{line}`{note} | {rows:,} | {len(service.calls)} | {fewest(line, rows)} |")


def follow(folder: Path) -> None:
    """Print the calls of polls of --follow: each begins with one for the tip."""
    say("| round | calls |\n|---|---|")
    service, start = Moving(DEFAULT_TIP), DEFAULT_TIP - 9

    def grow(method: str) -> None:
        service.tip += method == "latest/block" and service.calls.count(method) == 3

    service.hook = grow
    rows = len(Truth(DEFAULT_TIP + 1).rows("records", start, DEFAULT_TIP + 2))
    printed(service, f"records --start {start} --follow --lag 0 --interval 0.2 --limit {rows}", folder)
    polls = " ".join(service.calls).split("latest/block")[1:]
    first, quiet, fresh = (1 + len(poll.split()) for poll in polls)
    say(f"| first: 10 blocks | {first} |\n| without a new block | {quiet} |\n| with a new block | {fresh} |")


def export(folder: Path) -> None:
    """Print the calls of an export and of its reruns."""
    say("| `export records` | calls |\n|---|---|")
    for name, heights in (
        ("first run: 140,676 rows in 2 partitions", "0:20000"),
        ("rerun", "0:20000"),
        ("rerun with 2 partitions more", "0:40000"),
    ):
        service = Moving(DEFAULT_TIP)
        printed(service, f"export records {heights} --to {folder / 'export'} -w 1 -q", folder)
        say(f"| {name} | {len(service.calls)} |")


def main() -> int:
    """Count and print; give 0 where every target is met."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=ROWS, help="rows of the chains (%(default)s)")
    parser.add_argument("--only", choices=["chains", *TABLES])
    asked = parser.parse_args()
    met = asked.only not in (None, "chains") or chains(asked.rows)
    with tempfile.TemporaryDirectory(prefix="chainq-calls-") as name:
        for part, table in TABLES.items():
            if asked.only in (None, part):
                say("")
                table(Path(name))
    return 0 if met else 1


TABLES = {"commands": commands, "follow": follow, "export": export}

if __name__ == "__main__":
    sys.exit(main())
