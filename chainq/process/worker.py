"""A worker process of a pool (`pool`): `python -P -m chainq.process.worker`, pickles in, pickles out.

On standard input: a function that makes what this process works with, then calls of functions with that. On standard
output: events, and one result for each call, or an error, which is the last message. The process ends itself once its
input ends, whatever it is doing, so that it never outlives the process that started it.
"""

import os
import pickle  # between this process and the one that started it, over pipes that nobody else has
import sys
import threading
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from queue import SimpleQueue
from typing import Any, BinaryIO

from chainq.process import Closing, forgo_pandas

Say = Callable[[object], None]
"""Sends an event to the pool, from any thread."""


def main() -> None:
    """Work until standard input ends."""
    forgo_pandas()
    source, target = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints must not come between the messages
    serve(source, target, os._exit)  # the interpreter's own shutdown fails with a thread that reads standard input


def serve(source: BinaryIO, target: BinaryIO, end: Callable[[int], None]) -> None:
    """Work until `source` ends, or a call fails; then call `end` with the exit code."""
    lock = threading.Lock()

    def send(kind: str, value: object) -> None:
        message = pickle.dumps((kind, value))
        with lock:
            target.write(message)
            target.flush()

    calls: SimpleQueue[tuple[Callable[..., object], object] | None] = SimpleQueue()
    try:
        state = pickle.load(source)(partial(send, "event"))  # noqa: S301
        threading.Thread(target=_read, args=(source, state, calls, end), daemon=True).start()
        with state if isinstance(state, Closing) else nullcontext():
            while call := calls.get():
                function, argument = call
                send("result", function(state, argument))
    except Exception as error:
        send("error", portable(error))
        end(1)


def portable(error: Exception) -> Exception:
    """Return the error, as those of chainq are, or one with its text if it cannot be pickled."""
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


def _read(
    source: BinaryIO,
    state: Any,
    calls: "SimpleQueue[tuple[Callable[..., object], object] | None]",
    end: Callable[[int], None],
) -> None:
    """Pass calls on, and run calls that need no reply at once; at the end of the input, end the process."""
    try:
        while True:
            replied, function, argument = pickle.load(source)  # noqa: S301
            if replied:
                calls.put((function, argument))
            else:
                function(state, argument)
    except (EOFError, ValueError):  # the latter from a source that was closed
        pass
    finally:
        calls.put(None)
        end(1)


if __name__ == "__main__":
    main()
