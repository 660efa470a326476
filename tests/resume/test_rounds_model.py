"""Rounds against a model service: late rows, replicas, reorgs and crashes, in process, thousands of runs a minute.

The model decides which rows exist; the output must hold exactly those in the end, a file in order of height.
`CHAINQ_EXAMPLES=2000 pytest tests/resume/test_rounds_model.py` tries more histories of the service than the usual 30.
"""

import json
import os
import re
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec import Raw
from msgspec.structs import replace

from chainq.catalog.methods import BY_COMMAND
from chainq.errors import IncompleteError, UnreachableError
from chainq.fetching.blocks import Tip
from chainq.heights.bounds import Bounds
from chainq.heights.range import HeightRange
from chainq.planning.exchange import Grade, Proof
from chainq.process.progress import UNSEEN
from chainq.query import Batch, Query
from chainq.resume.checkpoint import VERSION, Content
from chainq.resume.journal import Journal
from chainq.resume.rounds import ResumeSettings, Rounds

if TYPE_CHECKING:
    from chainq.fetching.service import Service
    from chainq.formats.protocol import Writer
    from chainq.resume.checkpoint import Checkpoint

EXAMPLES = int(os.environ.get("CHAINQ_EXAMPLES", "30"))

END = 100  # the tip in the end; the rows are those of heights up to 60

Rows = dict[int, list[bytes]]


class CrashError(Exception):
    """Stands for kill -9: what was in memory is gone."""


class Chain:
    """The service: `tip`, the `fork` that its blocks are of, `indexed` heights with rows; all move with each call."""

    def __init__(self, rows: Rows, moves: list[tuple[int, int, int]], fork_at: int, late: int) -> None:
        self.rows, self.moves, self.fork_at, self.late = rows, moves, fork_at, late
        self.height, self.indexed, self.fork = 30, 30 - late, 0
        self.blocks = self

    def step(self) -> int:
        """Count a call, move on, and return how far behind the server of this call is."""
        if not self.moves:
            return 0
        grow, late, behind = self.moves.pop()
        self.height = min(60, self.height + grow)
        self.indexed = max(self.indexed, self.height - self.late - late)
        self.fork = int(self.fork_at <= self.height and self.fork_at > 0 and len(self.moves) < 60)
        return behind

    def hash(self, height: int) -> str:
        return f"{height}-{self.fork if height >= self.fork_at else 0}"

    def shown(self, height: int, behind: int = 0) -> list[bytes]:
        """The rows of a height that a server of this chain shows."""
        if height > min(self.indexed, self.height - behind):
            return []
        fork = self.fork if height >= self.fork_at else 0
        half = height == self.indexed > self.height - 5  # near the tip the indexer may be in the middle of a height
        rows = self.rows.get(height, [])[: 1 if half else None]
        return [b'{"height":"%d","id":"%d-%s"}' % (height, fork, row) for row in rows]

    def tip(self) -> Tip:
        self.step()
        return Tip(self.height, self.hash(self.height), self.hash(self.height - 1), None)

    def tip_height(self) -> int:
        return self.height

    def block_hash(self, height: int) -> str | None:
        behind = self.step()
        return self.hash(height) if height <= self.height - behind else None

    hash_of = block_hash

    def fetch_range(self, _: Query, heights: HeightRange, *__: object) -> Iterator[Batch]:
        """Chunks of at most seven heights; each is proved by a row of the next seven where there is one."""
        for start in range(heights.start, heights.end, 7):
            behind = self.step()
            chunk = HeightRange(start, min(heights.end, start + 7))
            rows = [Raw(row) for height in range(chunk.start, chunk.end) for row in self.shown(height, behind)]
            above = any(self.shown(height, behind) for height in range(chunk.end, min(heights.end, chunk.end + 7)))
            yield Batch(rows, chunk, Proof(Grade.ORDER if above else Grade.BELIEF))


