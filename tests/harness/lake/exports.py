"""Data sets that several tests read or damage: each is exported once for all processes of a run of pytest."""

import fcntl
import os
import shutil
from pathlib import Path
from typing import NamedTuple

from harness.running.program import Program, Servers

LISTS = "blocks full-blocks records transitions ownership"


class Export(NamedTuple):
    """How a data set is made: the switches of its server, and the arguments of one or two exports."""

    switches: str
    runs: tuple[str, ...]


EXPORTS = {
    # Far below the tip, and blocks from 0 on, by which the chain is known.
    "lists": Export("--tip 2900", (f"{LISTS} 2400:2700 --partition 100", f"{LISTS} 0:100")),
    "served": Export("--tip 2599", (f"{LISTS} 2400:2600 --partition 50",)),
    "chain": Export("--tip 2449", ("chain 2400:2450 --partition 20",)),
    "verified": Export("--tip 400", ("blocks records transitions ownership 20:80 --partition 20",)),
    "blocks": Export("--tip 700", ("blocks 0:300 --partition 100",)),
    "two": Export("--tip 700", ("blocks records 0:200 --partition 100",)),
    # In many partitions.
    "indexed": Export("--tip 219", ("chain :200 --partition 20", "chain :")),
    "one": Export("--tip 400", ("chain ownership 100:110 --partition 10",)),
}


class Exports:
    """The data sets by their names."""

    def __init__(self, folder: Path, server: Servers) -> None:
        self._folder, self._server = folder, server
        folder.mkdir(exist_ok=True)

    def __call__(self, name: str) -> Path:
        """The folder of a data set that nobody changes."""
        root = self._folder / name
        with (self._folder / f"{name}.lock").open("w") as lock:  # which ends with the file
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not root.exists():
                self._make(EXPORTS[name], root.with_suffix(".new"))
                root.with_suffix(".new").rename(root)
        return root

    def copy(self, name: str, to: Path) -> Path:
        """A copy, to be changed. No links: a test may write into a file where it lies."""
        return shutil.copytree(self(name), to)

    def _make(self, export: Export, root: Path) -> None:
        program = Program(self._folder)
        for run in export.runs:
            words = ("export", *run.split(), "--to", str(root), "-w", "2", "-q")
            ran = program(*words, url=self._server(*export.switches.split()))
            assert ran.code == 0, ran.err


def shared_folder(base: Path) -> Path:
    """The folder of a run of pytest, which the processes of pytest-xdist have in common."""
    return (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "exports"
