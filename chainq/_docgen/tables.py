"""The columns of the tables that full blocks fill, for docs/tables.md: from the catalog, with their types."""

from chainq._docgen.manual import rows
from chainq.catalog.tables import DERIVED, TABLES
from chainq.formats.parquet_types import type_of


def columns() -> str:
    """Return a heading and a table for each."""
    import pyarrow

    lines = []
    for table in (TABLES[name] for name in TABLES if name in DERIVED):
        cells = (
            (f"`{column.path}`", f"`{type_of(column, pyarrow).arrow}`", column.note or "as sent")
            for column in table.columns
        )
        lines += [f"### {table.command}", f"{table.purpose[0].upper()}{table.purpose[1:]}."]
        lines.append(rows(("column", "type", "what it is"), cells))
    return "\n\n".join(["", *lines, ""])
