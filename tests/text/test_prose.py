import pytest
from hypothesis import given
from hypothesis import strategies as st

from chainq.text.prose import wrapped

MESSAGE = (
    "chainq records: connection refused by 127.0.0.1:9; chainq doctor --url http://127.0.0.1:9 checks it;"
    " resume with --start 120 --end 500 --no-header"
)


def at_60_columns(text: str, patch: pytest.MonkeyPatch) -> list[str]:
    patch.setenv("COLUMNS", "60")
    return wrapped(text).split("\n")


def test_lines_end_between_words(monkeypatch: pytest.MonkeyPatch) -> None:
    assert at_60_columns("chainq: warning: " + "twelve words " * 6, monkeypatch) == [
        "chainq: warning: twelve words twelve words twelve words",
        "  twelve words twelve words twelve words",
    ]


def test_a_command_stays_on_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    assert at_60_columns(MESSAGE, monkeypatch) == [
        "chainq records: connection refused by 127.0.0.1:9;",
        "  chainq doctor --url http://127.0.0.1:9 checks it; resume",
        "  with --start 120 --end 500 --no-header",
    ]


def test_a_command_in_parentheses_stays_on_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "records: missing heights 10000-19999 (chainq export records 10000:20000 --to ds writes them)"
    assert at_60_columns(text, monkeypatch) == [
        "records: missing heights 10000-19999",
        "  (chainq export records 10000:20000 --to ds writes them)",
    ]


def test_a_command_that_is_longer_than_a_line_has_no_line_break(monkeypatch: pytest.MonkeyPatch) -> None:
    command = "chainq records --url http://127.0.0.1:8080/v1/service --start 120 --end 500 --no-header"
    assert at_60_columns(f"chainq: some of it is missing; {command}; then look again", monkeypatch) == [
        "chainq: some of it is missing;",
        f"  {command};",
        "  then look again",
    ]


@given(st.text(st.sampled_from("ab -;'(.")), st.integers(1, 80))
def test_no_word_is_changed(text: str, columns: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", str(columns))
        assert wrapped(text).split() == text.split()
