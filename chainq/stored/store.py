"""What a store must do in which a data set lies: a folder, or a prefix in an object store.

Nothing here knows of heights or Parquet.
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


Change = Callable[[bytes | None], bytes | None]
"""Returns the new content of a file, or None if the file stays as it is. It is given the present content, None if there
is not any file."""


Only = Callable[[str], str | None]
"""Returns the name of the only file in a folder that matters, None if all do. It is given the name of the folder."""


class Store(Protocol):
    """A folder or a prefix. All names are relative to it. Every method raises OutputError if the store fails.

    `label`: what messages call it, without secrets. `lists_slowly`: whether a listing takes a request per 1,000 files.
    """

    label: str
    lists_slowly: bool

    def listing(self, only: Only = lambda _: None) -> Iterable[Listed]:
        """Return all that is there, in one listing; what is being written is not.

        Of folders in which only one file matters, others may be left out, if that is faster.
        """

    def read(self, name: str) -> bytes | None:
        """Return the content of a file, None if there is none."""

    def has(self, name: str, size: int | None = None) -> bool:
        """Return whether there is a file, of that size if it is given, or a folder; True if that takes a request."""

    def source(self, listed: Listed) -> "str | BinaryIO":
        """Return what Arrow reads a file by: a path of this machine, or a file that can be read anywhere."""

    def address(self, name: str) -> str:
        """Return what other programs call a folder of the data set: a path, or a URL."""

    def write(self, name: str, data: bytes) -> None:
        """Write a small file: it appears whole or not at all, and replaces one of that name."""

    def create(self, name: str, data: bytes) -> bool:
        """Write a small file if there is none of that name; return whether it was written."""

    def change(self, name: str, change: Change) -> bool:
        """Change a small file atomically; `change` may be called again if another writer comes first.

        Return False, without a change, if the store cannot.
        """

    def delete(self, names: Iterable[str]) -> None:
        """Remove files; those that are not there are not an error."""

    def upload(self) -> "AbstractContextManager[Upload]":
        """Begin a large file, which is removed at the end of the context unless it was published."""

    def lock(self) -> AbstractContextManager[Callable[[], None]]:
        """Keep other exports out. Raises BusyError if one is at work; UsageError if the store cannot.

        The context gives what raises BusyError once the lock is lost.
        """

    def clean(self) -> None:
        """Remove what killed runs left behind, which no reader and no listing sees."""


class Upload(Protocol):
    """A large file in progress, which nobody sees. `file`: what to write to, with OSError for a failure."""

    file: BinaryIO

    def publish(self, name: str) -> int:
        """Make it appear under its name, replacing one of that name; return its size. Raises OutputError."""
