"""What calls of the service go through."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import httpx


class Endpoint(NamedTuple):
    """Where the calls go and how patiently.

    `timeout` in seconds a call; `retries` of a call that failed in passing; `rate` in requests a second, `concurrency`
    in requests at a time; `transport` stands in for the network (the sample chain). `observe` sees the head of every
    answer, and may end the call by raising a ChainqError.
    """

    url: str
    timeout: float = 30.0
    retries: int = 5
    rate: float | None = None
    concurrency: int = 8
    headers: Mapping[str, str] = MappingProxyType({})
    transport: "httpx.BaseTransport | None" = None
    observe: "Callable[[httpx.Response], None] | None" = None


class Report(NamedTuple):
    """What became of one attempt, for `-v` and progress: `outcome` is `ok` or an error, `wait` seconds to the next."""

    method: str
    where: str
    size: int
    seconds: float
    attempt: int
    outcome: str
    rows: int | None = None
    wait: float | None = None


class Stopped(Exception):  # noqa: N818  # no error: the run ends, and a waiting call with it
    """The connection was closed while a call waited."""
