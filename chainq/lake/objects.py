"""A data set in an object store: S3, Google Cloud Storage, Azure or a compatible one. The only user of obstore.

Measured: obstore takes 11 ms and 15 MB to import, pyarrow.fs 250 ms and 60 MB. obstore has conditional writes, which
`create` needs; pyarrow.fs has none. Credentials and endpoints come from the providers' environment variables
(AWS_ACCESS_KEY_ID, AWS_ENDPOINT_URL, GOOGLE_APPLICATION_CREDENTIALS, AZURE_STORAGE_ACCOUNT_NAME, …), on the providers'
machines from the machine, and for `AWS_PROFILE` from boto3.
"""

import io
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Any, BinaryIO, TypeVar, cast

from chainq.defaults import MAX_MEMORY
from chainq.errors import OutputError, UsageError, needed
from chainq.lake.names import check_size
from chainq.lake.object_errors import cause, endpoint
from chainq.lake.store import SMALL, Listed
from chainq.text.sanitize import excerpt, printable, quoted

T = TypeVar("T")
RETRIES = {"max_retries": 8, "retry_timeout": timedelta(seconds=90)}
ATTEMPTS = 3  # of a conditional write that times out


class ObjectStore:
    """The data set below a URL such as `s3://bucket/prefix`. Raises UsageError without obstore and for invalid URLs."""

    def __init__(self, url: str, memory: int = MAX_MEMORY) -> None:
        self.memory = memory
        with needed("object stores need the obstore package", "export"):
            import obstore
            from obstore import exceptions
            from obstore.store import from_url
        self._url, self.label, self._scheme = url, _label(url), url.partition(":")[0].lower()
        self._obstore, self._errors = obstore, exceptions
        if not re.match(r"[a-z0-9]+://[^/]", url, re.IGNORECASE):
            raise UsageError(f"invalid destination {self.label}: expected {self._scheme}://BUCKET/FOLDER")
        options: dict[str, Any] = {}
        if self._scheme == "s3":
            _prepare_endpoint()
            if os.environ.get("AWS_PROFILE"):
                options["credential_provider"] = _profile_credentials()
        try:
            self._store = from_url(url, retry_config=cast("Any", RETRIES), **options)
        except (exceptions.BaseError, ValueError) as error:
            words, advice = cause(error, self._scheme)
            raise UsageError(f"invalid destination {self.label}: {words}", advice) from None

    def listing(self) -> Iterator[Listed]:
        """Yield all objects below the URL."""
        return self._guarded(
            "list",
            lambda: iter(
                [
                    Listed(one["path"], one["size"], one["last_modified"].timestamp())
                    for some in self._obstore.list(self._store)
                    for one in some
                ]
            ),
        )

    def read(self, name: str) -> bytes | None:
        """Return the content of a small object, None if there is none."""

        def read() -> bytes:
            found = self._obstore.get(self._store, name)
            check_size(self.label, name, found.meta["size"], SMALL)
            return bytes(found.bytes().to_bytes())

        try:
            return self._guarded("read", read)
        except _AbsentError:
            return None

    def source(self, name: str, size: int) -> BinaryIO:
        """Return an object as a file that requests only the parts that are read."""
        return cast("BinaryIO", _ObjectFile(self, name, size))

    def part(self, name: str, start: int, length: int) -> bytes:
        """Return a part of an object. Raises FileNotFoundError if the object is gone, like a local file."""
        try:
            return self._guarded(
                "read", lambda: bytes(self._obstore.get_range(self._store, name, start=start, length=length))
            )
        except _AbsentError:
            raise FileNotFoundError("not found") from None

    def address(self, name: str) -> str:
        """Return the URL of an object or a folder."""
        return f"{self._url.rstrip('/')}/{name}"

    def create(self, name: str, data: bytes) -> None:
        """Write a small object with a conditional write, unless its name exists.

        A write without a response is repeated: if the first attempt took effect, the store refuses the repetition.
        """

        def put() -> None:
            for left in reversed(range(ATTEMPTS)):
                try:
                    self._obstore.put(self._store, name, data, mode="create", use_multipart=False)
                except self._errors.AlreadyExistsError:
                    return
                except self._errors.GenericError as error:
                    if not left or "TimedOut" not in str(error):
                        raise
                else:
                    return

        self._guarded("write", put)

    def delete(self, names: Iterable[str]) -> None:
        """Remove objects."""
        if found := list(names):
            with suppress(_AbsentError):
                self._guarded("remove an object in", lambda: self._obstore.delete(self._store, found))

    @contextmanager
    def upload(self) -> "Iterator[ObjectUpload]":
        """Begin an object in an unnamed temporary file of this machine, which disappears with the process."""
        with tempfile.TemporaryFile() as file:
            yield ObjectUpload(self, cast("BinaryIO", file))

    def clean(self) -> None:
        """Do nothing: an object appears only when complete, and the provider removes broken uploads."""

    def send(self, name: str, file: BinaryIO) -> None:
        """Write an object from a file; a large one in several parts that appear together."""
        self._guarded("write", lambda: self._obstore.put(self._store, name, file))

    def _guarded(self, verb: str, action: Callable[[], T]) -> T:
        """Convert object errors. Raises OutputError."""
        try:
            return action()
        except (self._errors.BaseError, OSError, ValueError) as error:
            words, advice = cause(error, self._scheme)
            if isinstance(error, FileNotFoundError) and not advice:
                raise _AbsentError(f"cannot {verb} {self.label}: not found") from None
            raise OutputError(f"cannot {verb} {self.label}: {words}", advice) from None


