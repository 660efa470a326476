"""What a user would write instead: short scripts with httpx and orjson, each given a URL and a file of calls.

THREADS is the least that does many calls at once.
"""

ONE_BLOCK = """
import sys
import httpx
import orjson

request = {"jsonrpc": "2.0", "id": 1, "method": "block", "params": {"block": int(sys.argv[2])}}
with httpx.Client(timeout=30) as client:
    response = client.post(sys.argv[1], json=request)
response.raise_for_status()
answer = orjson.loads(response.content)
if answer.get("id") != 1 or "error" in answer:
    sys.exit(f"no answer: {answer.get('error')}")
if not answer["result"]:
    sys.exit("no such block")
for row in answer["result"]:
    sys.stdout.buffer.write(orjson.dumps(row) + b"\\n")
"""
ONE_BLOCK_BARE = "import ssl\n" + ONE_BLOCK.replace(
    "timeout=30", "timeout=30, verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)"
)

_PAGES = """
import sys
import httpx
import orjson

def pages():
    with httpx.Client(timeout=30) as client:
        for body in open(sys.argv[2], "rb"):
            yield orjson.loads(client.post(sys.argv[1], content=body.strip()).content)["result"]
"""

JSONL = f"""
{_PAGES}
for rows in pages():
    sys.stdout.buffer.write(b"".join(orjson.dumps(row) + b"\\n" for row in rows))
"""

# Eight threads over one client, every row cut out byte for byte: no check, no limit, no retry.
THREADS = """
import sys
from collections import deque
from concurrent.futures import ThreadPoolExecutor

import httpx
import msgspec

Answer = msgspec.defstruct("Answer", [("result", list[msgspec.Raw])])
decode = msgspec.json.Decoder(Answer).decode
client = httpx.Client(timeout=30)

def ask(body):
    return client.post(sys.argv[1], content=body).raise_for_status().content

bodies = [line.strip() for line in open(sys.argv[2], "rb")]
with ThreadPoolExecutor(8) as pool:
    waiting = deque(pool.submit(ask, body) for body in bodies[:10])
    later = iter(bodies[10:])
    while waiting:
        rows = decode(waiting.popleft().result()).result
        if body := next(later, None):
            waiting.append(pool.submit(ask, body))
        for at in range(0, len(rows), 512):
            sys.stdout.buffer.write(b"\\n".join((*rows[at:at + 512], b"")))
"""

CSV = f"""
import csv
{_PAGES}
writer = csv.writer(sys.stdout)
for number, rows in enumerate(pages()):
    if not number:
        writer.writerow(rows[0])
    writer.writerows(row.values() for row in rows)
"""

PARQUET = f"""
import pyarrow
from pyarrow.parquet import ParquetWriter
{_PAGES}
writer = None
for rows in pages():
    table = pyarrow.Table.from_pylist(rows)
    writer = writer or ParquetWriter(sys.argv[3], table.schema, compression="zstd")
    writer.write_table(table)
writer.close()
"""

SAME_PARQUET = """
import sys
import pyarrow
from pyarrow.parquet import read_table

ours, theirs = map(read_table, sys.argv[1:])
if ours["extra"].null_count != ours.num_rows:  # of what the documented columns lack: nothing here
    sys.exit("a row has fields in extra")
for field in ours.drop_columns(["extra"]).schema:
    column = theirs[field.name]
    if pyarrow.types.is_timestamp(field.type):  # theirs are the texts of the service: seconds
        column = column.cast("int64").cast(pyarrow.timestamp("s", field.type.tz))
    if not ours[field.name].equals(column.cast(field.type)):
        sys.exit(f"column {field.name} differs")
sys.exit(ours.num_rows != theirs.num_rows)
"""
