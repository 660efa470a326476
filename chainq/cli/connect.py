"""Connects: from options, environment and profile to a service (docs/reference.md, "Service options")."""

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from chainq.catalog import identifiers
from chainq.cli.report import Reporter
from chainq.config import values as config_values
from chainq.config.server import Server, completed
from chainq.errors import UsageError
from chainq.fetching.service import Service
from chainq.text.sanitize import mask_url

if TYPE_CHECKING:
    from chainq.lake.job import ServiceSettings


class ConnectionSettings(NamedTuple):
    """Where the data comes from and how it is requested; each field is the option of that name.

    `url`, `profile`, `dialect`, `timeout` (seconds per request) and `rate` (requests per second) are None where neither
    an option nor the environment sets them; then the profile does, or a default. `dry_run`: nothing
    will be sent; `follow`: the run goes on when the service is down; `strict`: rows that rest on belief are an error.
    Not every command has these.
    """

    url: str | None
    profile: str | None
    dialect: str | None
    timeout: float | None
    retries: int
    concurrency: int
    max_memory: str
    rate: float | None
    header: list[str] | None
    dry_run: bool = False
    follow: bool = False
    strict: bool = False


def settings(values: Mapping[str, Any]) -> ConnectionSettings:
    """Return the connection settings among the parsed values of a command line."""
    return ConnectionSettings(**{name: values[name] for name in ConnectionSettings._fields if name in values})


def reporter(values: Mapping[str, Any]) -> Reporter:
    """Return what prints to stderr, as `--quiet` and `--verbose` say."""
    return Reporter(quiet=values["quiet"], verbose=values["verbose"])


def open_service(settings: ConnectionSettings, reporter: Reporter, make: Callable[..., Service] = Service) -> Service:
    """Return the service that options, environment and profile name, made by `make`. Raises UsageError."""
    if settings.url:
        identifiers.url(settings.url)
    own_headers = dict(config_values.header(header) for header in settings.header or [])
    server = completed(
        Server(settings.url, settings.dialect, settings.rate, settings.timeout, own_headers), settings.profile
    )
    url = server.url
    if not url:
        raise UsageError(
            f"profile {settings.profile!r} has no url" if settings.profile else "no service URL",
            "pass --url URL, set CHAINQ_URL or a profile, or try --url demo:",
        )
    if server.profile_url not in (None, url) and _shadowed(settings):
        reporter.warn(f"CHAINQ_URL takes precedence over the profile's URL: using {mask_url(url)}")
    for name, value in (("--timeout", server.timeout), ("--rate", server.rate)):
        if value is not None:
            config_values.checked_number(name, value)
    return make(
        url,
        **server.calling,
        retries=settings.retries,
        concurrency=settings.concurrency,
        max_memory=config_values.memory(settings.max_memory),
        patient=settings.follow,
        strict=settings.strict,
        report=reporter.call,
        warn=reporter.warn,
        trace=reporter.trace,
    )


def worker_settings(settings: ConnectionSettings, service: Service) -> "ServiceSettings":
    """Return how workers open the same service."""
    from chainq.lake.job import ServiceSettings

    endpoint = service.connection.endpoint
    return ServiceSettings(
        url=service.url,
        dialect=service.dialect_name,
        timeout=endpoint.timeout,
        retries=endpoint.retries,
        rate=endpoint.rate,
        concurrency=endpoint.concurrency,
        max_memory=endpoint.max_memory,
        headers=dict(config_values.header(header) for header in settings.header or []),
        profile=(settings.profile or "") if settings.profile or not settings.url else None,
        strict=settings.strict,
    )


def warn_of_belief(
    believed: Mapping[str, object], reporter: Reporter, *, hint: str = "; --strict makes this an error"
) -> None:
    """Say once a run which rows rest on belief: of which method, and at which heights or where in its list."""
    if believed:
        rows = "; ".join(f"{method} {where}".rstrip() for method, where in believed.items())
        reporter.warn(f'{rows}: nothing proves that these are all rows (docs/completeness.md, "Belief"){hint}')


def _shadowed(settings: ConnectionSettings) -> bool:
    """Return whether CHAINQ_URL takes precedence over `--profile NAME`, which the user may not expect."""
    by_flag = settings.profile and settings.profile != os.environ.get("CHAINQ_PROFILE")
    return bool(by_flag) and settings.url == os.environ.get("CHAINQ_URL")
