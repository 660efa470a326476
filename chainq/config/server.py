"""Chooses the server of a run: the passed options, completed from a profile in `config.toml`."""

import os
from urllib.parse import urlsplit

from chainq.catalog import identifiers
from chainq.config.proxy import proxy_of
from chainq.config.values import in_variable
from chainq.errors import UsageError
from chainq.options import ServiceOptions
from chainq.text.sanitize import keys_in


def completed(given: ServiceOptions) -> ServiceOptions:
    """Return `given` completed from the environment if it has neither a URL nor a profile, then from its profile, or
    from the default one if there is neither still. CHAINQ_URL is also that of a profile without a URL.

    The result names the profile that was read, and the proxy. The headers of a profile may be secrets, its certificate
    identifies a person, and its lake is of one chain, so they are used only for its own host. Raises UsageError for a
    missing profile, a mistake in the file, or a private or view key in what would be sent.
    """
    if given.url or given.profile:
        options = given._replace(url=given.url and identifiers.url(given.url))
    else:
        options = given._replace(url=_of_environment(), profile=os.environ.get("CHAINQ_PROFILE") or None)
    if options.profile or not options.url:
        options = _of_profile(options)
    advice = "it would be sent to the server: remove it from "
    if keys_in(options.url):
        raise UsageError("the URL contains a private or view key", advice + "--url, CHAINQ_URL or the profile")
    if any(keys_in(f"{name}: {value}") for name, value in options.headers.items()):
        raise UsageError("a header contains a private or view key", advice + "--header or the profile")
    return options._replace(lake=options.lake or None, proxy=proxy_of(options.url))


def is_profile(name: str) -> bool:
    """Return whether a profile has that name. A URL, or a path with a slash, is none."""
    from chainq.config import profiles

    return not {*name} & {*":/"} and name in profiles.read().profiles


def _of_environment() -> str:
    url = os.environ.get("CHAINQ_URL", "")
    with in_variable("CHAINQ_URL"):
        return url and identifiers.url(url)


def _of_profile(given: ServiceOptions) -> ServiceOptions:
    from chainq.config import profiles

    settings = profiles.read()
    profile = profiles.profile(given.profile, settings)
    trusted = not given.url or urlsplit(given.url)[:2] == urlsplit(profile.url or "")[:2]
    return given._replace(
        url=given.url or (profile.url or "").strip() or _of_environment(),
        profile=given.profile or settings.default,
        dialect=given.dialect or profile.dialect,
        rate=profile.rate if given.rate is None else given.rate,
        timeout=profile.timeout if given.timeout is None else given.timeout,
        headers={**(profile.headers if trusted else {}), **given.headers},
        cert=given.cert or (profile.cert if trusted else None),
        lake=given.lake or (profile.lake if trusted and given.lake is not None else None),
    )
