"""Where rows go, in which shape, and where the settings come from: columns, files, defaults, environment, profiles."""

import json
import os
import re
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from harness.running.program import Program, Ran, Servers, finish
from harness.running.sample import VIEW_KEY
from harness.running.truth import Truth, difference
from harness.servers.services import Moving, gains, serving
from harness.wallet.wallet import VARIABLE

MOUNTS = ["unshare", "--user", "--map-root-user", "--mount"]
RANGE = ("--start", "640", "--end", "642")


def test_no_check_names_a_column_of_the_server(chainq: Program) -> None:
    """One that the catalogue lacks."""
    service = Moving(160)
    service.mend = gains
    with serving(service) as url:
        ran = chainq("block", "150", "--columns", "gained", "--no-check", "--jsonl", url=url)
    assert json.loads(ran.out) == {"gained": {"x": 1}}


@pytest.mark.parametrize("words", [(), ("--reverse",)])
def test_ownership_rows_have_the_heights_of_their_records(words: tuple[str, ...], chainq: Program) -> None:
    """`--columns height` shows the height of each ownership row, which is that of its record."""
    args = ("5:40", "--columns", "height,transition_id,output_index", "--url", "demo:", *words)
    rows = chainq("ownership", *args).out
    assert rows
    assert sorted(rows.splitlines()) == sorted(chainq("records", *args).out.splitlines())


def test_fields_of_older_blocks_are_known(chainq: Program, server: Servers, tmp_path: Path) -> None:
    """--columns and --where take them, and neither an export, which keeps them, nor csv in a cron job warns of them."""
    supply = "total_supply_in_microcredits"
    ran = chainq(
        "blocks", "198:202", "--where", f"{supply} > 0", "--columns", f"height,{supply}", "--jsonl", url=server()
    )
    assert list(map(json.loads, ran.rows)) == [
        {"height": str(height), supply: str(1_500_000_000_000_000 - height * 25_000)} for height in (198, 199)
    ]
    for file in ("rows.csv", "rows.parquet"):
        ran = chainq("blocks", "198:202", "-o", file, url=server())
        assert (ran.code, ran.err) == (0, "")
    for command in ("blocks", "full-blocks"):
        ran = chainq("export", command, "190:200", "--to", str(tmp_path / "lake"), "-w", "1", url=server())
        assert (ran.code, ran.err.count("unknown")) == (0, 0), ran.err
        again = chainq(command, "190:200", "--jsonl", url=str(tmp_path / "lake"))
        sent = chainq(command, "190:200", "--jsonl", url=server())
        assert list(map(json.loads, again.rows)) == list(map(json.loads, sent.rows))


def test_a_file_is_written_whole(chainq: Program, server: Servers, truth: Truth, tmp_path: Path) -> None:
    """-o FILE holds the whole answer as jsonl, keeps the mode of the file before it, also behind a symbolic link, which
    stays one; and leaves nothing beside it."""
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "rows").write_bytes(b"old\n")
    (folder / "rows").chmod(0o640)
    (tmp_path / "link").symlink_to(folder / "rows")
    assert chainq("records", *RANGE, "-o", "link", url=server()) == (0, b"", "")
    assert (folder / "rows").read_bytes() == b"".join(row + b"\n" for row in truth.rows("records", 640, 642))
    assert stat.S_IMODE((folder / "rows").stat().st_mode) == 0o640
    assert [path.name for path in folder.iterdir()] == ["rows"]
    assert (tmp_path / "link").is_symlink()


def test_a_file_appears_whole_or_not_at_all(chainq: Program, server: Servers, tmp_path: Path) -> None:
    """When a run fails, the file is as it was before, or not there; nothing is left beside it."""
    folder = tmp_path / "out"
    folder.mkdir()
    span = ("--start", "0", "--end", "4000")
    faulty = server("--fault", "missing-height:3500")
    ran = chainq("blocks", *span, "-o", str(folder / "new"), url=faulty)
    assert (ran.code, "new was not created" in ran.err) == (6, True)
    assert list(folder.iterdir()) == []
    (folder / "old").write_bytes(b"old\n")
    ran = chainq("blocks", *span, "-o", str(folder / "old"), url=faulty)
    assert (ran.code, "old was left unchanged" in ran.err) == (6, True)
    assert [(path.name, path.read_bytes()) for path in folder.iterdir()] == [("old", b"old\n")]


