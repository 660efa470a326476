"""The rows of the table: what is measured, against what, and which ratio is wanted."""

import importlib.util
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import peers
from measure import Pipeline, Spread, Took, digest, environment, interleaved, ratio, run, spread
from native import FIRST, ROWS_A_HEIGHT, Call, Server, curl

JQ = ["jq", "-c", ".result[]"]
SLOW = 10  # times fewer rows for jq, which takes as much longer
RANGE = {"records": ROWS_A_HEIGHT, "blocks": 1, "full-blocks": 1}  # rows of a height


class Unmeasured(Exception):  # noqa: N818  # no error: the row stays empty
    """Why a row has no figures."""


class Found(NamedTuple):
    """Ratios by the clock and, where it says something, in processor time; and what is to be known about them."""

    clock: Spread
    cpu: float | None = None
    note: str = ""


class Row(NamedTuple):
    """One line of the table: what of chainq is measured, against what, in which words the ratio is said. `least` where
    it shall be at least the target, else it shall be at most that.

    Without a target it is there to judge the others by.
    """

    name: str
    ours: str
    theirs: str
    words: str
    target: float | None
    least: bool
    measure: "Callable[[Bench], Found]"

    def meets(self, found: float) -> bool:
        """Whether a ratio is as wanted."""
        if self.target is None:
            return True
        return found >= self.target if self.least else found <= self.target

    def line(self, found: Found, *, judged: bool) -> str:
        """Return the line of docs/performance.md; `judged`: with a word where the target is missed."""
        middle, low, high = found.clock
        digits = 1 if middle >= 2 else 2
        target = "" if self.target is None else f"at {'least' if self.least else 'most'} {self.target:g}"
        missed = ": **missed**" if judged and not self.meets(middle) else ""
        spread = "" if low == high else f"{low:.{digits}f} to {high:.{digits}f}"
        return f"| {self.ours} | {self.theirs} | {middle:.{digits}f} {self.words} | {spread} | {target}{missed} |"


