"""`_chainq/last_run.json`: how the last exports into a data set ended, for `chainq status`.

Receipts do not show it, because an export that finds nothing new writes none.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import msgspec
from msgspec.structs import replace

from chainq.errors import BusyError, ChainqError, OutputError, UsageError
from chainq.stored import data_set
from chainq.stored.store import Store
from chainq.text.sanitize import recordable

NAME = "_chainq/last_run.json"


class LastRun(msgspec.Struct, frozen=True, omit_defaults=True):
    """`success`: when an export last succeeded, with new rows or not, in seconds since 1970, 0 for never; `tip`: the
    tip height then, -1 for none. `failure`, `error`: when and why an export last failed.
    """

    success: float = 0
    tip: int = -1
    failure: float = 0
    error: str = ""


@contextmanager
def recorded(store: Store, tip: Callable[[], int]) -> Iterator[None]:
    """Record how an export that had started ends. `tip` returns the tip height.

    Raises OutputError if a success cannot be recorded.
    """
    try:
        yield
    except (BusyError, UsageError):  # it did not start
        raise
    except ChainqError as error:
        with suppress(OutputError, UsageError):
            if data_set.read(store) is not None:
                _save(store, replace(read(store), failure=time.time(), error=recordable(error.message)))
        raise
    _save(store, replace(read(store), success=time.time(), tip=tip()))


def begin(store: Store) -> None:
    """Record that a new data set has had no successful run yet: the receipts of a killed one look like success.

    Raises OutputError.
    """
    _save(store, LastRun())


def read(store: Store) -> LastRun:
    """Return the record, or an empty one if it is missing or unreadable. Raises OutputError."""
    try:
        return msgspec.json.decode(store.read(NAME) or b"{}", type=LastRun)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return LastRun()


def _save(store: Store, last: LastRun) -> None:
    store.write(NAME, msgspec.json.encode(last) + b"\n")
