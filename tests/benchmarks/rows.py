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
from measure import CHAINQ, Pipeline, Spread, Took, digest, environment, interleaved, line, ratio, run, spread
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


class Words(NamedTuple):
    """How a ratio is said, and whether it shall be at least its target, or at most."""

    text: str
    least: bool = False


TIME, SHARE, MUCH = Words("of its time"), Words("of it"), Words("times as much")
FAST, RATE = Words("times as fast", least=True), Words("of its rate", least=True)


class Row(NamedTuple):
    """One line of the table: what of chainq is measured, against what, in which words the ratio is said."""

    ours: str
    theirs: str
    words: Words
    target: float
    measure: "Callable[[Bench], Found]"

    @property
    def name(self) -> str:
        """What `--only` looks for."""
        return f"{self.ours} / {self.theirs}"

    def meets(self, found: float) -> bool:
        """Whether a ratio is as wanted."""
        return found >= self.target if self.words.least else found <= self.target

    def line(self, found: Found, *, judged: bool) -> str:
        """Return the line of docs/performance.md; `judged`: with a word where the target is missed."""
        target = f"at {'least' if self.words.least else 'most'} {self.target:g}"
        missed = ": **missed**" if judged and not self.meets(found.clock.median) else ""
        return line(self.ours, self.theirs, found.clock, target + missed, self.words.text)


