"""Bytes of files that were changed at random: `chainq verify` ends in findings, whatever a reader of files says."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.program import Program, Servers
from harness.search import some

parquet = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("numpy")

from chainq.errors import IncompleteError, UsageError  # noqa: E402  # they need numpy
from chainq.verify.data_set import DataSetCheck  # noqa: E402
from chainq.verify.file import RowsCheck  # noqa: E402
from chainq.verify.findings import Finding, Repair  # noqa: E402


def damaged(data: bytes, number: int) -> Iterator[bytes]:
    """Yield copies of a file with 1 to 64 other bytes: anywhere, in its first 200 and in its last 4,000."""
    rng = random.Random(number)  # noqa: S311  # no secret
    for _ in range(number):
        size = rng.randint(1, 64)
        low, high = rng.choice([(0, len(data)), (0, 200), (max(0, len(data) - 4000), len(data))])
        at = rng.randrange(low, high - size)
        yield data[:at] + rng.randbytes(size) + data[at + size :]


def test_damage_of_an_export_is_found(program: Program, server: Servers, tmp_path: Path) -> None:
    """Every partition whose rows are not those of its receipt has a finding; what else was changed, no reader shows."""
    root = tmp_path / "lake"
    words = ("records", "100:200", "--partition", "100", "--to", str(root), "-w", "1", "-q")
    assert program("export", *words, url=server("--tip", "400")).code == 0
    (path,) = root.glob("records/*/data.parquet")
    whole = parquet.read_table(path)
    for data in damaged(path.read_bytes(), 60):
        path.write_bytes(data)
        if not any(step.findings for step in DataSetCheck(str(root)).steps()):
            assert parquet.read_table(path).equals(whole)


@pytest.mark.parametrize("kind", ["parquet", "csv", "jsonl", "json"])
@pytest.mark.parametrize("command", ["blocks", "records"])
def test_damage_of_a_file_is_no_bug(command: str, kind: str, program: Program, server: Servers, tmp_path: Path) -> None:
    """Each file is read as far as that goes, or refused: by its extension, its header and its first row."""
    path = tmp_path / f"rows.{kind}"
    assert program(command, "100:130", "-o", str(path), "-q", url=server("--tip", "400")).code == 0
    findings = 0
    for data in damaged(path.read_bytes(), 30):
        path.write_bytes(data)
        try:
            findings += sum(len(step.findings) for step in RowsCheck(path, Repair()).steps())
        except IncompleteError:
            assert kind != "csv"
        except UsageError:
            assert kind != "parquet"
    assert findings


@pytest.mark.parametrize("step", some([11, 53], 53))
def test_every_flip_of_a_bit_in_the_footer_is_found(
    step: int, program: Program, server: Servers, tmp_path: Path
) -> None:
    """Bits all over the metadata behind the rows, its length and the last bytes: also of what no reader looks at."""
    root = tmp_path / "lake"
    words = ("records", "100:120", "--partition", "20", "--to", str(root), "-w", "1", "-q")
    assert program("export", *words, url=server("--tip", "400")).code == 0
    (path,) = root.glob("records/*/data.parquet")
    data = path.read_bytes()
    footer = int.from_bytes(data[-8:-4], "little") + 8
    rng = random.Random(1)  # noqa: S311  # no secret

    def findings() -> list[Finding]:
        return [finding for step in DataSetCheck(str(root)).steps() for finding in step.findings]

    assert findings() == []
    unseen = []
    places = [*range(len(data) - footer, len(data) - 8, step), *range(len(data) - 8, len(data))]
    for at in places:
        path.write_bytes(data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :])
        if not findings():
            unseen.append(at)
    assert unseen == []


def test_a_receipt_without_the_hash_of_its_file_is_read(program: Program, server: Servers, tmp_path: Path) -> None:
    """Older versions wrote the same receipt into the file and beside it."""
    root = tmp_path / "lake"
    words = ("records", "100:120", "--partition", "20", "--to", str(root), "-w", "1", "-q")
    assert program("export", *words, url=server("--tip", "400")).code == 0
    (path,) = root.glob("records/*/data.parquet")
    (beside,) = root.glob("_chainq/receipts/records/*.json")
    sealed = parquet.read_metadata(path).metadata[b"chainq"]
    assert beside.read_bytes() != sealed
    beside.write_bytes(sealed)
    assert program("verify", str(root)).code == 0
    beside.write_bytes(sealed.replace(b'"calls":', b'"calls":1'))
    ran = program("verify", str(root), "--jsonl")
    assert ran.code == 6
    assert b"two receipts" in ran.out


@pytest.mark.parametrize("step", some([7, 31], 31))
def test_every_flip_of_a_bit_in_the_footer_of_a_file_is_found(
    step: int, program: Program, server: Servers, tmp_path: Path
) -> None:
    """A file of -o has no receipt; its footer has a hash of itself, twice, so that none can hide the other."""
    path = tmp_path / "rows.parquet"
    assert program("records", "100:120", "-o", str(path), "-q", url=server("--tip", "400")).code == 0
    data = path.read_bytes()
    footer = int.from_bytes(data[-8:-4], "little") + 8
    keys = data.index(b"chainq.footer1")
    rng = random.Random(1)  # noqa: S311  # no secret
    assert not any(step.findings for step in RowsCheck(path, Repair()).steps())
    unseen = []
    for at in [
        *range(len(data) - footer, len(data), step),
        *range(keys, keys + 200, 1 + step // 10),
        *range(len(data) - 8, len(data)),
    ]:
        path.write_bytes(data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :])
        try:
            if not any(step.findings for step in RowsCheck(path, Repair()).steps()):
                unseen.append(at)
        except (IncompleteError, UsageError):  # what chainq says of it
            continue
    assert unseen == []