def _end(command: str, rows: int) -> int:
    """The height before which a ranged method has so many rows."""
    return FIRST + max(1, rows // RANGE[command])


class Bench:
    """What the rows share: the server, a folder, how many records and runs."""

    def __init__(self, native: Server, folder: Path, rows: int, runs: int) -> None:
        self.native, self.folder, self.rows, self.runs = native, folder, rows, runs
        beside = Path(sys.executable).with_name("chainq")
        self._program = str(beside) if beside.exists() else shutil.which("chainq") or "chainq"

    def needs(self, programs: Sequence[str] = (), packages: Sequence[str] = ()) -> None:
        """Raise Unmeasured where one is not installed."""
        for name in programs:
            if not shutil.which(name):
                raise Unmeasured(f"the program {name} is not installed")
        for name in packages:
            if not importlib.util.find_spec(name):
                raise Unmeasured(f"the package {name} is not installed")

    def script(self, text: str, *arguments: str) -> list[str]:
        """The command that runs a peer's script."""
        return [sys.executable, "-c", text, *arguments]

    def chainq(self, *arguments: str) -> list[str]:
        """A command of chainq's."""
        return [self._program, *arguments]

    def reading(self, command: str, rows: int, *arguments: str) -> list[str]:
        """The command that reads so many rows of a ranged method."""
        heights = ["--start", str(FIRST), "--end", str(_end(command, rows))]
        return self.chainq(command, *heights, "--dialect", "chain", *arguments)

    def calls(self, command: str, rows: int) -> list[Call]:
        """The calls that chainq makes for so many rows."""
        return self.native.calls(self.reading(command, rows, "--jsonl"), _end(command, rows))

    def written(self, calls: list[Call]) -> str:
        """A file with the bodies of calls, one a line."""
        path = self.folder / "bodies"
        path.write_text("".join(call.body + "\n" for call in calls))
        return str(path)

    def same(self, ours: Pipeline, theirs: Pipeline) -> str:
        """Run both once and hold their output together; what was compared. Raises RuntimeError where they differ."""
        places = [self.folder / name for name in ("ours", "theirs")]
        for pipeline, place in zip((ours, theirs), places, strict=True):
            run(pipeline, place)
        found = [digest(place) for place in places]
        for place in places:
            place.unlink()
        if found[0] != found[1]:
            raise RuntimeError(f"the outputs differ: {found[0][0]} and {found[1][0]} lines")
        return f"{found[0][0]:,} lines alike"


def started(arguments: tuple[str, ...], peer: str, bench: Bench) -> Found:
    """The whole of a short run against a Python program's."""
    bench.needs(packages=["typer", "httpx", "orjson"])
    if arguments[0] == "block":
        url = bench.native.url()
        ours, theirs = bench.chainq(*arguments, "--url", url), bench.script(peer, url, arguments[1])
        note = bench.same([ours], [theirs])
    else:
        ours, theirs, note = bench.chainq(*arguments), bench.script(peer), ""
    for command in (ours, theirs):  # what is compiled once is compiled now
        run([command])
    # A tenth of a second is soon disturbed: more runs.
    took = interleaved([partial(run, [ours]), partial(run, [theirs])], 3 * bench.runs)
    middle = statistics.median(one.cpu for one in took[0])
    return Found(*ratio(*took), f"{middle * 1000:.0f} ms of processor time; {note}")


def faster(bench: Bench, ours: Pipeline, our_rows: int, theirs: Pipeline, their_rows: int) -> Found:
    """How many times as many rows a second."""
    took = interleaved([partial(run, ours), partial(run, theirs)], bench.runs)
    clock, cpu = ratio(*took)
    more = our_rows / their_rows
    seconds = statistics.median(one.wall for one in took[0])
    return Found(clock.over(more), more / cpu, f"{our_rows / seconds:,.0f} rows/s")


def against_jq(command: str, gzip: bool, bench: Bench) -> Found:
    """jsonl against curl and jq, one call after the other."""
    bench.needs(["curl", "jq"])
    rows = bench.rows // (500 if command == "full-blocks" else 5 if gzip else 1)
    fewer = max(rows // SLOW, RANGE[command])
    url = bench.native.url(gzip=gzip)
    calls = bench.calls(command, fewer)
    theirs = [curl(calls, url, bench.folder / "curl", compressed=gzip), JQ]
    words = ("--jsonl", "--url", url, *(("--header", "Accept-Encoding: gzip") if gzip else ()))
    note = bench.same([bench.reading(command, fewer, *words)], theirs)
    ours = [bench.reading(command, rows, *words)]
    if gzip:
        run(ours)  # compressed once, kept by the server
    found = faster(bench, ours, rows, theirs, fewer)
    return found._replace(note=f"{found.note}; {note}")


def against_many(command: str, latency: int, bench: Bench) -> Found:
    """jsonl against curl's eight connections into nothing, with latency."""
    bench.needs(["curl"], ["httpx", "orjson"])
    rows = bench.rows // (2 if command == "blocks" else 1)
    calls, url = bench.calls(command, rows), bench.native.url(latency)
    check = bench.script(peers.JSONL, bench.native.url(), bench.written(calls))
    note = bench.same([bench.reading(command, rows, "--jsonl", "--url", url)], [check])
    theirs = [curl(calls, url, bench.folder / "curl", many=True)]
    found = faster(bench, [bench.reading(command, rows, "--jsonl", "--url", url)], rows, theirs, rows)
    return found._replace(cpu=None, note=f"{found.note}; {len(calls)} calls, {note}")


def against_threads(latency: int, bench: Bench) -> Found:
    """jsonl against eight threads over one `httpx.Client`."""
    bench.needs(packages=["httpx", "msgspec"])
    calls, url = bench.calls("records", bench.rows), bench.native.url(latency)
    ours = [bench.reading("records", bench.rows, "--jsonl", "--url", url)]
    theirs = [bench.script(peers.THREADS, url, bench.written(calls))]
    note = bench.same(ours, theirs)
    found = faster(bench, ours, bench.rows, theirs, bench.rows)
    return found._replace(note=f"{found.note}; {len(calls)} calls, {note}")


def csv(bench: Bench) -> Found:
    """Csv against a script."""
    bench.needs(packages=["httpx", "orjson"])
    rows = bench.rows // SLOW
    url = bench.native.url()
    theirs = [bench.script(peers.CSV, url, bench.written(bench.calls("records", rows)))]
    ours = [bench.reading("records", rows, "--csv", "--url", url)]
    note = bench.same(ours, theirs)
    found = faster(bench, ours, rows, theirs, rows)
    return found._replace(note=f"{found.note}; {note}")


def parquet(bench: Bench) -> Found:
    """Parquet against a script."""
    bench.needs(packages=["httpx", "orjson", "pyarrow"])
    rows = bench.rows // SLOW
    url = bench.native.url()
    mine, its = str(bench.folder / "mine.parquet"), str(bench.folder / "its.parquet")
    theirs = [bench.script(peers.PARQUET, url, bench.written(bench.calls("records", rows)), its)]
    ours = [bench.reading("records", rows, "--format", "parquet", "-o", mine, "--url", url)]
    run(ours)
    run(theirs)
    held = subprocess.run(bench.script(peers.SAME_PARQUET, mine, its), env=environment(), timeout=120, check=False)
    if held.returncode:
        raise RuntimeError("the files differ")
    found = faster(bench, ours, rows, theirs, rows)
    return found._replace(note=f"{found.note}; {rows:,} rows alike")


def export(workers: int, other: int, bench: Bench) -> Found:
    """Export with so many workers at 50 ms a call; against `other` workers, or one file by one process for 0."""
    bench.needs(packages=["pyarrow"])
    url, heights = bench.native.url(50), bench.rows // ROWS_A_HEIGHT
    words = f"records {FIRST}:{FIRST + heights} --partition {max(1, heights // 25)} --dialect chain -q --url '{url}'"
    folders = {count: bench.folder / f"export-{count}" for count in (workers, other)}

    def exporting(count: int) -> list[str]:
        line = " ".join([*bench.chainq("export"), words, f"--to {folders[count]} -w {count}"])
        return ["sh", "-c", f"rm -rf {folders[count]} && exec {line}"]

    one_file = bench.reading(
        "records", bench.rows, "--format", "parquet", "-o", str(bench.folder / "one.parquet"), "--url", url
    )
    theirs = exporting(other) if other else one_file
    run([theirs])
    one = run([exporting(workers)])
    used = f"{one.cpu:.0f} s of processor time, {one.memory:.0f} MB in the largest process"
    found = faster(bench, [exporting(workers)], bench.rows, [theirs], bench.rows)
    return found._replace(note=f"{found.note}; {_parquet_rows(folders[workers]):,} rows in 25 files; {used}")


def _parquet_rows(folder: Path) -> int:
    from pyarrow import parquet as pq

    return sum(int(pq.read_metadata(file).num_rows) for file in folder.glob("records/*/data.parquet"))


def processor_time(bench: Bench) -> Found:
    """The processor time of 10,000 records at 50 ms a call, start-up and all, as a share of 16 ms."""
    took = spread(_records(bench, bench.rows).cpu * 1000 / (bench.rows / 10_000) for _ in range(bench.runs))
    return Found(Spread(*(one / 16 for one in took)), note=f"{took.median:.1f} ms")


def peak(bench: Bench) -> Found:
    """The most memory of a run, as a share of 250 MB."""
    took = _most(bench, bench.rows // 4)
    return Found(Spread(*(one / 250 for one in took)), note=f"{took.median:.0f} MB with {bench.rows // 4:,} rows")


def growth(bench: Bench) -> Found:
    """The most memory with ten times the rows."""
    few, many = (_most(bench, rows).median for rows in (bench.rows // 4, bench.rows * 5 // 2))
    return Found(spread([many / few]), note=f"{few:.0f} MB, {many:.0f} MB with {bench.rows * 5 // 2:,} rows")


def _most(bench: Bench, rows: int) -> Spread:
    return spread(_records(bench, rows).memory for _ in range(3))


def _records(bench: Bench, rows: int) -> Took:
    return run([bench.reading("records", rows, "--jsonl", "--url", bench.native.url(50))])


IMPORT_TYPER = "import typer"
BLOCK = ("block", "1012345", "--jsonl")
CURL_JQ, CURL_MANY = "`curl` of the same bodies piped to `jq -c '.result[]'`", "`curl -Z`, 8 at once, to /dev/null"
TIME, FAST, RATE = "of its time", "times as fast", "of its rate"
ROWS = (
    Row(
        "block / script",
        "`block 12345 --jsonl`",
        "a script with httpx and orjson that makes the same call",
        TIME,
        1.05,
        False,
        partial(started, BLOCK, peers.ONE_BLOCK),
    ),
    Row(
        "block / script, no store",
        "the same",
        "that script without a certificate store",
        TIME,
        1.15,
        False,
        partial(started, BLOCK, peers.ONE_BLOCK_BARE),
    ),
    Row(
        "--version / import typer",
        "`--version`",
        '`python -c "import typer"`',
        TIME,
        1.2,
        False,
        partial(started, ("--version",), IMPORT_TYPER),
    ),
    Row("--help / import typer", "`--help`", "the same", TIME, 1.6, False, partial(started, ("--help",), IMPORT_TYPER)),
    Row(
        "records jsonl / curl and jq",
        "`records` to jsonl, rows of 0.7 KB",
        CURL_JQ,
        FAST,
        8,
        True,
        partial(against_jq, "records", False),
    ),
    Row(
        "records 50 ms / curl -Z",
        "the same, 50 ms latency a call",
        CURL_MANY,
        RATE,
        0.5,
        True,
        partial(against_many, "records", 50),
    ),
    Row(
        "records 50 ms / httpx threads",
        "the same",
        "eight threads over one `httpx.Client`, which check nothing",
        RATE,
        0.7,
        True,
        partial(against_threads, 50),
    ),
    Row(
        "records 50 ms, processor time",
        "processor time of 10,000 of these records, with their share of the start",
        "16 ms",
        "of it",
        1,
        False,
        processor_time,
    ),
    Row(
        "records 200 ms / curl -Z",
        "`records` to jsonl, 200 ms latency a call",
        CURL_MANY,
        RATE,
        0.9,
        True,
        partial(against_many, "records", 200),
    ),
    Row(
        "blocks 200 ms / curl -Z",
        "`blocks` to jsonl, half as many rows, 200 ms",
        "the same",
        RATE,
        0.95,
        True,
        partial(against_many, "blocks", 200),
    ),
    Row(
        "records gzip / curl and jq",
        "`records` to jsonl, gzip bodies",
        "`curl --compressed` piped to jq",
        FAST,
        4,
        True,
        partial(against_jq, "records", True),
    ),
    Row(
        "full-blocks jsonl / curl and jq",
        "`full-blocks` of 100 KB each to jsonl",
        "curl and jq",
        FAST,
        6,
        True,
        partial(against_jq, "full-blocks", False),
    ),
    Row("records csv / script", "csv of `records`", "a script with httpx, orjson and csv.writer", FAST, 2, True, csv),
    Row(
        "records parquet / script",
        "parquet of `records`",
        "a script with httpx, orjson and pyarrow",
        FAST,
        1,
        True,
        parquet,
    ),
    Row(
        "export -w 2, 50 ms / -w 1",
        "`export records -w 2`, 25 partitions, 50 ms",
        "`-w 1`",
        FAST,
        1.7,
        True,
        partial(export, 2, 1),
    ),
    Row(
        "export -w 2, 50 ms / one process, one file",
        "the same",
        "`records -o one.parquet`",
        FAST,
        None,
        True,
        partial(export, 2, 0),
    ),
    Row(
        "peak memory / 250 MB",
        "peak memory, a quarter of the rows in calls of 7 MB, 8 at once",
        "250 MB",
        "of it",
        1,
        False,
        peak,
    ),
    Row(
        "memory, ten times the rows",
        "the same, ten times as many rows",
        "the row above",
        "times as much",
        1.15,
        False,
        growth,
    ),
)
