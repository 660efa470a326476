"""Matches batches of rows on several cores: blocks of rows as bytes, results in the order of the rows.

Processes and not threads: the SDK holds the interpreter's lock, so that two threads are no faster than one. Started by
`subprocess` and not by `multiprocessing`, whose start methods would fork a process with threads, or load the caller's
main module again.
"""

import os
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property, partial
from queue import SimpleQueue
from typing import BinaryIO, NamedTuple, Self, cast

import msgspec

from chainq.errors import IncompleteError
from chainq.planning.query import Batch
from chainq.process.threads import in_order
from chainq.wallet import worker
from chainq.wallet.keys import VARIABLE
from chainq.wallet.ownership import Findings, Matcher

BLOCK = 256  # rows, about a fifteenth of a second for one key
AHEAD = 8  # blocks for each worker that are under way or wait, so that it has work while a response is awaited
OWN_BLOCKS = 4  # of a scan that are matched in this process: a short scan is done before a worker has started
MOST_WORKERS = 256
_NOTHING = Findings([], [])


def cores() -> int:
    """Return how many cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS
        return os.cpu_count() or 1


class Scanned(NamedTuple):
    """A batch and what is known of its rows."""

    batch: Batch
    findings: Findings


class Scanner:
    """Matches rows with view keys in up to `workers` processes. A context manager, which ends them."""

    def __init__(self, view_keys: Sequence[str], workers: int) -> None:
        self._view_keys, self._workers = list(view_keys), workers
        self._idle: SimpleQueue[_Worker] = SimpleQueue()
        self._started: list[_Worker] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the processes and drop the keys."""
        for started in self._started:
            started.close()
        self._started.clear()
        self._view_keys.clear()
        self.__dict__.pop("_matcher", None)

    def scan(self, batches: Iterator[Batch]) -> Iterator[Scanned]:
        """Yield each batch with what is known of its rows, in order; a few blocks are under way at any time.

        Raises what `batches` raises, once everything before it is yielded.
        """
        waiting: deque[tuple[Batch, int]] = deque()  # each with the number of its blocks
        results = in_order(self._workers, self._jobs(batches, waiting), AHEAD * self._workers)
        parts: list[Findings] = []
        for part in results:
            parts.append(part)
            batch, blocks = waiting[0]
            if len(parts) == blocks:
                waiting.popleft()
                yield Scanned(batch, _joined(parts))
                parts = []
                del batch  # its rows are large, and the next wait may be long

    def _jobs(self, batches: Iterator[Batch], waiting: deque[tuple[Batch, int]]) -> Iterator[Callable[[], Findings]]:
        sent = 0
        try:
            for batch in batches:
                starts = range(0, len(batch.rows), BLOCK)
                waiting.append((batch, max(1, len(starts))))
                if not starts:
                    yield lambda: _NOTHING
                for start in starts:
                    block = b"[" + b",".join(map(bytes, batch.rows[start : start + BLOCK])) + b"]"
                    sent += 1
                    match = self._match_here if self._workers == 1 or sent <= OWN_BLOCKS else self._match_there
                    yield partial(match, block)
        except Exception as error:  # its turn comes after the rows before it
            yield partial(_raise, error)

    @cached_property
    def _matcher(self) -> Matcher:
        return Matcher(self._view_keys)

    def _match_here(self, block: bytes) -> Findings:
        return self._matcher.match(block)

    def _match_there(self, block: bytes) -> Findings:
        # As many threads as workers call this at a time, so that one is idle or may still be started.
        found = self._idle.get() if len(self._started) >= self._workers or not self._idle.empty() else self._start()
        findings = found.match(block)
        self._idle.put(found)
        return findings

    def _start(self) -> "_Worker":
        started = _Worker(self._view_keys)
        self._started.append(started)
        return started


class _Worker:
    """One process, which gets the keys through its standard input."""

    def __init__(self, view_keys: Sequence[str]) -> None:
        # It finds what this process finds, and nothing in the current folder (-P). A panic's message may hold what it
        # was about, so stderr goes nowhere; backtraces would only take time.
        environment = {
            **{name: value for name, value in os.environ.items() if name != VARIABLE},
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            "RUST_BACKTRACE": "0",
        }
        self._process = subprocess.Popen(  # noqa: S603  # this interpreter, and a module of this package
            [sys.executable, "-P", "-m", worker.__name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            process_group=0,  # Ctrl-C is for the process that the user started, which then ends this one
        )
        self._input, self._output = cast("BinaryIO", self._process.stdin), cast("BinaryIO", self._process.stdout)
        with suppress(OSError):  # `match` then says that the worker is gone
            worker.send(self._input, msgspec.json.encode(list(view_keys)))

    def match(self, block: bytes) -> Findings:
        """Return what is known of a block of rows. Raises IncompleteError where the process is gone."""
        try:
            worker.send(self._input, block)
            message = worker.receive(self._output)
        except OSError:
            message = None
        if message is None:
            code = self._process.wait()
            how = f"was ended by signal {-code}" if code < 0 else f"ended with code {code}"
            raise IncompleteError(f"a worker process {how}", "run again; -w 1 uses none")
        return msgspec.json.decode(message, type=Findings)

    def close(self) -> None:
        """End the process at once: what it still does, nobody needs."""
        self._process.kill()
        self._process.wait()
        for stream in (self._input, self._output):
            with suppress(OSError, ValueError):
                stream.close()


def _joined(parts: Sequence[Findings]) -> Findings:
    """Return the findings of consecutive blocks as those of their batch."""
    return Findings(
        [(at * BLOCK + number, key) for at, part in enumerate(parts) for number, key in part.owned],
        [(at * BLOCK + number, why) for at, part in enumerate(parts) for number, why in part.malformed],
    )


def _raise(error: Exception) -> Findings:
    raise error
