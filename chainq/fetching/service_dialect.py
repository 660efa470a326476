"""The dialect of one service: stated, remembered from an earlier run, or detected when it first makes a difference."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from threading import Lock
from typing import Any, TypeVar

from msgspec import Raw

from chainq.catalog.dialects import AUTO, DIALECTS, Dialect, Names, is_shared
from chainq.catalog.methods import Method
from chainq.errors import ResponseError, ServiceError
from chainq.query import Batch
from chainq.transport.connection import Connection
from chainq.transport.failures import is_misunderstood
from chainq.transport.jsonrpc import decode_array

T = TypeVar("T")


class ServiceDialect:
    """The dialect in which to call the methods of a service.

    `name`: as stated, `auto` to detect it. `names`: the server's own beside its dialect. `profile`: its profile's name.
    """

    def __init__(self, name: str, names: Names, connection: Connection, url: str, profile: str | None) -> None:
        self.name, self.names = name, names
        self._connection, self._url, self._profile = connection, url, profile
        self._detecting, self._trying = Lock(), Lock()
        self._spoken: dict[str, Dialect] = {}  # by method name, once a response has shown it
        self._known = None if name == AUTO else DIALECTS[name].with_names(names)
        self._remembered = False

    @property
    def stated(self) -> str:
        """Return the name of the dialect that the user stated, empty if it is to be detected."""
        return "" if self.name == AUTO else self.name

    @property
    def published(self) -> Dialect:
        """The published interface, with the server's own names."""
        return DIALECTS["chain"].with_names(self.names)

    def known(self, method: Method) -> Dialect | None:
        """Return the dialect in which to call a method, None if it would have to be detected. Sends nothing."""
        if self._known is not None:
            return self._known
        if is_shared(method, self.names):
            return self.published
        from chainq.config import dialect_cache

        if name := dialect_cache.remembered(self._url):
            self._known, self._remembered = DIALECTS[name].with_names(self.names), True
        return self._known

    def of(self, method: Method) -> Dialect:
        """Return the dialect in which to call a method. Detect it if it is unknown and makes a difference.

        Raises ChainqError if detection fails.
        """
        with self._detecting:  # once, of several threads
            return self.known(method) or self._detect()

    def detect_anew(self, dialect: Dialect) -> bool:
        """Detect the dialect if it is one that an earlier run remembered, and does not fit; return whether it is
        another one now."""
        with self._detecting:
            if self._remembered and self._known == dialect:
                from chainq.config import dialect_cache

                self._remembered = False
                dialect_cache.forget(self._url)
                with suppress(ServiceError, ResponseError):  # what does not fit then is explained by the first error
                    self._detect()
            return self._known not in (None, dialect)

    def spoken(self, method: Method, call: Callable[[Dialect], T]) -> T:
        """Return what a call of a method returns in the dialect of the server; another than the expected one is
        remembered.

        Until a response has shown the dialect, the call is tried in each of them, by one thread while others wait. So a
        command that is the same in all dialects needs no detection. Raises what `call` raises.
        """
        with self._trying:
            if method.name not in self._spoken:
                return self._try(method, call)
        return call(self._spoken[method.name])

    def _try(self, method: Method, call: Callable[[Dialect], T]) -> T:
        first = self.known(method) or self.published
        others = [one.with_names(self.names) for one in DIALECTS.values()]
        *all_but_last, last = first, *(one for one in others if one != first)
        for dialect in all_but_last:
            try:
                return self._heard(method, dialect, call(dialect))
            except ServiceError as error:
                if not is_misunderstood(error.code, error.message):
                    raise
        return self._heard(method, last, call(last))

    def _heard(self, method: Method, dialect: Dialect, found: T) -> T:
        """Return what was found, and record the dialect in which it was."""
        self._spoken[method.name] = dialect
        with self._detecting:
            if self._known is None and dialect != self.published:
                from chainq.config import dialect_cache

                self._known = dialect
                dialect_cache.remember(self._url, dialect.name)
        return found

    def _detect(self) -> Dialect:
        from chainq.fetching import dialect_detection

        def probe(name: str, params: Any) -> list[Raw]:
            return self._connection.call(name, params, decode_array, divisible=False, purpose=dialect_detection.PURPOSE)

        self._known = dialect_detection.dialect_of(self._url, probe, self.names)
        return self._known

    def explained(self, method: Method, batches: Iterator[Batch]) -> Iterator[Batch]:
        """Yield the batches; add a hint to an error that means that the server has another dialect."""
        try:
            yield from batches
        except ServiceError as error:
            from chainq.fetching import dialect_detection

            if not dialect_detection.explain_name(error, method, self.names, self._profile):
                dialect = self.known(method) or self.published
                stated, shared = self.name != AUTO, is_shared(method, self.names)
                dialect_detection.explain(error, dialect, stated=stated, shared=shared)
            raise
