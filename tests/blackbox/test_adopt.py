"""An output file whose checkpoint is gone: no row comes twice, and --adopt goes on after its rows."""

import json
from pathlib import Path

import pytest

from chainq.demo.chain import Chain
from chainq.demo.fork import Fork
from harness.jobs import FIRST, Job, said
from harness.program import Program
from harness.services import Moving, serving
from harness.truth import Truth, difference

COMMANDS = [("blocks",), ("records",), ("records", "--csv"), ("transitions", "--columns", "height,transition_id")]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_2_the_checkpoint_is_gone(words: tuple[str, ...], chainq: Program) -> None:
    """The next run changes nothing and says what to do; with --adopt the file gets the bytes of an undisturbed one."""
    service = Moving(FIRST + 60)
    with serving(service) as url:
        job = Job(chainq, url, *words, "--start", str(FIRST))
        whole = Job(chainq, url, *words, "--start", str(FIRST), place="undisturbed")
        assert job().code == 0
        before, service.tip = job.out.read_bytes(), FIRST + 75
        job.kept.unlink()
        said(job("--quiet"), 2, f"{job.out} has rows of an earlier run, and there is no checkpoint", "or --adopt")
        assert job.out.read_bytes() == before
        assert not job.kept.exists()
        for _ in range(2):  # where there is a checkpoint, it means nothing
            assert job("--adopt").code == 0
        assert whole().code == 0
    assert job.out.read_bytes() == whole.out.read_bytes()


@pytest.mark.parametrize("left", [1, 30, 400, 3000])
def test_adopting_what_a_killed_run_left(left: int, chainq: Program, truth: Truth) -> None:
    """Half a row at the end is cut off, and so is half a height."""
    service = Moving(FIRST + 60)
    with serving(service) as url:
        job = Job(chainq, url, "records", "--start", str(FIRST))
        said(job(), 0)
        job.kept.unlink()
        job.out.write_bytes(job.out.read_bytes()[:-left])
        said(job("--adopt"), 0, "are removed and fetched again; the file does not show", "the same --where")
    assert difference(job.out.read_bytes().split(b"\n")[:-1], truth.groups("records", FIRST, FIRST + 61)) == ""


def test_a_run_in_vain_loses_nothing(chainq: Program, truth: Truth) -> None:
    """Where the service cannot be reached after --adopt, the next run goes on from there without it."""
    service = Moving(FIRST + 60)
    with serving(service) as url:
        job = Job(chainq, url, "records", "--start", str(FIRST))
        said(job(), 0)
    job.kept.unlink()
    assert job("--adopt", "--retries", "0").code == 4
    with serving(service) as job.url:
        job.kept.write_text(job.kept.read_text().replace(url, job.url))
        said(job(), 0)
    assert difference(job.out.read_bytes().split(b"\n")[:-1], truth.groups("records", FIRST, FIRST + 61)) == ""


def _only_ids(text: bytes) -> bytes:
    return b"".join(b'{"id":%d}\n' % json.loads(line)["id"] for line in text.splitlines())


@pytest.mark.parametrize(
    ("words", "change", "said_so"),
    [
        (("ownership",), lambda text: text, "ownership in jsonl has no heights"),
        (("records", "--text"), lambda text: text, "records in text has no heights"),
        (("records", "--columns", "id"), _only_ids, "does not begin a row with a height"),
        (("records", "--csv", "--columns", "id"), lambda _: b"id\r\n5\r\n", "does not begin a row with a height"),
        (("blocks",), lambda text: text + text[: text.index(b"\n") + 1], "is not in order: a row of height 2400"),
        (("blocks",), lambda text: text + b"mine\n", "does not begin a row with a height"),
        (("blocks", "--start", "9000"), lambda text: text, "ends at height 2460, below --start 9000"),
    ],
)
def test_2_what_cannot_be_adopted(words: tuple[str, ...], change: object, said_so: str, chainq: Program) -> None:
    """The file is left alone, and no checkpoint appears."""
    assert callable(change)
    service = Moving(FIRST + 60)
    with serving(service) as url:
        job = Job(chainq, url, *words[:1], *(words[1:] if "--start" not in words else ()), "--start", str(FIRST))
        assert job().code == 0
        job.kept.unlink()
        job.out.write_bytes(text := change(job.out.read_bytes()))
        job = Job(chainq, url, *words, *(() if "--start" in words else ("--start", str(FIRST))))
        said(job("--adopt"), 2, said_so)
    assert job.out.read_bytes() == text
    assert not job.kept.exists()


