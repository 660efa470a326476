"""The options of a run that say which service it calls and how; beside `query`, which says what it asks for."""

from collections.abc import Mapping
from typing import NamedTuple

from chainq.defaults import CONCURRENCY, MAX_MEMORY, RETRIES
from chainq.text.sanitize import mask_url


class ServiceOptions(NamedTuple):
    """Which service to call and how: from the command line, or the arguments of a `Client`, down to the connection.

    `profile`: the one that says what is None or empty here, as `config.server.completed` fills it in; None for none
    but the default one. `dialect`: one of `DIALECTS` or `auto`.
    `timeout`: seconds for one attempt of a call, from the connection to the last byte. `retries`: of a call, after
    transient failures. `rate`: requests per second, None for no limit. `concurrency`: requests at a time.
    `max_memory`: bytes for responses; one response may have its share of them, by `concurrency`. `headers`: of
    every request; they may hold secrets. `cert`: a client certificate, as FILE or FILE:KEY. `proxy`: its URL, "" for
    none; only the environment names one. `patient`: try to reach
    a server as often as `retries` say, also one that has not responded yet. `strict`: rows whose completeness rests
    on belief are an error. `until`: the time, by time.monotonic, at which the run is to end; None for no limit;
    `deadline`: the time that the run may take, as the user wrote it. `lake`: the data set to read what it proves
    from; empty for the profile's, None for none at all.
    """

    url: str = ""
    profile: str | None = None
    dialect: str | None = None
    timeout: float | None = None
    retries: int = RETRIES
    rate: float | None = None
    concurrency: int = CONCURRENCY
    max_memory: int = MAX_MEMORY
    headers: Mapping[str, str] = {}  # never changed; a mapping proxy could not be pickled for workers
    cert: str | None = None
    proxy: str = ""
    patient: bool = False
    strict: bool = False
    until: float | None = None
    deadline: str = ""
    lake: str | None = None

    def __repr__(self) -> str:
        """Return only what is safe to print: a URL and headers may hold secrets."""
        return f"ServiceOptions({mask_url(self.url)!r}, ...)"
