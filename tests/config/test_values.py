"""Headers from flags, the environment and profiles are checked by form."""

import pytest

from chainq.config import values
from chainq.errors import UsageError


@pytest.mark.parametrize("name", ["Content-Length", "transfer-encoding"])
def test_headers_that_frame_a_call_are_refused(name: str) -> None:
    """What HTTP computes from the body cannot be given: another value would break the call."""
    with pytest.raises(UsageError, match=name):
        values.header(f"{name}: 3")


def test_headers() -> None:
    """A header is a name and a value; spaces around them are removed, the value may contain a colon."""
    assert values.header("X-Key: a:b ") == ("X-Key", "a:b")
    assert values.header("X-Key:") == ("X-Key", "")


@pytest.mark.parametrize(
    "text", ["", "X", ": v", "X Y: v", "X: a\r\nY: hunter2", "X: hunter2\x00", "X: hünter2", "Ü: v"]
)
def test_invalid_headers_are_refused(text: str) -> None:
    """What a header cannot carry is refused, and its value is not repeated."""
    with pytest.raises(UsageError) as caught:
        values.header(text)
    assert "unter2" not in str(caught.value)


def test_a_value_from_the_environment_ends_without_its_newline(monkeypatch: pytest.MonkeyPatch) -> None:
    """As of a file that was read into the variable."""
    monkeypatch.setenv("CHAINQ_TOKEN", "Bearer abc\n")
    assert values.header("X: env:CHAINQ_TOKEN") == ("X", "Bearer abc")
