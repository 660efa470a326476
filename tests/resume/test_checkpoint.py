"""Checkpoint by itself: what is kept, what is refused, where a rewind leads, who holds the lock."""

import errno
import json
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, cast
from unittest.mock import Mock

import pytest

from chainq.errors import OutputError, UsageError
from chainq.process import signals
from chainq.process.signals import Interrupted
from chainq.resume.checkpoint import VERSION, Checkpoint, Content, Position, recorded
from chainq.resume.journal import POSITIONS, Journal
from chainq.resume.rounds import difference
from chainq.sinks.append_file import AppendFileSink
from chainq.sinks.stdout import StreamSink
from harness.models.readings import readings
from harness.running.program import Program
from harness.servers.services import Moving, Serve

QUERY = {"command": "blocks", "start": "0", "url": "http://127.0.0.1:1/"}


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """Where a checkpoint goes."""
    return tmp_path / "kept"


def opened(kept: Path, output: str = "") -> Iterator[Journal]:
    """The journal of a run to standard output."""
    with Checkpoint(kept, QUERY) as checkpoint:
        yield Journal(StreamSink(1, "standard output"), checkpoint, output, cast("Any", None), print)


def saved(kept: Path, *positions: Position, output: str = "") -> None:
    """Make a checkpoint by recording positions one after the other."""
    for journal in opened(kept, output):
        for position in positions:
            journal.record(position)


def reopened(kept: Path) -> list[Position]:
    """The positions that a next run finds."""
    (positions,) = (journal.content.positions for journal in opened(kept))
    return positions


def test_positions_are_thinned_to_the_first_and_the_last_ones(kept: Path) -> None:
    """However many positions are recorded, a bounded number is kept: the first, the newest, in order."""
    saved(kept, *(Position(height, "h", height * 10) for height in range(500)))
    positions = reopened(kept)
    assert len(positions) <= POSITIONS + 1
    assert (positions[0].next, positions[-1].next) == (0, 499)
    assert [position.next for position in positions[-10:]] == list(range(490, 500))
    assert positions == sorted(positions, key=lambda position: position.next)


def test_a_position_that_goes_back_replaces_those_after_it(kept: Path) -> None:
    """Recording a lower height drops the positions at or above it: they record rows that are gone."""
    saved(kept, Position(0), Position(5, "a", 50), Position(9, "b", 90), Position(7, "c", 70))
    assert [position.next for position in reopened(kept)] == [0, 5, 7]


@pytest.mark.parametrize(
    ("blocks", "expected"), [(1, 20), (9, 20), (10, 20), (11, 10), (20, 10), (21, 0), (30, 0), (1000, 0)]
)
def test_rewind_goes_to_the_nearest_position(blocks: int, expected: int, kept: Path) -> None:
    """At least that many blocks back, to the nearest position; at most to the first."""
    saved(kept, Position(0), Position(10, "a", 100), Position(20, "b", 200), Position(30, "c", 300))
    for journal in opened(kept):
        journal.go_back_to(journal.position.next - blocks)
    assert reopened(kept)[-1].next == expected


def test_cut_at_any_byte_it_is_refused(kept: Path) -> None:
    """Cut short after any number of bytes, a checkpoint is an error that names it, and is left as it is."""
    saved(kept, Position(0), Position(12, "ab1é", 345), output="out")
    whole = kept.read_bytes()
    text = whole.rstrip()
    assert len(text) > 200
    for length in range(len(text)):
        kept.write_bytes(whole[:length])
        with pytest.raises(UsageError, match="kept"):
            Checkpoint(kept, QUERY)
        assert kept.read_bytes() == whole[:length]


GOOD = {"chainq": VERSION, "query": QUERY, "positions": [{"next": 3, "hash": "a", "length": 5}], "output": "o"}


def changed(line: list[Any]) -> bytes:
    """A checkpoint with one value replaced or added, or (without a value) taken away."""
    path, *value = line
    content: Any = json.loads(json.dumps(GOOD))
    inner = content
    for step in path[:-1]:
        inner = inner[step]
    if value:
        inner[path[-1]] = value[0]
    else:
        del inner[path[-1]]
    return json.dumps(content).encode()


