"""A data set in a folder of this machine, or of a network file system that it has mounted.

Files in progress are in `_new` and get their names once they are on the disk. The writer holds a kernel lock on its
file, which ends with the process in any case, so an unlocked file was left behind by a killed run.

The folder itself may be a link that the user named. Below it are only folders and regular files: a link there may have
come with an export that somebody else made, to have files outside read, overwritten or deleted, and a pipe or device
has no end. `_path` looks at each step of a name first; who changes the folder at the same time is not kept out.

Rejected: obstore's LocalStore, which lists, reads and writes through links. To open each step with the folder before
it, which Arrow and deltalake cannot.
"""

import errno
import fcntl
import os
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import BinaryIO, TypeVar

from chainq.catalog.tables import TABLES
from chainq.defaults import MAX_MEMORY
from chainq.errors import OutputError
from chainq.lake.names import check_size, lacking
from chainq.lake.store import SMALL, Listed
from chainq.sinks.disk import remove_unlocked, sync_folder
from chainq.text.sanitize import printable

T = TypeVar("T")
NEW = "_new"
_OWN = frozenset(("chainq.json", *TABLES))
"""The files and folders of a data set; others beside them are not looked into."""
_FLAGS = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # a pipe has no end, nor a beginning
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK)  # errors of file systems without hard links


class FolderStore:
    """The data set in a folder, which is made when the first file is written."""

    def __init__(self, root: Path, memory: int = MAX_MEMORY) -> None:
        self.memory = memory
        self._root = Path(os.path.realpath(root))
        self.label = printable(str(root))

    def listing(self) -> Iterator[Listed]:
        """Yield all files of the data set, and the names of what is beside it."""
        walk = self._walk("")
        while listed := self._guarded("read", lambda: next(walk, None)):
            yield listed

    def read(self, name: str) -> bytes | None:
        """Return the content of a small file, None if there is none."""

        def read() -> bytes:
            with os.fdopen(os.open(self._path(name), os.O_RDONLY | _FLAGS), "rb") as file:
                check_size(self.label, name, os.fstat(file.fileno()).st_size, SMALL)
                return file.read(SMALL)

        try:
            return self._guarded("read", read)
        except _AbsentError:
            return None

    def source(self, name: str, size: int) -> str:  # noqa: ARG002
        """Return the path of a file."""
        return self.address(name)

    def address(self, name: str) -> str:
        """Return the path of a file or folder."""
        return str(self._guarded("read", lambda: self._path(name)))

    def create(self, name: str, data: bytes) -> None:
        """Write a small file whole, unless its name exists."""
        with self.upload() as upload:
            self._guarded("write", lambda: upload.file.write(data))
            upload.publish(name)

    def delete(self, names: Iterable[str]) -> None:
        """Remove files, but not their folders: another run may be about to write there."""
        for name in names:
            with suppress(_AbsentError):
                self._guarded("remove a file in", self._guarded("read", partial(self._path, name)).unlink)

    @contextmanager
    def upload(self) -> "Iterator[FolderUpload]":
        """Begin a file in `_new`, locked until the context ends."""
        upload = self._guarded("write", lambda: FolderUpload(self, _begun(self._made(f"{NEW}/file").parent)))
        try:
            yield upload
        finally:
            upload.close()

    def clean(self) -> None:
        """Remove the files in `_new` that no process has locked."""
        remove_unlocked(self._guarded("read", lambda: list(self._path(NEW).glob("*"))))

    def place(self, path: Path, name: str) -> int:
        """Give a file on the disk its name, unless that exists; return its size."""

        def placed() -> int:
            target = self._made(name)
            with suppress(FileExistsError):
                try:
                    os.link(path, target)  # which never replaces a file
                except OSError as error:
                    if error.errno not in _NO_LINKS:
                        raise
                    path.replace(target)  # exFAT, some network mounts
            sync_folder(target.parent)
            return target.stat().st_size

        return self._guarded("write", placed)

    def _walk(self, folder: str) -> Iterator[Listed]:
        """Yield the files below a folder, whose name ends with a slash. pathlib would take five times as long, which
        matters with 100,000 partitions."""
        try:
            entries = os.scandir(f"{self._root}/{folder}")
        except FileNotFoundError:  # removed meanwhile, or not there yet
            return
        with entries:
            for entry in entries:
                name = folder + entry.name
                if not folder and name not in _OWN:
                    yield Listed(name, 0)
                elif entry.is_dir(follow_symlinks=False):
                    yield from self._walk(f"{name}/")
                else:
                    with suppress(FileNotFoundError):
                        found = entry.stat(follow_symlinks=False)
                        self._check(name, found)
                        yield Listed(name, found.st_size, found.st_mtime)

    def _path(self, name: str) -> Path:
        """Return the path of a name, which may be absent. Raises IncompleteError if it, or a folder in it, is a link
        or a special file; OSError."""
        path = str(self._root)
        for step in name.split("/"):
            path = f"{path}/{step}"
            try:
                found = os.lstat(path)
            except FileNotFoundError:
                break
            self._check(path[len(str(self._root)) + 1 :], found)
        return self._root / name

    def _check(self, name: str, found: os.stat_result) -> None:
        if stat.S_ISLNK(found.st_mode):
            advice = "replace it with what it points to, if you trust whoever made it"
            raise lacking(f"{printable(name)} of {self.label} is a symbolic link, which is not followed", advice)
        if not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
            raise lacking(f"{printable(name)} of {self.label} is a special file, which is not read", "remove it")

    def _made(self, name: str) -> Path:
        """Return the path of a name (`_path`), after making the folder that is to contain it."""
        path = self._path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def _guarded(self, verb: str, action: Callable[[], T]) -> T:
        """Convert file errors. Raises OutputError, and _AbsentError if a file does not exist."""
        try:
            return action()
        except FileNotFoundError:
            raise _AbsentError(f"cannot {verb} {self.label}: not found") from None
        except OSError as error:
            raise OutputError(f"cannot {verb} {self.label}: {error.strerror}") from None


class _AbsentError(OutputError):
    """A file is not there."""


class FolderUpload:
    """A file in `_new`."""

    def __init__(self, store: FolderStore, begun: tuple[BinaryIO, Path]) -> None:
        self._store, self.label = store, store.label
        self.file, self._path = begun

    def publish(self, name: str) -> int:
        """Give the file its name once it is on the disk; return its size."""
        try:
            self.file.flush()
            os.fsync(self.file.fileno())
        except OSError as error:
            raise OutputError(f"cannot write {self.label}: {error.strerror}") from None
        return self._store.place(self._path, name)

    def close(self) -> None:
        """Close the file, and remove its name in `_new`."""
        with suppress(OSError):
            self._path.unlink(missing_ok=True)
        with suppress(OSError):  # a full disk: the rest of the buffer is no longer needed
            self.file.close()


def _begun(folder: Path) -> tuple[BinaryIO, Path]:
    """Return a new locked file in a folder, and its path."""
    descriptor, path = tempfile.mkstemp(dir=folder)
    mask = os.umask(0)
    os.umask(mask)
    os.fchmod(descriptor, 0o666 & ~mask)  # readers are other users as well
    with suppress(OSError):  # a file system without locks
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return os.fdopen(descriptor, "w+b"), Path(path)
