"""Where a data set lies: a folder of this machine, or the prefix of a bucket. Independent of heights and Parquet.

In a folder, files in progress are in `_new` and get their names once they are on the disk. The writer holds a kernel
lock on its file, which ends with the process in any case, so an unlocked file was left behind by a killed run.

The folder itself may be a link that the user named. Below it are only folders and regular files: a link there may have
come with an export that somebody else made, to have files outside read, overwritten or deleted, and a pipe or device
has no end. The listing refuses them, and `_new` and `chainq.json` are looked at when they are used; who changes the
folder at the same time is not kept out.

obstore reads and writes buckets. Measured: it takes 11 ms and 15 MB to import, pyarrow.fs 250 ms and 60 MB, and it has
conditional writes, which `create` needs. Credentials and endpoints come from the providers' environment variables, on
the providers' machines from the machine, and for `AWS_PROFILE` from boto3.

Rejected: obstore's LocalStore for folders. It lists, reads and writes through links, syncs nothing to the disk, writes
each file a second time, and leaves parts of files beside those of the data set when it is killed.
"""

import fcntl
import os
import re
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, BinaryIO, NamedTuple, TypeVar, cast
from urllib.parse import urlsplit
from uuid import uuid4

from chainq.catalog.identifiers import STORES
from chainq.catalog.tables import TABLES
from chainq.defaults import MAX_MEMORY
from chainq.errors import OutputError, UsageError, needed
from chainq.lake.data_set import damaged, lacking
from chainq.process.threads import in_order
from chainq.sinks.disk import remove_unlocked, sync_folder
from chainq.text.sanitize import excerpt, mask_url, printable

