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
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from measure import CHAINQ, heading, interleaved, line, run, say, spread

from harness.running.sample import VIEW_KEY
from harness.running.truth import Truth

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


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--end", type=int, default=4_000, help="heights from 800 to this one are read (4000)")
    parser.add_argument("--runs", type=int, default=5, help="interleaved runs (5)")
    asked = parser.parse_args()
    rows = Truth().rows("ownership", 800, asked.end)
    with (
        tempfile.TemporaryDirectory(prefix="chainq-bench-") as name,
        subprocess.Popen([CHAINQ, "serve", "--port", "0"], stdout=subprocess.PIPE) as served,
    ):
        assert served.stdout is not None
        url, folder = served.stdout.readline().decode().strip(), Path(name)
        (folder / "rows").write_bytes(b"[" + b",".join(rows) + b"]")
        for keys, file in ((VIEW_KEY, "one"), (f"{VIEW_KEY}\n{OTHER_KEY}", "two")):
            (folder / file).write_text(keys)
            (folder / file).chmod(0o600)

        def owned(keys: str, workers: int) -> list[str]:
            heights = ["--start", "800", "--end", str(asked.end), "--columns", "transition_id"]
            return [CHAINQ, "owned", *heights, "--view-key-file", str(folder / keys), "-w", str(workers), "--url", url]

        loop = [sys.executable, "-c", BARE, str(folder / "rows"), VIEW_KEY]
        jobs = [partial(run, [job]) for job in (loop, owned("one", 1), owned("two", 1), owned("one", 2))]
        taken = list(zip(*interleaved(jobs, asked.runs), strict=True))
        served.terminate()
    rate = len(rows) / statistics.median(bare.cpu for bare, *_ in taken)
    sys.stderr.write(f"{os.cpu_count()} cores, {asked.runs} interleaved runs, load {os.getloadavg()[0]:.1f}\n")
    heading("`chainq owned`")
    ours, theirs = (
        f"`owned -w 1`, {len(rows):,} rows, rate in processor time",
        f"the bare loop, {rate:,.0f} rows a second",
    )
    say(line(ours, theirs, spread(bare.cpu / one.cpu for bare, one, *_ in taken), "at least 0.9"))
    second = spread((two.cpu - one.cpu) / one.cpu for _, one, two, _ in taken)
    say(line("a second key, its processor time", "the first key", second, "at most 0.85"))
    both = spread(both.cpu / one.cpu for _, one, _, both in taken)
    say(line("`owned -w 2`, processor time of all processes", "`-w 1`", both))
    clock = spread(one.wall / both.wall for _, one, _, both in taken)
    say(line("the same, rate by the clock", "`-w 1`", clock, "at least 1.8"))


if __name__ == "__main__":
    main()
