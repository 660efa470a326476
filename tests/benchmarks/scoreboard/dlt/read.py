"""dlt's RESTClient: `read.py records|full-blocks URL START END` prints rows, one a line.

As "RESTClient" in dlt's documentation (General usage, HTTP): records by PageNumberPaginator with the page number in the
body of a POST; without a total in the response it stops after an empty page. Full blocks by a custom paginator. Retries
are dlt's own: five attempts for 429 and 5xx.
"""

import json
import sys
from typing import Any

from dlt.sources.helpers.requests import Request, Response
from dlt.sources.helpers.rest_client import RESTClient
from dlt.sources.helpers.rest_client.paginators import BasePaginator, PageNumberPaginator

BLOCKS = 100  # heights of a call for full blocks


class HeightPaginator(BasePaginator):
    """Ranges of BLOCKS heights."""

    def __init__(self, start: int, end: int) -> None:
        super().__init__()
        self.start, self.end = start, end

    def init_request(self, request: Request) -> None:
        self.update_request(request)

    def update_state(self, response: Response, data: list[Any] | None = None) -> None:
        self.start += BLOCKS
        self._has_next_page = self.start < self.end

    def update_request(self, request: Request) -> None:
        request.json["params"] = {"start": self.start, "end": min(self.end, self.start + BLOCKS)}


kind, url, start, end = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
if kind == "records":
    method, params = "records/all", {"start": start, "end": end, "recordsPerRequest": 10_000}
    paginator = PageNumberPaginator(base_page=0, page_body_path="params.page", total_path=None)
else:
    method, params = "getChainBlocks", {}
    paginator = HeightPaginator(start, end)
client = RESTClient(base_url=url, data_selector="result", paginator=paginator)
for rows in client.paginate("/", method="POST", json={"jsonrpc": "2.0", "id": 1, "method": method, "params": params}):
    for row in rows:
        print(json.dumps(row))
