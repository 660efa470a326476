"""The command line: one Typer command for each method of the catalogue, and the helpers.

`main` is the only place that catches, prints errors and ends the process. Only the called command is built.
"""

import os
import re
import sys
from typing import NoReturn

import typer

from chainq.cli.commands import app
from chainq.cli.help import PlainGroup
from chainq.errors import ChainqError, ExitCode
from chainq.process import signals
from chainq.text.sanitize import printable


def main() -> NoReturn:
    """Run the program with the process's arguments and end the process (exit codes: `errors.ExitCode`)."""
    signals.install()
    arguments = sys.argv[1:]
    try:
        command = typer.main.get_command(app)
        code = command.main(arguments or ["--help"], prog_name="chainq", standalone_mode=False) or 0
        if sys.stdout is not None:
            sys.stdout.flush()
    except signals.Interrupted as stop:
        words = "stopped, perhaps inside a row: the reader had stalled" if stop.cut else "stopped"
        _complain(arguments, f"{words} by {stop}", stop)
        signals.die(stop.number)
    except signals.PipeClosed:
        import signal

        signals.die(signal.SIGPIPE)
    except ChainqError as error:
        _complain(arguments, str(error), error)
        code = error.exit_code
    except typer.TyperException as error:
        _complain(arguments, _usage(error), error)
        code = ExitCode.USAGE
    except OSError as error:
        _complain(arguments, f"output could not be written: {error.strerror}", error)
        code = ExitCode.OUTPUT
    except RecursionError as error:
        _complain(arguments, "the answer is nested too deeply", error)
        code = ExitCode.RESPONSE
    except Exception as error:
        if os.environ.get("CHAINQ_DEBUG"):
            raise
        _complain(arguments, f"a bug in chainq: {type(error).__name__}: {error}; CHAINQ_DEBUG=1 shows where", error)
        code = ExitCode.BUG
    # Not by way of the interpreter's end: that would wait for calls which nobody wants any more, and take time.
    os._exit(code)


def _usage(error: typer.TyperException) -> str:
    message = error.format_message().rstrip(".")
    if re.fullmatch(r"-[0-9]", getattr(error, "option_name", "")):
        return "a height cannot be negative here; for the newest N blocks use --last N with blocks or records"
    return f"{message}; --help tells more"


def _complain(arguments: list[str], message: str, error: BaseException) -> None:
    """One line on stderr: for which command, what failed, and what to do."""
    command = f" {arguments[0]}" if arguments and arguments[0] in PlainGroup.catalogue else ""
    words = "; ".join([message, *getattr(error, "__notes__", [])])
    try:
        sys.stderr.write(printable(f"chainq{command}: {' '.join(words.split())}") + "\n")
        sys.stderr.flush()
    except (OSError, AttributeError, ValueError):  # stderr is closed; the exit code still tells
        return