def test_2_a_row_of_height_0_after_others(chainq: Program) -> None:
    """Row 0 behind later ones is out of order like any other row."""
    with serving(Moving(40)) as url:
        job = Job(chainq, url, "blocks")
        said(job(), 0)
        job.kept.unlink()
        first, *rest = job.out.read_bytes().splitlines(keepends=True)
        job.out.write_bytes(text := b"".join([*rest, first]))
        said(job("--adopt"), 2, "is not in order: a row of height 0")
    assert job.out.read_bytes() == text


def test_2_a_row_below_the_first_of_a_short_file(chainq: Program) -> None:
    """It would be removed with the others, and not fetched again: they begin above it."""
    with serving(Moving(FIRST + 9)) as url:
        job = Job(chainq, url, "records", "--start", str(FIRST))
        said(job(), 0)
        job.kept.unlink()
        rows = job.out.read_bytes().splitlines(keepends=True)
        lowest = json.loads(rows[0])["height"]
        below = [row for row in rows if json.loads(row)["height"] == lowest]
        job.out.write_bytes(text := b"".join([rows[len(below)], *below, *rows[len(below) + 1 :]]))
        said(job("--adopt"), 2, f"is not in order: a row of height {lowest} follows height")
    assert job.out.read_bytes() == text


def test_6_adopted_rows_of_another_chain(chainq: Program) -> None:
    """Where rows name their block, a reorg below the cut is found out."""
    service = Moving(60)
    with serving(service) as url:
        job = Job(chainq, url, "blocks")
        said(job(), 0)
        job.kept.unlink()
        service.swap(Fork(Chain(), 20))
        said(job("--adopt", "--quiet"), 6, "reorg: block 50 is")


def test_an_empty_file_needs_no_adoption(chainq: Program, tmp_path: Path) -> None:
    """Nor does one that is not there; and without a file there is nothing to adopt."""
    with serving(Moving(9)) as url:
        job = Job(chainq, url, "blocks")
        said(job("--adopt"), 0)
        said(chainq("blocks", "--checkpoint", str(tmp_path / "c"), "--adopt", url=url), 2, "--adopt needs")


PAIR = ("--columns", "height,block_hash")
NESTED = ("--columns", "header.metadata.height,block_hash")


@pytest.mark.parametrize(
    ("first", "then", "said_so"),
    [
        (
            ("blocks", "--csv", *PAIR),
            ("blocks", "--csv", "--columns", "height,timestamp"),
            "not the header height, tim",
        ),
        (
            ("blocks", "--csv", *PAIR),
            ("blocks", "--csv", *PAIR[:1], f"{PAIR[1]},timestamp"),
            "is height, block_hash, not",
        ),
        (("blocks", "--csv", *PAIR), ("blocks", "--csv"), "not the header id, height"),
        (
            ("blocks", "--csv", "--no-header", *PAIR),
            ("blocks", "--csv", "--no-header", *PAIR),
            "not the header height, b",
        ),
        (("blocks", "--format", "tsv", *PAIR), ("blocks", "--csv", *PAIR), "not the header height, block_hash"),
        (
            ("blocks", *PAIR),
            ("blocks", *PAIR[:1], "block_hash,height"),
            "has the fields height, block_hash, not block_h",
        ),
        (("blocks", *PAIR), ("blocks",), "byte 0 is not a row of blocks: it has no id"),
        (("blocks",), ("blocks", *PAIR), "has the fields id, height"),
        (("blocks",), ("records",), "byte 0 is not a row of records: it has no record_ciphertext"),
        (("records",), ("blocks",), "byte 0 is not a row of blocks: it has no previous_hash"),
        (("full-blocks",), ("full-blocks", "--flatten"), "does not begin a row with a header.metadata.height"),
        (("full-blocks", "--flatten"), ("full-blocks",), "does not begin a row with a header.metadata.height"),
        (("full-blocks", "--flatten"), ("full-blocks", *NESTED), "has the fields block_hash, previous_hash"),
        (("records",), ("records", "--csv"), "not the header record_ciphertext"),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, tuple) else "",
)
def test_2_rows_of_other_arguments(
    first: tuple[str, ...], then: tuple[str, ...], said_so: str, chainq: Program
) -> None:
    """A file whose rows the run would not write is left alone: no row of other columns follows its own."""
    with serving(Moving(FIRST + 20)) as url:
        job = Job(chainq, url, *first, "--start", str(FIRST))
        said(job(), 0)
        job.kept.unlink()
        text = job.out.read_bytes()
        job = Job(chainq, url, *then, "--start", str(FIRST))
        said(job("--adopt"), 2, f"cannot resume after the rows of {job.out}: ", said_so)
    assert job.out.read_bytes() == text
    assert not job.kept.exists()


