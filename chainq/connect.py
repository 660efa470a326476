"""From flags, environment and profile to a client (cli.md, "Where the data comes from")."""

from chainq import checks
from chainq.client import Client
from chainq.dialects import AUTO, Names
from chainq.errors import UsageError
from chainq.options import SourceOptions
from chainq.report import Reporter


def open_client(options: SourceOptions, reporter: Reporter) -> Client:
    """The client that flags, environment and profile ask for. Raises UsageError."""
    url, dialect, rate, timeout = options.url, options.dialect, options.rate, options.timeout
    names: Names | None = None
    headers: dict[str, str] = {}
    if options.profile or not url:
        from chainq import config

        profile = config.profile(options.profile, config.read())
        # A profile's headers may be secrets: they go to the profile's own host only.
        if not url or config.same_host(url, profile.url or ""):
            headers = dict(profile.headers)
        url, dialect, names = url or profile.url, dialect or profile.dialect, profile.names
        rate = profile.rate if rate is None else rate
        timeout = profile.timeout if timeout is None else timeout
    if not url:
        raise UsageError(
            "no URL: where is the service?",
            "give --url URL, set CHAINQ_URL, choose a --profile of config.toml, or try --url demo:",
        )
    headers |= dict(checks.header(header) for header in options.header or [])
    for name, value in (("--timeout", timeout), ("--rate", rate)):
        if value is not None and not 1e-6 < value < 1e6:
            raise UsageError(f"{name} {value:g} is not between a millionth and a million")
    if options.dry_run and dialect == AUTO:
        from chainq import detect

        if detect.remembered(url) is None:
            raise UsageError("--dry-run sends nothing, so that the dialect cannot be found out", "say --dialect NAME")
    return Client(
        url if options.no_check else checks.url(url),
        dialect=dialect or "chain",
        names=names,
        timeout=30.0 if timeout is None else timeout,
        retries=options.retries,
        rate=rate,
        headers=headers,
        concurrency=options.concurrency,
        report=reporter.call,
    )
