"""The error boundary: the only place that catches errors, prints them and ends the process."""

import errno
import os
import re
import sys
from typing import TYPE_CHECKING, NoReturn

import typer

from chainq.cli import log
from chainq.cli.commands import app
from chainq.cli.help import PlainGroup, bounds_in_words
from chainq.errors import ChainqError, ExitCode, OverdueError, UsageError, sentences
from chainq.process import signals
from chainq.text.sanitize import PRIVATE_KEY, VIEW_KEY, abridged, keys_in, mask_url, quoted
from chainq.text.spelling import options_in, spelled

if TYPE_CHECKING:
    from typer._click import Context

_OF_WRITING = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
"""Errors of writing alone. With PYTHONUNBUFFERED standard output keeps no buffer that could be tried again."""
_KEYS = {
    PRIVATE_KEY: "consider it exposed, because it can spend: move what it owns; chainq only uses view keys",
    VIEW_KEY: "use --view-key-file of owned or balance, and consider this key exposed",
}
_LONGEST = 5000  # characters of a message: a path of the system has up to 4096


def main() -> NoReturn:
    """Run the program with the process's arguments and end the process (exit codes: `errors.ExitCode`)."""
    signals.install()
    arguments = sys.argv[1:]
    log.use_stated(arguments)
    if kinds := set[str]().union(*map(keys_in, arguments)):  # before anything that could show or send it
        kind, name = (PRIVATE_KEY, "private") if PRIVATE_KEY in kinds else (VIEW_KEY, "view")
        said = f"a {name} key is on the command line, where everyone on this machine can read it; {_KEYS[kind]}"
        _complain(arguments, said, UsageError(said))
        os._exit(ExitCode.USAGE)
    try:
        command = typer.main.get_command(app)
        code = command.main(arguments or ["--help"], prog_name="chainq", standalone_mode=False) or 0
        _flush()
    except signals.Interrupted as stop:
        code = _stopped(arguments, stop)
    except (signals.PipeClosed, SystemExit):  # the latter by Typer, if the reader of its help has gone
        import signal

        signals.die(signal.SIGPIPE)
    except ChainqError as error:
        _complain(arguments, _advised(arguments, error), error)
        code = error.exit_code
    except typer.TyperException as error:
        _complain(arguments, _usage(error, arguments), error)
        code = ExitCode.USAGE
    except Exception as error:
        if limit := _limit(error):
            _complain(arguments, limit, error)
            os._exit(ExitCode.RESPONSE if isinstance(error, RecursionError) else ExitCode.OUTPUT)
        if isinstance(error, OSError) and (error.errno in _OF_WRITING or _unwritten()):
            _complain(arguments, f"cannot write the output: {error.strerror}", error)
            os._exit(ExitCode.OUTPUT)
        if os.environ.get("CHAINQ_DEBUG"):
            raise
        bug = f"bug in chainq: {type(error).__name__}: {error}; CHAINQ_DEBUG=1 shows the traceback"
        _complain(arguments, bug, error)
        code = ExitCode.BUG
    # Without the interpreter's own shutdown, which takes time and would wait for requests that nobody needs any more.
    os._exit(code)


