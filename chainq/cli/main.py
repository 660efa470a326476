"""The error boundary: what catches errors, prints them, and says how the process ends."""

import errno
import os
import re
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any, NoReturn

import typer

from chainq.cli import log
from chainq.cli.commands import app
from chainq.cli.help import PlainGroup
from chainq.errors import ChainqError, ExitCode, OverdueError, UsageError, sentences
from chainq.process import signals
from chainq.text.sanitize import PRIVATE_KEY, VIEW_KEY, abridged, keys_in, mask_url

_OF_WRITING = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF}
"""Errors of writing alone. With PYTHONUNBUFFERED standard output keeps no buffer that could be tried again."""
_KEYS = {
    PRIVATE_KEY: "consider it exposed, because it can spend: move what it owns; chainq only uses view keys",
    VIEW_KEY: "use --view-key-file of owned or balance, and consider this key exposed",
}
_LONGEST = 5000  # characters of a message: a path of the system has up to 4096
_LONGEST_OF_TYPER = 400  # of one that repeats arguments whole


def main() -> NoReturn:
    """Run the program with the process's arguments and end the process (exit codes: `errors.ExitCode`)."""
    signals.install()
    code = run(sys.argv[1:])
    if code < 0:
        signals.die(-code)
    # Without the interpreter's own shutdown, which takes time and would wait for requests that nobody needs any more.
    os._exit(code)


def run(arguments: list[str]) -> int:
    """Run the program in this process, with its environment, folder and streams, and say on stderr what went wrong.

    Returns the exit code, or the negative number of the signal that the process is to die by. Raises what is a bug of
    chainq if CHAINQ_DEBUG is set.
    """
    log.use(arguments)
    try:
        return _run(arguments)
    except signals.Interrupted as stop:  # also if it came while an error was printed
        stalled = "; the reader had stalled, so the output may have rows of the rest, and end in the middle of one"
        _complain(arguments, str(stop) + stalled * stop.mid_write, stop)
        return OverdueError.exit_code if stop.number == signals.OVERDUE else -stop.number


def _run(arguments: list[str]) -> int:
    """Run the program, as `run` does. Raises Interrupted."""
    if kinds := set[str]().union(*map(keys_in, arguments)):  # before anything that could show or send it
        kind, name = (PRIVATE_KEY, "private") if PRIVATE_KEY in kinds else (VIEW_KEY, "view")
        said = f"a {name} key is on the command line, where everyone on this machine can read it; {_KEYS[kind]}"
        _complain(arguments, said, UsageError(said))
        return ExitCode.USAGE
    try:
        command = typer.main.get_command(app)
        code = command.main(arguments or ["--help"], prog_name="chainq", standalone_mode=False) or 0
        _flush()
    except (signals.PipeClosed, SystemExit):  # the latter by Typer, if the reader of its help has gone
        return -signals.PIPE
    except ChainqError as error:
        _complain(arguments, str(error), error)
        return error.exit_code
    except typer.TyperException as error:
        _complain(arguments, abridged(_without_secrets(_usage(error), arguments), _LONGEST_OF_TYPER), error)
        return ExitCode.USAGE
    except Exception as error:
        if limit := _limit(error):
            _complain(arguments, limit, error)
            return ExitCode.RESPONSE if isinstance(error, RecursionError) else ExitCode.OUTPUT
        if os.environ.get("CHAINQ_DEBUG"):
            raise
        bug = f"bug in chainq: {type(error).__name__}: {error}; CHAINQ_DEBUG=1 shows the traceback"
        _complain(arguments, bug, error)
        return ExitCode.BUG
    return code


def _flush() -> None:
    """Write what help and versions left in the buffer of standard output. Raises PipeClosed if nobody reads it."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        raise signals.PipeClosed from None


def _limit(error: Exception) -> str:
    """Return which limit of Python or of this machine a run met, and what to do; empty for other errors."""
    if isinstance(error, RecursionError):
        return "the response is nested too deeply"
    number, text = error.errno if isinstance(error, OSError) else 0, str(error)
    if isinstance(error, MemoryError) or number == errno.ENOMEM or "failed to map segment" in text:
        return "out of memory; lower -j, -w or --max-memory"
    if number in (errno.EMFILE, errno.ENFILE):
        return "too many open files; lower -j or -w, or raise the limit (ulimit -n)"
    if number == errno.EAGAIN or "start new thread" in text:
        return "no more processes or threads; lower -j or -w, or raise the limit (ulimit -u)"
    if number == errno.ENOENT and getattr(error, "filename", None) is None:  # of os.getcwd
        return "the current folder has been deleted; change to another one"
    return f"cannot write the output: {os.strerror(number)}" if number in _OF_WRITING else ""


def _usage(error: typer.TyperException) -> str:
    """Return what Typer finds wrong with the command line."""
    if getattr(error, "option_name", "")[1:].isdecimal():
        context: Any = getattr(error, "ctx", None)
        options = {name for one in context.command.params for name in one.opts}
        last = "" if {"--start", "--last"} & options == {"--start"} else "; for the last N blocks use --last N"
        return f"invalid height: negative numbers are not allowed here{last}"
    message = error.format_message().rstrip(".")
    return f"{message[:1].lower()}{message[1:]}"


def _without_secrets(message: str, arguments: list[str]) -> str:
    """Return a message without secrets of the command line: those in URLs, and a header that lacks its quotes."""
    words = [part for word in arguments for part in (word.split("=", 1) if word.startswith("--") else [word])]
    in_header = False
    for before, word in pairwise(["", *words]):
        in_header = not word.startswith("-") and (in_header or (before == "--header" and word.endswith(":")))
        if in_header or "://" in word:
            hidden = "***" if in_header else mask_url(word)
            path = Path(word)  # of a URL that stands for a file, messages name this, or its folder
            for text in (word, str(path), str(path.parent))[: len(path.parts)]:
                message = re.sub(rf"(?<!\w){re.escape(text)}(?!\w)", hidden.replace("\\", r"\\"), message)
    return message


def _complain(arguments: list[str], message: str, error: BaseException) -> None:
    """Print one line on stderr: which command failed, why, and what to do."""
    command = f" {arguments[0]}" if arguments and arguments[0] in PlainGroup.catalogue else ""
    said = sentences(_without_secrets(message, arguments), *getattr(error, "__notes__", []))
    parts = abridged(said, _LONGEST)
    log.write(log.rendered("error", f"chainq{command}: {' '.join(parts.split())}"))
