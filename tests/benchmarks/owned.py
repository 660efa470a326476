"""How fast `chainq owned` compares rows, against a bare loop over the SDK: interleaved runs of whole processes.

    python tests/benchmarks/owned.py [--end HEIGHT] [--runs N]

The rows come from `chainq serve`, the loop's from a file. Rates are in rows of a second of processor time, which says
more than the clock where others use the machine too; what two processes gain shows by the clock alone, on idle cores.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from measure import interleaved, run, spread

from chainq.demo.planted import VIEW_KEY
from harness.truth import Truth

OTHER_KEY = "AViewKey1e2WyreaH5H4RBcioLL2GnxvHk5Ud46EtwycnhTdXLmXp"

BARE = """
import sys, orjson
from aleo import mainnet as sdk
view_key = sdk.ViewKey.from_string(sys.argv[2])
scalar, address_x = view_key.to_scalar(), view_key.address.to_group().to_x_coordinate()
poseidon, domain = sdk.Poseidon8.setup("AleoPoseidon8"), sdk.Field.domain_separator("AleoSymmetricEncryption0")
def field(text):
    return sdk.Field.from_bytes_le(int(text).to_bytes(32, "little"))
for row in orjson.loads(open(sys.argv[1], "rb").read()):
    if row["nonce_x"]:
        x = sdk.Group.from_field(field(row["nonce_x"])).scalar_multiply(scalar).to_x_coordinate()
        owned = address_x + poseidon.hash([domain, x]) == field(row["owner_x"])
    else:
        owned = field(row["owner_x"]) == address_x
    if owned:
        print(row["transition_id"])
"""

THREADS = """
import sys, threading
from aleo import mainnet as sdk
x, scalar = sdk.Group.generator().to_x_coordinate(), sdk.Scalar.random()
def work(count):
    for _ in range(count):
        sdk.Group.from_field(x).scalar_multiply(scalar)
threads = [threading.Thread(target=work, args=(8000 // int(sys.argv[1]),)) for _ in range(int(sys.argv[1]))]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
"""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--end", type=int, default=4_000, help="heights from 800 to this one are read (4000)")
    parser.add_argument("--runs", type=int, default=5, help="interleaved runs (5)")
    asked = parser.parse_args()
    rows = Truth().rows("ownership", 800, asked.end)
    chainq = str(Path(sys.executable).with_name("chainq"))
    with (
        tempfile.TemporaryDirectory(prefix="chainq-bench-") as name,
        subprocess.Popen([chainq, "serve", "--port", "0"], stdout=subprocess.PIPE) as served,
    ):
        assert served.stdout is not None
        url, folder = served.stdout.readline().decode().strip(), Path(name)
        (folder / "rows").write_bytes(b"[" + b",".join(rows) + b"]")
        for keys, file in ((VIEW_KEY, "one"), (f"{VIEW_KEY}\n{OTHER_KEY}", "two")):
            (folder / file).write_text(keys)
            (folder / file).chmod(0o600)

        def owned(keys: str, workers: int) -> list[str]:
            heights = ["--start", "800", "--end", str(asked.end), "--columns", "transition_id"]
            return [chainq, "owned", *heights, "--view-key-file", str(folder / keys), "-w", str(workers), "--url", url]

        script = [sys.executable, "-c"]
        jobs = {
            "bare": [*script, BARE, str(folder / "rows"), VIEW_KEY],
            "one key": owned("one", 1),
            "two processes": owned("one", 2),
            "two keys": owned("two", 1),
            "one thread": [*script, THREADS, "1"],
            "two threads": [*script, THREADS, "2"],
        }
        took = interleaved([partial(run, [job]) for job in jobs.values()], asked.runs)
        taken = dict(zip(jobs, took, strict=True))
        served.terminate()
    bare, one, two = taken["bare"], taken["one key"], taken["two processes"]
    rate = len(rows) / statistics.median(took.cpu for took in bare)
    second = [keys.cpu - key.cpu for key, keys in zip(one, taken["two keys"], strict=True)]
    sys.stderr.write(f"{os.cpu_count()} cores, {asked.runs} interleaved runs, load {os.getloadavg()[0]:.1f}\n")
    say("| `chainq owned` | compared with | median | least to most | target |\n|---|---|---|---|---|")
    row(
        f"`owned -w 1`, {len(rows):,} rows, rate in processor time",
        f"the bare loop, {rate:,.0f} rows a second",
        (bare.cpu / ours.cpu for bare, ours in zip(bare, one, strict=True)),
        "at least 0.9",
    )
    row(
        "a second key, its processor time",
        "the first key",
        (extra / key.cpu for extra, key in zip(second, one, strict=True)),
        "at most 0.85",
    )
    row(
        "`owned -w 2`, processor time of all processes",
        "`-w 1`",
        (both.cpu / alone.cpu for both, alone in zip(two, one, strict=True)),
    )
    row(
        "the same, rate by the clock",
        "`-w 1`",
        (alone.wall / both.wall for both, alone in zip(two, one, strict=True)),
        "at least 1.8",
    )
    row(
        "(two threads of the SDK, rate by the clock)",
        "one thread",
        (alone.wall / both.wall for both, alone in zip(taken["two threads"], taken["one thread"], strict=True)),
    )


def row(ours: str, theirs: str, ratios: Iterable[float], target: str = "") -> None:
    """Print a row of the table."""
    median, least, most = spread(ratios)
    say(f"| {ours} | {theirs} | {median:.2f} | {least:.2f} to {most:.2f} | {target} |")


def say(line: str) -> None:
    """Print a line."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
