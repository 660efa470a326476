"""The interface of a store for a data set, and how to open one: a folder needs no package, an object store obstore.

It is independent of heights and Parquet.
"""

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import BinaryIO, NamedTuple, Protocol
from urllib.parse import unquote, urlsplit

from chainq.catalog.identifiers import STORES
from chainq.defaults import MAX_MEMORY
from chainq.errors import UsageError
from chainq.text.sanitize import mask_url, printable

SMALL = 1 << 20
"""Bytes of a file that is read whole."""
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):")


class Listed(NamedTuple):
    """A file or object: its name below the data set, with slashes, its size in bytes, and when it was written, in
    seconds since 1970."""

    name: str
    size: int
    modified: float = 0.0


class Store(Protocol):
    """A folder or a prefix. All names are relative to it. Every method raises OutputError if the store fails,
    and IncompleteError for a name that is neither a file nor a folder: what lies in a store may be of anybody, and none
    of it is followed out of it.

    `label`: its name in messages, without secrets. `memory`: bytes that rows of a file may take up at a time, once they
    are decoded.
    """

    label: str
    memory: int

    def listing(self) -> Iterator[Listed]:
        """Yield all files, except those in progress; of what is beside the data set, in its folder, names only."""

    def read(self, name: str) -> bytes | None:
        """Return the content of a small file, None if there is none. Raises IncompleteError for a large one."""

    def source(self, name: str, size: int) -> "str | BinaryIO":
        """Return a source that Arrow can read: a path of this machine, or a random-access file."""

    def address(self, name: str) -> str:
        """Return the address of a file or folder of the data set for other programs: a path, or a URL."""

    def create(self, name: str, data: bytes) -> None:
        """Write a small file unless there is one of that name."""

    def delete(self, names: Iterable[str]) -> None:
        """Remove files; missing files are not an error."""

    def upload(self) -> "AbstractContextManager[Upload]":
        """Begin a large file, which is removed at the end of the context unless it was published."""

    def clean(self) -> None:
        """Remove leftovers of killed runs, which readers and listings ignore."""


class Upload(Protocol):
    """A large file in progress, invisible to readers. `file`: write to this; raises OSError on failure, in which
    messages name `label`."""

    label: str
    file: BinaryIO

    def publish(self, name: str) -> int:
        """Publish the file whole under its name, which says what is in it: so one that is there already will do. Return
        its size. Raises OutputError."""


def open_store(destination: str, memory: int = MAX_MEMORY) -> Store:
    """Return the store of a destination: a path, or a URL with `file:`, `s3://`, `gs://` or `az://`.

    Nothing is created or requested yet. `memory`: as in `Store`. Raises UsageError.
    """
    if not destination:
        raise UsageError("invalid destination '': expected a folder or a URL")
    scheme = _SCHEME.match(destination)
    if scheme and scheme[1].lower() in (*STORES, "file") and (found := re.search("[?#]", destination)):
        escape = {"?": "%3F", "#": "%23"}[found[0]]
        reason = f"{found[0]!r} ends the path of a URL"
        raise UsageError(f"invalid destination {mask_url(destination)}: {reason}", f"write {escape} in place of it")
    if scheme is None or scheme[1].lower() == "file":
        from chainq.lake.folder import FolderStore

        folder = path_of(destination) if scheme else Path(destination)
        if os.path.isfile(folder):  # noqa: PTH113  # a Path raises for names that are too long
            raise UsageError(f"{printable(str(folder))} is a file: expected the folder or URL of an export")
        return FolderStore(folder, memory)
    if scheme[1].lower() not in STORES:
        raise UsageError(
            f"invalid destination {mask_url(destination)!r}: expected a folder or a URL with"
            f" {', '.join(f'{name}://' for name in STORES)} or file:"
        )
    from chainq.lake.objects import ObjectStore

    return ObjectStore(destination, memory)


def path_of(url: str) -> Path:
    """Return the path in a file URL (RFC 8089). Raises UsageError."""
    parts = urlsplit(url)
    if parts.netloc not in ("", "localhost") or not parts.path:
        raise UsageError(f"invalid destination {url!r}: expected file:/path or file:///path")
    return Path(unquote(parts.path))


def is_same_service(one: str, other: str) -> bool:
    """Return whether two URLs, or destinations, are spellings of the same service or export, apart from credentials.

    >>> is_same_service("http://H:80/", "http://h"), is_same_service("http://h/a", "http://h/b")
    (True, False)
    >>> is_same_service("/chain/", "file:///chain"), is_same_service("s3://bucket/chain/", "s3://bucket/chain")
    (True, True)
    """

    def plain(text: str) -> tuple[object, ...]:
        scheme = _SCHEME.match(text)
        if scheme is None or scheme[1].lower() == "file":
            return (os.path.realpath(path_of(text) if scheme else text),)
        parts = urlsplit(text)
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
        return parts.scheme, parts.hostname, port, parts.path.rstrip("/"), parts.query

    return plain(one) == plain(other)


def absolute(destination: str) -> str:
    """Return a destination that means the same in every process: paths from the root. An empty one stays so.

    Links are followed only in a path with `..`, which may mean the parent of what a link points to.
    """
    if not destination or ":" in destination.partition("/")[0]:
        return destination
    path = Path(destination)
    return str(path.resolve() if ".." in path.parts else path.absolute())
