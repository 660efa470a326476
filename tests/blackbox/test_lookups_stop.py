"""Lookups that stop early: the message names the last one that is printed."""

import pytest

from harness.program import Program
from harness.services import Moving, Serve, error


def refusing(value: int) -> Moving:
    """A service that refuses every call with a certain value."""
    refuse, service = error(7, "not this one"), Moving(12_500)
    service.instead = lambda body: refuse(body) if value in service.requests[-1].params.values() else None
    return service


@pytest.mark.parametrize(
    ("words", "refused", "rest"),
    [
        (("transactions", "12000:12010"), 12_003, "resume with --start 12003 --end 12010"),
        (("block", "1", "2", "3", "4", "5", "latest"), 3, "resume after height 2"),
        (("block", "1", "2", "3", "--table"), 2, "resume after height 1"),
        (("block", "-"), 3, "resume after height 2"),
    ],
)
def test_3_the_rest_of_lookups(words: tuple[str, ...], refused: int, rest: str, chainq: Program, serve: Serve) -> None:
    """An error in the middle names the height that was printed last, or how to get the rest of a range."""
    url = serve(refusing(refused))
    ran = chainq(*words, "-j", "1", url=url, stdin=b"1\n\n2\n3\n4\n" if "-" in words else None)
    assert ran.code == 3
    assert ran.err.endswith(f"; {rest}\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("block", "3"), ""),
        (("block", "1", "3", "--json"), "the json output is incomplete; run the command again"),
        (("block", "1", "3", "-o", "rows.jsonl"), "rows.jsonl was not created; run the command again"),
    ],
)
def test_3_nothing_to_resume(words: tuple[str, ...], said: str, chainq: Program, serve: Serve) -> None:
    """A single object, an array that must be whole, and a file: no option that lookups do not have."""
    ran = chainq(*words, url=serve(refusing(3)))
    assert ran.code == 3
    assert ran.err.endswith(f"not this one{said and '; '}{said}\n")
