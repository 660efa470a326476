"""The sinks that are files: what they keep, what they refuse, who holds the lock."""

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from chainq.errors import BusyError, IncompleteError, OutputError
from chainq.sinks.append_file import AppendFileSink, Recorded
from chainq.sinks.atomic_file import AtomicFileSink
from chainq.sinks.open import open_sink


@pytest.mark.parametrize("append", [False, True])
def test_only_a_file_that_is_appended_to_has_a_length(append: bool, tmp_path: Path) -> None:
    """A sink says whether it has a length; in others sync and truncate do nothing."""
    with open_sink(tmp_path / "out", append=append) as sink:
        sink.write(b"row\nhalf")
        sink.sync()
        sink.truncate(4)
        assert (sink.appends, sink.length) == (append, 4 if append else 0)
    assert (tmp_path / "out").read_bytes() == (b"row\n" if append else b"row\nhalf")


@pytest.mark.parametrize("there", [False, True])
@pytest.mark.parametrize(("flags", "reason"), [(0, "permission denied"), (os.ST_RDONLY, "Read-only file system")])
def test_why_a_file_cannot_be_written(
    flags: int, reason: str, there: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file system that is read-only is told from a missing permission, which a chmod could mend."""
    file = tmp_path / "out"
    if there:
        file.write_bytes(b"old\n")
    monkeypatch.setattr(os, "access", lambda *_: False)
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_flag=flags))
    with pytest.raises(OutputError) as raised:
        open_sink(file)
    assert str(raised.value) == f"cannot write {file}: {reason}" + ("" if there else f" for its folder {tmp_path}")


def test_append_keeps_what_no_checkpoint_recorded(tmp_path: Path) -> None:
    """Without a recorded length it appends to whatever the file holds, and knows its length at each moment."""
    file = tmp_path / "out"
    file.write_bytes(b"old\n")
    with AppendFileSink(file, None) as sink:
        assert sink.length == 4
        sink.write(b"new")
        assert (sink.length, file.read_bytes()) == (7, b"old\nnew")


def test_a_file_is_not_replaced_under_a_run_that_began_since(tmp_path: Path) -> None:
    """A run that began to append while the new file was written keeps the file: BusyError, no temporary file left."""
    file = tmp_path / "out"
    sink = AtomicFileSink(file)
    sink.write(b"new")
    with AppendFileSink(file, None) as other:
        other.write(b"row\n")
        with pytest.raises(BusyError, match="another run is appending"):
            sink.finish()
        other.write(b"row\n")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("out", b"row\nrow\n")]


def test_append_refuses_a_file_that_ends_inside_a_line(tmp_path: Path) -> None:
    """Half a row of a killed run would join the next one: OutputError, and the file stays unchanged."""
    file = tmp_path / "out"
    file.write_bytes(b'{"height":1}\n{"hei')
    with pytest.raises(OutputError, match="ends in the middle of a line"):
        AppendFileSink(file, None)
    assert file.read_bytes() == b'{"height":1}\n{"hei'


@pytest.mark.parametrize("recorded", [0, 2, 5])
def test_append_truncates_to_the_recorded_length(recorded: int, tmp_path: Path) -> None:
    """What lies beyond the recorded length is removed at once; rows follow there."""
    file = tmp_path / "out"
    file.write_bytes(b"12345")
    with AppendFileSink(file, Recorded(recorded)) as sink:
        assert file.read_bytes() == b"12345"[:recorded]
        sink.write(b"x")
        sink.sync()
        assert sink.length == recorded + 1
    assert file.read_bytes() == b"12345"[:recorded] + b"x"


def test_append_refuses_a_file_that_was_changed(tmp_path: Path) -> None:
    """The hash of the end tells a file of the same length, and one that is longer; the file stays untouched."""
    file = tmp_path / "out"
    file.write_bytes(b"row 1\n" * 2_000)
    with AppendFileSink(file, None) as sink:
        recorded = Recorded(sink.length, sink.end_hash(sink.length))
    with AppendFileSink(file, recorded) as sink:
        assert sink.length == recorded.length
    changed = b"row 1\n" * 1_999 + b"row 2\n"
    for data in (changed, changed + b"half a r"):
        file.write_bytes(data)
        with pytest.raises(IncompleteError, match="was changed since the checkpoint recorded it"):
            AppendFileSink(file, recorded)
        assert file.read_bytes() == data


def test_append_refuses_rows_that_no_killed_run_wrote(tmp_path: Path) -> None:
    """A line beyond the recorded length is the rest of a run that was killed, or another program's."""
    file = tmp_path / "out"
    file.write_bytes(b"row\nother\n")
    with pytest.raises(IncompleteError, match=r"recorded 4 bytes, .*out has 10, and no run was killed"):
        AppendFileSink(file, Recorded(4))
    assert file.read_bytes() == b"row\nother\n"
    with AppendFileSink(file, Recorded(4, writing=True)):
        assert file.read_bytes() == b"row\n"


def test_append_refuses_a_file_too_short(tmp_path: Path) -> None:
    """A file shorter than recorded has lost rows: IncompleteError with both lengths, and the file untouched."""
    file = tmp_path / "out"
    file.write_bytes(b"12345")
    with pytest.raises(IncompleteError, match=r"checkpoint recorded 6 bytes.*out has 5"):
        AppendFileSink(file, Recorded(6))
    assert file.read_bytes() == b"12345"


def test_append_can_go_back(tmp_path: Path) -> None:
    """`truncate` removes what a failed write left, and what is written next follows there."""
    file = tmp_path / "out"
    with AppendFileSink(file, None) as sink:
        sink.write(b"row\nhalf a r")
        sink.truncate(4)
        sink.write(b"row\n")
        assert sink.length == 8
    assert file.read_bytes() == b"row\nrow\n"


def test_append_keeps_rows_after_a_failure(tmp_path: Path) -> None:
    """Unlike an atomic file, what was written stays when the run fails; and it is closed."""
    file = tmp_path / "out"
    with pytest.raises(KeyError), AppendFileSink(file, None) as sink:
        sink.write(b"row\n")
        raise KeyError
    assert file.read_bytes() == b"row\n"
    with pytest.raises(OutputError):
        sink.sync()


@pytest.mark.parametrize("name", ["", "file/out", "nowhere/out"])
def test_append_to_a_path_that_cannot_be_written(name: str, tmp_path: Path) -> None:
    """A folder, a path below a file, or one in no folder: OutputError with the name."""
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match=(name or tmp_path.name)):
        AppendFileSink(tmp_path / name, None)
