"""`chainq completion SHELL`: prints the completion script of a shell, which is Typer's own.

The script asks chainq itself at each Tab. Rejected: a table of all options in a script, which saves the
start of chainq, a tenth of a second, but needs a completion of our own in each shell.
"""

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

import typer.completion

from chainq.sinks.open import open_sink

if TYPE_CHECKING:
    from chainq.cli.tool_options import CompletionOptions

VARIABLE = "_CHAINQ_COMPLETE"
"""By which the script asks chainq, instead of running a command."""
SCRIPTS = {"bash": "chainq.bash", "zsh": "_chainq", "fish": "chainq.fish"}
"""The shells, and the names of their scripts in `completions/`."""


def script(shell: str) -> str:
    """Return the script of a shell."""
    make = vars(typer.completion)["get_completion_script"]
    return f"{make(prog_name='chainq', complete_var=VARIABLE, shell=shell)}\n"


def run(given: "CompletionOptions") -> None:
    """Print the script of a shell."""
    with open_sink(None) as sink:
        sink.write(script(given.shell).encode())


def answer() -> NoReturn:
    """Print what may follow the words that the script names, and end the process."""
    from chainq.cli.commands import app

    vars(typer.completion)["completion_init"]()
    with suppress(SystemExit):
        typer.main.get_command(app).main([], prog_name="chainq", standalone_mode=False)
    with suppress(OSError):
        sys.stdout.flush()
    os._exit(0)
