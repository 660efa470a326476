"""What is wrong with a command line is one line, without secrets."""

import pytest

from harness.program import Program, one_line


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("block", "chainq block: missing argument 'HEIGHT...'"),
        ("block 5 --colums x", "chainq block: no such option: --colums (Possible options: --columns, --csv)"),
        ("block 5 -j 99", "chainq block: invalid --concurrency '99': expected a whole number from 1 to 64"),
        ("records -j 1K", "chainq records: invalid --concurrency '1K': expected a whole number from 1 to 64"),
        ("records --limit", "chainq records: option '--limit' requires an argument"),
        ("records 0:5 5:9", "chainq records: got unexpected extra argument(s) (5:9)"),
        (
            "records -5",
            "chainq records: invalid height: negative numbers are not allowed here; for the last N blocks use --last N",
        ),
        (
            "verify /dev/null",
            "chainq verify: '/dev/null' is a device or a pipe: expected a file of rows or the folder of an export",
        ),
        ("--foo", "chainq: no such option: --foo"),
        ("blokc 5", "chainq: no such command 'blokc'. Did you mean 'block', 'blocks'?"),
        ("latest --header X: secret word", "chainq latest: got unexpected extra argument(s) (*** ***)"),
    ],
)
def test_messages_about_usage(program: Program, line: str, message: str) -> None:
    """One line: what is wrong."""
    assert one_line(program(*line.split()), 2).strip() == message
