"""The sample service on a socket of this process: counts the calls and round trips of programs run against it."""

import fcntl
import json
import os
import pty
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from measure import environment

from chainq.demo.chain import DEFAULT_TIP, Chain
from chainq.demo.exchange import Reply
from chainq.demo.service import Service
from harness.services import serving

LONGEST = 60  # seconds that anything here may take
CHAINQ = str(Path(sys.executable).with_name("chainq"))


class Watched(Service):
    """The sample service. `calls`: how many came. `trips`: the most responses of which each was there before the call
    of the next arrived. `tip`: in the hands of the caller."""

    def __init__(self, latency: float, dense: tuple[int, int] | None) -> None:
        super().__init__(Chain(dense=dense), tip=lambda: self.tip)
        self.tip, self.calls, self.trips, self.url = DEFAULT_TIP, 0, 0, ""
        self._latency = latency
        self._rounds: list[list[str]] = []  # the methods called from one request for the tip to the next
        self._changed = threading.Condition()

    def respond(self, body: bytes) -> Reply:
        """Return what the service responds, and count it."""
        method = json.loads(body)["method"]
        with self._changed:
            self.calls += 1
            depth = self.trips + 1
            if method == "latest/block":
                self._rounds.append([])
            if self._rounds:
                self._rounds[-1].append(method)
            self._changed.notify_all()
        time.sleep(self._latency)
        reply = super().respond(body)
        with self._changed:
            self.trips = max(self.trips, depth)
        return reply

    def round(self, first: int, *, rows: bool = False) -> int:
        """Wait for a whole round of --follow, the `first` one or a later one (from 0); its calls. `rows`: one that
        requests rows. Raises RuntimeError if none comes."""

        def found() -> list[str] | None:
            whole = self._rounds[first:-1]
            return next((calls for calls in whole if not rows or "records/all" in calls), None)

        with self._changed:
            if not self._changed.wait_for(lambda: found() is not None, LONGEST):
                raise RuntimeError("no such round")
            return len(found() or [])

    def printed(self, line: str, folder: Path) -> int:
        """Run a command into a pipe; the lines that it prints. Raises RuntimeError if it fails."""
        done = subprocess.run(_command(line, self.url), capture_output=True, env=_home(folder), check=False)
        if done.returncode:
            raise RuntimeError(f"{line} ended with {done.returncode}: {done.stderr.decode()}")
        return done.stdout.count(b"\n")

    @contextmanager
    def started(self, line: str, folder: Path) -> Iterator[None]:
        """Start a command, and end it at the end of the block."""
        command = _command(line, self.url)
        with subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=_home(folder)
        ) as process:
            try:
                yield
            finally:
                process.terminate()

    def first_row(self, line: str, folder: Path) -> int:
        """Run a command on a terminal; the round trips before its first row."""
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
        command, env = _command(line, self.url), _home(folder)
        shown, trips = b"", None
        with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=subprocess.DEVNULL, env=env):
            os.close(theirs)
            while piece := _read(ours):
                shown += piece
                if trips is None and shown.count(b"\n") > 1:  # the heading, and a row
                    trips = self.trips
        os.close(ours)
        return self.trips if trips is None else trips


def _read(file: int) -> bytes:
    try:
        return os.read(file, 1 << 16)
    except OSError:  # Linux: the other end was closed
        return b""


def _command(line: str, url: str) -> list[str]:
    return [CHAINQ, *line.split(), "--url", url, "--dialect", "chain"]


def _home(folder: Path) -> dict[str, str]:
    return {**environment(), "HOME": str(folder)}


@contextmanager
def watched(latency: float = 0.0, dense: tuple[int, int] | None = None) -> Iterator[Watched]:
    """Serve the sample chain, each response after `latency` seconds; `dense`: a height and its records."""
    service = Watched(latency, dense)
    with serving(service) as service.url:
        yield service