def _flush() -> None:
    """Write what help and versions left in the buffer of standard output. Raises PipeClosed if nobody reads it."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        raise signals.PipeClosed from None


def _advised(arguments: list[str], error: ChainqError) -> str:
    """Return the text of an error, without the parts of its hint that name options which only other, unnamed commands
    have."""
    if isinstance(error, UsageError) and (mistyped := _mistyped(arguments)):
        return mistyped
    named = options_in(error.hint)
    if not named or arguments[0] not in PlainGroup.catalogue:
        return str(error)
    params = PlainGroup.catalogue[arguments[0]][2]().params
    lacking = named.difference(*((*param.opts, *param.secondary_opts) for param in params))
    parts = spelled(error.hint).split("; ")
    kept = [
        part
        for part in parts
        if lacking.isdisjoint(words := re.findall("[a-z-]+", part)) or not PlainGroup.catalogue.keys().isdisjoint(words)
    ]
    return str(error) if kept == parts else sentences(error.message, *kept)


def _stopped(arguments: list[str], stop: signals.Interrupted) -> int:
    """Say what stopped the run, and die by the signal; return the exit code if it was no signal, but the time."""
    incomplete = (
        "; the reader had stalled, so the output may have rows of the rest, and end in the middle of one"
        if stop.mid_write
        else ""
    )
    overdue = stop.number == signals.OVERDUE
    _complain(arguments, str(stop) + incomplete, stop)
    return OverdueError.exit_code if overdue else signals.die(stop.number)


def _limit(error: Exception) -> str:
    """Return which limit of Python or of this machine a run met, and what to do; empty for other errors."""
    if isinstance(error, RecursionError):
        return "the response is nested too deeply"
    unmapped = isinstance(error, ImportError) and "failed to map segment" in str(error)
    if isinstance(error, MemoryError) or unmapped or (isinstance(error, OSError) and error.errno == errno.ENOMEM):
        return "out of memory; lower -j, -w or --max-memory"
    if isinstance(error, FileNotFoundError) and not _in_folder():
        return "the folder that this command runs in was deleted; change to another one (cd)"
    if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
        return "too many open files; lower -j or -w, or raise the limit (ulimit -n)"
    if isinstance(error, BlockingIOError) or (isinstance(error, RuntimeError) and "start new thread" in str(error)):
        return "no more processes or threads; lower -j or -w, or raise the limit (ulimit -u)"
    return ""


def _in_folder() -> bool:
    """Return whether the working folder is there."""
    try:
        os.getcwd()  # noqa: PTH109  # the same without an object
    except FileNotFoundError:
        return False
    return True


def _unwritten() -> bool:
    """Return whether standard output does not take its buffer: help and versions. Other output goes to a sink."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        return True
    return False


def _mistyped(arguments: list[str]) -> str:
    from chainq.cli.mistyped import advice

    return advice(arguments)


def _usage(error: typer.TyperException, arguments: list[str]) -> str:
    """Return what Typer finds wrong with the command line, in the words of all other messages."""
    if mistyped := _mistyped(arguments):
        return mistyped
    option = getattr(error, "option_name", "")
    if re.fullmatch(r"-[0-9]", option):
        command = getattr(getattr(error, "ctx", None), "command", None)
        names = {param.name for param in command.params} if command else set()
        ranges = "-N:, or " * ("heights" in names)  # as an argument
        hint = f"for the last N blocks use {ranges}--last N{'' if 'start' in names else ' with blocks or records'}"
        value = next((one for one in arguments if one.startswith(option)), option)
        return f"invalid height {quoted(value)}: negative numbers are not allowed here; {hint}"
    message = abridged(error.format_message().rstrip("."), 400)  # the expressions below take long for long ones
    if message.startswith("No such option"):
        if (command := _command_of(option, arguments)) is not None:
            return f"options follow the command: {_in_order(command, arguments)}"
        from chainq.cli.guesses import guess_option

        context = getattr(error, "ctx", None)
        return f"unknown option {abridged(option, 80)}; {guess_option(option, context and context.command, arguments)}"
    problem, colon, value = bounds_in_words(message).partition(": ")
    if extra := re.fullmatch(r"Got unexpected extra argument\(?s?\)? \((.*)\)", problem):
        words = (mask_url(word) if "://" in word else word for word in extra[1].split(" "))
        problem = f"unexpected argument{'s' * (' ' in extra[1])} {' '.join(words)}"
    problem = problem.replace("Invalid value for", "invalid").replace("'", "")
    value = re.sub(r"valid (int|integer|float)( range)?$", "valid number", value)
    bounds = re.search(r" is not (from|at least) ", value)
    hint = _argument_hint(error, arguments) or _digits(error, value) or ("" if bounds else "see --help")
    return sentences(*filter(None, (f"{problem[:1].lower()}{problem[1:]}{colon}{value}", hint)))


