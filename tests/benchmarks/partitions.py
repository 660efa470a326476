"""Makes a data set of many small partitions, as an export of the sample chain would leave it, in minutes.

    python tests/benchmarks/partitions.py chain 100000 --every-second
    chainq export blocks 0:1000K --to chain --url demo:

Files, receipts and their links are the real ones; only requests, proofs and syncs to the disk are left out.
"""

import argparse
import json
from pathlib import Path

import msgspec
from msgspec import Raw, structs

from chainq.catalog.methods import BY_COMMAND
from chainq.demo.chain import DEFAULT_TIP, Chain
from chainq.demo.results import encoded
from chainq.heights.grid import PartitionSpec
from chainq.lake.table import PartitionFile, schema_of
from chainq.stored import data_set
from chainq.stored.receipt import VERSION, Receipt, entry_of

METHOD = BY_COMMAND["blocks"]


def main() -> None:
    """Make the data set that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("count", type=int, help="partitions")
    parser.add_argument("--heights", type=int, default=10, help="in a partition.  [default: 10]")
    parser.add_argument("--every-second", action="store_true", help="leave out each second partition")
    asked = parser.parse_args()
    make(asked.folder, asked.count, asked.heights, 2 if asked.every_second else 1)


def make(root: Path, count: int, size: int, step: int = 1) -> None:
    """Write `chainq.json` and each `step`th partition of `size` heights, with its receipt."""
    chain = Chain(tip=DEFAULT_TIP)
    origin = data_set.Origin(0, chain.block_hash(0))
    root.mkdir(parents=True, exist_ok=True)
    made = data_set.DataSet(data_set.VERSION, origin, "chain", size, {"blocks": schema_of(METHOD)})
    (root / data_set.NAME).write_bytes(msgspec.json.encode(made))
    for start in range(0, count * size, step * size):
        write(root, PartitionSpec("blocks", start, start + size), chain)


def write(root: Path, spec: PartitionSpec, chain: Chain) -> None:
    """Write one partition of blocks and its receipt."""
    rows = [encoded(chain.block(height)) for height in range(spec.start, spec.end)]
    first, last = json.loads(rows[0]), json.loads(rows[-1])
    path = root / spec.name
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w+b") as file:
        part = PartitionFile(file, METHOD, lambda _: None)
        part.write([Raw(row) for row in rows])
        receipt = Receipt(
            receipt=VERSION,
            command=spec.command,
            start=spec.start,
            end=spec.end,
            rows=len(rows),
            first_hash=first["block_hash"],
            last_hash=last["block_hash"],
            previous_hash=first["previous_hash"],
            sha256=part.sha256,
            content=part.content,
            proof={"order": 1},
            calls=2,
            tip=DEFAULT_TIP,
            dialect="chain",
            version="0",
        )
        sealed = structs.replace(receipt, file=part.finish(receipt))
    beside = root / entry_of(receipt, path.stat().st_size).name
    beside.parent.mkdir(parents=True, exist_ok=True)
    beside.write_bytes(sealed.encode())


if __name__ == "__main__":
    main()
