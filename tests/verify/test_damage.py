"""Bytes of files that were changed at random: `chainq verify` ends in findings, whatever a reader of files says."""

import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from harness.models.search import some
from harness.running.program import Program, Servers

parquet = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("numpy")

from chainq.errors import IncompleteError, UsageError  # noqa: E402  # they need numpy
from chainq.verify.check import Check  # noqa: E402
from chainq.verify.exports import ExportFiles  # noqa: E402
from chainq.verify.files import open_rows  # noqa: E402
from chainq.verify.findings import Finding  # noqa: E402


def damaged(data: bytes, number: int) -> Iterator[bytes]:
    """Yield copies of a file with 1 to 64 other bytes: anywhere, in its first 200 and in its last 4,000."""
    rng = random.Random(number)  # noqa: S311  # no secret
    for _ in range(number):
        size = rng.randint(1, 64)
        low, high = rng.choice([(0, len(data)), (0, 200), (max(0, len(data) - 4000), len(data))])
        at = rng.randrange(low, high - size)
        yield data[:at] + rng.randbytes(size) + data[at + size :]


@pytest.fixture
def part(program: Program, server: Servers, tmp_path: Path) -> Path:
    """The file of the only partition of an export."""
    words = ("records", "100:120", "--partition", "20", "--to", str(tmp_path / "lake"), "-w", "1", "-q")
    assert program("export", *words, url=server("--tip", "400")).code == 0
    (path,) = tmp_path.glob("lake/records/*/*.parquet")
    return path


@pytest.fixture
def rows_of(program: Program, server: Servers, tmp_path: Path) -> Callable[[str, str], Path]:
    """Writes a file of some rows of a command, by its extension."""

    def written(command: str, kind: str) -> Path:
        path = tmp_path / f"rows.{kind}"
        assert program(command, "100:120", "-o", str(path), "-q", url=server("--tip", "400")).code == 0
        return path

    return written


def findings(path: Path) -> list[Finding]:
    """What `chainq verify` finds in a file, or in the export that it is a part of. Raises what it raises."""
    with ExitStack() as opened:
        if path.parts[-4] == "lake":
            windows = ExportFiles(str(path.parents[2])).windows()
        else:
            windows = open_rows(path, None, None, opened).windows()
        return [finding for _, found, _ in Check().steps(windows) for finding in found]


def test_damage_of_an_export_is_found(part: Path) -> None:
    """Every partition whose rows are not those of its receipt has a finding; what else was changed, no reader shows."""
    whole = parquet.read_table(part)
    for data in damaged(part.read_bytes(), 30):
        part.write_bytes(data)
        if not findings(part):
            assert parquet.read_table(part).equals(whole)


@pytest.mark.parametrize("kind", ["parquet", "csv", "jsonl", "json"])
@pytest.mark.parametrize("command", ["blocks", "records"])
def test_damage_of_a_file_is_no_bug(command: str, kind: str, rows_of: Callable[[str, str], Path]) -> None:
    """Each file is read as far as that goes, or refused: by its extension, its header and its first row."""
    path, found = rows_of(command, kind), 0
    for data in damaged(path.read_bytes(), 12):
        path.write_bytes(data)
        try:
            found += len(findings(path))
        except IncompleteError:
            assert kind != "csv"
        except UsageError:
            assert kind != "parquet"
    assert found


@pytest.mark.parametrize("step", some([11, 97], 97))
@pytest.mark.parametrize("of", ["an export", "a file"])
def test_every_flip_of_a_bit_in_the_footer_is_found(
    of: str, step: int, request: pytest.FixtureRequest, rows_of: Callable[[str, str], Path]
) -> None:
    """Bits all over the metadata behind the rows, its length and the last bytes: also of what no reader looks at.

    A file of -o has no receipt; its footer has a hash of itself, twice, so that none can hide the other.
    """
    path = rows_of("records", "parquet") if of == "a file" else request.getfixturevalue("part")
    data = path.read_bytes()
    footer = len(data) - int.from_bytes(data[-8:-4], "little") - 8
    hashed = data.index(b"chainq.footer1") if of == "a file" else footer
    places = {*range(footer, len(data), step), *range(hashed, hashed + 200, 3), *range(len(data) - 8, len(data))}
    rng = random.Random(1)  # noqa: S311  # no secret
    assert findings(path) == []
    unseen = []
    for at in sorted(places):
        path.write_bytes(data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :])
        try:
            if not findings(path):
                unseen.append(at)
        except (IncompleteError, UsageError):  # what chainq says of a file
            assert of == "a file"
    assert unseen == []
