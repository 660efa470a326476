"""The columns of files, which the version of the layout stands for."""

import hashlib

import pytest

from chainq.catalog.methods import BY_COMMAND
from chainq.catalog.tables import TABLES
from chainq.lake.data_set import VERSION

pyarrow = pytest.importorskip("pyarrow")

from chainq.formats.arrow_rows import ArrowRows  # noqa: E402

DIGEST = "b10c190e9f5db860"


def test_other_columns_are_another_version() -> None:
    """So that no data set has files of two kinds: who changes the digest raises the version."""
    schemas = [f"{table}: {ArrowRows(method.columns, pyarrow).schema}" for table, method in sorted(TABLES.items())]
    digest = hashlib.sha256("\n".join(schemas).encode()).hexdigest()[:16]
    assert (VERSION, digest) == (2, DIGEST)


def test_a_table_has_the_columns_of_its_command() -> None:
    """A command, its export and `sql` have the same columns, so that a query or a script serves all of them."""
    for table in TABLES.keys() & BY_COMMAND.keys():
        assert [one.path for one in TABLES[table].columns] == [one.path for one in BY_COMMAND[table].columns], table
