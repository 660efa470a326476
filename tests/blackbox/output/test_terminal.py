"""chainq in a real pseudo-terminal: what a person sees, and what names typed on standard input do."""

import json
import re
import signal
import subprocess
import threading
from typing import Any

import pytest

from chainq.demo.chain import DEFAULT_TIP
from harness.running.program import LONGEST, Program, Servers, finish
from harness.servers.services import Moving, Serve

pexpect = pytest.importorskip("pexpect", reason="pseudo-terminals need pexpect")


def spawned(program: Program, *args: str, columns: int = 100, **env: str) -> Any:
    """Start a run on a terminal of that width."""
    return pexpect.spawn(
        program.path,
        list(args),
        env=program.environment(env),
        cwd=str(program.home),
        dimensions=(40, columns),
        encoding="utf-8",
        timeout=LONGEST,
    )


def seen(program: Program, *args: str, columns: int = 100, **env: str) -> tuple[str, int]:
    """What a run writes to a terminal of that width, and its exit code."""
    child = spawned(program, *args, columns=columns, **env)
    child.expect(pexpect.EOF)
    child.close()
    code = child.exitstatus if child.exitstatus is not None else -child.signalstatus
    return child.before, code


def test_a_checkpoint_on_a_terminal(chainq: Program, server: Servers) -> None:
    """Without -o FILE a terminal gets a table, and the next run may write to a pipe: jsonl, from there on."""
    url = server("--tip", "19")
    words = ("blocks", "0:8", "--checkpoint", "kept", "--lag", "0", "--url", url)
    text, code = seen(chainq, *words, TERM="dumb")
    warning, *lines = text.splitlines()
    assert "only -o FILE has each once" in warning
    assert (code, lines[0].split()[:2]) == (0, ["height", "timestamp"])
    assert [line.split()[0] for line in lines[1:9]] == [str(height) for height in range(8)]
    assert lines[9].startswith("8 rows")
    ran = chainq("blocks", "0:12", *words[2:], "-q")
    assert (ran.code, [json.loads(row)["height"] for row in ran.rows]) == (0, ["8", "9", "10", "11"])
    text, code = seen(chainq, "blocks", "0:14", *words[2:], columns=60, TERM="dumb")
    assert (code, [line.split()[0] for line in text.splitlines()[1:3]]) == (0, ["12", "13"])


def test_binary_data_is_not_sent_to_a_terminal(chainq: Program) -> None:
    """A terminal would act on binary data, so that it gets an error with the way out."""
    pytest.importorskip("pyarrow", reason="Parquet needs the extra chainq[parquet]")
    text, code = seen(chainq, "block", "5", "--format", "parquet", "--url", "demo:", columns=200)
    assert (code, text) == (
        2,
        "chainq block: parquet is binary and cannot be shown on a terminal: expected -o FILE\r\n",
    )


def test_ctrl_c(chainq: Program, server: Servers) -> None:
    """Ctrl-C at the keyboard ends the run by SIGINT and says where to resume."""
    args = ("blocks", "--start", "0", "--end", "900K", "--columns", "height", "--url", server())
    child = spawned(chainq, *args, TERM="dumb")
    child.expect("1000")
    child.sendintr()
    child.expect(r"stopped by SIGINT; resume with --start [0-9]+ --end 900000")
    child.expect(pexpect.EOF)
    child.close()
    assert child.signalstatus == signal.SIGINT


def test_names_stream_from_stdin(chainq: Program, server: Servers) -> None:
    """A height typed on standard input is answered before the next one is typed, and all come out in order."""
    process = chainq.start("block", "-", "--columns", "height", url=server(), stdin=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b"12\n")
    assert process.stdout.readline() == b'{"height":"12"}\n'
    process.stdin.write(b"11\nlatest\n\n13")
    ran = finish(process)
    assert [int(number) for number in re.findall(rb"[0-9]+", ran.out)] == [11, 3_000_000, 13]
    assert (ran.code, ran.err) == (0, "")


def test_a_short_list_is_whole_on_a_terminal(chainq: Program) -> None:
    """A list without heights and without rows says so."""
    assert chainq.shown("program-transactions", "nobody.aleo", "nothing", TERM="dumb") == "no rows\n"


def test_json_of_show_is_indented_on_a_terminal(chainq: Program) -> None:
    """As other JSON there, with the same values as in a pipe."""
    text = chainq.shown("show", "12345", "--json", TERM="dumb")
    assert text.splitlines()[1] == '  "kind": "block",'
    assert json.loads(text) == json.loads(chainq("show", "12345", "--json", url="demo:").out)


def test_a_table_begins_after_three_responses(chainq: Program, serve: Serve) -> None:
    """The tip, the first chunk, and the proof that its start is not left out: no later response is waited for."""
    service, released = Moving(DEFAULT_TIP), threading.Event()

    def hold(method: str) -> None:
        if method == "records/all" and service.calls.count(method) > 1:
            released.wait(LONGEST)

    service.hook = hold
    url = serve(service)
    child = spawned(chainq, "records", "--last", "1000", "--url", url)
    try:
        child.expect(str(DEFAULT_TIP - 998))  # the lowest of these heights that has records
    finally:
        released.set()
        child.close()
