"""What chainq and other programs print, run against the same `chainq serve`: rows lost, doubled, changed; calls; time.

    python tests/benchmarks/scoreboard.py [--only NAME] [--server NAME] [--limit SECONDS]

The other programs stand in `scoreboard/`, each as its documentation says; corrections are welcome. Their packages are
installed into environments of their own, in the user's cache folder. Each run gets a new server with the same seed, so
that the same calls fail; what is due comes from a server without faults.
"""

import argparse
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
import venv
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from measure import CHAINQ, environment, say

FOLDER = Path(__file__).with_name("scoreboard")
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "chainq-scoreboard"
LIMIT = 300  # seconds for a run
STEP = 100  # heights of a call for the rows that are due: its response is never full


class Missing(Exception):  # noqa: N818  # no error: the line says so
    """Why a program cannot be run here."""


class Kind(NamedTuple):
    """A kind of rows: the method that returns them, and a field by which they differ."""

    method: str
    key: str


class Server(NamedTuple):
    """A server: what it is called in the table, the options of `chainq serve`, the rows that are read from it."""

    title: str
    options: str
    kind: str
    start: int
    end: int


class Tool(NamedTuple):
    """A program. `folder`: its folder in `scoreboard/`, empty for chainq. `path`: where its messages hold a row."""

    folder: str
    path: tuple[str, ...] = ()


Row = dict[str, Any]
KINDS = {"records": Kind("records/all", "id"), "full-blocks": Kind("getChainBlocks", "block_hash")}
# 20 calls in 6 seconds are the 200 a minute of deployed servers, in windows that do not take minutes to wait for.
BAD_DAY = "--fault row-cap:1000 --fault fail-rate:0.1 --fault rate-limit:20 --fault rate-window:6"
SERVERS = {
    "honest": Server("No faults, rows in one order", "--no-shuffle", "records", 0, 2_000),
    "deployed": Server("As deployed: rows of a height in changing order", "", "records", 0, 2_000),
    "bad-day": Server("The same on a bad day, other heights", BAD_DAY, "records", 2_000, 7_000),
    "dense": Server("The same bad day, where one height holds 25,000 records", BAD_DAY, "records", 0, 2_000),
    "digits": Server("No faults, numbers of more than 64 bits", "--no-shuffle", "full-blocks", 4_200, 4_400),
}
TOOLS = (
    Tool(""),
    Tool("curl"),
    Tool("httpx"),
    Tool("dlt"),
    Tool("airbyte", ("record", "data")),
)


def main() -> int:
    """Run and print; give 0 where chainq printed exactly the rows that are due in every run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="NAME", help="the program of this name: chainq, or a folder of scoreboard/")
    parser.add_argument("--server", choices=SERVERS, help="this server (all)")
    parser.add_argument("--limit", type=int, default=LIMIT, help="seconds for a run (%(default)s)")
    asked = parser.parse_args()
    tools = [tool for tool in TOOLS if asked.only in (None, tool.folder or "chainq")]
    whole = True
    for name, server in SERVERS.items():
        if asked.server in (None, name):
            say(f"\n{server.title} (`{' '.join(['chainq serve', *server.options.split()])}`):\n")
            say("| | rows | lost | doubled | changed | calls | seconds | exit code |")
            say("|---|---|---|---|---|---|---|---|")
            for tool in tools:
                try:
                    whole &= score(tool, server, asked.limit) or bool(tool.folder)
                except Missing as reason:
                    say(f"| {tool.folder} | not run: {reason} | | | | | | |")
    return 0 if whole else 1


def score(tool: Tool, server: Server, limit: int) -> bool:
    """Run a program against a server of its own and print its line; whether all rows came and it exited with 0."""
    due, key = rows_due(server.kind, server.start, server.end), KINDS[server.kind].key
    program, heights = [*command(tool), server.kind], (str(server.start), str(server.end))
    with tempfile.TemporaryDirectory(prefix="chainq-scoreboard-") as name, serving(server.options) as (url, log):
        output = Path(name, "rows")
        program += [url, *heights] if tool.folder else [":".join(heights), "--url", url]
        code, seconds = timed(program, output, Path(name), limit)
        with output.open("rb") as lines:
            whole = (line for line in lines if line.endswith(b"\n"))  # not what a killed program wrote of a row
            found = compare(due, printed_rows(whole, tool.path), key)
        calls = log.read_bytes().count(b"\n")
    ended = "time limit" if code is None else str(code)
    numbers = " | ".join(f"{number:,}" for number in (*found, calls))
    say(f"| {label(tool)} | {numbers} | {seconds:.1f} | {ended} |")
    return code == 0 and found[1:] == (0, 0, 0)


def timed(program: Sequence[str], output: Path, home: Path, limit: int) -> tuple[int | None, float]:
    """Run a program to its end; its exit code, None where it took longer than `limit`, and the seconds it took."""
    began = time.monotonic()
    settings = {**environment(), "HOME": str(home), "TMPDIR": str(home)}
    with output.open("wb") as stdout, output.with_name("messages").open("wb") as stderr:
        process = subprocess.Popen(program, stdout=stdout, stderr=stderr, env=settings, start_new_session=True)
        try:
            code: int | None = process.wait(limit)
        except subprocess.TimeoutExpired:
            code = None
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    return code, time.monotonic() - began


@contextmanager
def serving(options: str) -> Iterator[tuple[str, Path]]:
    """Start `chainq serve`; its URL, and the file with a line for each call."""
    with tempfile.TemporaryDirectory(prefix="chainq-scoreboard-") as name:
        log = Path(name, "calls")
        with log.open("wb") as calls:
            line = [CHAINQ, "serve", "--port", "0", "-v", *options.split()]
            process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=calls)
        try:
            assert process.stdout is not None
            yield process.stdout.readline().decode().strip(), log
        finally:
            process.terminate()
            process.communicate()


@cache
def rows_due(kind: str, start: int, end: int) -> list[Row]:
    """Return the rows of a server without faults, by calls that cannot be cut."""
    rows: list[Row] = []
    with serving("--no-shuffle") as (url, _):
        for first in range(start, end, STEP):
            params = f'{{"start":{first},"end":{min(end, first + STEP)},"recordsPerRequest":1000000}}'
            body = f'{{"jsonrpc":"2.0","id":1,"method":"{KINDS[kind].method}","params":{params}}}'
            with urllib.request.urlopen(url, body.encode(), timeout=60) as response:  # noqa: S310  # of this machine
                rows += exact(response.read())["result"]
    return rows


def command(tool: Tool) -> list[str]:
    """Return the beginning of a program's command line. Raises Missing."""
    if not tool.folder:
        return [CHAINQ]
    if tool.folder == "curl":
        for name in ("curl", "jq"):
            if not shutil.which(name):
                raise Missing(f"{name} is not installed")
        return ["sh", str(FOLDER / "curl" / "read.sh")]
    return [str(python(tool)), str(FOLDER / tool.folder / "read.py")]


