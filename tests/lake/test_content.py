"""The hash of what a Parquet file holds, and what it loads."""

import subprocess
import sys

import pyarrow as pa

from chainq.lake.content import ContentHash
from harness.program import LONGEST

PROGRAM = """
import sys
import pyarrow as pa
from chainq.lake.content import ContentHash
kinds = [pa.string(), pa.int64(), pa.decimal128(38, 0), pa.timestamp("ms"), pa.list_(pa.int64())]
table = pa.table([pa.nulls(3, kind) for kind in kinds], [str(kind) for kind in kinds])
hashed = ContentHash(pa)
hashed.update(table)
print(hashed.hexdigest(), "pandas" in sys.modules)
"""


def test_a_null_is_no_value() -> None:
    """Neither zero nor an empty text or list."""
    for kind, values in (
        (pa.int64(), [1, 0]),
        (pa.string(), ["a", ""]),
        (pa.decimal128(38, 0), [1, 0]),
        (pa.list_(pa.int64()), [[1], []]),
    ):
        digests = set()
        for last in (values[1], None):
            hashed = ContentHash(pa)
            hashed.update(pa.table([pa.array([values[0], last], kind)], ["column"]))
            digests.add(hashed.hexdigest())
        assert len(digests) == 2, kind


def test_pandas_is_not_loaded() -> None:
    """It would take more time and memory in each worker process than a partition does."""
    ran = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=LONGEST, check=True)
    digest, loaded = ran.stdout.split()
    assert (len(digest), loaded) == (64, "False")
