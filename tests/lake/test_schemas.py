"""What is known of the columns of files without pyarrow."""

import hashlib

import pytest

from chainq.catalog.methods import BY_COMMAND
from chainq.catalog.tables import TABLES
from chainq.lake.files import SCHEMAS

pyarrow = pytest.importorskip("pyarrow")

from chainq.formats.arrow_rows import ArrowRows  # noqa: E402


def test_digests_of_schemas() -> None:
    """What is kept is what can be computed; another digest refuses the data sets of older versions."""
    schemas = {table: ArrowRows(method.columns, pyarrow).schema for table, method in TABLES.items()}
    assert {table: hashlib.sha256(str(one).encode()).hexdigest()[:16] for table, one in schemas.items()} == SCHEMAS


def test_a_table_has_the_columns_of_its_command() -> None:
    """A command, its export and `sql` have the same columns, so that a query or a script serves all of them."""
    for table in TABLES.keys() & BY_COMMAND.keys():
        assert [one.path for one in TABLES[table].columns] == [one.path for one in BY_COMMAND[table].columns], table