def python(tool: Tool) -> Path:
    """Return the interpreter of a tool's own environment, made at the first use. Raises Missing."""
    wanted = FOLDER / tool.folder / "requirements.txt"
    place = CACHE / f"{tool.folder}-{hashlib.sha256(wanted.read_bytes()).hexdigest()[:8]}"
    if not (place / "complete").exists():
        sys.stderr.write(f"installing {label(tool)} into {place}\n")
        venv.create(place, with_pip=True, clear=True)
        install = [str(place / "bin" / "pip"), "install", "--quiet", "--requirement", str(wanted)]
        done = subprocess.run(install, stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            raise Missing(f"pip: {done.stderr.strip().splitlines()[-1]}")
        (place / "complete").touch()
    return place / "bin" / "python"


def label(tool: Tool) -> str:
    """Return the name of a program, with the versions that decide."""
    if not tool.folder:
        return "chainq"
    if tool.folder == "curl":
        curl, jq = (subprocess.check_output([name, "--version"], text=True) for name in ("curl", "jq"))
        return f"{' '.join(curl.split()[:2])}, {jq.strip().replace('-', ' ')}"
    pinned = (FOLDER / tool.folder / "requirements.txt").read_text().split()
    return ", ".join(package.replace("==", " ") for package in pinned)


class Difference(NamedTuple):
    """What is wrong with printed rows. `lost`: rows that are due and never came. `doubled`: copies beyond the first.
    `changed`: rows with another value or another digit anywhere, or that no row due has the key of."""

    rows: int
    lost: int
    doubled: int
    changed: int


def exact(line: str | bytes) -> Any:
    """Return parsed JSON with every digit of its numbers: 1.0 equals 1, and 2^64 differs from 2^64 + 1."""
    return json.loads(line, parse_float=Decimal)


def printed_rows(lines: Iterable[bytes], path: Sequence[str] = ()) -> list[Row]:
    """Return the rows of printed lines: each line itself, or what it holds at `path` if its type is RECORD (Airbyte
    prints other messages beside rows). Raises ValueError for a line that is not JSON."""
    rows = []
    for line in lines:
        row = exact(line)
        if path:
            if row["type"] != "RECORD":
                continue
            for name in path:
                row = row[name]
        rows.append(row)
    return rows


def compare(due: Iterable[Row], printed: Iterable[Row], key: str) -> Difference:
    """Return how printed rows differ from those due, in any order. `key`: a field by which rows differ."""
    right = {row[key]: row for row in due}
    seen: set[object] = set()
    rows = doubled = changed = 0
    for row in printed:
        rows += 1
        found = row.get(key)
        doubled += found in seen
        seen.add(found)
        changed += right.get(found) != row
    return Difference(rows, len(right.keys() - seen), doubled, changed)


if __name__ == "__main__":
    sys.exit(main())
