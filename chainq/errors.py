"""Every error of chainq, and the exit code that it ends the program with.

The help, the manual, the reference and the README print what `exit_codes` returns. Nothing here prints.

    ChainqError                     the base: what failed, where, and what to do
    ├── NotFoundError          1    a block or transaction that was looked up does not exist
    ├── UsageError             2    an invalid argument, no service URL, an invalid configuration file
    ├── ServiceError           3    the service returned an error
    │   ├── TooHeavyError      3    ... that a narrower range may avoid
    │   └── LackingError       6    ... because it is an export that lacks heights
    ├── UnreachableError       4    no connection, a timeout, or still refused after all retries
    │   ├── GatewayError       4    ... if a smaller response may get through
    │   └── OverdueError       4    ... because the run was to end by now
    ├── ResponseError          5    not a valid JSON-RPC response to the request
    │   └── BrokenBodyError    5    ... because the body ends too early, which a retry may cure
    ├── IncompleteError        6    the data is incomplete or contradicts itself
    │   ├── WrongHashError     6    ... because a block does not produce the hash that it names
    │   ├── ProofError         6    ... because responses contradict each other; BehindError: at the tip
    │   ├── StaleError         8    ... because the tip, a checkpoint or an export is too old
    │   └── ReorgError         9    ... because a recorded block was replaced
    ├── OutputError            7    the output cannot be written
    └── BusyError             75    another run is using the checkpoint, output file or export
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import IntEnum
from shlex import quote


class ExitCode(IntEnum):
    """The exit codes of the program, each with its `meaning` in one sentence."""

    meaning: str

    def __new__(cls, code: int, meaning: str) -> "ExitCode":
        """Make the member `code`, an int with a meaning."""
        member = int.__new__(cls, code)
        member._value_, member.meaning = code, meaning
        return member

    OK = 0, "Success: the output is complete, unless a warning names heights."
    NOT_FOUND = 1, "A block or transaction that was looked up does not exist; the others were printed."
    USAGE = 2, "Usage error: an invalid argument, no service URL, or an invalid configuration file."
    SERVICE = 3, "The service returned an error."
    UNREACHABLE = 4, "The service is unreachable, timed out, or kept refusing."
    RESPONSE = 5, "The service sent an invalid response, or one for another request."
    INCOMPLETE = 6, "The data is incomplete or contradicts itself."
    OUTPUT = 7, "The output cannot be written, or this machine lacks memory, open files or threads."
    STALE = 8, "The tip, a checkpoint or an export is too old."
    REORG = 9, "Reorg: a recorded block was replaced; the message says what to do."
    BUG = 70, "A bug in chainq; CHAINQ_DEBUG=1 shows the traceback."  # EX_SOFTWARE of sysexits.h
    BUSY = 75, "Another run is using the checkpoint, the output file or the export."  # EX_TEMPFAIL


def exit_codes() -> dict[str, str]:
    """Return every exit code, as text, and its meaning. A shell shows 128+N for a process that dies by a signal, as
    chainq does after cleaning up."""
    names = "SIGHUP (129), SIGINT (130, Ctrl-C), SIGPIPE (141, a closed pipe) or SIGTERM (143)"
    return {**{str(int(code)): code.meaning for code in ExitCode}, "128+N": f"Ended by signal N: {names}."}


class Shortfall(str):
    """A warning of rows that are missing or not proved to be all: `--quiet` does not silence it."""


def sentences(*parts: str) -> str:
    """Return the parts of a message as one text: with semicolons between them, but none after a question.

    >>> sentences("no service at http://h/.", "is the URL right?", "resume with --start 5")
    'no service at http://h/; is the URL right? resume with --start 5'
    """
    text, *others = parts
    for part in others:
        text = f"{text} {part}" if text.endswith(("?", "!")) else f"{text.removesuffix('.')}; {part}"
    return text


class ChainqError(Exception):
    """The base of all errors of chainq.

    `message`: what failed and where. `hint`: what to do about it, empty if nothing is known to help.
    """

    # `again`: whether advice to resume the run can help, for the command line. False if the error itself says what must
    # be done first, and if the server has not responded to this run yet: the URL may be wrong.
    exit_code = ExitCode.USAGE
    again = True

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return sentences(self.message, self.hint) if self.hint else self.message

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"  # not `args`: whoever knows more adds it to the message


class NotFoundError(ChainqError):
    """A block or transaction that was looked up does not exist. Raised after the rows of those that do.

    `missing`: the heights or IDs that do not exist, as text, if several may have been looked up.
    """

    exit_code = ExitCode.NOT_FOUND

    def __init__(self, message: str, hint: str = "", *, missing: Sequence[str] = ()) -> None:
        super().__init__(message, hint)
        self.missing = missing


class UsageError(ChainqError):
    """An argument, the URL or the configuration file is invalid, or does not fit what is there already."""

    exit_code = ExitCode.USAGE


def missing_package(message: str, extra: str) -> UsageError:
    """Return the error of a package that is not installed: it names the extra that the package comes with."""
    return UsageError(message, f"it comes with chainq[{extra}] (docs/install.md)")


@contextmanager
def needed(by: str, extra: str) -> Iterator[None]:
    """Import packages of an extra. Raises UsageError if one is not installed: `by`, in which `{}` is its name."""
    try:
        yield
    except ImportError as error:
        raise missing_package(by.format(error.name), extra) from None


class ServiceError(ChainqError):
    """The service returned a JSON-RPC error, or an HTTP status that a retry cannot cure.

    `code`: the code of the JSON-RPC error as text (a number, or a database's own code), or `HTTP <status>`.
    """

    exit_code = ExitCode.SERVICE

    def __init__(self, message: str, hint: str = "", *, code: str = "") -> None:
        super().__init__(message, hint)
        self.code = code


class TooHeavyError(ServiceError):
    """The service gave up on a request because of its size; a narrower range may succeed."""


class LackingError(ServiceError):
    """The service is an export (`chainq serve --lake`) that lacks heights of the request or has damaged files.

    `first`: the lowest height that it has, as far as it says. `table`: the one that it does not have at all, or "".
    """

    exit_code = ExitCode.INCOMPLETE
    again = False

    def __init__(self, message: str, hint: str = "", *, code: str = "", first: int = 0, table: str = "") -> None:
        super().__init__(message, hint, code=code)
        self.first, self.table = first, table


class UnreachableError(ChainqError):
    """The service is unreachable, timed out, or kept refusing."""

    exit_code = ExitCode.UNREACHABLE


class GatewayError(UnreachableError):
    """A proxy kept answering 502, 503 or 504, or a response took longer than `timeout`; a smaller one may pass."""


class OverdueError(UnreachableError):
    """The time that the run may take is over."""


def overdue(limit: str) -> str:
    """Return what is said of a run that took longer than `limit`, a duration as the user wrote it."""
    return f"the run took longer than --deadline {quote(limit)} allows"


class ResponseError(ChainqError):
    """The service sent an invalid JSON-RPC response to the request: wrong id, version or shape."""

    exit_code = ExitCode.RESPONSE


class BrokenBodyError(ResponseError):
    """The body of a response is not complete JSON; a retry may bring a complete one."""


class IncompleteError(ChainqError):
    """Rows are missing, repeated, outside the requested range or not linked; the message names the heights.

    `table`: the one that an export does not have at all, or "".
    """

    exit_code = ExitCode.INCOMPLETE
    table = ""


class WrongHashError(IncompleteError):
    """A block does not produce the hash, root or ID that it names. Another request would not help."""


class StaleError(IncompleteError):
    """The tip, a checkpoint or an export is older than it may be, or its last run failed for good (`is_lasting`)."""

    exit_code = ExitCode.STALE


class ReorgError(IncompleteError):
    """A recorded block was replaced: runs cannot resume after it until the user goes back or starts over."""

    exit_code = ExitCode.REORG


class ProofError(IncompleteError):
    """Responses contradict each other, or do not prove rows. The message names no method."""


class BehindError(ProofError):
    """The service has a block, but not all of its rows. `height`: of that block."""

    def __init__(self, message: str, hint: str = "", height: int = 0) -> None:  # all have defaults, for pickle
        super().__init__(message, hint)
        self.height = height


class OutputError(ChainqError):
    """The output cannot be written."""

    exit_code = ExitCode.OUTPUT


class BusyError(ChainqError):
    """Another run is using the checkpoint, the output file or the export."""

    exit_code = ExitCode.BUSY


def is_lasting(error: BaseException) -> bool:
    """Return whether a run that ended by `error` failed for good: the next one ends so, too, until somebody acts."""
    return isinstance(error, ServiceError | OutputError | ReorgError) and not isinstance(error, TooHeavyError)
