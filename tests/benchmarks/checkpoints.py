"""What `--checkpoint` costs a first run: its time and its calls, beside a plain run of the same rows.

    python tests/benchmarks/checkpoints.py [--pairs N] [--latency MILLISECONDS ...]

Runs of whole processes, plain and with a checkpoint in turns, against the sample service on a loopback socket. Its
responses are kept, so that a repeated one takes the latency and nothing else. Round trips are calls that waited for
each other; they say more than time where others use the machine too.
"""

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parents[1]))

from watched import Watched

from chainq.demo.exchange import Reply
from chainq.demo.service import Service
from harness.services import serving

HEIGHTS = "0:20000"
COMMANDS = ("records", "ownership", "transitions", "blocks")


class Kept(Watched):
    """The sample service, which makes each response once. `latency`: seconds before each response."""

    def __init__(self) -> None:
        super().__init__(0.0, None)
        self.latency = 0.0
        self._kept: dict[str, Reply] = {}

    def respond(self, body: bytes) -> Reply:
        """Return the response after the latency, and count it."""
        call = json.loads(body)
        key = json.dumps([call["method"], call.get("params")])
        with self._changed:
            self.calls += 1
            depth = self.trips + 1
        time.sleep(self.latency)
        if key not in self._kept:
            self._kept[key] = Service.respond(self, json.dumps({**call, "id": 0}).encode())
        with self._changed:
            self.trips = max(self.trips, depth)
        kept = self._kept[key]
        return kept._replace(body=kept.body.replace(b'"id":0', b'"id":' + json.dumps(call["id"]).encode(), 1))


def timed(service: Kept, line: str) -> tuple[float, int, int]:
    """Return the seconds, the calls and the round trips of a run in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        service.trips = 0
        before, start = service.calls, time.perf_counter()
        service.printed(line.replace(" -o ", f" -o {folder}/").replace("-kept", f"{folder}/kept"), Path(folder))
        return time.perf_counter() - start, service.calls - before, service.trips


def show(line: str) -> None:
    """Print a line at once."""
    print(line, flush=True)  # noqa: T201  # what it is for


def main() -> None:
    """Print a line of the table for each latency and command."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--latency", type=int, nargs="+", default=[0, 50, 300])
    given = parser.parse_args()
    show("| | latency | plain | with `--checkpoint` | median ratio | least to most | more calls |")
    show("|---|---|---|---|---|---|---|")
    service = Kept()
    with serving(service) as service.url:
        for command in COMMANDS:
            plain = f"{command} {HEIGHTS} -o rows.jsonl -q"
            lines = (plain, f"{plain} --checkpoint -kept")
            for line in lines:  # so that the responses are there
                timed(service, line)
            for latency in given.latency:
                service.latency = latency / 1000
                pairs = [[timed(service, line) for line in lines] for _ in range(given.pairs)]
                service.latency = 0
                ratios = [kept[0] / bare[0] for bare, kept in pairs]
                seconds = [median(run[place][0] for run in pairs) for place in (0, 1)]
                calls = [median(run[place][1] for run in pairs) for place in (0, 1)]
                trips = [median(run[place][2] for run in pairs) for place in (0, 1)]
                cells = [f"{seconds[i]:.2f} s, {calls[i]:.0f} calls, {trips[i]:.0f} trips" for i in (0, 1)]
                show(
                    f"| `{command} {HEIGHTS}` | {latency} ms | {cells[0]} | {cells[1]} | {median(ratios):.2f} |"
                    f" {min(ratios):.2f} to {max(ratios):.2f} | {calls[1] - calls[0]:+.0f} |"
                )


if __name__ == "__main__":
    main()
