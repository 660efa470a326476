"""The interface of a store for a data set: a folder, or a prefix in an object store.

It is independent of heights and Parquet.
"""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import BinaryIO, NamedTuple, Protocol


class Listed(NamedTuple):
    """A file or object: its name below the data set, with slashes, its size in bytes, and when it was written, in
    seconds since 1970."""

    name: str
    size: int
    modified: float = 0.0


SMALL = 1 << 20
"""Bytes of a file that is read whole, unless its reader says otherwise."""

Only = Callable[[str], str | None]
"""Returns the name of the only file in a folder that matters, None if all do. It is given the name of the folder."""


class Store(Protocol):
    """A folder or a prefix. All names are relative to it. Every method raises OutputError if the store fails,
    and IncompleteError for a name that is neither a file nor a folder: what lies in a store may be of anybody, and none
    of it is followed out of it.

    `label`: its name in messages, without secrets. `memory`: bytes that rows of a file may take up at a time, once they
    are decoded.
    """

    label: str
    memory: int

    def listing(self, only: Only = lambda _: None) -> Iterable[Listed]:
        """Return all files in one listing, except files in progress.

        In folders with only one relevant file, the other files may be omitted if that is faster; of what is beside the
        data set, in its folder, names are enough.
        """

    def read(self, name: str, most: int = SMALL) -> bytes | None:
        """Return the content of a file, None if there is none. Raises IncompleteError for one of more bytes."""

    def source(self, listed: Listed) -> "str | BinaryIO":
        """Return a source that Arrow can read: a path of this machine, or a random-access file."""

    def address(self, name: str) -> str:
        """Return the address of a folder of the data set for other programs: a path, or a URL."""

    def write(self, name: str, data: bytes) -> None:
        """Write a small file atomically, replacing a file of that name."""

    def create(self, name: str, data: bytes) -> bool:
        """Write a small file if there is none of that name; return whether it was written."""

    def delete(self, names: Iterable[str]) -> None:
        """Remove files; missing files are not an error."""

    def upload(self) -> "AbstractContextManager[Upload]":
        """Begin a large file, which is removed at the end of the context unless it was published."""

    def lock(self) -> AbstractContextManager[Callable[[], None]]:
        """Lock out other exports. Raises BusyError if one is running; UsageError if the store cannot lock.

        The context yields a function that raises BusyError once the lock is lost.
        """

    def is_locked(self) -> bool:
        """Return whether an export has the lock now; False also if that cannot be determined."""

    def clean(self) -> None:
        """Remove leftovers of killed runs, which readers and listings ignore."""


class Upload(Protocol):
    """A large file in progress, invisible to readers. `file`: write to this; raises OSError on failure, in which
    messages name `label`."""

    label: str
    file: BinaryIO

    def publish(self, name: str) -> int:
        """Publish the file under its name, replacing a file of that name; return its size. Raises OutputError."""
