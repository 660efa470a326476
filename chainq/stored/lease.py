"""The lock of an object store: an object with the lock's owner and its expiry, changed with conditional writes.

The export renews it while it runs; after a kill it expires. The clocks of machines that share a data set must agree to
within a few seconds.
"""

import os
import socket
import threading
import time
from typing import TYPE_CHECKING, Any, NamedTuple, Self
from uuid import uuid4

import msgspec

from chainq.errors import BusyError, OutputError
from chainq.stored.narrow import UNFIT
from chainq.text.sanitize import excerpt

if TYPE_CHECKING:
    from chainq.stored.objects import ObjectStore

NAME = "_chainq/lock"
SECONDS = 60.0  # until it expires
RENEWED = 15.0  # seconds after the last renewal


class Content(NamedTuple):
    """The content of an object, and the identifier of this version."""

    data: bytes
    version: Any


class _Holder(msgspec.Struct):
    id: str
    host: str
    process: int
    expires: float  # seconds since 1970


def is_held(found: Content | None) -> bool:
    """Return whether the content of a lock is of an export that has not let it expire."""
    try:
        return found is not None and msgspec.json.decode(found.data, type=_Holder).expires > time.time()
    except UNFIT:
        return False


class Lease:
    """A lock that expires; a context manager. Raises BusyError if another export holds it."""

    def __init__(self, store: "ObjectStore") -> None:
        self._store = store
        self._id = uuid4().hex
        self._version: Any = None
        self._lost = ""
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._renew, daemon=True)

    def __enter__(self) -> Self:
        self._version = self._store.put(NAME, self._content(), "create") or self._taken_over()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        if not self._lost:
            self._store.delete([NAME])

    def check(self) -> None:
        """Raise BusyError if the lock was lost: another export may have begun."""
        if self._lost:
            raise BusyError(f"the lock of {self._store.label} was lost: {self._lost}", "run the command again")

    def _taken_over(self) -> Any:
        """Return the version of the lock after taking over one that has expired."""
        found = self._store.content(NAME)
        if found is None:
            return self._store.put(NAME, self._content(), "create") or self._busy("")
        try:
            holder = msgspec.json.decode(found.data, type=_Holder)
        except UNFIT:
            return self._busy(f"; {NAME} holds something else")
        left = holder.expires - time.time()
        if left > 0:
            who = f"process {holder.process} on {excerpt(holder.host, 40)}"
            return self._busy(f" ({who}); if that has been killed, its lock expires in {left:.0f} s")
        return self._store.put(NAME, self._content(), found.version) or self._busy("")

    def _busy(self, detail: str) -> Any:
        raise BusyError(f"another export is writing to {self._store.label}{detail}")

    def _content(self) -> bytes:
        return msgspec.json.encode(_Holder(self._id, socket.gethostname(), os.getpid(), time.time() + SECONDS))

    def _renew(self) -> None:
        expires = time.monotonic() + SECONDS
        while not self._ended.wait(RENEWED):
            sent_at = time.monotonic()
            try:
                version = self._store.put(NAME, self._content(), self._version)
            except OutputError as error:
                if time.monotonic() < expires:
                    continue
                self._lost = error.message
                return
            if version is None and (version := self._own()) is None:
                self._lost = "another export has taken it over"
                return
            self._version, expires = version, sent_at + SECONDS

    def _own(self) -> Any:
        """Return the version of the lock if it is still ours, because a renewal that seemed to fail took effect."""
        try:
            found = self._store.content(NAME)
            ours = found is not None and msgspec.json.decode(found.data, type=_Holder).id == self._id
        except (OutputError, *UNFIT):
            return None
        return found.version if found is not None and ours else None
