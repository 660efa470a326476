"""Servers of `chainq serve --lake`."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.running.program import Program, finish


@contextmanager
def mirror(chainq: Program, lake: Path, stop: int = signal.SIGTERM, code: int = -signal.SIGTERM) -> Iterator[str]:
    """A server of a data set, which ends by a signal without a word about it but that of the program."""
    process = chainq.start("serve", "--lake", str(lake), "--port", "0")
    assert process.stdout is not None
    url = process.stdout.readline().decode().strip()
    try:
        assert url.startswith("http://127.0.0.1:"), finish(process).err
        yield url
    finally:
        process.send_signal(stop)
        ran = finish(process)
    assert ran.code == code, ran
    assert "Traceback" not in ran.err