class Output:
    """A sink and a writer in one: a file that can be cut, or a pipe that cannot. `fuse`: steps until a crash."""

    pipe, intact = False, True

    def __init__(self, data: bytes, *, appends: bool, fuse: int) -> None:
        self.data, self.appends, self.fuse = data, appends, fuse

    @property
    def length(self) -> int:
        return len(self.data) if self.appends else 0

    def burn(self) -> None:
        self.fuse -= 1
        if self.fuse == 0:
            raise CrashError

    def write(self, rows: list[Raw]) -> None:
        for row in rows:
            self.burn()
            self.data += bytes(row) + b"\n"

    def sync(self) -> None:
        self.burn()

    def truncate(self, length: int) -> None:
        self.burn()
        if self.appends:
            self.data = self.data[:length]

    def keep(self) -> None:
        pass

    def has_line_end(self, length: int) -> bool:
        return not length or self.data[:length].endswith(b"\n")


class Record:
    """A checkpoint in memory: `saved` is what the next run finds."""

    path = "kept"

    def __init__(self) -> None:
        self.saved = self.content = Content(VERSION, {}, [])

    def save(self) -> None:
        self.saved = replace(self.content)


def one_run(chain: Chain, record: Record, output: Output, rewind: int) -> str:
    """One cron run; return how it ended."""
    query = Query(BY_COMMAND["records"], bounds=Bounds(start=0))
    try:
        record.content = replace(record.saved)
        journal = Journal(
            cast("Any", output), cast("Checkpoint", record), "", lambda *_: cast("Writer", output), lambda _: None
        )
        rounds = Rounds(cast("Service", chain), query, ResumeSettings(), journal, UNSEEN)
        tip = chain.tip()
        writer = journal.begin(lambda: 0, rewind)
        rounds.run(writer, tip)
    except CrashError:
        return "killed"
    except UnreachableError:
        return "unreachable"
    except IncompleteError as error:
        return str(error)
    return ""


MOVES = st.lists(
    st.tuples(
        st.sampled_from([0, 0, 0, 0, 1, 1, 3]),  # blocks that the chain grows by
        st.sampled_from([0, 0, 1, 2, 4]),  # blocks that the indexer is behind, beyond `late`
        st.sampled_from([0, 0, 0, 1, 2]),  # blocks that the server of the call is behind
    ),
    min_size=20,
    max_size=150,
)
ROWS = st.dictionaries(st.integers(0, 60), st.lists(st.sampled_from([b"a", b"b", b"c"]), unique=True), min_size=5)


@settings(max_examples=EXAMPLES, deadline=None)
@given(
    rows=ROWS,
    moves=MOVES,
    fork_at=st.sampled_from([0, 0, 10, 20, 35]),
    late=st.sampled_from([0, 0, 2, 4]),
    fuses=st.lists(st.integers(0, 40), max_size=12),
    appends=st.booleans(),
)
@example(  # a reorg between the lookups of the last block and of the recorded one
    rows={21: [b"c"]}, moves=[*[(0, 0, 0)] * 67, *[(1, 0, 0)] * 2], fork_at=10, late=0, fuses=[], appends=True
)
@pytest.mark.parametrize("kills", [False, True])
def test_every_row_once(
    kills: bool,
    rows: Rows,
    moves: list[tuple[int, int, int]],
    fork_at: int,
    late: int,
    fuses: list[int],
    appends: bool,
) -> None:
    """Whatever the service shows when, runs end with every row once; a pipe may only repeat what a kill cut off."""
    if not appends:
        fork_at = 0  # what was printed cannot be taken back
    chain, record, data, ended = Chain(rows, moves, fork_at, late), Record(), b"", ""
    turns = 0
    while chain.moves or chain.height < END or ended or (kills and fuses):
        if not chain.moves:  # the service has caught up, and the chain grows, so that the last heights are settled
            chain.height = chain.indexed = min(END, chain.height + 11)
        output = Output(data, appends=appends, fuse=fuses.pop() if kills and fuses else 0)
        advice = re.search(r"--rewind (\d+)", ended)
        ended = one_run(chain, record, output, int(advice[1]) if advice else 0)
        data, turns = output.data, turns + 1
        assert turns < 200
    last = record.saved.positions[-1].next
    assert last >= END + 1 - 16
    due = [row for height in range(last) for row in chain.shown(height)]
    came = data.split(b"\n")[:-1]
    if appends:
        assert came == due
        assert [json.loads(row)["height"] for row in came] == [json.loads(row)["height"] for row in due]
    elif kills:
        assert set(came) == set(due)
    else:
        assert Counter(came) == Counter(due)
