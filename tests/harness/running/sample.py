"""The sample service asked in this process, without a socket: its answers as Python values."""

import json
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from chainq.demo.chain import DEFAULT_TIP, Chain
from chainq.demo.layout import Layout, Stretch
from chainq.demo.pattern import dense, sample_layout
from chainq.demo.service import SampleService
from chainq.errors import ServiceError

VIEW_KEY = "AViewKey1ccEt8A2Ryva5rxnKcAbn7wgTaTsb79tzkKHFpeKsm9NX"
"""The published test key, which owns planted records."""
ADDRESS = "aleo1j7qxyunfldj2lp8hsvy7mw5k8zaqgjfyr72x2gh3x4ewgae8v5gscf5jh3"
"""Its address."""
CHAIN = Chain(tip=50_000)
QUIET = SampleService(CHAIN, shuffle=False)
HEIGHTS = [0, 50, 150, 300, 600, 640, 1_220, 1_221, 2_345, 4_242, 4_999]


def post(service: SampleService, method: str, id_: Any = 1, **params: Any) -> bytes:
    return service.respond(json.dumps({"jsonrpc": "2.0", "id": id_, "method": method, "params": params}).encode()).body


def ask(service: SampleService, method: str, **params: Any) -> Any:
    return json.loads(post(service, method, **params))["result"]


def refusal(service: SampleService, method: str, **params: Any) -> Any:
    return json.loads(post(service, method, **params))["error"]["code"]


def paged(service: SampleService, method: str, start: int, end: int, page: int, size: int) -> list[dict[str, Any]]:
    word = "transitionsPerRequest" if method.startswith("transitions") else "recordsPerRequest"
    rows: list[dict[str, Any]] = ask(service, method, start=start, end=end, page=page, **{word: size})
    return rows


@lru_cache
def whole_blocks(start: int, end: int) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = ask(QUIET, "getChainBlocks", start=start, end=end)
    return blocks


def transitions_of(confirmed: dict[str, Any]) -> list[dict[str, Any]]:
    inner = confirmed["transaction"]
    found = list(inner.get("execution", {}).get("transitions", []))
    return [*found, inner["fee"]["transition"]] if "fee" in inner else found


def calls(start: int, end: int) -> Iterator[tuple[int, dict[str, Any], dict[str, Any]]]:
    for block in whole_blocks(start, end):
        for confirmed in block["transactions"]:
            for transition in transitions_of(confirmed):
                yield block["header"]["metadata"]["height"], confirmed, transition


def result_of(service: SampleService, method: str, params: Any) -> Any:
    """Return the result of a call of a sample service, made without a socket. Raises ServiceError."""
    body = {"jsonrpc": "2.0", "id": 1, "method": method} | ({} if params is None else {"params": params})
    answer = json.loads(service.respond(json.dumps(body).encode()).body)
    if "error" in answer:
        raise ServiceError(f"{method}: {answer['error']['message']}", code=str(answer["error"]["code"]))
    return answer["result"]


def with_dense(height: int, records: int, tip: int = DEFAULT_TIP) -> Chain:
    """The sample chain with that number of records at a height; other heights keep their transactions."""
    sample = sample_layout()
    stretch, offset = sample.locate(height)
    turn = (offset + 1) % len(stretch.pattern)
    after = Stretch(height + 1, stretch.pattern[turn:] + stretch.pattern[:turn])
    others = [other for other in sample.stretches if other is not stretch]
    parts = (stretch, after, *others, Stretch(height, (dense(records),)))  # the later of two with one start counts
    starts = {part.start: part for part in parts}

    class Dense(Chain):
        layout = Layout([starts[start] for start in sorted(starts)])

    return Dense(tip=tip)