@pytest.mark.parametrize(
    ("blocks", "words", "rest"),
    [
        (0, ("--csv",), "--start 0 --end 1000"),
        (8, ("--csv",), r"--start [1-9]\d* --end 1000 --no-header"),
        (8, ("--jsonl",), r"--start [1-9]\d* --end 1000"),
    ],
)
def test_the_rest_of_a_redirected_output(blocks: int, words: tuple[str, ...], rest: str, chainq: Program) -> None:
    """A header that was not written is not left out of the rest."""
    line = ["sh", "-c", f'ulimit -f {blocks}; exec "$@" > rows', "sh", chainq.path]
    asked = ("records", "0:1000", *words, "--page-size", "5", "--url", "demo:")
    environment = chainq.environment({"PYTHONDONTWRITEBYTECODE": "1"})  # or the limit would cut files of Python's own
    run = subprocess.Popen([*line, *asked], env=environment, cwd=chainq.home, stderr=-1)
    ran = finish(run)
    assert ran.code == 7
    assert re.search(rf"; resume with {rest}\n$", ran.err), ran.err
    assert ((chainq.home / "rows").stat().st_size > 0) == (blocks > 0)


def test_a_fifo_and_a_device_are_written_straight(
    chainq: Program, server: Servers, truth: Truth, tmp_path: Path
) -> None:
    """A FIFO gets the rows themselves, and /dev/null stays a device."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    reader = subprocess.Popen(["cat", str(fifo)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # noqa: S607  # any cat
    ran = chainq("records", *RANGE, "-o", str(fifo), url=server())
    read = finish(reader)
    assert (ran.code, ran.out) == (0, b"")
    assert read.rows == truth.rows("records", 640, 642)
    assert stat.S_ISFIFO(fifo.stat().st_mode)
    assert chainq("records", *RANGE, "-o", "/dev/null", url=server()).code == 0
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_the_default_format_is_a_table_on_a_terminal(chainq: Program) -> None:
    """In a pipe it is jsonl (`tests/golden/commands/columns.txt`)."""
    assert chainq.shown("records", "40:50", "--columns", "height", NO_COLOR="1").startswith("height")


@pytest.mark.parametrize(
    ("line", "option", "start"),
    [
        ("balance 110:120", "--csv", b"height,"),
        ("doctor", "--json", b"{"),
        ("profiles", "--json", b"["),
        ("show 5", "--json", b"{"),
        ("status c", "--json", b"{"),
    ],
)
def test_a_helper_prints_the_format_of_the_environment_if_it_has_that_one(
    line: str, option: str, start: bytes, chainq: Program
) -> None:
    """Else its own; an option overrides, and what no command has is a usage error."""
    pytest.importorskip("aleo")
    assert chainq("blocks", "5:6", "--checkpoint", "c", "-o", "c.jsonl", "-q", url="demo:").code == 0
    chainq.config.parent.mkdir(parents=True)
    chainq.config.write_text('[profiles.a]\nurl = "demo:"\n')

    def ran(form: str, *more: str) -> Ran:
        return chainq(*line.split(), *more, env={"CHAINQ_URL": "demo:", "CHAINQ_FORMAT": form, VARIABLE: VIEW_KEY})

    found = ran("json")
    assert found.code == 0, found.err
    assert json.loads(found.out)
    assert ran("tsv").out[:1] not in (b"", b"[", b"{")
    assert ran("json", option).out.startswith(start)


def test_rows_come_out_as_they_arrive(chainq: Program, server: Servers, truth: Truth) -> None:
    """The first rows can be read while the last height is not even asked for: the pipe holds the writer back."""
    process = chainq.start("blocks", "--start", "0", "--end", "5000", "--jsonl", "-j", "1", url=server())
    assert process.stdout is not None
    first = process.stdout.readline()
    assert process.poll() is None
    ended = finish(process)
    assert ended.code == 0
    assert difference([first[:-1], *ended.rows], truth.groups("blocks", 0, 5000)) == ""


def test_7_a_file_that_is_mounted_by_itself(chainq: Program) -> None:
    """As containers do it: it cannot be replaced, which is said before any request."""
    if not shutil.which("unshare") or subprocess.run([*MOUNTS, "true"], capture_output=True, check=False).returncode:
        pytest.skip("a name space of mounts is not allowed here")
    (chainq.home / "from").touch()
    (chainq.home / "to").touch()
    line = f"mount --bind from to && exec {chainq.path} block 5 --url http://127.0.0.1:9/ -o to"
    ran = subprocess.run(
        [*MOUNTS, "bash", "-c", line], cwd=chainq.home, env=chainq.environment(), capture_output=True, check=False
    )
    assert ran.returncode == 7
    assert b"mounted by itself cannot be replaced; mount its folder" in ran.stderr