class _AbsentError(OutputError):
    """The object does not exist."""


class _ObjectFile(io.RawIOBase):
    """An object as a file."""

    def __init__(self, store: ObjectStore, name: str, size: int) -> None:
        self._store, self._name, self._size, self._at = store, name, size, 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return the position."""
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move the position."""
        self._at = offset + (0, self._at, self._size)[whence]
        return self._at

    def readinto(self, buffer: Any) -> int:
        """Read as much as fits into the buffer."""
        length = max(0, min(len(buffer), self._size - self._at))
        if length:
            buffer[:length] = self._store.part(self._name, self._at, length)
            self._at += length
        return length


class ObjectUpload:
    """An object in progress, in a file of this machine."""

    label = "a temporary file"

    def __init__(self, store: ObjectStore, file: BinaryIO) -> None:
        self._store, self.file = store, file

    def publish(self, name: str) -> int:
        """Send the file; return its size."""
        try:
            size = self.file.tell()
            self.file.seek(0)
        except OSError as error:
            raise OutputError(f"cannot write {self.label}: {error.strerror}") from None
        self._store.send(name, self.file)
        return size


def _label(url: str) -> str:
    """Return a URL for messages and for the commands in them: its path is no secret, but who is named before `@` is."""
    scheme, colon, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    return printable(f"{scheme}{colon}{'***@' if '@' in host else ''}{host.rpartition('@')[2]}{slash}{path}")


def _prepare_endpoint() -> None:
    """Allow http:// if the environment names such an endpoint, here and for Delta tables. Raises UsageError."""
    named = endpoint().lower()
    if named and not named.startswith(("http://", "https://")):
        raise UsageError("invalid endpoint of S3: AWS_ENDPOINT_URL must begin with http:// or https://")
    if named.startswith("http://"):
        os.environ.setdefault("AWS_ALLOW_HTTP", "true")


def _profile_credentials() -> Any:
    """Return what reads the credentials of AWS_PROFILE. Raises UsageError if there are none."""
    try:
        from botocore.exceptions import BotoCoreError
        from obstore.auth.boto3 import Boto3CredentialProvider
    except ImportError:
        raise UsageError("AWS_PROFILE needs the boto3 package", "pip install boto3, or unset AWS_PROFILE") from None
    try:
        return Boto3CredentialProvider()
    except (BotoCoreError, ValueError) as error:
        raise UsageError(
            f"invalid AWS_PROFILE {quoted(os.environ['AWS_PROFILE'])}: {excerpt(str(error), 200)}",
            "unset it, or log in",
        ) from None
