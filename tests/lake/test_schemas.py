"""The columns of files, which the version of the layout stands for."""

import hashlib

import pytest

from chainq.catalog.tables import TABLES
from chainq.lake.data_set import VERSION

pyarrow = pytest.importorskip("pyarrow")

from chainq.formats.arrow_rows import ArrowRows  # noqa: E402

DIGEST = "d71560c9f0a189cf"


def test_other_columns_are_another_version() -> None:
    """So that no data set has files of two kinds: who changes the digest raises the version."""
    schemas = [f"{table}: {ArrowRows(method.columns, pyarrow).schema}" for table, method in sorted(TABLES.items())]
    digest = hashlib.sha256("\n".join(schemas).encode()).hexdigest()[:16]
    assert (VERSION, digest) == (2, DIGEST)
