"""A script with httpx: `read.py records|full-blocks URL START END` prints rows, one a line.

httpx retries failed connections only; for other errors its documentation points to tenacity.
"""

import json
import sys
from collections.abc import Iterator
from typing import Any

import httpx
from tenacity import retry, retry_if_exception, stop_after_attempt, wait_exponential_jitter

PAGE = 10_000  # the documented size
BLOCKS = 100  # heights of a call for full blocks


def transient(error: BaseException) -> bool:
    """Whether another attempt may succeed."""
    if isinstance(error, httpx.HTTPStatusError):
        return error.response.status_code in (408, 429, 500, 502, 503, 504)
    return isinstance(error, httpx.TransportError)


@retry(retry=retry_if_exception(transient), stop=stop_after_attempt(6), wait=wait_exponential_jitter(1), reraise=True)
def call(client: httpx.Client, url: str, method: str, **params: int) -> Any:
    """Return the result of a method."""
    response = client.post(url, json={"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    response.raise_for_status()
    return response.json()["result"]


def pages(kind: str, url: str, start: int, end: int) -> Iterator[list[Any]]:
    """Yield the rows of each call."""
    with httpx.Client(timeout=60) as client:
        if kind == "full-blocks":
            for first in range(start, end, BLOCKS):
                yield call(client, url, "getChainBlocks", start=first, end=min(end, first + BLOCKS))
            return
        page = 0
        while rows := call(client, url, "records/all", start=start, end=end, page=page, recordsPerRequest=PAGE):
            yield rows
            page += 1


for rows in pages(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])):
    for row in rows:
        print(json.dumps(row))
