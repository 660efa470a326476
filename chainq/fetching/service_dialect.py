"""The dialect of one service: stated, remembered from an earlier run, or found by the first call that it matters to."""

from collections.abc import Callable
from threading import Lock
from typing import TypeVar

from chainq.catalog.dialects import AUTO, DIALECTS, Dialect, Names, is_shared
from chainq.catalog.methods import BY_COMMAND, Method, Role
from chainq.errors import ServiceError
from chainq.transport.connection import Connection
from chainq.transport.failures import is_misunderstood
from chainq.transport.jsonrpc import decode_array

T = TypeVar("T")

_BLOCKS, _FIRST = BY_COMMAND["blocks"], {Role.START: 0, Role.END: 1}
HINT = "the server may speak another dialect (--dialect), or lack the method: chainq doctor shows what it has"


class ServiceDialect:
    """The dialect in which to call the methods of a service. Threads may share it.

    `name`: the one to expect, `auto` for what an earlier run found. `names`: the server's own beside its dialect.
    """

    def __init__(self, name: str, names: Names, connection: Connection, url: str) -> None:
        self.name, self.names = name, names
        self._connection, self._url = connection, url
        self._trying = Lock()
        self._spoken: dict[str, Dialect] = {}  # by method name, once a response has shown it
        self._expected = None if name == AUTO else DIALECTS[name].with_names(names)

    @property
    def stated(self) -> str:
        """Return the name of the dialect that the user stated, empty if it is to be found."""
        return "" if self.name == AUTO else self.name

    @property
    def published(self) -> Dialect:
        """The published interface, with the server's own names."""
        return DIALECTS["chain"].with_names(self.names)

    def known(self, method: Method) -> Dialect | None:
        """Return the dialect in which to call a method, None if nothing says it yet. Sends nothing."""
        if is_shared(method, self.names):
            return self.published
        if method.name in self._spoken:
            return self._spoken[method.name]
        if self._expected is None:
            from chainq.config import dialect_cache

            if name := dialect_cache.remembered(self._url):
                self._expected = DIALECTS[name].with_names(self.names)
        return self._expected

    def of(self, method: Method) -> Dialect:
        """Return the dialect in which the server has a method; unless it is stated, or the same in all, a response has
        shown it. Raises ChainqError."""
        if not (self.stated or self._spoken or is_shared(method, self.names)):
            self.call(_BLOCKS, lambda dialect: self._connection.call(*dialect.call(_BLOCKS, _FIRST), decode_array))
        return self.known(method) or self.published

    def call(self, method: Method, send: Callable[[Dialect], T]) -> T:
        """Return what `send` returns, which calls a method in a dialect.

        Until a response has shown the dialect, each is tried, the stated one first, by one thread while others wait; it
        is remembered then, unless one was stated. Raises what `send` raises, for the expected dialect if the server
        refuses the method in all of them.
        """
        if is_shared(method, self.names) or method.name in self._spoken:
            return self._try([self.known(method) or self.published], method, send)
        with self._trying:
            first = self.known(method) or self.published
            others = [] if method.name in self._spoken else [one.with_names(self.names) for one in DIALECTS.values()]
            return self._try([first, *(one for one in others if one != first)], method, send)

    def _try(self, dialects: list[Dialect], method: Method, send: Callable[[Dialect], T]) -> T:
        refusals: list[ServiceError] = []
        for dialect in dialects:
            try:
                found = send(dialect)
            except ServiceError as error:  # not those of its kind: too heavy, or lacking at some heights
                if type(error) is not ServiceError or error.code.startswith("HTTP"):
                    raise
                refusals.append(error)
            else:
                if len(dialects) > 1:
                    self._hear(method, dialect)
                return found
        if is_misunderstood(refusals[0].code, refusals[0].message):
            refusals[0].hint = HINT
        raise refusals[0]

    def _hear(self, method: Method, dialect: Dialect) -> None:
        self._spoken[method.name] = self._expected = dialect
        if not self.stated:
            from chainq.config import dialect_cache

            if dialect_cache.remembered(self._url) != dialect.name:
                dialect_cache.remember(self._url, dialect.name)