T = TypeVar("T")
SMALL = 1 << 20
"""Bytes of a file that is read whole."""
NEW = "_new"
_OWN = frozenset(("chainq.json", *TABLES))
"""The files and folders of a data set; others beside them are not looked into."""
Listed = tuple[str, int, float]
"""A file or object: its name below the data set, with slashes, its size in bytes, and when it was written, in seconds
since 1970."""
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):")
_CAUSES = (
    # Without keys obstore requests the machine's role from an address that exists only on cloud machines.
    (r"/latest/api/token|/latest/meta-data", "no credentials", "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"),
    (r"computeMetadata", "no credentials", "set GOOGLE_APPLICATION_CREDENTIALS to a key file"),
    (r"/metadata/identity", "no credentials", "set AZURE_STORAGE_ACCOUNT_KEY"),
    (r"ConnectionRefused|dns error", "no connection", "check the endpoint, such as AWS_ENDPOINT_URL"),
)
"""Errors of object stores in plain words, and what to do, if obstore's own text, a dump, does not say it."""
_ENDPOINT = r"(?i:https?)://(?:[\w.-]+|\[[\da-fA-F:.]+\])(?::\d{1,4}|:[1-5]\d{4})?(?:/[!-~]*)?", "http://127.0.0.1:9000"
_REGION = r"[\w-]+", "us-east-1"
_S3 = ("AWS_ENDPOINT", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_REGION", "AWS_DEFAULT_REGION")
"""Variables that become part of a URL. If that is invalid, obstore panics."""


class Upload(NamedTuple):
    """A large file in progress, invisible to readers. Both functions raise OutputError.

    `write`: adds data. `publish`: publishes the file whole under its name, which says what is in it: so one that is
    there already will do. Returns its size.
    """

    write: Callable[[bytes], None]
    publish: Callable[[str], int]


class _Store:
    """What stores have in common. All names are relative to them.

    Every method raises OutputError if the store fails, and IncompleteError for a name that is neither a file nor a
    folder: what lies in a store may be of anybody, and none of it is followed out of it.

    `label`: its name in messages, without secrets. `folder`: where it is on this machine, None for an object store.
    `memory`: bytes that rows of a file may take up at a time, once they are decoded.
    """

    _readers = 8  # threads

    folder: Path | None = None
    _errors: tuple[type[Exception], ...] = (OSError, ValueError)
    _content: Callable[[str], tuple[int, Callable[[], Any]]]
    _begun: Callable[[], BinaryIO]
    _publish: Callable[[BinaryIO, str], int]

    def __init__(self, label: str, memory: int) -> None:
        self.label, self.memory = printable(label), memory

    def read(self, name: str) -> bytes | None:
        """Return the content of a small file, None if there is none. Raises IncompleteError for a large one."""
        with self._failing("read"):
            try:
                size, content = self._content(name)
            except FileNotFoundError:
                return None
            if size > SMALL:
                raise damaged(self.label, name, f"{size} bytes, expected {SMALL} at most")
            return bytes(content())

    def results(self, jobs: Iterator[Callable[[], T]]) -> Iterator[T]:
        """Run jobs that read files, several at a time, and yield their results in the order of the jobs."""
        return in_order(self._readers, jobs, 2 * self._readers)

    @contextmanager
    def upload(self) -> Iterator[Upload]:
        """Begin a large file; at the end of the context it is gone unless it was published."""
        with self._failing("write"):
            file = self._begun()
        try:
            yield Upload(partial(self._write, file), partial(self._publish, file))
        finally:
            with suppress(OSError):  # a full disk: the rest of the buffer is no longer needed
                file.close()
            with suppress(OSError, TypeError):  # a file without a name
                os.unlink(file.name)  # noqa: PTH108

    def _write(self, file: BinaryIO, data: bytes) -> None:
        with self._failing("write"):
            file.write(data)

    @contextmanager
    def _failing(self, verb: str) -> Iterator[None]:
        """Convert the errors of a store. Raises OutputError."""
        try:
            yield
        except self._errors as error:
            words, advice = cause(error)
            raise OutputError(f"cannot {verb} {self.label}: {words}", advice) from None


class FolderStore(_Store):
    """The data set in a folder, which is made when the first file is written."""

    _readers = 2  # which have no latency: more threads wait for each other longer than they gain

    def __init__(self, root: Path, memory: int = MAX_MEMORY) -> None:
        super().__init__(str(root), memory)
        self._root = self.folder = Path(os.path.realpath(root))

    def listing(self) -> Iterator[Listed]:
        """Yield all files of the data set, except those in progress, and the names of what is beside it."""
        with self._failing("read"):
            yield from self._walk("")

    def source(self, name: str, size: int) -> str:  # noqa: ARG002
        """Return the path of a file."""
        return self.address(name)

    def address(self, name: str) -> str:
        """Return the path of a file or folder."""
        return f"{self._root}/{name}".rstrip("/")

    def create(self, name: str, data: bytes) -> None:
        """Write a small file whole, unless its name exists."""
        with self.upload() as upload:
            upload.write(data)
            upload.publish(name)

    def delete(self, names: Iterable[str]) -> None:
        """Remove files, but not their folders: another run may be about to write there."""
        for name in names:
            with self._failing("remove a file in"):
                (self._root / name).unlink(missing_ok=True)

    def clean(self) -> None:
        """Remove the files in `_new` that no process has locked."""
        with self._failing("read"):
            remove_unlocked(list(self._path(NEW).glob("*")))

    def _content(self, name: str) -> tuple[int, Callable[[], Any]]:
        """Return the size of a file, and what returns its content."""
        path = self._path(name)
        return path.stat().st_size, path.read_bytes

    def _publish(self, file: BinaryIO, name: str) -> int:
        """Give a file its name once it is on the disk, unless that exists."""
        with self._failing("write"):
            file.flush()
            os.fsync(file.fileno())
            target = self._root / name
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                os.link(file.name, target)  # which never replaces a file
            except FileExistsError:
                pass
            except OSError:  # exFAT and some network mounts have no links
                Path(file.name).replace(target)
            sync_folder(target.parent)
            return target.stat().st_size

    def _begun(self) -> BinaryIO:
        """Return a new file in `_new`, locked."""
        folder = self._path(NEW)
        folder.mkdir(parents=True, exist_ok=True)
        while True:
            file = (folder / uuid4().hex).open("x+b")
            with suppress(OSError):  # a file system without locks
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(file.fileno()).st_nlink:
                return file
            file.close()  # before it was locked, another run took it for one of a killed run

    def _walk(self, folder: str) -> Iterator[Listed]:
        """Yield the files below a folder, whose name ends with a slash. pathlib would take five times as long, which
        matters with 100,000 partitions."""
        with suppress(FileNotFoundError), os.scandir(f"{self._root}/{folder}") as entries:  # removed, or not there yet
            for entry in entries:
                name = folder + entry.name
                if not folder and name not in _OWN:
                    yield name, 0, 0.0
                elif entry.is_dir(follow_symlinks=False):
                    yield from self._walk(f"{name}/")
                else:
                    found = entry.stat(follow_symlinks=False)
                    self._check(name, found)
                    yield name, found.st_size, found.st_mtime

    def _path(self, name: str) -> Path:
        """Return the path of a name, which may be absent. Raises IncompleteError if it is a link or a special file;
        OSError."""
        path = self._root / name
        with suppress(FileNotFoundError):
            self._check(name, path.lstat())
        return path

    def _check(self, name: str, found: os.stat_result) -> None:
        if not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
            what = f"{printable(name)} of {self.label} is a symbolic link or a special file, which is not read"
            raise lacking(what, "remove it, or replace it with what it points to, if you trust whoever made it")


class ObjectStore(_Store):
    """The data set below a URL such as `s3://bucket/prefix`. Raises UsageError without obstore and for invalid URLs."""

    def __init__(self, url: str, memory: int = MAX_MEMORY) -> None:
        with needed("object stores need the obstore package", "export"):
            import obstore
            from obstore.exceptions import AlreadyExistsError, BaseError
            from obstore.store import from_url
        super().__init__(re.sub("(?<=://)[^/]*@", "***@", url), memory)  # a path is no secret
        self._url, self._obstore, self._exists = url, obstore, AlreadyExistsError
        self._errors = (OSError, ValueError, BaseError)
        os.environ.setdefault("AWS_ALLOW_HTTP", "true")  # to the endpoint of the user, also for Delta tables
        for name in _S3 if url.lower().startswith("s3:") else ():
            form, example = _ENDPOINT if "ENDPOINT" in name else _REGION
            if (value := os.environ.get(name)) and not re.fullmatch(form, value, re.ASCII):
                raise UsageError(f"invalid {name}: expected one such as {example}")
        options: dict[str, Any] = {"retry_config": {"max_retries": 8, "retry_timeout": timedelta(seconds=90)}}
        try:
            if url.lower().startswith("s3:") and os.environ.get("AWS_PROFILE"):
                from obstore.auth.boto3 import Boto3CredentialProvider

                options["credential_provider"] = Boto3CredentialProvider()
            self._store = from_url(url, **options)
        except Exception as error:  # of obstore, or of boto3, which need not be there
            words, advice = cause(error)
            raise UsageError(f"invalid destination {self.label}: {words}", advice) from None

    def listing(self) -> Iterator[Listed]:
        """Yield all objects below the URL."""
        with self._failing("list"):
            pages = [*self._obstore.list(self._store)]
        for one in (one for page in pages for one in page):
            yield one["path"], one["size"], one["last_modified"].timestamp()

    def source(self, name: str, size: int) -> BinaryIO:
        """Return an object as a file that requests only the parts that are read."""
        file = self._obstore.open_reader(self._store, name, buffer_size=1, size=size)
        read = partial(self._part, name, file.read)
        return cast("BinaryIO", SimpleNamespace(read=read, seek=file.seek, tell=file.tell, closed=False))

    def address(self, name: str) -> str:
        """Return the URL of an object or a folder."""
        return f"{self._url.rstrip('/')}/{name}".rstrip("/")

    def create(self, name: str, data: bytes) -> None:
        """Write a small object with a conditional write, unless its name exists."""
        with self._failing("write"), suppress(self._exists):
            self._obstore.put(self._store, name, data, mode="create", use_multipart=False)

    def delete(self, names: Iterable[str]) -> None:
        """Remove objects."""
        with self._failing("remove an object in"), suppress(FileNotFoundError):
            self._obstore.delete(self._store, list(names))

    def clean(self) -> None:
        """Do nothing: an object appears only when complete, and the provider removes broken uploads."""

    def _content(self, name: str) -> tuple[int, Callable[[], Any]]:
        found = self._obstore.get(self._store, name)
        return found.meta["size"], found.bytes

    def _begun(self) -> BinaryIO:
        """Return an unnamed temporary file of this machine, which disappears with the process."""
        return cast("BinaryIO", tempfile.TemporaryFile())

    def _publish(self, file: BinaryIO, name: str) -> int:
        """Write an object from a file, a large one in several parts that appear together."""
        with self._failing("write"):
            size = file.tell()
            file.seek(0)
            self._obstore.put(self._store, name, file)
            return size

    def _part(self, name: str, read: Callable[[int], Any], size: int = -1) -> bytes:
        """Return the next bytes of an object."""
        with self._failing("read"):
            try:
                return bytes(read(size))
            except FileNotFoundError:
                hint = "if an export has replaced it, run the command again"
                raise lacking(f"{name} of {self.label} is gone", hint) from None


Store = FolderStore | ObjectStore


def open_store(destination: str, memory: int = MAX_MEMORY) -> Store:
    """Return the store of a destination: a path, or a URL with `s3://`, `gs://` or `az://`.

    Nothing is created or requested yet. `memory`: as in `Store`. Raises UsageError.
    """
    match = _SCHEME.match(destination)
    scheme = match[1].lower() if match else ""
    if not destination or scheme not in ("", *STORES):
        stores = ", ".join(f"{name}://" for name in STORES)
        what = f"invalid destination {mask_url(destination)!r}"
        hint = "name a service with --url" if scheme in ("demo", "http", "https") else ""
        raise UsageError(f"{what}: expected a folder or a URL with {stores}", hint)
    if scheme and re.search("[?#]", destination):
        raise UsageError(f"invalid destination {mask_url(destination)}: write %3F and %23 for ? and # in a URL")
    if scheme in STORES:
        return ObjectStore(destination, memory)
    if os.path.isfile(destination):  # noqa: PTH113  # a Path raises for names that are too long
        raise UsageError(f"{printable(destination)} is a file: expected the folder or URL of an export")
    return FolderStore(Path(destination), memory)


def is_same_service(one: str, other: str) -> bool:
    """Return whether two URLs, or destinations, are spellings of the same service or export, apart from credentials.

    >>> is_same_service("http://H:80/", "http://h"), is_same_service("http://h/a", "http://h/b")
    (True, False)
    >>> is_same_service("/chain/", "/chain"), is_same_service("s3://bucket/chain/", "s3://bucket/chain")
    (True, True)
    """

    def plain(text: str) -> tuple[object, ...]:
        if not _SCHEME.match(text):
            return (os.path.realpath(text),)
        parts = urlsplit(text)
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
        return parts.scheme, parts.hostname, port, parts.path.rstrip("/"), parts.query

    return plain(one) == plain(other)


def cause(error: Exception) -> tuple[str, str]:
    """Return why a store failed, and what to do about it, empty if unknown."""
    if isinstance(error, OSError) and error.strerror:  # of this machine
        return error.strerror, ""
    said = str(error)
    for pattern, words, advice in _CAUSES:
        if re.search(pattern, said):
            return words, advice
    if status := re.search(r"status code: ([0-9]{3}[A-Za-z ]*)", said):
        code = re.search(r"<Code>([A-Za-z]{1,60})</Code>", said)  # of S3, which has one status for many errors
        return f"HTTP {status[1].rstrip()}{f' ({code[1]})' if code else ''}", ""
    return excerpt(" ".join(said.partition("Debug source:")[0].split()), 200), ""
