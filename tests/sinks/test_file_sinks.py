"""The sinks that are files: what they keep, what they refuse, who holds the lock."""

import os
from pathlib import Path
from stat import S_ISDIR

import pytest

from chainq.errors import BusyError, OutputError
from chainq.sinks.append_file import AppendFileSink
from chainq.sinks.atomic_file import AtomicFileSink
from chainq.sinks.open import open_sink
from chainq.sinks.stdout import StreamSink


def test_why_a_file_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that may not be written is refused before the first request."""
    file = tmp_path / "out"
    file.write_bytes(b"old\n")
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(OutputError, match=f"^cannot write {file}: permission denied$"):
        open_sink(file)


def test_a_file_is_not_replaced_under_a_run_that_began_since(tmp_path: Path) -> None:
    """A run that began to append while the new file was written keeps the file: BusyError, no temporary file left."""
    file = tmp_path / "out"
    sink = AtomicFileSink(file)
    sink.write(b"new")
    with AppendFileSink(file) as other:
        other.write(b"row\n")
        with pytest.raises(BusyError, match="another run is appending"):
            sink.finish()
        other.write(b"row\n")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("out", b"row\nrow\n")]


def test_a_finished_file_survives_a_power_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its bytes are on the disk before it has its name, and then the name is."""
    file, synced = tmp_path / "out", list[tuple[bool, bool]]()
    monkeypatch.setattr(os, "fsync", lambda number: synced.append((S_ISDIR(os.fstat(number).st_mode), file.exists())))
    with AtomicFileSink(file) as sink:
        sink.write(b"row\n")
    assert synced == [(False, False), (True, True)]


@pytest.mark.parametrize(("name", "synced"), [("out", True), ("pipe", False)])
def test_a_stream_is_synced_before_a_checkpoint_records_it(
    name: str, synced: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If it is a file, as with `>> FILE`; a pipe cannot be."""
    if name == "pipe":
        os.mkfifo(tmp_path / name)
    done = list[int]()
    monkeypatch.setattr(os, "fsync", done.append)
    descriptor = os.open(tmp_path / name, os.O_RDWR | os.O_CREAT)
    with StreamSink(descriptor, name, own=True) as sink:
        sink.write(b"row\n")
        sink.sync()
    assert done == [descriptor] * synced


def test_only_files_of_killed_runs_are_removed(tmp_path: Path) -> None:
    """Not one that is only named like them."""
    left, other = tmp_path / ".out.abcd_123.chainq", tmp_path / ".out.backup.old.chainq"
    left.touch()
    other.touch()
    AtomicFileSink(tmp_path / "out").abandon()
    assert list(tmp_path.iterdir()) == [other]


def test_the_name_of_a_file_survives_a_power_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one that rows are appended to before any is recorded, of one that replaces another at its end."""
    synced = list[bool]()

    def fsync(descriptor: int) -> None:
        synced.append(S_ISDIR(os.fstat(descriptor).st_mode))

    monkeypatch.setattr(os, "fsync", fsync)
    with AppendFileSink(tmp_path / "kept") as kept:
        assert synced.pop()
        kept.write(b"row\n")
    AppendFileSink(tmp_path / "kept").finish()
    assert not synced  # it was, when it was made
    AtomicFileSink(tmp_path / "out").finish()
    assert synced == [False, True]
