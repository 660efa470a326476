"""What Typer finds wrong is told in the words of all other messages."""

import pytest

from harness.program import Program, one_line


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "block",
            "chainq block: missing argument HEIGHT...; such as 12345, 5:8, latest, or -10: for the last 10 blocks",
        ),
        ("block 5 --colums x", "chainq block: unknown option --colums; did you mean --columns?"),
        ("block 5 -j 99", "chainq block: invalid --concurrency / -j: 99 is not from 1 to 64"),
        ("block 5 -j x", "chainq block: invalid --concurrency / -j: 'x' is not a valid number; see --help"),
        ("records --interval 0", "chainq records: invalid --interval: 0.0 is not at least 0.01"),
        ("records --limit 1,000", "chainq records: invalid --limit: '1,000' is not a valid number; did you mean 1000?"),
        (
            "show latest --last 1,000",
            "chainq show: invalid --last '1,000': expected a number of blocks such as 100 or 10K; did you mean 1000?",
        ),
        ("records -j 1K", "chainq records: invalid --concurrency / -j: 1000 is not from 1 to 64"),
        ("records --timeout 5m", "chainq records: invalid --timeout: '5m' is not a valid number; use 300, in seconds"),
        ("records --timeout x", "chainq records: invalid --timeout: 'x' is not a valid number; see --help"),
        ("records -n 5", "chainq records: unknown option -n; did you mean --limit?"),
        ("records --format JSON", "chainq records: unknown format 'JSON'; did you mean json?"),
        ("records 0:5 5:9", "chainq records: unexpected argument 5:9; records takes one range"),
        (
            "verify 0:5 records",
            "chainq verify: unexpected argument records; use chainq verify 0:5 --commands records",
        ),
        (
            "verify records 0:5",
            "chainq verify: unexpected argument 0:5; use chainq verify 0:5 --commands records",
        ),
        ("records --limit", "chainq records: option --limit requires an argument; see --help"),
        (
            "balance -5:",
            "chainq balance: -5: is a range of heights, not a file of view keys; use --start and --end",
        ),
        ("latest 5", "chainq latest: unexpected argument 5; use chainq blocks --last 5 or chainq block 5"),
        ("version 5", "chainq version: unexpected argument 5; see --help"),
        (
            "verify /dev/null",
            "chainq verify: '/dev/null' is a device or a pipe: expected a file of rows or the folder of an export",
        ),
        ("records 0:9 -csv", "chainq records: unknown option -c; did you mean --csv?"),
        ("query select", "chainq: unknown command 'query'; did you mean sql?"),
        ("--foo", "chainq: unknown option --foo; see --help"),
        ("blokc 5", "chainq: unknown command 'blokc'; did you mean block?"),
    ],
)
def test_messages_about_usage(program: Program, line: str, message: str) -> None:
    """One line: what is wrong, in the words of the help, and what to do."""
    assert one_line(program(*line.split()), 2).strip() == message
