"""Connects: from options, environment and profile to a service (docs/reference.md, "Service and configuration")."""

import os
import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from chainq.catalog import identifiers
from chainq.cli import log
from chainq.cli.report import Reporter
from chainq.config import values as config_values
from chainq.config.server import completed
from chainq.defaults import RETRIES
from chainq.errors import ChainqError, NotFoundError, Shortfall, UsageError, sentences
from chainq.fetching.service import Service
from chainq.heights.block_time import parse_age
from chainq.process.signals import end_at
from chainq.text.humanize import chain_end
from chainq.text.sanitize import mask_url, printable
from chainq.transport.base import ServiceOptions

if TYPE_CHECKING:
    from chainq.cli.options import ServiceFlags

_MOST_NAMED = 5  # profiles


def service_options(
    given: "ServiceFlags", *, patient: bool = False, strict: bool = False, lake: str | None = None
) -> ServiceOptions:
    """Return what options and environment say of the service. `patient`, `strict`, `lake`: as there. Raises UsageError.

    Who says how many retries there are is patient as well: they are made also if no connection was ever made.
    """
    return ServiceOptions(
        url=_url(given.url) if given.url and not _outranked(given) else "",
        profile=given.profile,
        dialect=given.dialect,
        timeout=None if given.timeout is None else config_values.checked_number("--timeout", given.timeout),
        retries=RETRIES if given.retries is None else given.retries,
        rate=None if given.rate is None else config_values.checked_number("--rate", given.rate),
        concurrency=given.concurrency,
        max_memory=config_values.memory(given.max_memory),
        headers=dict(map(_header, given.header or [])),
        cert=given.cert,
        patient=patient or given.retries is not None,
        strict=strict,
        lake=lake,
        run=log.RUN,
        until=None if given.deadline is None else end_at(_from_now(given.deadline), given.deadline),
        deadline=given.deadline or "",
    )


def reporter(given: "ServiceFlags") -> Reporter:
    """Return what prints to stderr, as `--quiet`, `--verbose` and `--log-format` say. Raises UsageError."""
    log.use(given.log_format)
    return Reporter(quiet=given.quiet, verbose=given.verbose)


def open_service(given: ServiceOptions, reporter: Reporter, make: Callable[..., Service] = Service) -> Service:
    """Return the service that options, environment and profile name, made by `make`. Raises UsageError."""
    options = completed(given)
    if not options.url:
        missing = f"profile {options.profile!r} has no url" if options.profile else "no service URL"
        raise UsageError(missing, _ways_to_a_url(options))
    return make(options, report=reporter.call, warn=reporter.warn, trace=reporter.trace)


def _ways_to_a_url(options: ServiceOptions) -> str:
    """Return how to name the service: profiles that exist, and other ways."""
    from chainq.config import profiles

    parts, settings, lake = list[str](), profiles.read(), options.lake
    names = [shlex.quote(printable(name)) for name, one in settings.profiles.items() if one.url]
    if options.profile:
        table = f"[profiles.{printable(options.profile)}] in {settings.path}"
        parts.append(f'add url = "URL" to {table}, pass --url URL or set CHAINQ_URL')
    elif names:
        others = f" ({', '.join(names[:_MOST_NAMED])}{', …' * (len(names) > _MOST_NAMED)})"
        named = f"--profile {f'NAME{others}' if len(names) > 1 else names[0]}"
        parts.append(f"pass --url URL or {named}, or set CHAINQ_URL")
    else:
        parts.append(f"pass --url URL, set CHAINQ_URL or a profile{'' if lake else ', or try --url demo:'}")
    if lake:
        parts.append(f"--url {shlex.quote(lake)} reads the export without a service")
    return sentences(*parts)


def suffix(given: "ServiceFlags") -> str:
    """Return the options that lead other commands to the same service: those that are not in the environment.

    A URL with secrets is left out.
    """
    url = given.url if given.url and mask_url(given.url) == given.url else None
    options = (("url", url), ("profile", given.profile), ("dialect", given.dialect))
    return "".join(
        f" --{option} {shlex.quote(value)}"
        for option, value in options
        if value and value != os.environ.get(f"CHAINQ_{option.upper()}")
    )


def note_tip(error: NotFoundError, service: Service) -> None:
    """Add the tip to an error about a block that does not exist, if the service names it."""
    if error.missing and all(name.isdecimal() for name in error.missing):
        with suppress(ChainqError):
            error.add_note(chain_end(service.blocks.tip_height()))


def warn_of_belief(
    believed: Mapping[str, object],
    reporter: Reporter,
    *,
    limited: bool = False,
    hint: str = "; --strict makes this an error",
    behind: Callable[[int], Sequence[str]] = lambda _: (),
) -> None:
    """Say once a run which rows rest on belief: of which command, and at which heights or where in its list.

    `limited`: the run ended at its limit, and claims no rows beyond. `behind`: returns what to do if a server lacks
    rows from a height on.
    """
    if believed:
        from chainq.fetching.unproved import unproved
        from chainq.heights.height_set import HeightSet

        last = max(
            (heights.start for one in believed.values() if isinstance(one, HeightSet) for heights in one), default=None
        )
        advice = () if last is None else behind(last)
        reporter.warn(Shortfall(f"{sentences(unproved(believed, limited=limited), *advice)}{hint}"))


def warn_of_unhashed(unhashed: Mapping[str, int], reporter: Reporter) -> None:
    """Say once a run what `--hashes` could not check."""
    if unhashed:
        from chainq.text.humanize import counts

        reporter.warn(Shortfall(f'not checked: {counts(unhashed.items())} (docs/hashes.md, "What is not checked")'))


def _from_now(deadline: str) -> float:
    return time.monotonic() + parse_age(deadline, "deadline")


def _url(text: str) -> str:
    """Return the URL of an option or of the environment. Raises UsageError, which names the variable."""
    try:
        return identifiers.url(text)
    except UsageError as error:
        if text == os.environ.get("CHAINQ_URL"):
            error.message = f"CHAINQ_URL: {error.message.replace('--url ', 'CHAINQ_URL=')}"
        raise


def _header(text: str) -> tuple[str, str]:
    """Return the name and the value of a header, the latter from the environment if it says so. Raises UsageError."""
    name, value = config_values.header(text)
    return config_values.checked_header(name, config_values.from_environment(value, f"--header {name}"))


def _outranked(given: "ServiceFlags") -> bool:
    """Return whether the URL of `--profile NAME` takes precedence over CHAINQ_URL: an option over the environment."""
    if not given.profile_first:
        return False
    from chainq.config import profiles

    return profiles.profile(given.profile, profiles.read()).url is not None
