"""Connects: from options, environment and profile to a service (docs/reference.md, "Service and configuration")."""

import os
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from chainq.catalog import identifiers
from chainq.cli import log
from chainq.cli.report import Reporter
from chainq.config import values as config_values
from chainq.config.server import completed
from chainq.defaults import RETRIES
from chainq.errors import ChainqError, NotFoundError, UsageError
from chainq.fetching.service import Service
from chainq.heights.block_time import parse_age
from chainq.heights.range import chain_end
from chainq.process.signals import end_at
from chainq.transport.base import ServiceOptions

if TYPE_CHECKING:
    from chainq.cli.options import ServiceFlags


def service_options(given: "ServiceFlags") -> ServiceOptions:
    """Return what options and environment say of the service. Raises UsageError.

    Who follows, or says how many retries there are, is patient: they are made also if no connection was ever made.
    """
    url, profile = _named(given)
    until = None
    if given.deadline is not None:
        until = end_at(time.monotonic() + parse_age(given.deadline, "deadline"), given.deadline)
    return ServiceOptions(
        url=identifiers.url(url) if url else "",
        profile=profile,
        dialect=given.dialect,
        timeout=given.timeout,
        retries=RETRIES if given.retries is None else given.retries,
        rate=given.rate,
        concurrency=given.concurrency,
        max_memory=given.max_memory,
        headers=dict(map(_header, given.header or [])),
        cert=given.cert,
        patient=given.follow or given.retries is not None,
        strict=given.strict,
        lake=given.lake,
        run=log.RUN,
        until=until,
        deadline=given.deadline or "",
    )


def reporter(given: "ServiceFlags") -> Reporter:
    """Return what prints to stderr, as `--quiet` and `--verbose` say."""
    return Reporter(quiet=given.quiet, verbose=given.verbose)


def open_service(given: ServiceOptions, reporter: Reporter, make: Callable[..., Service] = Service) -> Service:
    """Return the service that options, environment and profile name, made by `make`. Raises UsageError."""
    options = completed(given)
    if not options.url:
        missing = f"profile {options.profile!r} has no url" if options.profile else "no service URL"
        raise UsageError(f"{missing}: pass --url URL, set CHAINQ_URL or a profile, or try --url demo:")
    return make(options, report=reporter.call, warn=reporter.warn, trace=reporter.trace)


def note_tip(error: NotFoundError, service: Service) -> None:
    """Add the tip to an error about a block that does not exist, if the service names it."""
    if error.missing and all(name.isdecimal() for name in error.missing):
        with suppress(ChainqError):
            error.add_note(chain_end(service.blocks.tip_height()))


def _named(given: "ServiceFlags") -> tuple[str, str | None]:
    """Return the URL and the profile that are named: an option takes precedence over the environment."""
    url = given.url or ""
    if not url and given.profile:
        from chainq.config import profiles

        if profiles.profile(given.profile, profiles.read()).url:
            return "", given.profile
    if not url and (url := os.environ.get("CHAINQ_URL", "")):
        with config_values.in_variable("CHAINQ_URL"):
            identifiers.url(url)
    return url, given.profile or os.environ.get("CHAINQ_PROFILE") or None


def _header(text: str) -> tuple[str, str]:
    """Return the name and the value of a header, the latter from the environment if it says so. Raises UsageError."""
    name, colon, value = text.partition(":")
    if not colon:
        raise UsageError("invalid --header: expected 'Name: value'")
    return config_values.header(name, config_values.from_environment(value.strip(), f"--header {name}"))
