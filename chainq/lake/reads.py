"""Maps reads of the service to the tables that they fill, both separate tables and the tables of full blocks.

A read is one method and the tables that its rows fill. Everything before it (what exists, what is missing, what a reorg
changed) and after it (files, SQL, verification) handles only tables. If a killed or partial run leaves tables without
some heights, the next run reads these heights again for those tables only.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from chainq.catalog.methods import BY_COMMAND, Method
from chainq.catalog.tables import CHAIN, COMMANDS, DERIVED, SOURCE, TABLES
from chainq.errors import UsageError
from chainq.lake.job import Task
from chainq.lake.names import PartitionSpec
from chainq.lake.plan import Todo
from chainq.lake.store import Upload
from chainq.lake.writer import PartitionFile
from chainq.query import Batch
from chainq.rows.tables import table_rows

if TYPE_CHECKING:
    from msgspec import Raw

    from chainq.planning.exchange import Grade

NAME = "chain"
"""The read of full blocks that fills several tables, and what the command line calls all of them."""
EXPORTED = (NAME, *COMMANDS, *(table for table in CHAIN if table in DERIVED))
"""What can be exported."""


class Read(NamedTuple):
    """One method, and the tables that its rows fill. `name`: of the command, or `NAME`."""

    name: str
    tables: tuple[str, ...]


def reads_of(commands: Iterable[str], *, full_blocks: bool = True) -> tuple[Read, ...]:
    """Return the reads that fill the tables of these commands, each table once.

    `full_blocks`: whether `chain` includes the table of the full blocks themselves. Raises UsageError for a command
    without partitions.
    """
    wanted = dict.fromkeys(commands)
    for command in wanted:
        if command not in EXPORTED:
            raise UsageError(f"{command!r} cannot be exported: expected {', '.join(EXPORTED)}")
    if NAME in wanted:
        shared = tuple(table for table in CHAIN if full_blocks or table != SOURCE.command)
    elif DERIVED.isdisjoint(wanted):
        shared = ()
    else:
        shared = tuple(table for table in CHAIN if table in wanted and (table in DERIVED or table == SOURCE.command))
    own = (Read(command, (command,)) for command in wanted if command not in (NAME, *shared))
    return (*([Read(NAME, shared)] if shared else []), *own)


def read_method(name: str) -> Method:
    """Return the method of a read by its name."""
    return SOURCE if name == NAME else BY_COMMAND[name]


def tasks_of(todos: Sequence[Todo], reads: Iterable[Read]) -> list[Task]:
    """Return the partitions to write as tasks; partitions at the same heights that one read fills are one task."""
    names = {table: read.name for read in reads for table in read.tables}
    groups: dict[tuple[str, int], list[Todo]] = {}
    for todo in todos:
        groups.setdefault((names[todo.spec.command], todo.spec.start), []).append(todo)
    return [
        Task(
            PartitionSpec(name, start, max(todo.spec.end for todo in some)),
            tuple(todo.spec.command for todo in some),
        )
        for (name, start), some in groups.items()
    ]


class Files:
    """The files of the tables that one read fills, in progress.

    `read`: the number of rows that were read; `first`, `last`: these rows. `proofs`: how often they were proved in
    which way. `rows`: how many were written.

    `uploads`: by table, emptied here. `warn` is called with warnings for readers of the files.
    """

    def __init__(self, read: str, uploads: Mapping[str, Upload], warn: Callable[[str], None]) -> None:
        self.tables: dict[str, PartitionFile] = {}
        self.read = self.rows = 0
        self.first: Raw | None = None
        self.last: Raw | None = None
        self.proofs: Counter[Grade] = Counter()
        self._own = read_method(read).command
        for table, upload in uploads.items():
            upload.file.seek(0)
            upload.file.truncate()
            self.tables[table] = PartitionFile(upload.file, TABLES[table], warn, label=upload.label)
        self._others = [table for table in self.tables if table != self._own]

    def write(self, batch: Batch) -> None:
        """Write rows to their own table, and the contents of full blocks to the other tables."""
        rows = batch.rows
        if batch.proof is not None:
            self.proofs[batch.proof.grade] += 1
        if rows:
            self.first = self.first if self.first is not None else rows[0].copy()
            self.last = rows[-1].copy()
        self.read += len(rows)
        if self._own in self.tables:
            self.tables[self._own].write(rows)
        if self._others:
            found = [table_rows(row) for row in rows]
            for table in self._others:
                self.tables[table].write([row for one in found for row in one[table]])
        self.rows = sum(file.rows for file in self.tables.values())
