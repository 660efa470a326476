"""From flags, environment and profile to a client (cli.md, "Where the data comes from")."""

from chainq import checks
from chainq.client import Client
from chainq.dialects import DIALECTS
from chainq.errors import UsageError
from chainq.options import SourceOptions
from chainq.report import Reporter


def open_client(options: SourceOptions, reporter: Reporter) -> Client:
    """The client that flags, environment and profile ask for. Raises UsageError."""
    from chainq import config

    url = options.url
    profile = config.profile(options.profile, config.read()) if options.profile or not url else config.Profile()
    # A profile's headers may be secrets: they go to the profile's own host only.
    headers = dict(profile.headers) if not url or config.same_host(url, profile.url or "") else {}
    url = url or profile.url
    if not url:
        raise UsageError(
            "no URL: where is the service?",
            "give --url URL, set CHAINQ_URL, choose a --profile of config.toml, or try --url demo:",
        )
    headers |= dict(checks.header(header) for header in options.header or [])
    dialect = options.dialect or profile.dialect or "chain"
    if dialect not in DIALECTS:
        raise UsageError(f"there is no dialect {dialect!r}", f"the dialects are {', '.join(DIALECTS)}")
    timeout = options.timeout if options.timeout is not None else profile.timeout
    rate = options.rate if options.rate is not None else profile.rate
    for name, value in (("--timeout", timeout), ("--rate", rate)):
        if value is not None and not 0 < value < 1e9:
            raise UsageError(f"{name} {value:g} is no number above 0")
    return Client(
        url if options.no_check else checks.url(url),
        dialect=dialect,
        timeout=30.0 if timeout is None else timeout,
        retries=options.retries,
        rate=rate,
        headers=headers,
        concurrency=options.concurrency,
        report=reporter.call,
    )
