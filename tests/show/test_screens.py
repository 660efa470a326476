"""What a tree of transactions repeats, and what it says once."""

from chainq.formats.protocol import OutputSpec
from chainq.show.screens import _tree
from chainq.show.summary import Call, Transaction


def test_equal_calls_are_a_line() -> None:
    """A transaction may have thousands of them: how many there are is said, and what differs keeps its place."""
    equal, other = Call("a.aleo/f", 1, False), Call("a.aleo/g", 0, False)
    calls = (*[equal] * 12_500, other, equal)
    one = Transaction("at1x", "execute", "accepted", "", None, None, calls, "")
    drawn = _tree("title", "", [one], OutputSpec("show", (), width=80))
    lines = [line.lstrip(" │├└─").rstrip() for line in drawn]
    assert lines[-3:] == ["a.aleo/f  1 record, 12,500 times", "a.aleo/g", "a.aleo/f  1 record"]
