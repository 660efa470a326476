"""Everything that can go wrong, and the exit code it ends in (docs/reference.md, "Exit codes").

Nothing here prints or exits: `chainq.app.main` is the only place that catches, prints and exits.

    ChainqError                     one line: what failed, where, what to do
    ├── NotFoundError          1    a block or transaction asked for by name does not exist
    ├── UsageError             2    a bad argument, no URL, a bad configuration file
    ├── ServiceError           3    the service answered with an error
    │   └── TooHeavyError      3    … that a narrower range may avoid
    ├── UnreachableError       4    no connection, no answer in time, or refused after all retries
    │   └── GatewayError       4    … where a smaller answer may come through
    ├── AnswerError            5    not a valid JSON-RPC answer to the question
    │   └── BrokenBodyError    5    … because the body breaks off: worth asking again
    ├── IncompleteError        6    the data is incomplete or contradicts itself
    ├── OutputError            7    output could not be written
    └── BusyError             75    another run holds the checkpoint, or appends to the output file
"""

from enum import IntEnum


class ExitCode(IntEnum):
    """The exit codes. Not here: 129, 130, 141, 143, where the process dies by the signal itself."""

    OK = 0
    NOT_FOUND = 1
    USAGE = 2
    SERVICE = 3
    UNREACHABLE = 4
    ANSWER = 5
    INCOMPLETE = 6
    OUTPUT = 7
    BUG = 70  # what sysexits.h calls EX_SOFTWARE, so that a bug is never taken for an answer
    BUSY = 75


class ChainqError(Exception):
    """The base of all errors of chainq.

    `message` says what failed and where; `hint`, where there is one, what to do about it.
    """

    exit_code = ExitCode.USAGE

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}; {self.hint}" if self.hint else self.message


class NotFoundError(ChainqError):
    """A block or transaction asked for by name does not exist; what else was asked for has been given."""

    exit_code = ExitCode.NOT_FOUND


class UsageError(ChainqError):
    """The question is wrong before anything is sent: an argument, the URL, the configuration file."""

    exit_code = ExitCode.USAGE


class ServiceError(ChainqError):
    """The service answered with a JSON-RPC error, or with an HTTP status that asking again cannot mend.

    `code` is the error's own code as text (a number or a database's string), or `HTTP <status>`.
    """

    exit_code = ExitCode.SERVICE

    def __init__(self, message: str, hint: str = "", *, code: str = "") -> None:
        super().__init__(message, hint)
        self.code = code


class TooHeavyError(ServiceError):
    """The service gave up on a query or an answer because of its size: a narrower range may succeed."""


class UnreachableError(ChainqError):
    """The service could not be reached, did not answer in time, or kept refusing after all retries."""

    exit_code = ExitCode.UNREACHABLE


class GatewayError(UnreachableError):
    """A proxy in front of the service kept answering 502, 503 or 504, or an answer took longer than `timeout`: one to a
    narrower range may pass."""


class AnswerError(ChainqError):
    """What came back is not a valid JSON-RPC answer to the question: wrong id, version or shape."""

    exit_code = ExitCode.ANSWER


class BrokenBodyError(AnswerError):
    """The body is no whole JSON text; a second call may bring it whole."""


class IncompleteError(ChainqError):
    """Rows are missing, twice, out of the range that was asked, or not linked; the message names the heights."""

    exit_code = ExitCode.INCOMPLETE


class OutputError(ChainqError):
    """Output could not be written."""

    exit_code = ExitCode.OUTPUT


class BusyError(ChainqError):
    """Another run holds the checkpoint, or appends to the output file."""

    exit_code = ExitCode.BUSY