@pytest.mark.parametrize(
    "words",
    [
        ("blocks",),
        ("blocks", "--csv"),
        ("blocks", "--format", "tsv", *PAIR),
        ("records", "--csv"),
        ("full-blocks",),
        ("full-blocks", "--flatten"),
        ("full-blocks", "--csv"),
        ("full-blocks", *NESTED),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("heights", [5, 25])
def test_nothing_below_the_first_row(words: tuple[str, ...], heights: int, chainq: Program) -> None:
    """A file that began at the last blocks begins there still, also with fewer heights than are fetched again."""
    service = Moving(FIRST)
    with serving(service) as url:
        job = Job(chainq, url, *words, "--start", f"-{heights}")
        whole = Job(chainq, url, *words, "--start", str(FIRST - heights + 1), place="undisturbed")
        said(job(), 0)
        job.kept.unlink()
        service.tip += 3
        again = min(heights, 10)
        said(job("--adopt"), 0, f"the rows of heights {FIRST - again + 1}-{FIRST} are removed and fetched")
        said(whole(), 0)
    assert job.out.read_bytes() == whole.out.read_bytes()


@pytest.mark.parametrize("start", [FIRST + 10, FIRST + 55])
def test_a_start_above_the_first_row(start: int, chainq: Program) -> None:
    """Rows below --start stay, and none of them comes twice."""
    with serving(Moving(FIRST + 60)) as url:
        job = Job(chainq, url, "records", "--start", str(FIRST))
        said(job(), 0)
        job.kept.unlink()
        whole, job.words = job.out.read_bytes(), ("records", "--start", str(start))
        said(job("--adopt"), 0, f"heights {max(start, FIRST + 51)}-{FIRST + 60} are removed")
    assert job.out.read_bytes() == whole


def test_2_a_start_below_the_first_block(chainq: Program) -> None:
    """A file of all blocks from --start on would lack some; with a condition it is unknown which ones there are."""
    with serving(Moving(FIRST + 20)) as url:
        job = Job(chainq, url, "blocks", "--start", str(FIRST))
        said(job(), 0)
        job.kept.unlink()
        whole, job.words = job.out.read_bytes(), ("blocks",)
        said(job("--adopt"), 2, f"begins at height {FIRST}, above --start 0", f"use --start {FIRST}")
        assert job.out.read_bytes() == whole
        job.words = ("blocks", "--where", f"height >= {FIRST}")
        assert job("--adopt", "--quiet").code == 0
    assert job.out.read_bytes() == whole


def test_2_the_service_moved(chainq: Program) -> None:
    """A checkpoint of another URL is refused; the remedy in the message works, and loses and repeats no row."""
    first, second = Moving(FIRST + 60), Moving(FIRST + 75)
    with serving(first) as url, serving(second) as moved:
        assert Job(chainq, url, "records", "--start", str(FIRST))().code == 0
        job = Job(chainq, moved, "records", "--start", str(FIRST))
        whole = Job(chainq, moved, "records", "--start", str(FIRST), place="undisturbed")
        remedy = f"if it is the same chain, remove {job.kept} and resume with --adopt"
        said(job(), 2, "made with other arguments (url: ", remedy)
        job.kept.unlink()
        said(job("--adopt"), 0, "are removed and fetched again")
        said(whole(), 0)
        assert job.out.read_bytes() == whole.out.read_bytes()
        assert Job(chainq, url, "records", "--start", str(FIRST), place="printed")(out="").code == 0
        printed = Job(chainq, moved, "records", "--start", str(FIRST), place="printed")
        said(printed(out=""), 2, "use the first URL, or another checkpoint")
