"""Which server a run talks to: what was passed, completed by a profile of `config.toml`."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple, TypedDict

from chainq.catalog.dialects import AUTO, Names
from chainq.defaults import TIMEOUT


class Calling(TypedDict):
    """How a server is called: arguments of `fetching.Service`, as `Server` describes them."""

    dialect: str
    names: Names | None
    timeout: float
    rate: float | None
    headers: Mapping[str, str]


class Server(NamedTuple):
    """A server and how to call it; None where neither the caller nor the profile has a value.

    `rate`: requests per second. `timeout`: seconds per request. `headers` may hold secrets. `names`: the server's own
    names of methods and parameters. `profile_url`: the URL of the profile, where one was read.
    """

    url: str | None = None
    dialect: str | None = None
    rate: float | None = None
    timeout: float | None = None
    headers: Mapping[str, str] = MappingProxyType({})
    names: Names | None = None
    profile_url: str | None = None

    @property
    def calling(self) -> Calling:
        """Return how the server is called, with the defaults of what is not stated."""
        timeout = TIMEOUT if self.timeout is None else self.timeout
        return Calling(
            dialect=self.dialect or AUTO, names=self.names, timeout=timeout, rate=self.rate, headers=self.headers
        )


def completed(given: Server, profile: str | None) -> Server:
    """Return `given` completed by the profile of that name, or by the default one where `given` has no URL.

    The headers of a profile may be secrets: they are sent to its own host only. Raises UsageError for a profile that
    does not exist and for a mistake in the file.
    """
    if given.url and not profile:
        return given
    from chainq.config import profiles

    found = profiles.profile(profile, profiles.read())
    trusted = not given.url or profiles.same_host(given.url, found.url or "")
    return Server(
        given.url or found.url,
        given.dialect or found.dialect,
        found.rate if given.rate is None else given.rate,
        found.timeout if given.timeout is None else given.timeout,
        {**(found.headers if trusted else {}), **given.headers},
        found.names,
        found.url,
    )
