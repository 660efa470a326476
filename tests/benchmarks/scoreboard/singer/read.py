"""A Singer tap with the Meltano SDK: `read.py records|full-blocks URL START END` prints Singer messages.

A RESTStream with a paginator of the SDK's, as its "Pagination classes" guide has it; JSON bodies by `payload_as_json`.
Retries are the SDK's: five attempts for 429 and 5xx.
"""

import sys
from abc import abstractmethod
from collections.abc import Iterable
from typing import Any

from singer_sdk import RESTStream, Tap
from singer_sdk import typing as th
from singer_sdk.pagination import OffsetPaginator, PageNumberPaginator

BLOCKS = 100  # heights of a call for full blocks


class Pages(PageNumberPaginator):
    """Pages until one is empty."""

    def has_more(self, response: Any) -> bool:
        return bool(response.json()["result"])


class Heights(OffsetPaginator):
    """Ranges of BLOCKS heights."""

    def __init__(self, start: int, end: int) -> None:
        super().__init__(start, BLOCKS)
        self.end = end

    def has_more(self, response: Any) -> bool:
        return self.current_value + self.page_size < self.end


class ChainStream(RESTStream[int]):
    """A method of the service."""

    path = ""
    http_method = "POST"
    payload_as_json = True
    records_jsonpath = "$.result[*]"
    rpc_method: str

    @property
    def url_base(self) -> str:
        return str(self.config["url"])

    @abstractmethod
    def params(self, token: int) -> dict[str, int]:
        """Return the parameters of a call."""

    def prepare_request_payload(self, context: Any, next_page_token: int | None) -> dict[str, Any]:
        return {"jsonrpc": "2.0", "id": 1, "method": self.rpc_method, "params": self.params(next_page_token or 0)}


class Records(ChainStream):
    """Records, by page numbers."""

    name = "records"
    rpc_method = "records/all"
    primary_keys = ("id",)
    schema = th.PropertiesList(
        th.Property("id", th.IntegerType),
        th.Property("height", th.IntegerType),
        th.Property("block_id", th.IntegerType),
        th.Property("output_index", th.IntegerType),
        *(
            th.Property(name, th.StringType)
            for name in (
                "record_ciphertext",
                "program_id",
                "timestamp",
                "block_hash",
                "transition_id",
                "transaction_id",
                "function_name",
            )
        ),
    ).to_dict()

    def get_new_paginator(self) -> Pages:
        return Pages(start_value=0)

    def params(self, token: int) -> dict[str, int]:
        heights = {"start": self.config["start"], "end": self.config["end"]}
        return {**heights, "page": token, "recordsPerRequest": 10_000}


class FullBlocks(ChainStream):
    """Full blocks, by ranges of heights."""

    name = "full-blocks"
    rpc_method = "getChainBlocks"
    primary_keys = ("block_hash",)
    schema = th.PropertiesList(
        th.Property("block_hash", th.StringType),
        th.Property("previous_hash", th.StringType),
        *(th.Property(name, th.ObjectType(additional_properties=True)) for name in ("header", "authority")),
        *(
            th.Property(name, th.ArrayType(th.AnyType()))
            for name in ("ratifications", "transactions", "aborted_transaction_ids")
        ),
    ).to_dict()

    def get_new_paginator(self) -> Heights:
        return Heights(self.config["start"], self.config["end"])

    def params(self, token: int) -> dict[str, int]:
        return {"start": token, "end": min(token + BLOCKS, self.config["end"])}


class TapChain(Tap):
    """One stream: the kind of rows that the command line names."""

    name = "tap-chain"
    config_jsonschema = th.PropertiesList(
        th.Property("kind", th.StringType, required=True),
        th.Property("url", th.StringType, required=True),
        th.Property("start", th.IntegerType, required=True),
        th.Property("end", th.IntegerType, required=True),
    ).to_dict()

    def discover_streams(self) -> Iterable[ChainStream]:
        return [Records(self) if self.config["kind"] == "records" else FullBlocks(self)]


kind, url, start, end = sys.argv[1:]
TapChain(config={"kind": kind, "url": url, "start": int(start), "end": int(end)}).sync_all()
