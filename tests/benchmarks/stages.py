"""Where the time of a long run goes: processor time of each stage for one response, in one thread, nothing beside it.

    python tests/benchmarks/stages.py

What a run takes beyond the sum is start-up, and what its threads take from each other: one interpreter runs one
thread at a time, and a response that waited for its turn has left the processor's cache.
"""

import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from measure import spread
from native import FIRST, ROWS_A_HEIGHT, missing, server

from chainq.catalog.methods import BY_COMMAND
from chainq.formats.csv import Csv
from chainq.formats.jsonl import Jsonl
from chainq.formats.protocol import OutputSpec
from chainq.formats.table import Table
from chainq.heights.range import HeightRange
from chainq.rows.sorting import Sorter
from chainq.sinks.stdout import StreamSink
from chainq.transport import jsonrpc
from chainq.transport.base import Request, ServiceOptions
from chainq.transport.connection import Connection

ROUNDS = 25
ROWS = 10_000
T = TypeVar("T")


def timed(name: str, work: Callable[[], T]) -> T:
    """Do the work so often, say the median of what it took, and give its last result."""
    took = []
    for _ in range(ROUNDS):
        began = time.thread_time()
        done = work()
        took.append(time.thread_time() - began)
    middle, least, most = (figure * 1000 for figure in spread(took))
    sys.stdout.write(f"| {name} | {middle:.1f} | {least:.1f} to {most:.1f} |\n")
    return done


def main() -> None:
    """Measure the stages of 10,000 records, in the order of their way."""
    if lacking := missing():
        sys.exit(f"nothing can be measured without {lacking}")
    method, span = BY_COMMAND["records"], HeightRange(FIRST, FIRST + ROWS // ROWS_A_HEIGHT)
    params = {"start": span.start, "end": span.end, "page": 0, "recordsPerRequest": 2 * ROWS}
    sys.stdout.write("| stage | ms | least to most |\n|---|---|---|\n")
    with tempfile.TemporaryDirectory() as folder, server(Path(folder)) as native:
        request = jsonrpc.encode(method.name, params, 1)
        with Connection(ServiceOptions(native.url())) as connection:
            body = timed(
                "receive it: httpx",
                lambda: connection.opened().call(Request(request, time.monotonic() + 60, 2**30)).body,
            )
    timed("search for white space and for bytes that are not UTF-8", lambda: jsonrpc.compact(body))
    timed("split it into rows, byte for byte: msgspec", lambda: jsonrpc._ROWS.decode(body))
    rows = jsonrpc.decode_array(memoryview(body), 1)
    arrange = Sorter(method)
    timed("read heights and ids, check their order and that no row appears twice: msgspec", lambda: arrange(rows, span))
    out, spec = StreamSink(os.open(os.devnull, os.O_WRONLY), os.devnull), OutputSpec("records", method.columns)
    jsonl, csv = Jsonl(out, spec), Csv(out, spec)
    timed("write it as jsonl", lambda: jsonl.write(rows))
    timed("(write it as csv instead)", lambda: csv.write(rows))
    table = Table(out, spec)
    timed("(draw it as a table of 80 columns instead)", lambda: table.write(rows))


if __name__ == "__main__":
    main()