def _end(command: str, rows: int) -> int:
    """The height before which a ranged method has so many rows."""
    return FIRST + max(1, rows // RANGE[command])


class Bench:
    """What the rows share: the server, a folder, how many records and runs."""

    def __init__(self, native: Server, folder: Path, rows: int, runs: int) -> None:
        self.native, self.folder, self.rows, self.runs = native, folder, rows, runs

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

    def reading(self, command: str, rows: int, *arguments: str) -> list[str]:
        """The command that reads so many rows of a ranged method."""
        heights = ["--start", str(FIRST), "--end", str(_end(command, rows))]
        return [CHAINQ, command, *heights, "--dialect", "chain", *arguments]

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
        ours, theirs = [CHAINQ, *arguments, "--url", url], bench.script(peer, url, arguments[1])
        note = bench.same([ours], [theirs])
    else:
        ours, theirs, note = [CHAINQ, *arguments], bench.script(peer), ""
    for command in (ours, theirs):  # what is compiled once is compiled now
        run([command])
    # A tenth of a second is soon disturbed: more runs.
    took = interleaved([partial(run, [ours]), partial(run, [theirs])], 3 * bench.runs)
    middle = statistics.median(one.cpu for one in took[0])
    return Found(*ratio(*took), f"{middle * 1000:.0f} ms of processor time; {note}")


def faster(bench: Bench, ours: Pipeline, our_rows: int, theirs: Pipeline, their_rows: int, note: str) -> Found:
    """How many times as many rows a second."""
    took = interleaved([partial(run, ours), partial(run, theirs)], bench.runs)
    clock, cpu = ratio(*took)
    more = our_rows / their_rows
    seconds = statistics.median(one.wall for one in took[0])
    return Found(clock.over(more), more / cpu, f"{our_rows / seconds:,.0f} rows/s; {note}")


def against_jq(command: str, gzip: bool, bench: Bench) -> Found:
    """jsonl against curl and jq, one call after the other."""
    bench.needs(["curl", "jq"])
    rows = bench.rows // (500 if command == "full-blocks" else 5 if gzip else 1)
    fewer = max(rows // SLOW, RANGE[command])
    url = bench.native.url(gzip=gzip)
    theirs = [curl(bench.calls(command, fewer), url, bench.folder / "curl", compressed=gzip), JQ]
    words = ("--jsonl", "--url", url, *(("--header", "Accept-Encoding: gzip") if gzip else ()))
    note = bench.same([bench.reading(command, fewer, *words)], theirs)
    ours = [bench.reading(command, rows, *words)]
    if gzip:
        run(ours)  # compressed once, kept by the server
    return faster(bench, ours, rows, theirs, fewer, note)


def against_many(command: str, latency: int, bench: Bench) -> Found:
    """jsonl against curl's eight connections into nothing, with latency."""
    bench.needs(["curl"], ["httpx", "orjson"])
    rows = bench.rows // (2 if command == "blocks" else 1)
    calls, url = bench.calls(command, rows), bench.native.url(latency)
    ours = [bench.reading(command, rows, "--jsonl", "--url", url)]
    note = bench.same(ours, [bench.script(peers.JSONL, bench.native.url(), bench.written(calls))])
    theirs = [curl(calls, url, bench.folder / "curl", many=True)]
    return faster(bench, ours, rows, theirs, rows, f"{len(calls)} calls, {note}")._replace(cpu=None)


def against_script(output: str, script: str, latency: int, fewer: int, bench: Bench) -> Found:
    """A format against a script that makes the same calls, each with `latency`; `fewer` times the rows."""
    bench.needs(packages=["httpx", "orjson", "msgspec"])
    rows, url = bench.rows // fewer, bench.native.url(latency)
    ours = [bench.reading("records", rows, output, "--url", url)]
    theirs = [bench.script(script, url, bench.written(bench.calls("records", rows)))]
    return faster(bench, ours, rows, theirs, rows, bench.same(ours, theirs))


def kept(bench: Bench) -> Found:
    """A first run with a checkpoint against the same run without one."""
    output = bench.folder / "kept.jsonl"
    plain = bench.reading("records", bench.rows, "--jsonl", "-o", str(output), "--url", bench.native.url(50))
    place = bench.folder / "checkpoint"
    first = ["sh", "-c", f'rm -f {output} {place}*; exec "$@"', "sh", *plain, "--checkpoint", str(place)]
    return Found(*ratio(*interleaved([partial(run, [first]), partial(run, [plain])], bench.runs)))


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
    return faster(bench, ours, rows, theirs, rows, f"{rows:,} rows alike")


def export(workers: int, other: int, bench: Bench) -> Found:
    """Export with so many workers at 50 ms a call; against `other` workers, or one file by one process for 0."""
    bench.needs(packages=["pyarrow"])
    url, heights = bench.native.url(50), bench.rows // ROWS_A_HEIGHT
    words = f"records {FIRST}:{FIRST + heights} --partition {max(1, heights // 25)} --dialect chain -q --url '{url}'"
    folders = {count: bench.folder / f"export-{count}" for count in (workers, other)}

    def exporting(count: int) -> list[str]:
        line = " ".join([CHAINQ, "export", words, f"--to {folders[count]} -w {count}"])
        return ["sh", "-c", f"rm -rf {folders[count]} && exec {line}"]

    one_file = bench.reading(
        "records", bench.rows, "--format", "parquet", "-o", str(bench.folder / "one.parquet"), "--url", url
    )
    theirs = exporting(other) if other else one_file
    run([theirs])
    one = run([exporting(workers)])
    used = f"{one.cpu:.0f} s of processor time, {one.memory:.0f} MB in the largest process"
    note = f"{_parquet_rows(folders[workers]):,} rows in 25 files; {used}"
    return faster(bench, [exporting(workers)], bench.rows, [theirs], bench.rows, note)


def _parquet_rows(folder: Path) -> int:
    from pyarrow import parquet as pq

    return sum(int(pq.read_metadata(file).num_rows) for file in folder.glob("records/*/*.parquet"))


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


BLOCK, TYPER = ("block", "1012345", "--jsonl"), "import typer"
CURL_JQ, CURL_MANY = "`curl` of the same bodies piped to `jq -c '.result[]'`", "`curl -Z`, 8 at once, to /dev/null"
SCRIPT, SAME = "a script with httpx and orjson that makes the same call", "the same"
THREADS = "eight threads over one `httpx.Client`, which check nothing"
ROWS = (
    Row("`block 12345 --jsonl`", SCRIPT, TIME, 1.05, partial(started, BLOCK, peers.ONE_BLOCK)),
    Row(SAME, "that script without a certificate store", TIME, 1.15, partial(started, BLOCK, peers.ONE_BLOCK_BARE)),
    Row("`--version`", '`python -c "import typer"`', TIME, 1.2, partial(started, ("--version",), TYPER)),
    Row("`--help`", SAME, TIME, 1.6, partial(started, ("--help",), TYPER)),
    Row("`records` to jsonl, rows of 0.7 KB", CURL_JQ, FAST, 8, partial(against_jq, "records", False)),
    Row("the same, 50 ms latency a call", CURL_MANY, RATE, 0.5, partial(against_many, "records", 50)),
    Row("the same", THREADS, RATE, 0.7, partial(against_script, "--jsonl", peers.THREADS, 50, 1)),
    Row("the same with `--checkpoint`, to a file", "without", TIME, 1.1, kept),
    Row("processor time of 10,000 of these records, with their share of the start", "16 ms", SHARE, 1, processor_time),
    Row("`records` to jsonl, 200 ms latency a call", CURL_MANY, RATE, 0.9, partial(against_many, "records", 200)),
    Row("`blocks` to jsonl, half as many rows, 200 ms", SAME, RATE, 0.95, partial(against_many, "blocks", 200)),
    Row(
        "`records` to jsonl, gzip bodies",
        "`curl --compressed` piped to jq",
        FAST,
        4,
        partial(against_jq, "records", True),
    ),
    Row("`full-blocks` of 100 KB each to jsonl", "curl and jq", FAST, 6, partial(against_jq, "full-blocks", False)),
    Row(
        "csv of `records`",
        "a script with httpx, orjson and csv.writer",
        FAST,
        2,
        partial(against_script, "--csv", peers.CSV, 0, SLOW),
    ),
    Row("parquet of `records`", "a script with httpx, orjson and pyarrow", FAST, 1, parquet),
    Row("`export records -w 2`, 25 partitions, 50 ms", "`-w 1`", FAST, 1.7, partial(export, 2, 1)),
    Row(SAME, "`records -o one.parquet`", FAST, 1.3, partial(export, 2, 0)),
    Row("peak memory, a quarter of the rows in calls of 7 MB, 8 at once", "250 MB", SHARE, 1, peak),
    Row("the same, ten times as many rows", "the row above", MUCH, 1.15, growth),
)
