"""Makes a data set of many small partitions, as an export of the sample chain would leave it, in minutes.

    python tests/benchmarks/partitions.py chain 100000 --every-second
    chainq export blocks 0:1000K --to chain --url demo:
    python tests/benchmarks/partitions.py chain 10000 --heights 1 --tables full-blocks transactions calls inputs outputs
    chainq transaction TRANSACTION_ID --url chain
    chainq show TRANSITION_ID --url chain
    chainq show TAG --url chain

Files, their names and links are the real ones; only requests, proofs and syncs to the disk are left out.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import msgspec
import orjson
from msgspec import Raw

from chainq.catalog.tables import DERIVED, TABLES
from chainq.demo.chain import DEFAULT_TIP, Chain
from chainq.demo.service import Service
from chainq.lake import data_set
from chainq.lake.data_set import Entry, PartitionSpec, digest
from chainq.lake.files import PartitionFile, Receipt
from chainq.planning.exchange import Grade
from chainq.rows.tables import table_rows


def main() -> None:
    """Make the data set that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("count", type=int, help="partitions")
    parser.add_argument("--heights", type=int, default=10, help="in a partition.  [default: 10]")
    parser.add_argument("--every-second", action="store_true", help="leave out each second partition")
    parser.add_argument("--tables", nargs="+", default=["blocks"], help="blocks, or what full blocks fill.")
    asked = parser.parse_args()
    make(asked.folder, asked.count, asked.heights, asked.tables, 2 if asked.every_second else 1)


def make(root: Path, count: int, size: int, tables: Sequence[str] = ("blocks",), step: int = 1) -> None:
    """Write `chainq.json` and each `step`th partition of `size` heights."""
    chain = Chain(tip=DEFAULT_TIP)
    origin = data_set.Origin(0, chain.block_hash(0))
    root.mkdir(parents=True, exist_ok=True)
    made = data_set.DataSet(data_set.VERSION, origin, size, 0, [*tables])
    (root / data_set.NAME).write_bytes(msgspec.json.encode(made))
    for start in range(0, count * size, step * size):
        heights = range(start, start + size)
        full = [full_block(chain, height) for height in heights] if tables != ["blocks"] else []
        for table in tables:
            if table in DERIVED:
                rows = [bytes(row) for block in full for row in table_rows(Raw(block))[table]]
            else:
                rows = full if table == "full-blocks" else [orjson.dumps(chain.block(height)) for height in heights]
            write(root, PartitionSpec(table, start, start + size), chain, rows)


def full_block(chain: Chain, height: int) -> bytes:
    """Return a full block as a service sends it."""
    call = {"jsonrpc": "2.0", "id": 1, "method": "getChainBlocks", "params": {"start": height, "end": height + 1}}
    body = Service(chain).respond(orjson.dumps(call)).body
    return body[body.index(b"[") + 1 : body.rindex(b"]")]


def write(root: Path, spec: PartitionSpec, chain: Chain, rows: Sequence[bytes]) -> None:
    """Write one partition."""
    first, last = chain.block_hash(spec.start), chain.block_hash(spec.end - 1)
    previous = chain.block_hash(spec.start - 1) if spec.start else ""
    name = Entry(spec, DEFAULT_TIP, len(rows), digest(previous), digest(last)).name
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w+b") as file:
        part = PartitionFile(TABLES[spec.command], file.write, lambda _: None)
        part.write([Raw(row) for row in rows])
        receipt = Receipt(
            name=name,
            first_hash=first,
            last_hash=last,
            previous_hash=previous,
            sha256=part.sha256.hexdigest(),
            proof={Grade.ORDER: 1},
            calls=2,
            dialect="chain",
            version="0",
        )
        part.finish(receipt)


if __name__ == "__main__":
    main()
