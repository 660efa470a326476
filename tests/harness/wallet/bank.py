"""The sample service on the chain of a wallet, and what `chainq balance` must say of it."""

import json
import re
from collections.abc import Callable
from typing import Any

from chainq.demo.faults import NO_FAULTS, Faults
from chainq.demo.service import SampleService
from harness.running.program import DIALECT, Ran
from harness.servers.services import Call, heights_of
from harness.wallet.ledger import Wallet


class Bank(SampleService):
    """The sample service on the chain of a wallet; it counts its calls. `asked`: the heights of their ranges."""

    def __init__(self, wallet: Wallet, dialect: str = DIALECT, faults: Faults = NO_FAULTS) -> None:
        super().__init__(wallet.chain, faults, dialect, tip=lambda: self.tip)
        self.tip, self.calls = wallet.height, 0
        self.asked: set[int] = set()
        self.hook: Callable[[], object] = lambda: None

    def respond(self, body: bytes) -> Any:
        self.calls += 1
        params = json.loads(body).get("params") if body else None  # a killed run may send half a request
        self.asked.update(heights_of(Call("", params or {})))
        self.hook()
        return super().respond(body)

    def replaced(self) -> None:
        """Take in that the chain was reorganized."""
        self.change(self.chain, self.faults)


def checked(ran: Ran, wallet: Wallet) -> int:
    """Compare a balance as JSON with the wallet's book as of its block; return that height."""
    assert ran.code == 0, ran.err
    rows = json.loads(ran.out)
    totals = {
        one["owner"]: (one["records"], int(one["received"]), one["unspent_records"], int(one["unspent"]))
        for one in rows
    }
    named = re.search(r"as of block (\d+), .*, (\w+)$", ran.err, re.MULTILINE)  # without rows
    height, block_hash = (rows[0]["height"], rows[0]["block_hash"]) if rows else (int(named[1]), named[2])  # type: ignore[index]
    assert totals == wallet.totals(height)
    assert block_hash == wallet.chain.block_hash(height)
    return int(height)
