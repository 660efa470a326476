"""From flags, environment and profile to a service (docs/reference.md, "Where the data comes from")."""

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from chainq.catalog import identifiers
from chainq.catalog.dialects import AUTO, Names
from chainq.cli.report import Reporter
from chainq.config import values as config_values
from chainq.errors import UsageError
from chainq.fetching.service import Service
from chainq.text.sanitize import mask_url
from chainq.transport.base import TIMEOUT


class ConnectionSettings(NamedTuple):
    """Where the data comes from and how it is requested; the fields are the options of those names.

    `url`, `profile`, `dialect`, `timeout` (seconds) and `rate` (requests a second) are None where no option or
    environment variable gives them; then the profile does, or a default. `dry_run`: no request will be sent; not every
    command has it.
    """

    url: str | None
    profile: str | None
    dialect: str | None
    timeout: float | None
    retries: int
    concurrency: int
    rate: float | None
    header: list[str] | None
    dry_run: bool = False


def settings(values: Mapping[str, Any]) -> ConnectionSettings:
    """Return the connection settings out of the parsed values of a command line."""
    return ConnectionSettings(**{name: values[name] for name in ConnectionSettings._fields if name in values})


def reporter(values: Mapping[str, Any]) -> Reporter:
    """Return what writes to stderr, as `--quiet` and `--verbose` ask."""
    return Reporter(quiet=values["quiet"], verbose=values["verbose"])


def open_service(settings: ConnectionSettings, reporter: Reporter) -> Service:
    """Return the service that flags, environment and profile ask for. Raises UsageError."""
    url, dialect, rate, timeout = settings.url, settings.dialect, settings.rate, settings.timeout
    if url:
        identifiers.url(url)
    names: Names | None = None
    headers: dict[str, str] = {}
    if settings.profile or not url:
        from chainq.config import profiles

        profile = profiles.profile(settings.profile, profiles.read())
        # A profile's headers may be secrets: they go to the profile's own host only.
        if not url or profiles.same_host(url, profile.url or ""):
            headers = dict(profile.headers)
        if url and profile.url not in (None, url) and _shadowed(settings):
            reporter.warn(f"CHAINQ_URL stands above the profile's URL: {mask_url(url)} is asked")
        url, dialect, names = url or profile.url, dialect or profile.dialect, profile.names
        rate = profile.rate if rate is None else rate
        timeout = profile.timeout if timeout is None else timeout
    if not url:
        raise UsageError(
            "no URL: where is the service?" if not settings.profile else f"the profile {settings.profile!r} has no url",
            "give --url URL, set CHAINQ_URL, choose a --profile of config.toml, or try --url demo:",
        )
    headers |= dict(config_values.header(header) for header in settings.header or [])
    for name, value in (("--timeout", timeout), ("--rate", rate)):
        if value is not None and not config_values.fits(value):
            raise UsageError(f"{name} {value:g} is not between a millionth and a million")
    if settings.dry_run and dialect == AUTO:
        from chainq.config import dialect_cache

        if dialect_cache.remembered(url) is None:
            raise UsageError("--dry-run sends nothing, so that the dialect cannot be found out", "say --dialect NAME")
    return Service(
        url,
        dialect=dialect or "chain",
        names=names,
        timeout=TIMEOUT if timeout is None else timeout,
        retries=settings.retries,
        rate=rate,
        headers=headers,
        concurrency=settings.concurrency,
        report=reporter.call,
    )


def _shadowed(settings: ConnectionSettings) -> bool:
    """Whether CHAINQ_URL stands above a profile that was named as a flag, which its user may not expect."""
    by_flag = settings.profile and settings.profile != os.environ.get("CHAINQ_PROFILE")
    return bool(by_flag) and settings.url == os.environ.get("CHAINQ_URL")
