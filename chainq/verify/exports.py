"""The files of an export: what its listing says, and its partitions, to be read. Only this module knows the layout."""

from collections.abc import Iterator
from contextlib import suppress
from itertools import groupby, pairwise

from chainq.catalog.tables import DERIVED, SOURCE, TABLES
from chainq.defaults import MAX_MEMORY
from chainq.errors import IncompleteError
from chainq.heights.range import HeightRange
from chainq.lake.data_set import Entry, gaps, look, writing
from chainq.lake.files import StoredFile
from chainq.lake.plan import broken
from chainq.lake.store import open_store
from chainq.verify.files import UNREADABLE, Sheet, reason, windows
from chainq.verify.findings import Finding, Window, by_height

EXPLAINED = ("ownership", "records", "transitions")


class ExportFiles:
    """The partitions of an export. One that links to neither of its neighbors is of another chain, and not read.

    `heights`: of the data set. Raises UsageError if there is no export,
    IncompleteError if none has written any partition.
    """

    def __init__(self, destination: str, memory: int = MAX_MEMORY) -> None:
        self._store = open_store(destination, memory)
        found = look(self._store)
        self._tables, self._known, self.heights = found.tables, found.known, found.heights
        self._others = [name for name in found.others if name.split("/")[0] in TABLES and "/_" not in name]
        self._entries = sorted((one for some in found.tables.values() for one in some), key=lambda one: one.spec.start)
        self._unlinked = [pair for some in found.tables.values() for pair in pairwise(some) if broken(*pair)]
        self._apart = {before for before, _ in self._unlinked} & {after for _, after in self._unlinked}
        if not self._entries and not self._others:
            none = f"{self._store.label} has no partitions: no export has written any"
            raise IncompleteError(none, writing(sorted(found.known), None, self._store.label))

    def opens(self, *, compared: bool) -> list[str]:
        """Return what stays open, in words. `compared`: with a service."""
        known = {one.spec.heights for one in self._tables.get(SOURCE.command, ())}
        lacking = {one.spec.command for one in self._entries if one.spec.heights not in known}.intersection(EXPLAINED)
        opens = [] if compared else ["the values of rows (--full compares them with a service)"]
        if lacking:
            opens.append(f"whether all {', '.join(sorted(lacking))} are there, where full blocks are missing")
        return opens

    @property
    def derived(self) -> frozenset[str]:
        """The tables that were read off full blocks."""
        blocks = self._tables.get("blocks", [])
        with suppress(*UNREADABLE, LookupError):
            return DERIVED | ({"blocks"} if StoredFile(self._store, blocks[0]).receipt.source else set())
        return DERIVED

    def spans(self) -> dict[str, list[HeightRange]]:
        """Return the heights of the partitions of each table."""
        return {table: [entry.spec.heights for entry in some] for table, some in self._tables.items()}

    def windows(self) -> Iterator[Window]:
        """Yield the rows of all partitions, by height; first, what is wrong by the listing."""
        yield Window(HeightRange(0, 0), {}, {}, wrong=self._listed())
        entries = (one for one in self._entries if one not in self._apart)
        for _, group in groupby(entries, lambda one: one.spec.start):
            yield from self._windows(list(group))

    def _windows(self, entries: list[Entry]) -> Iterator[Window]:
        """Yield the rows of partitions of the same heights, and what is wrong with their files."""
        names = {entry.spec.command: entry for entry in entries}
        sheets, wrong = [], []
        for entry in entries:
            try:
                file = StoredFile(self._store, entry)
                sheets.append(Sheet(file.parquet, TABLES[entry.spec.command], entry.spec.heights, file.read))
            except UNREADABLE as error:
                wrong.append(Finding(None, entry.spec.command, "invalid", "a file as it was written", reason(error)))
        for window in windows(sheets, wrong):
            yield window._replace(located=lambda one: self._located(names[one.command or ""], one))

    def _located(self, entry: Entry, one: Finding) -> Finding:
        """Return a finding about a partition, at all its heights unless one is known."""
        first, end = entry.spec.heights.edges if one.height is None else (one.height, one.end)
        return one._replace(height=first, end=end, file=self._file(entry.name))

    def _file(self, name: str) -> str:
        """Return where a file is: its path, or its URL without the secrets that a URL may have."""
        return self._store.address(name) if self._store.folder else f"{self._store.label.rstrip('/')}/{name}"

    def _listed(self) -> list[Finding]:
        """Return what is wrong by the listing: gaps, partitions of another chain, and files of others."""
        found = [Finding(None, name.split("/")[0], "foreign", None, name, self._file(name)) for name in self._others]
        lacking: dict[HeightRange, list[str]] = {}
        for table in (one for one in TABLES if one in self._known):
            for gap in gaps((one.spec for one in self._tables.get(table, ())), self.heights):
                lacking.setdefault(gap, []).append(table)
        for gap, tables in lacking.items():
            found.append(Finding(gap.start, ",".join(tables), "missing", str(gap), None, end=gap.end))
        for before, after in self._unlinked:
            if before in self._apart and after not in self._apart:
                continue  # the one before is to be written again
            neither = ": a partition that links to neither neighbor" * (after in self._apart)
            due = f"SHA-256 of the previous hash {before.last}"
            one = Finding(None, after.spec.command, "link", due, f"{after.previous}{neither}")
            found.append(self._located(after, one))
        return sorted(found, key=by_height)
