"""Lookups that stop early: the message says which of them are left, and following it gives exactly the rest."""

import json
import re
import threading
from collections.abc import Iterator

import pytest

from chainq.demo.chain import Chain
from chainq.demo.exchange import Reply
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
        (("transactions", "12000:12010"), 12_003, "12003:12010"),
        (("transactions", "12000", "12002:12006", "2999981:", "latest"), 12_003, "12003:12006 2999981: latest"),
        (("transactions", "12000:12010", "--csv", "--limit", "1000"), 12_009, "12009 --limit "),
        (("transactions", "5:5", "12002", "12003"), 12_002, "12002 12003"),
        (("block", "1", "2", "3", "4", "5", "latest"), 3, "3 4 5 latest"),
        (("block", "1", "2", "3", "--table"), 2, "2 3"),
        (("block", "1", "2"), 1, "1 2"),
        (("block", *map(str, range(1, 20))), 3, "the last 17 arguments, from 3"),
        (("block", "-"), 3, "the heights after 2"),
    ],
)
def test_3_the_rest_of_lookups(
    words: tuple[str, ...], refused: int, rest: str, refusing: tuple[Refusing, str], chainq: Program
) -> None:
    """An error in the middle names the arguments that are left, and with them comes exactly the rest."""
    service, url = refusing
    stdin = b"1\n\n2\n3\n4\n" if "-" in words else None
    words = (*words, "-j", "1")
    whole = chainq(*words, url=url, stdin=stdin)
    service.refused = refused
    ran = chainq(*words, url=url, stdin=stdin)
    service.refused = None
    assert ran.code == 3
    assert f"; resume with {rest}" in ran.err
    if re.match("[0-9]", rest) and "--table" not in words:
        left = ran.err.rpartition("resume with ")[2].split()
        again = chainq(words[0], *left, *(word for word in words if word == "--csv"), url=url)
        assert [*ran.rows, *again.rows] == whole.rows


def test_4_a_deadline_in_the_middle(refusing: tuple[Refusing, str], chainq: Program) -> None:
    """The time of the run is over: the same."""
    service, url = refusing
    service.refused, service.hangs = 12_003, True
    ran = chainq("transactions", "12000:12010", "-j", "1", "--deadline", "8s", url=url)
    assert ran.code == 4
    assert ran.err.endswith("the run took longer than --deadline 8s allows; resume with 12003:12010\n")


def test_3_ids_are_left_too(refusing: tuple[Refusing, str], chainq: Program) -> None:
    """IDs of transactions, as typed."""
    service, url = refusing
    ids = chainq("transactions", "12000:12010", "--columns", "transaction_id", "--text", url=url).out.decode().split()
    service.refused = ids[1]
    ran = chainq("transaction", *ids[:3], "-j", "1", url=url)
    assert ran.code == 3
    assert ran.err.endswith(f"; resume with {ids[1]} {ids[2]}\n")
    ran = chainq("transaction", *ids[:3], "-j", "1", "--csv", url=url)
    assert ran.err.endswith(f"; resume with {ids[1]} {ids[2]} --no-header\n")


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


def test_3_a_list_in_pages_starts_over(refusing: tuple[Refusing, str], chainq: Program) -> None:
    """A list without heights has nothing to resume from, and says so."""
    service, url = refusing
    service.refused = "credits.aleo"
    ran = chainq("program-transactions", "credits.aleo", "transfer_public", "--limit", "9", url=url)
    assert ran.code == 3
    assert ran.err.endswith("; a list without heights cannot be resumed; run the command again\n")


def test_a_file_of_newest_rows_needs_no_checkpoint(refusing: tuple[Refusing, str], chainq: Program) -> None:
    """--checkpoint is suggested only if it can be added."""
    service, url = refusing
    service.refused = 3
    for words, said in (((), True), (("--reverse",), False), (("--limit", "9"), False)):
        ran = chainq("records", "3:4", *words, "-o", "rows.jsonl", url=url)
        assert ran.code == 3
        assert ("add --checkpoint" in ran.err) == said, ran.err
