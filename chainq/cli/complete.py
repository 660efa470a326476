"""The values that a shell offers for an option or an argument; loaded only by a completion.

Nothing is requested of a service: values come from the catalogue and the configuration file.
"""

from collections.abc import Iterable, Iterator

from chainq.catalog.dialects import AUTO, DIALECTS
from chainq.catalog.methods import BY_COMMAND, METHODS
from chainq.errors import ChainqError

_HEIGHTS = ("latest", "-100:", "0:100")
_FIXED = {
    "url": ("demo:", "http://127.0.0.1:8545"),
    "dialect": (*DIALECTS, AUTO),
    "network": ("mainnet", "testnet"),
    "log_format": ("text", "json"),
    "engine": ("local", "dask"),
    "shell": ("bash", "zsh", "fish"),
    "range": _HEIGHTS,
    "heights": ("latest",),
    "objects": ("latest",),
    "method": tuple(method.name for method in METHODS),
}


def values(command: str, name: str, incomplete: str) -> list[str]:
    """Return what a parameter of a command may be, of what begins with `incomplete`; lists go on after a comma."""
    before, comma, last = incomplete.rpartition(",") if name in ("columns", "commands") else ("", "", incomplete)
    chosen = before.split(",")
    return [f"{before}{comma}{one}" for one in _values(command, name) if one.startswith(last) and one not in chosen]


def _values(command: str, name: str) -> Iterable[str]:
    if name == "columns" and command in BY_COMMAND:
        return (*(column.path for column in BY_COMMAND[command].selectable), "all", "help")
    if name == "format":
        from chainq.formats import registry

        return registry.names()
    if name == "profile":
        return _profiles()
    if name == "command":
        from chainq.cli.commands import COMMANDS

        return COMMANDS
    if name == "commands" or (name == "words" and command == "export"):
        from chainq.lake.reads import EXPORTED

        return EXPORTED
    if name == "fault":
        from chainq.demo import faults  # noqa: F401  # fills the registry
        from chainq.demo.registry import FAULTS

        return FAULTS
    if name in ("program", "of_program"):
        from chainq.demo.programs import PROGRAMS

        return PROGRAMS
    return _FIXED.get(name, ())


def _profiles() -> Iterator[str]:
    from chainq.config import profiles

    try:
        yield from profiles.read().profiles
    except ChainqError:  # which the run itself will name
        return
