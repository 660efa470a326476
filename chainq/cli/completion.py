"""`chainq completion SHELL`: prints the completion script of a shell.

The scripts hold a table that `chainq._docgen` writes, which is not installed, so they are files: a wheel has them in
the package, beside those that it puts where shells look for them. Rejected: reading those; where they are depends on
how chainq was installed.
"""

from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from chainq.errors import UsageError
from chainq.sinks.open import open_sink
from chainq.text.sanitize import quoted

if TYPE_CHECKING:
    from chainq.cli.tool_options import CompletionOptions

SCRIPTS = {"bash": "chainq.bash", "zsh": "_chainq", "fish": "chainq.fish"}


def run(given: "CompletionOptions") -> None:
    """Print the script of a shell. Raises UsageError for a shell that has none."""
    name = SCRIPTS.get(given.shell)
    if name is None:
        raise UsageError(f"unknown shell {quoted(given.shell)}: expected bash, zsh or fish")
    package = files("chainq")
    script = package / "completions" / name
    if not script.is_file():  # not installed from a wheel: the project's folder has them
        script = Path(str(package)).parent / "completions" / name
    with open_sink(None) as sink:
        sink.write(script.read_bytes())
