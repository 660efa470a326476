"""What `chainq help WORD` says of a column: of the rows of commands, of the items in them, and of exported tables."""

from collections.abc import Iterator
from typing import NamedTuple

from chainq.catalog.columns import known_column, members
from chainq.catalog.methods import BY_COMMAND, Column, Kind
from chainq.catalog.tables import DERIVED, TABLES
from chainq.cli.list_columns import columns_by_command
from chainq.text.spelling import spelled
from chainq.verify.findings import CHECKS

_TABLES = {"transitions": TABLES["calls"], "transactions": BY_COMMAND["transaction"]}
"""What describes the items of arrays, unless it is the table of their name."""


class Meaning(NamedTuple):
    """A column with what it is, and the commands and the tables that have it."""

    name: str
    text: str
    commands: list[str]
    tables: list[str]

    def __str__(self) -> str:
        """Return what is said of it."""
        places = {"Commands": self.commands, "Tables of an export": self.tables}
        said = (f"{kind}: {', '.join(names)}." for kind, names in places.items() if names)
        return " ".join((*([f"{self.text}."] if self.text else ()), *said))


def meanings(name: str) -> list[Meaning]:
    """Return what a column is, or the members of objects and arrays whose last part has that name; empty if there are
    none. Case does not matter."""
    found: dict[tuple[str, str], Meaning] = {}
    by_command = columns_by_command()
    for command, columns in by_command.items():
        _add(found, _named(name, columns), command=command)
    if not found:
        for command, columns in by_command.items():
            _add(found, _ending(name, columns), command=command)
        for table in sorted(DERIVED):
            _add(found, _named(name, TABLES[table].columns), table=table)
    return list(found.values())


def rows(name: str) -> list[tuple[str, str, str]]:
    """Return a heading, a name and a text for each column, value of a column and table of that name."""
    columns = [("Column", one.name, str(one)) for one in meanings(name)]
    values = CHECKS if name == "check" else {value: CHECKS[value] for value in (name,) if value in CHECKS}
    tables = [
        ("Table of chainq export chain", table, f"{TABLES[table].purpose}. See docs/tables.md.")
        for table in DERIVED & {name.lower()}
    ]
    return [*columns, *(("Value of the column check", value, f"{text}.") for value, text in values.items()), *tables]


def _named(name: str, columns: tuple[Column, ...]) -> Iterator[Column]:
    """Yield the column of that name, with its note."""
    folded = {column.path.lower(): column.path for column in columns}
    if column := known_column(folded.get(name.lower(), name), columns):
        array = column.path.rpartition("[]")[0]
        described = _described(column)
        notes = (described.note, f"in each item of {array}" if array else "")
        yield described._replace(note=described.note if not array else ", ".join(filter(None, notes)))


def _ending(name: str, columns: tuple[Column, ...]) -> Iterator[Column]:
    """Yield the columns, and the members of arrays among them, whose last part is that name, by that name."""
    for column in columns:
        nested = members(column.path) if column.kind is Kind.DATA else ()
        for one in (column, *(Column(path, "") for path in nested)):
            _, dot, last = one.path.rpartition(".")
            if dot and last.lower() == name.lower():
                yield _described(one)._replace(path=last)


def _described(column: Column) -> Column:
    """Return a column as it is, and a member of an array's items as that column of what describes the
    items; without type and note if nothing does."""
    array, brackets, inside = column.path.rpartition("[].")
    if not brackets:
        return column
    name = array.rpartition(".")[2]
    table = _TABLES.get(name) or (TABLES[name] if name in DERIVED else None)
    known = {one.path: one for one in table.sent} if table else {}
    return known.get(inside, Column("", ""))._replace(path=column.path)


def _add(found: dict[tuple[str, str], Meaning], columns: Iterator[Column], command: str = "", table: str = "") -> None:
    """Add the columns of a command or of a table to what is found."""
    for column in columns:
        text = "; ".join(filter(None, (spelled(column.note), column.type)))
        unit = f", in {column.unit}" if column.unit and column.unit not in text else ""
        meaning = found.setdefault((column.path, text + unit), Meaning(column.path, text + unit, [], []))
        for names, one in ((meaning.commands, command), (meaning.tables, table)):
            if one and one not in names:
                names.append(one)
