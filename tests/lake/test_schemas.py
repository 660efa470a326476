"""The columns of files, which the version of the layout stands for."""

import hashlib

import pytest

from chainq.catalog.methods import BY_COMMAND
from chainq.catalog.tables import TABLES
from chainq.lake.data_set import VERSION

pyarrow = pytest.importorskip("pyarrow")

from chainq.formats.arrow_rows import ArrowRows  # noqa: E402

DIGESTS = {
    "blocks": "804da8455a0a4e0a",
    "full-blocks": "002d14ed0a8b4448",
    "records": "4275bbecf01dcfc3",
    "ownership": "77e663b9981e94a9",
    "transitions": "abf9edb49a5c3047",
    "transactions": "e24d9d235530c66a",
    "calls": "89d422f0bb5de869",
    "inputs": "1f77fea3ebf5ccf1",
    "outputs": "9649e5bdacb63a86",
    "finalize": "e1aebc6e91561802",
    "ratifications": "e1acdc80f65acbdd",
}
"""Of the columns of each table. A new table is a new line; another digest is another version of the layout."""


@pytest.mark.parametrize("table", sorted({*TABLES, *DIGESTS}))
def test_other_columns_are_another_version(table: str) -> None:
    """So that no data set has files of two kinds."""
    schema = str(ArrowRows(TABLES[table].columns, pyarrow).schema)
    digest = hashlib.sha256(schema.encode()).hexdigest()[:16]
    assert (VERSION, digest) == (2, DIGESTS[table]), "its columns changed: raise VERSION"


def test_a_table_has_the_columns_of_its_command() -> None:
    """A command, its export and `sql` have the same columns, so that a query or a script serves all of them."""
    for table in TABLES.keys() & BY_COMMAND.keys():
        assert [one.path for one in TABLES[table].columns] == [one.path for one in BY_COMMAND[table].columns], table
