"""Lookups that stop early: the message names the last one that is printed."""

import json
import threading
from collections.abc import Iterator

import pytest

from chainq.demo.chain import Chain
from chainq.demo.registry import Reply
from chainq.demo.service import Service
from harness.program import DIALECT, LONGEST, Program
from harness.services import serving


class Refusing(Service):
    """A service that refuses every call with a certain value, or never responds to it, until it is healed."""

    def __init__(self) -> None:
        super().__init__(Chain(tip=12_500), dialect=DIALECT)
        self.refused: int | str | None = None
        self.hangs = False
        self.released = threading.Event()

    def respond(self, body: bytes) -> Reply:
        """As the service does, unless the call is refused."""
        request = json.loads(body)
        if self.refused not in list((request.get("params") or {}).values()):
            return super().respond(body)
        if self.hangs:
            self.released.wait(LONGEST)
        error = {"code": 7, "message": "not this one"}
        return Reply(
            200, "application/json", json.dumps({"jsonrpc": "2.0", "id": request["id"], "error": error}).encode()
        )


@pytest.fixture
def refusing() -> Iterator[tuple[Refusing, str]]:
    """Such a service and its URL."""
    service = Refusing()
    with serving(service, service.released) as url:
        yield service, url


@pytest.mark.parametrize(
    ("words", "refused", "rest"),
    [
        (("transactions", "12000:12010"), 12_003, "resume with --start 12003 --end 12010"),
        (("block", "1", "2", "3", "4", "5", "latest"), 3, "resume after height 2"),
        (("block", "1", "2", "3", "--table"), 2, "resume after height 1"),
        (("block", "-"), 3, "resume after height 2"),
    ],
)
def test_3_the_rest_of_lookups(
    words: tuple[str, ...], refused: int, rest: str, refusing: tuple[Refusing, str], chainq: Program
) -> None:
    """An error in the middle names the height that was printed last, or how to get the rest of a range."""
    service, url = refusing
    service.refused = refused
    ran = chainq(*words, "-j", "1", url=url, stdin=b"1\n\n2\n3\n4\n" if "-" in words else None)
    assert ran.code == 3
    assert ran.err.endswith(f"; {rest}\n")


def test_4_a_deadline_in_the_middle(refusing: tuple[Refusing, str], chainq: Program) -> None:
    """The time of the run is over: the same."""
    service, url = refusing
    service.refused, service.hangs = 12_003, True
    ran = chainq("transactions", "12000:12010", "-j", "1", "--deadline", "8s", url=url)
    assert ran.code == 4
    assert ran.err.endswith("the run took longer than --deadline 8s allows; resume with --start 12003 --end 12010\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("block", "3"), ""),
        (("block", "1", "3", "--json"), "the json output is incomplete; run the command again"),
        (("block", "1", "3", "-o", "rows.jsonl"), "rows.jsonl was not created; run the command again"),
    ],
)
def test_3_nothing_to_resume(
    words: tuple[str, ...], said: str, refusing: tuple[Refusing, str], chainq: Program
) -> None:
    """A single object, an array that must be whole, and a file: no option that lookups do not have."""
    service, url = refusing
    service.refused = 3
    ran = chainq(*words, url=url)
    assert ran.code == 3
    assert ran.err.endswith(f"not this one{said and '; '}{said}\n")
