"""What an export decides from one listing: names that say all, and partitions that are kept or written again."""

import random
from types import SimpleNamespace
from typing import Any, cast

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from chainq.catalog.tables import COMMANDS
from chainq.heights.range import HeightRange
from chainq.lake.data_set import DataSet, Entry, Origin, PartitionSpec, digest, find, parse_entry, partitions
from chainq.lake.plan import broken, make_plan

GRID = 10
TIP = 10**6
heights = st.integers(0, 2**32 - 2)
commands = st.sampled_from(COMMANDS)


def entry(start: int, end: int, fork: int = 10**9, command: str = "records", tip: int = TIP) -> Entry:
    """A file of a chain that has other blocks from the height `fork` on."""
    hashes = [digest(block(height, fork)) for height in (start - 1, end - 1)]
    return Entry(PartitionSpec(command, start, end), tip, 3, hashes[0], hashes[1])


def block(height: int, fork: int = 10**9) -> str:
    """The hash of a block of that chain: it depends on all blocks below."""
    return f"{0 if height < fork else fork} {height}"


@given(commands, heights, heights, st.integers(0, 2**59), st.text(max_size=80))
def test_facts_in_names(command: str, start: int, end: int, rows: int, block_hash: str) -> None:
    """The name of a file holds what the next run must know, whatever characters a hash has, and sorts by height."""
    start, end = min(start, end), max(start, end) + 1
    made = Entry(PartitionSpec(command, start, end), end, rows, digest(block_hash), digest(""))
    assert parse_entry(made.name) == made
    for other in (made.name + "x", f"x/{made.name}", made.name.replace("start=", "start=0")):
        assert parse_entry(other) is None
    for other_facts in (made._replace(tip=2**32), made._replace(spec=made.spec._replace(end=start))):
        assert parse_entry(other_facts.name) is None
    assert parse_entry(made.name.replace(f"{command}/", "unknown/")) is None
    later = made._replace(spec=PartitionSpec(command, start + 1, end + 1))
    assert made.name < later.name


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, GRID), st.integers(0, 99)), max_size=8), st.randoms())
def test_the_file_that_counts(files: list[tuple[int, int, int]], dice: random.Random) -> None:
    """Of each partition it is the one with most heights, then with the highest tip, in whatever order they are listed;
    files off the grid are none of the data set."""
    entries = [entry(start * GRID, start * GRID + length, tip=tip) for start, length, tip in dict.fromkeys(files)]
    names = [(one.name, 1, 0.0) for one in entries]
    foreign = [(entry(5, 9).name, 1, 0.0), (entry(0, GRID + 1).name, 1, 0.0), ("records/notes.txt", 1, 0.0)]
    mixed = [*names, *foreign]
    dice.shuffle(mixed)
    described = msgspec.json.encode(DataSet(2, Origin(0, "x"), GRID, 0, []))
    found = find(cast("Any", SimpleNamespace(read=lambda _: described, listing=lambda: mixed)))
    assert found is not None
    best: dict[int, Entry] = {}
    for one in entries:
        best[one.spec.start] = max(one, best.get(one.spec.start, one))
    assert [one.name for one in found.tables.get("records", [])] == [best[start].name for start in sorted(best)]
    assert len(found.replaced) == len(entries) - len(best)
    assert sorted(found.others) == sorted(name for name, *_ in foreign)


@given(
    st.integers(1, 12),
    st.integers(1, GRID),
    st.integers(0, 130),
    st.sets(st.integers(0, 12)),
    st.integers(0, 130),
    st.booleans(),
)
def test_plans(count: int, last: int, fork: int, lost: set[int], old_fork: int, mixed: bool) -> None:
    """Kept is what is whole, long enough and of the chain; and no hash is asked for more than a few times."""
    end = (count - 1) * GRID + last
    wanted = partitions("records", HeightRange(0, end), GRID)
    there = [
        entry(start, min(start + GRID, end), old_fork if mixed and start // GRID % 2 else 10**9)
        for start in range(0, end, GRID)
        if start // GRID not in lost
    ]
    asked: list[int] = []

    def hash_at(height: int) -> str:
        asked.append(height)
        return block(height, fork)

    todo = {one.spec for one in make_plan(wanted, {"records": there}, hash_at, TIP)}
    held = {one.spec: one for one in there}
    due = {spec for spec in wanted if spec not in held or held[spec].last != digest(block(spec.end - 1, fork))}
    assert todo == due
    if not mixed and not lost and fork >= end:
        assert asked == [end - 1]


def test_partitions_that_ended_just_below_the_tip_are_written_once_more() -> None:
    """By the first run whose tip is far enough above them, as far as they go already; blocks are never late."""
    ends = range(20, 30)
    for end in ends:
        one, blocks = entry(0, end, tip=29), entry(0, end, tip=29, command="blocks")
        for tip in (29, 35, 60):
            late = make_plan(partitions("records", HeightRange(0, 5), 30), {"records": [one]}, block, tip)
            again = [(one.spec, "late rows", one)]
            assert late == (again if 29 - (end - 1) < 10 <= tip - (end - 1) else [])
            assert make_plan(partitions("blocks", HeightRange(0, 5), 30), {"blocks": [blocks]}, block, tip) == []


def test_an_unknown_hash_breaks_nothing() -> None:
    """Of partitions that adjoin, hashes are compared only where the service named both."""
    before, after, other = entry(0, 10), entry(10, 20), entry(10, 20, fork=5)
    assert not broken(before, after)
    assert broken(before, other)
    for one, next_one in ((before._replace(last="0"), after), (before, after._replace(previous="0"))):
        assert not broken(one, next_one)
    assert not broken(before, entry(20, 30))