def _argument_hint(error: typer.TyperException, arguments: list[str]) -> str:
    """Return how a range, a function, a shell or a file of keys is written instead; empty for other errors."""
    if "FUNCTION" in error.format_message():
        from chainq.catalog.kinds import TextKind, kind_of

        kinds = {kind_of(word): word for word in arguments}
        if joined := kinds.get(TextKind.FUNCTION):
            return f"use a space: {joined.replace('/', ' ')}"
        return f"chainq show {kinds.get(TextKind.PROGRAM, 'PROGRAM')} lists the functions"
    if "SHELL" in error.format_message():
        return "expected bash, zsh or fish"
    if "HEIGHT" in error.format_message():
        from chainq.cli.query import A_HEIGHT

        return A_HEIGHT
    if "--to" in error.format_message():
        return "--to is a folder, or the URL of an object store"
    context: Context | None = getattr(error, "ctx", None)
    if error.format_message().startswith("Missing argument") and context:
        example = re.search("chainq .*", context.command.epilog or "")
        return f"such as: {example[0]}" if example else ""
    extra = re.search(r"unexpected extra argument.* \((.+)\)", error.format_message())
    if not extra or not context:
        return ""
    from chainq.cli.extra_words import advice

    taken = context.params
    first = taken.get("program") or taken.get("address")
    return advice(arguments[0], taken.get("range"), extra[1].split(), columns=taken.get("columns"), first=first)


def _digits(error: typer.TyperException, value: str) -> str:
    """Return how a number is written that has a unit of time or commas; empty for other errors."""
    if getattr(getattr(error, "param", None), "metavar", "") == "SECONDS":
        found = re.match(r"'([0-9]{1,9})(s|m|h)' is not a valid number", value)
        return f"use {int(found[1]) * {'s': 1, 'm': 60, 'h': 3600}[found[2]]}, in seconds" if found else ""
    from chainq.heights.bounds import meant_number

    found = re.match(r"'([0-9,]+)' is not a valid number", value)
    return meant_number(found[1]) if found else ""


def _command_of(option: str, arguments: list[str]) -> str | None:
    """Return the command that an option before it belongs to, COMMAND for no command; None if it belongs to none."""
    if not arguments[0].startswith("-"):
        return None
    name = next((word for word in arguments if word in PlainGroup.catalogue), None)
    built = PlainGroup.catalogue[name or "records"][2]()
    known = any(option in (*param.opts, *param.secondary_opts) for param in built.params)
    return (name or "COMMAND") if known else None


def _in_order(command: str, arguments: list[str]) -> str:
    """Return the command line with the options that are before the command behind it; secrets are masked."""
    from itertools import pairwise
    from shlex import quote

    def masked(before: str, word: str) -> str:
        option, equals, value = word.partition("=") if word.startswith("--") else ("", "", word)
        if "--header" in (before, option):
            return f"{option}{equals}***" if value else word
        return option + equals + (quote(mask_url(value) if "://" in value else value) if value else "")

    at = arguments.index(command) if command in arguments else len(arguments)
    words = [command, *arguments[at + 1 :], *arguments[:at]]
    return abridged(" ".join(["chainq", *(masked(*pair) for pair in pairwise(["", *words]))]), 400)


def _complain(arguments: list[str], message: str, error: BaseException) -> None:
    """Print one line on stderr: which command failed, why, and what to do."""
    command = f" {arguments[0]}" if arguments and arguments[0] in PlainGroup.catalogue else ""
    parts = abridged(sentences(*map(spelled, [message, *getattr(error, "__notes__", [])])), _LONGEST)
    parts = re.sub("\N{MINUS SIGN}(?=[0-9])", "-", parts)  # of `-100:`, for the parser (`heights.bounds.MINUS`)
    try:
        log.write("error", f"chainq{command}: {' '.join(parts.split())}")
    except (OSError, AttributeError, ValueError):  # stderr is closed; the exit code has to do
        return
