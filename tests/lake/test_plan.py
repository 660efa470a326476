"""What an export decides from one listing: names that say all, and partitions that are kept or written again."""

from hypothesis import given
from hypothesis import strategies as st

from chainq.catalog.tables import COMMANDS
from chainq.heights.grid import PartitionSpec, parse_name, partition_name, partitions
from chainq.heights.range import HeightRange
from chainq.lake.plan import broken, first_broken, linked, make_plan
from chainq.stored.inventory import take_inventory
from chainq.stored.receipt import Entry, digest, parse_entry
from chainq.stored.store import Listed

GRID = 10
TIP = 10**6
heights = st.integers(0, 2**32 - 2)
commands = st.sampled_from(COMMANDS)


def entry(start: int, end: int, fork: int = 10**9, command: str = "records", size: int = 7, tip: int = TIP) -> Entry:
    """A receipt's essentials on a chain that has other blocks from the height `fork` on."""
    hashes = [digest(block(height, fork)) for height in (start - 1, end - 1)]
    return Entry(PartitionSpec(command, start, end), tip, 3, size, 4, hashes[0], hashes[1])


def block(height: int, fork: int = 10**9) -> str:
    """The hash of a block of that chain: it depends on all blocks below."""
    return f"{0 if height < fork else fork} {height}"


def listing(entries: list[Entry], size: int = 7) -> list[Listed]:
    """What a data set with these partitions lists."""
    files = [Listed(one.spec.name, size) for one in entries]
    return [*files, *(Listed(one.name, 300) for one in entries), Listed("chainq.json", 9), Listed("_chainq/lock", 0)]


@given(commands, heights)
def test_names_are_read_as_they_are_written(command: str, start: int) -> None:
    """The name of a partition's file holds its command and first height; other names hold nothing."""
    name = partition_name(command, start)
    assert parse_name(name) == (command, start)
    for other in (name + "x", name.replace("start=", "start=0"), name.replace("/data", "/part-0"), f"x/{name}"):
        assert parse_name(other) is None


@given(commands, heights, heights, st.integers(0, 2**60), st.integers(0, 2**60), st.text(max_size=80))
def test_receipts_in_names(command: str, start: int, end: int, rows: int, size: int, block_hash: str) -> None:
    """The name of a receipt holds what the next run must know, whatever characters a hash has."""
    start, end = min(start, end), max(start, end) + 1
    made = Entry(PartitionSpec(command, start, end), end, rows, size, 9, digest(block_hash), digest(""))
    assert parse_entry(made.name) == made
    assert parse_entry(made.name + "x") is None
    assert parse_entry(made.name.replace("receipts", "other")) is None
    for other in (made._replace(tip=2**32), made._replace(spec=made.spec._replace(end=start))):
        assert parse_entry(other.name) is None
    assert parse_entry(made.name.replace(f"/{command}/", "/unknown/")) is None


@given(st.integers(0, 500), st.integers(0, 500), st.integers(1, 60))
def test_partitions_cover_a_range_on_the_grid(start: int, length: int, size: int) -> None:
    """Each height of the range is in exactly one partition, and only the last one may be short."""
    parts = partitions("blocks", HeightRange(start, start + length), size)
    covered = [height for part in parts for height in range(part.start, part.end)]
    first = start - start % size
    assert covered == (list(range(first, start + length)) if length else [])
    assert all(part.start % size == 0 for part in parts)
    assert all(len(part.heights) == size for part in parts[:-1])


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

    todo = {one.spec for one in make_plan(wanted, take_inventory(listing(there)), hash_at, TIP)}
    held = {one.spec: one for one in there}
    due = {spec for spec in wanted if spec not in held or held[spec].last != digest(block(spec.end - 1, fork))}
    assert todo == due
    if not mixed and not lost and fork >= end:
        assert asked == [end - 1]


def test_what_does_not_count() -> None:
    """Files without a receipt, of another size, or with two receipts are written again; foreign files are ignored."""
    whole, short, twice, bare = (entry(start, start + GRID) for start in (0, 10, 20, 30))
    found = [
        *listing([whole]),
        Listed(short.spec.name, 6),
        Listed(short.name, 300),
        *listing([twice]),
        Listed(twice._replace(rows=4).name, 300),
        Listed(bare.spec.name, 7),
        Listed("records/notes.txt", 7),
    ]
    inventory = take_inventory(found)
    assert set(inventory.valid) == {("records", 0)}
    todo = make_plan(partitions("records", HeightRange(0, 40), GRID), inventory, block, TIP)
    assert [(one.spec.start, one.reason, len(one.stale)) for one in todo] == [
        (10, "new", 1),
        (20, "new", 2),
        (30, "new", 0),
    ]


def test_partitions_that_ended_just_below_the_tip_are_written_once_more() -> None:
    """By the first run whose tip is far enough above them, as far as they go already; blocks are never late."""
    ends = range(20, 30)
    for end in ends:
        there = take_inventory(listing([entry(0, end, tip=29)]))
        blocks = take_inventory(listing([entry(0, end, tip=29, command="blocks")]))
        for tip in (29, 35, 60):
            late = make_plan(partitions("records", HeightRange(0, 5), 30), there, block, tip)
            again = [(PartitionSpec("records", 0, end), "late rows", there.receipts(PartitionSpec("records", 0, end)))]
            assert late == (again if 29 - (end - 1) < 10 <= tip - (end - 1) else [])
            assert make_plan(partitions("blocks", HeightRange(0, 5), 30), blocks, block, tip) == []


def test_links_are_checked_at_the_end() -> None:
    """The first partition that names another hash than the one before has; gaps and unknown hashes are no break."""
    first, second, third = entry(0, 10), entry(10, 20), entry(20, 30, fork=5)
    assert first_broken([first, second]) is None
    assert first_broken([third, second, first]) == (second, third)
    assert first_broken([first, third]) is None
    assert first_broken([second._replace(last="0"), third]) is None


def test_an_unknown_hash_breaks_nothing() -> None:
    """Of partitions that adjoin, hashes are compared only where the service named both."""
    before, after, other = entry(0, 10), entry(10, 20), entry(10, 20, fork=5)
    assert (linked(before, after), broken(before, after)) == (True, False)
    assert (linked(before, other), broken(before, other)) == (False, True)
    for one, next_one in ((before._replace(last="0"), after), (before, after._replace(previous="0"))):
        assert (linked(one, next_one), broken(one, next_one)) == (False, False)
    assert (linked(before, entry(20, 30)), broken(before, entry(20, 30))) == (False, False)
