"""The sample service on a socket of this process: counts the calls of programs run against it."""

import json
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from measure import CHAINQ, environment

from chainq.demo.chain import DEFAULT_TIP, Chain
from chainq.demo.registry import Reply
from chainq.demo.service import Service
from harness.sample import with_dense
from harness.services import serving

LONGEST = 60  # seconds that anything here may take


class Watched(Service):
    """The sample service. `calls`: how many came. `tip`: in the hands of the caller."""

    def __init__(self, dense: tuple[int, int] | None) -> None:
        super().__init__(Chain(layout=with_dense(*dense) if dense else None), tip=lambda: self.tip)
        self.tip, self.calls, self.url = DEFAULT_TIP, 0, ""
        self._rounds: list[list[str]] = []  # the methods called from one request for the tip to the next
        self._changed = threading.Condition()

    def respond(self, body: bytes) -> Reply:
        """Return what the service responds, and count it."""
        method = json.loads(body)["method"]
        with self._changed:
            self.calls += 1
            if method == "latest/block":
                self._rounds.append([])
            if self._rounds:
                self._rounds[-1].append(method)
            self._changed.notify_all()
        return super().respond(body)

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


def _command(line: str, url: str) -> list[str]:
    return [CHAINQ, *line.split(), "--url", url, "--dialect", "chain"]


def _home(folder: Path) -> dict[str, str]:
    return {**environment(), "HOME": str(folder)}


@contextmanager
def watched(dense: tuple[int, int] | None = None) -> Iterator[Watched]:
    """Serve the sample chain; `dense`: a height and its records."""
    service = Watched(dense)
    with serving(service) as service.url:
        yield service
