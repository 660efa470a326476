"""The commands that fetch rows anew."""

import shlex
from typing import NamedTuple

from chainq.catalog.methods import BY_COMMAND


class Repair(NamedTuple):
    """Makes the command that fetches the rows of one height. `url`: of the service, empty to leave it to settings."""

    url: str = ""

    def __call__(self, command: str, height: int) -> str:
        """Return a command line for a shell."""
        method = BY_COMMAND[command]
        where = f"--start {height} --end {height + 1}" if method.ranged else str(height)
        url = f" --url {shlex.quote(self.url)}" if self.url else ""
        return f"chainq {command} {where}{url}"
