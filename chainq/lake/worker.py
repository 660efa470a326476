"""A worker process of an export on this machine: `python -m chainq.lake.worker`, partitions in, results out.

Lines of JSON on standard input: the job, then one task after the other, and holds at any time. Lines of JSON on
standard output: what happens. A pipe and not `multiprocessing`: the worker shares nothing with the coordinator, a death
is the end of the pipe, and the coordinator's death is the end of standard input, at which the worker ends itself.
"""

import os
import queue
import signal
import sys
import threading
from typing import Any

import msgspec

from chainq import errors
from chainq.errors import ChainqError, OutputError
from chainq.lake.job import Done, Hold, Job, Task
from chainq.lake.partition import Worker
from chainq.transport.base import Report


class Event(msgspec.Struct, frozen=True):
    """What a worker says. `kind`: `warn`, `trace` (text), `call` (report), `done`, or `failed` (error)."""

    kind: str
    text: str = ""
    report: Report | None = None
    done: Done | None = None
    error: tuple[str, str, str] | None = None  # class, message, hint


def main() -> None:
    """Write partitions until standard input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to all; the coordinator decides
    tasks: queue.SimpleQueue[Task] = queue.SimpleQueue()
    lock = threading.Lock()

    def say(event: Event) -> None:
        with lock:
            sys.stdout.buffer.write(msgspec.json.encode(event) + b"\n")
            sys.stdout.buffer.flush()

    try:
        with Worker(
            msgspec.json.decode(sys.stdin.buffer.readline(), type=Job),
            lambda text: say(Event("warn", text)),
            lambda text: say(Event("trace", text)),
            lambda report: say(Event("call", report=report)),
        ) as worker:
            threading.Thread(target=_read, args=(tasks, worker), daemon=True).start()
            while True:
                try:
                    say(Event("done", done=worker.write(tasks.get())))
                except Exception as error:
                    say(Event("failed", error=packed(error)))
    except Exception as error:
        say(Event("failed", error=packed(error)))


def packed(error: Exception) -> tuple[str, str, str]:
    """Return an error as plain values: its class in `errors`, message and hint; the class is empty for a bug."""
    if isinstance(error, MemoryError):
        error = OutputError("out of memory", "lower -w or -j, or export with a smaller --partition")
    if not isinstance(error, ChainqError):
        return "", f"{type(error).__name__}: {error}", ""
    kind = next(one for one in type(error).__mro__ if one.__module__ == errors.__name__)
    return kind.__name__, error.message, error.hint


def unpacked(values: tuple[str, str, str]) -> Exception:
    """Return the error that `packed` has put into plain values."""
    name, message, hint = values
    if not name:
        return RuntimeError(message)
    kind: Any = getattr(errors, name)
    error: ChainqError = kind(message, hint)
    return error


def _read(tasks: "queue.SimpleQueue[Task]", worker: Worker) -> None:
    """Hand tasks over, and have holds kept; at the end of the input end the process, whatever it is doing."""
    decode = msgspec.json.Decoder(Task | Hold).decode
    for line in sys.stdin.buffer:
        found = decode(line)
        if isinstance(found, Hold):
            worker.hold_back(found)
        else:
            tasks.put(found)
    os._exit(0)


if __name__ == "__main__":
    main()
