"""Where a data set lies: a folder, or a prefix in an object store. What both can do, and which of them a text names.

Nothing here knows of heights or Parquet. `folder` needs no package; `objects` is the only module that loads obstore.
"""

import re
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import BinaryIO, NamedTuple, Protocol
from urllib.parse import unquote, urlsplit

from chainq.errors import UsageError
from chainq.text.sanitize import mask_url


class Listed(NamedTuple):
    """A file or object: its name below the data set, with slashes, and its size in bytes."""

    name: str
    size: int


class Store(Protocol):
    """A folder or a prefix. All names are relative to it. Every method raises OutputError where the store fails.

    `label`: what messages call it, without secrets.
    """

    label: str

    def listing(self) -> Iterable[Listed]:
        """Return all that is there, in one listing; what is being written is not."""

    def read(self, name: str) -> bytes | None:
        """Return the content of a file, None where there is none."""

    def source(self, listed: Listed) -> "str | BinaryIO":
        """Return what Arrow reads a file by: a path of this machine, or a file that can be read anywhere."""

    def address(self, name: str) -> str:
        """Return what other programs call a folder of the data set: a path, or a URL."""

    def write(self, name: str, data: bytes) -> None:
        """Write a small file: it appears whole or not at all, and replaces one of that name."""

    def create(self, name: str, data: bytes) -> bool:
        """Write a small file where there is none of that name; return whether it was written."""

    def delete(self, names: Iterable[str]) -> None:
        """Remove files; those that are not there are not an error."""

    def upload(self) -> "AbstractContextManager[Upload]":
        """Begin a large file, which is removed at the end of the context unless it was published."""

    def lock(self) -> AbstractContextManager[Callable[[], None]]:
        """Keep other exports out. Raises BusyError where one is at work; UsageError where the store cannot.

        The context gives what raises BusyError once the lock is lost.
        """

    def clean(self) -> None:
        """Remove what killed runs left behind, which no reader and no listing sees."""


class Upload(Protocol):
    """A large file in progress, which nobody sees. `file`: what to write to, with OSError for a failure."""

    file: BinaryIO

    def publish(self, name: str) -> int:
        """Make it appear under its name, replacing one of that name; return its size. Raises OutputError."""


SCHEMES = ("s3", "gs", "az")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):")


def open_store(destination: str) -> Store:
    """Return the store that a destination names: a path, or a URL with `file:`, `s3://`, `gs://` or `az://`.

    Nothing is created or requested yet. Raises UsageError.
    """
    if not destination:
        raise UsageError("invalid destination '': expected a folder or a URL")
    scheme = _SCHEME.match(destination)
    if scheme is None or scheme[1].lower() == "file":
        from chainq.lake.folder import FolderStore

        return FolderStore(_folder(destination) if scheme else Path(destination))
    if scheme[1].lower() not in SCHEMES:
        raise UsageError(
            f"invalid destination {mask_url(destination)!r}: expected a folder or a URL with"
            f" {', '.join(f'{name}://' for name in SCHEMES)} or file:"
        )
    from chainq.lake.objects import ObjectStore

    return ObjectStore(destination)


def _folder(url: str) -> Path:
    """Return the path in a file URL (RFC 8089)."""
    parts = urlsplit(url)
    if parts.netloc not in ("", "localhost") or not parts.path:
        raise UsageError(f"invalid destination {url!r}: expected file:/path or file:///path")
    return Path(unquote(parts.path))