def test_a_strange_checkpoint_is_refused(kept: Path, golden: Callable[[Path, str], None]) -> None:
    """Another version, query or shape, unknown keys, values that cannot be: refused, left alone. The last is taken."""

    def read(line: list[Any]) -> list[Position]:
        kept.write_bytes(text := changed(line))
        try:
            with Checkpoint(kept, QUERY) as checkpoint:
                return checkpoint.content.positions
        except UsageError as error:
            raise UsageError(str(error).replace(str(kept), "kept")) from None
        finally:
            assert kept.read_bytes() == text

    file = Path(__file__).parent / "strange.txt"
    golden(file, readings(file, read))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"o"', b'"\xff"'),
        (b'"a"', b'"\xc3("'),
        (b'"o"', b"[" * 100_000 + b"]" * 100_000),
        (b"}", b"}x"),
        (b"{", b"\xef\xbb\xbf{"),
    ],
)
def test_what_is_not_json_is_refused(old: bytes, new: bytes, kept: Path) -> None:
    """Nor UTF-8, or too deep."""
    kept.write_bytes(json.dumps(GOOD).encode().replace(old, new))
    with pytest.raises(UsageError, match="kept"):
        Checkpoint(kept, QUERY)


@pytest.mark.parametrize(
    ("recorded", "now", "words"),
    [
        ("ab1x", "ab1x", ""),
        ("", "ab1x", ""),
        ("ab1x", "ab1y", "reorg: block 7 is ab1y, and was ab1x"),
        ("ab1x", "", "reorg: block 7 has no hash now, and was ab1x"),
    ],
)
def test_a_reorg_names_block_and_hashes(recorded: str, now: str, words: str) -> None:
    """Another hash or none is a reorg, of a block that was recorded; without a recorded hash, any block passes."""
    assert difference(Position(8, recorded), now) == words


def test_what_a_checkpoint_recorded_stays_on_stdout(tmp_path: Path) -> None:
    """A run that is broken off when the checkpoint has its new place, and does not know it yet, cuts nothing off."""

    class Saved:
        path, content = "kept", Content(VERSION, {}, [Position(0)])

        def save(self) -> None:
            raise Interrupted(signal.SIGTERM, mid_write=True)

    file = tmp_path / "out"
    with file.open("wb") as opened:
        sink = StreamSink(opened.fileno(), "out")
        journal = Journal(sink, cast("Any", Saved()), "", cast("Any", None), print)
        sink.keep()
        sink.write(b"row\n")
        with pytest.raises(Interrupted):
            journal.record(Position(1))
        sink.abandon()
    assert file.read_bytes() == b"row\n"


def test_a_checkpoint_that_could_not_be_written_records_no_rows_that_were_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run whose disk was full for a moment removes the rows after its last position, and then records its error."""
    out, full = tmp_path / "out", OSError(errno.ENOSPC, "No space left on device")
    with Checkpoint(tmp_path / "kept", QUERY) as checkpoint, AppendFileSink(out) as sink:
        journal = Journal(sink, checkpoint, "", cast("Any", None), print)
        for next_height in (1, 2):
            sink.write(b"row\n")
            with suppress(OutputError):
                journal.record(Position(next_height, "h", sink.length, next_height))
            monkeypatch.setattr(Path, "replace", Mock(side_effect=full))
        monkeypatch.undo()
        journal.drop_rest()
        checkpoint.failed("No space left on device")
    assert out.stat().st_size == recorded(tmp_path / "kept").positions[-1].length == 4


def test_a_swallowed_signal_ends_it(chainq: Program, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run whose signal was lost somewhere does not poll again, although no row comes that it could write."""
    service = Moving(5)

    def sleep(_: float) -> None:
        assert signals._State.ending is None
        with suppress(Interrupted):
            signals._on_signal(signal.SIGTERM, None)

    monkeypatch.setattr(signals._State, "ending", None)
    monkeypatch.setattr(time, "sleep", sleep)
    ran = chainq("blocks", "--start", "6", "--follow", "--lag", "0", url=serve(service))
    assert (ran.code, ran.out) == (-signal.SIGTERM, b"")
    assert service.calls == ["latest/block"]
