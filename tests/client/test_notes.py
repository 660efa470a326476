"""A client says that a name may be mistyped: to the logger `chainq`, as nothing is wrong with rows that are none."""

import asyncio
import logging
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from chainq import AsyncClient, Client
from harness.program import LONGEST

MISTYPED: list[tuple[Callable[[Client], Any], str]] = [
    (lambda client: client.records(last=100, program="credits.alo"), "no program_id is 'credits.alo': did you mean '"),
    (lambda client: client.transactions(12345, where="status = acepted"), "no status is 'acepted': did you mean '"),
    (
        lambda client: client.records(last=100, where="program_id ~ CREDITS"),
        "no program_id matches 'CREDITS': case matters; did you mean program_id ~ '(?i)CREDITS'?",
    ),
    (
        lambda client: client.program_transactions("credits.aleo", "transfer_publc"),
        "no transactions call credits.aleo/transfer_publc: check the names",
    ),
]


@pytest.mark.parametrize(("read", "note"), MISTYPED)
def test_a_mistyped_name_is_noted(read: Callable[[Client], Any], note: str, caplog: pytest.LogCaptureFixture) -> None:
    """No row passes, and a similar value was read, or nothing calls the function: one warning, and no error."""
    with Client("demo:") as client:
        assert list(read(client)) == []
    (record,) = caplog.records
    assert (record.name, record.levelno) == ("chainq", logging.WARNING)
    assert record.getMessage().startswith(note)


QUIET: list[Callable[[Client], Any]] = [
    lambda client: client.records(last=100, program="credits.aleo", limit=3),
    lambda client: client.records(last=100, program="nothing_alike.aleo"),
    lambda client: client.records(last=100, program="credits.alo", limit=0),
    lambda client: client.blocks(last=3, where="height < 3"),
    lambda client: client.program_transactions("hello_hello.aleo", "hello", limit=1),
    lambda client: client.program_transactions("credits.aleo", "transfer_publc", limit=0),
]


@pytest.mark.parametrize("read", QUIET)
def test_rows_and_honest_emptiness_are_not_noted(
    read: Callable[[Client], Any], caplog: pytest.LogCaptureFixture
) -> None:
    """A filter that nothing passes is no mistake in itself, and a program may ask it every minute."""
    with Client("demo:") as client:
        list(read(client))
    assert caplog.records == []


def test_an_asynchronous_client_notes_it_too(caplog: pytest.LogCaptureFixture) -> None:
    """The note does not depend on the thread that reads."""

    async def read() -> list[Any]:
        async with AsyncClient("demo:") as client:
            return [row async for row in client.records(last=100, program="credits.alo")]

    assert asyncio.run(read()) == []
    assert len(caplog.records) == 1


def test_a_script_without_settings_sees_the_note() -> None:
    """Python prints a warning on stderr if nobody configured logging."""
    script = "import chainq; print(list(chainq.Client('demo:').records(last=100, program='credits.alo')))"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=LONGEST, check=True)
    assert ran.stdout == "[]\n"
    assert ran.stderr.startswith("no program_id is 'credits.alo': did you mean 'credits.aleo'")
    assert ran.stderr.count("\n") == 1
