"""Connects: from options, environment and profile to a service (docs/reference.md, "Service and configuration")."""

import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from chainq.cli.report import Reporter
from chainq.config.server import completed
from chainq.errors import ChainqError, NotFoundError, UsageError
from chainq.fetching.service import Service
from chainq.heights.block_time import parse_age
from chainq.heights.range import chain_end
from chainq.options import ServiceOptions
from chainq.process.signals import end_at
from chainq.transport.base import Report

if TYPE_CHECKING:
    from chainq.cli.options import ServiceFlags


def service_options(given: "ServiceFlags") -> ServiceOptions:
    """Return what options say of the service, each in the field of its name. Raises UsageError.

    Who follows, or says how many retries there are, is patient: they are made also if no connection was ever made.
    """
    fields = {*ServiceOptions._fields} - {"until"}  # that of a command is a block time
    stated = {name: value for name in fields if (value := getattr(given, name, None)) is not None}
    patient = given.follow or given.retries is not None
    options = ServiceOptions(**stated)._replace(headers=dict(given.header or ()), patient=patient)
    if not options.deadline:
        return options
    return options._replace(until=end_at(time.monotonic() + parse_age(options.deadline, "deadline"), options.deadline))


def open_service(given: ServiceOptions, reporter: Reporter, call: Callable[[Report], None] | None = None) -> Service:
    """Return the service that options, environment and profile name. Raises UsageError.

    `call`: hears of its calls, instead of the reporter.
    """
    options = completed(given)
    if not options.url:
        what = f"profile {given.profile!r} has no url" if given.profile else "no service URL"
        raise UsageError(f"{what}: pass --url URL, set CHAINQ_URL or a profile, or try --url demo:")
    return Service(options, report=call or reporter.call, warn=reporter.warn, trace=reporter.trace)


def note_tip(error: NotFoundError, service: Service) -> None:
    """Add the tip to an error about a block that does not exist, if the service names it."""
    if error.missing and all(name.isdecimal() for name in error.missing):
        with suppress(ChainqError):
            error.add_note(chain_end(service.blocks.tip_height()))
