"""From flags, environment and profile to a client (docs/reference.md)."""

import os

from chainq.catalog import identifiers
from chainq.catalog.dialects import AUTO, Names
from chainq.cli.options import SourceOptions
from chainq.cli.report import Reporter
from chainq.config import values
from chainq.errors import UsageError
from chainq.fetching.service import Client
from chainq.text.sanitize import mask_url


def open_client(options: SourceOptions, reporter: Reporter) -> Client:
    """The client that flags, environment and profile ask for. Raises UsageError."""
    url, dialect, rate, timeout = options.url, options.dialect, options.rate, options.timeout
    if url:
        identifiers.url(url)
    names: Names | None = None
    headers: dict[str, str] = {}
    if options.profile or not url:
        from chainq.config import profiles

        profile = profiles.profile(options.profile, profiles.read())
        # A profile's headers may be secrets: they go to the profile's own host only.
        if not url or profiles.same_host(url, profile.url or ""):
            headers = dict(profile.headers)
        if url and profile.url not in (None, url) and _shadowed(options):
            reporter.warn(f"CHAINQ_URL stands above the profile's URL: {mask_url(url)} is asked")
        url, dialect, names = url or profile.url, dialect or profile.dialect, profile.names
        rate = profile.rate if rate is None else rate
        timeout = profile.timeout if timeout is None else timeout
    if not url:
        raise UsageError(
            "no URL: where is the service?" if not options.profile else f"the profile {options.profile!r} has no url",
            "give --url URL, set CHAINQ_URL, choose a --profile of config.toml, or try --url demo:",
        )
    headers |= dict(values.header(header) for header in options.header or [])
    for name, value in (("--timeout", timeout), ("--rate", rate)):
        if value is not None and not values.fits(value):
            raise UsageError(f"{name} {value:g} is not between a millionth and a million")
    if options.dry_run and dialect == AUTO:
        from chainq.config import dialect_cache

        if dialect_cache.remembered(url) is None:
            raise UsageError("--dry-run sends nothing, so that the dialect cannot be found out", "say --dialect NAME")
    return Client(
        url,
        dialect=dialect or "chain",
        names=names,
        timeout=30.0 if timeout is None else timeout,
        retries=options.retries,
        rate=rate,
        headers=headers,
        concurrency=options.concurrency,
        report=reporter.call,
    )


def _shadowed(options: SourceOptions) -> bool:
    """Whether CHAINQ_URL stands above a profile that was named as a flag, which its user may not expect."""
    by_flag = options.profile and options.profile != os.environ.get("CHAINQ_PROFILE")
    return bool(by_flag) and options.url == os.environ.get("CHAINQ_URL")
