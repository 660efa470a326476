"""Exit code 2: what a record of `tests/golden/commands/usage*.txt`, which have the others, cannot hold."""

import pytest

from harness.running.program import Program, one_line

LONG = "x" * 100_000


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["program-transactions", "credits.\udcff", "mint", "--no-check"], "UTF-8"),
        (["transaction", "at1\udcff", "--no-check"], "UTF-8"),
        (["rpc", "block\udcff"], "UTF-8"),
        (["sql", "--last", "5", "select '\udcff' from records", "--url", "demo:"], ""),
        (["block", "5", "--url", "http://127.0.0.1/\x1b[31m"], "URL"),
        (["block", "5", "--url", "http://127.0.0.1/\udcff"], "URL"),
        (["block", "5", "--header", "X: a\nY: b"], "X"),
        (["records", "--page-size", "9" * 5000], "--page-size"),
        (["records", "5", "--where", "not " * 5000 + "id = 5"], "more than 100 `not` and `(`"),
        (["records", "5", "--where", "(" * 500 + "id = 5" + ")" * 500], "more than 100 `not` and `(`"),
        ([LONG], ""),
        ([f"--{LONG}"], ""),
        (["transaction", LONG], ""),
        (["block", f"5{LONG}:6"], ""),
        (["block", "1" * 100_000], ""),
        (["program-transactions", "credits.aleo", f"-{LONG}"], ""),
        *((["records", f"--{name}", LONG], "") for name in ("since", "limit", "columns", "format", "profile")),
        (["show", LONG], ""),
    ],
    ids=lambda value: str(value)[:50],
)
def test_2_odd_or_long_arguments(words: list[str], said: str, chainq: Program, nowhere: str) -> None:
    """They are told before any call, in one line, which repeats an excerpt of a long argument."""
    line = one_line(chainq(*words, env={"CHAINQ_URL": nowhere}), 2)
    assert said in line
    assert len(line) < 600


def test_7_a_long_name_of_a_file(chainq: Program, nowhere: str) -> None:
    """Its beginning and its end are enough to know it by."""
    assert len(one_line(chainq("records", "-o", LONG, url=nowhere), 7)) < 6000


@pytest.mark.parametrize("command", ["transaction", "block"])
def test_2_a_message_repeats_an_excerpt_of_a_line(command: str, chainq: Program, nowhere: str) -> None:
    """As of an argument; bytes that are not text do not reach a terminal."""
    for line in (b"x" * 300_000, bytes(range(256)).replace(b"\n", b"") * 100):
        assert len(one_line(chainq(command, "-", url=nowhere, stdin=line), 2)) < 500


def test_2_certificates_that_the_environment_names_wrongly(chainq: Program) -> None:
    """A file without any."""
    ran = chainq("block", "5", url="https://127.0.0.1:1/", env={"SSL_CERT_FILE": "/etc/passwd"})
    assert "SSL_CERT_FILE is '/etc/passwd'" in one_line(ran, 2)


@pytest.mark.parametrize("output", ["r.jsonl", "soft.jsonl", "hard.jsonl"])
def test_2_an_output_that_is_read(output: str, chainq: Program, nowhere: str) -> None:
    """The same file by any name; `tests/golden/commands/files-unchanged.txt` has other commands."""
    read = chainq.home / "r.jsonl"
    read.write_text('{"height":"5"}\n')
    (chainq.home / "soft.jsonl").symlink_to(read)
    (chainq.home / "hard.jsonl").hardlink_to(read)
    line = one_line(chainq("verify", "soft.jsonl", "-o", f"./{output}", url=nowhere), 2)
    assert line.endswith("is a file that this command reads\n")
    assert read.read_text() == '{"height":"5"}\n'
