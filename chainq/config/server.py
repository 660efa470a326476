"""Chooses the server of a run: the passed options, completed from a profile in `config.toml`."""

from chainq.transport.base import ServiceOptions


def completed(given: ServiceOptions) -> ServiceOptions:
    """Return `given` completed from its profile, or from the default one if `given` has neither a URL nor a profile.

    The result names the profile that was read. Its headers may be secrets, its certificate identifies a person, and its
    lake is of one chain, so they are used only for its own host. Raises UsageError for a missing profile or a mistake
    in the file.
    """
    if given.url and not given.profile:
        return given if given.lake != "" else given._replace(lake=None)
    from chainq.config import profiles

    settings = profiles.read()
    found = profiles.profile(given.profile, settings)
    trusted = not given.url or profiles.same_host(given.url, found.url or "")
    return given._replace(
        url=given.url or found.url or "",
        profile=given.profile or settings.default,
        dialect=given.dialect or found.dialect,
        rate=found.rate if given.rate is None else given.rate,
        timeout=found.timeout if given.timeout is None else given.timeout,
        headers={**(found.headers if trusted else {}), **given.headers},
        cert=given.cert or (found.cert if trusted else None),
        lake=given.lake or (found.lake if trusted and given.lake is not None else None),
        names=found.names,
    )
