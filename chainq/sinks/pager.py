"""A pager: a program such as `less` that shows the output on the terminal, page by page."""

import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Callable
from types import FrameType

from chainq.errors import OutputError
from chainq.process.signals import PipeClosed
from chainq.sinks.base import Sink
from chainq.text.sanitize import quoted

# As gh and git start less: end if all fits on the screen, keep colors, leave the screen as it is.
_SETTINGS = {"LESS": "FRX", "LV": "-c"}


def command(warn: Callable[[str], None]) -> list[str]:
    """Return the program and its arguments from CHAINQ_PAGER, else PAGER; empty if unset, missing, or `cat`.

    `warn` takes one line about a missing program.
    """
    name = "CHAINQ_PAGER" if "CHAINQ_PAGER" in os.environ else "PAGER"
    text = os.environ.get(name, "")
    try:
        words = shlex.split(text)
    except ValueError:  # a quote that does not end
        words = [text]
    if not words or words[0] == "cat":
        return []
    if shutil.which(words[0]) is None:
        warn(f"{name}: no program {quoted(words[0])}; the output is shown without a pager")
        return []
    return words


class PagerSink(Sink):
    """Writes to a pager, and waits until the user ends it; `words` are its program and arguments.

    SIGINT is ignored while the pager runs, because the pager owns the terminal and uses Ctrl-C itself. Raises
    OutputError if it cannot be started.
    """

    paged = True

    def __init__(self, words: list[str]) -> None:
        reader, writer = os.pipe()
        environment = {**_SETTINGS, **os.environ}
        try:
            self._pager = subprocess.Popen(words, stdin=reader, env=environment)  # noqa: S603  # the user's own choice
        except OSError as error:
            os.close(writer)
            raise OutputError(f"cannot start the pager {words[0]}: {error.strerror}", "see CHAINQ_PAGER") from None
        finally:
            os.close(reader)
        super().__init__(writer, "the pager")
        self._on_interrupt = signal.getsignal(signal.SIGINT)
        if callable(self._on_interrupt):  # not before Popen: the pager would inherit that SIGINT is ignored
            signal.signal(signal.SIGINT, self._interrupted)

    def _interrupted(self, number: int, frame: FrameType | None) -> None:
        """Pass SIGINT on if the pager has ended, which a run that waits for the server may not have noticed."""
        if self._pager.poll() is not None and callable(self._on_interrupt):
            self._on_interrupt(number, frame)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        os.close(self._descriptor)
        try:
            self._pager.wait()
        finally:
            signal.signal(signal.SIGINT, self._on_interrupt)
        return kind is PipeClosed  # who ends the pager early has seen enough, and nothing failed
