"""`chainq doctor`: examines a server, prints the findings as a table or as JSON, and saves them as a profile.

What is examined, and what the findings mean, is in `chainq.doctor`.
"""

import time
from collections.abc import Mapping
from typing import Any

import msgspec

from chainq.catalog.dialects import DIALECTS
from chainq.cli import connect
from chainq.cli.report import Reporter
from chainq.config import dialect_cache, profiles
from chainq.doctor.diagnosis import Diagnosis, diagnose
from chainq.doctor.prober import Prober
from chainq.sinks.open import open_sink
from chainq.text.align import aligned
from chainq.text.humanize import counted
from chainq.text.sanitize import mask_url


def run(values: Mapping[str, Any]) -> None:
    """Examine the server that the options name and write the findings; `values` are those of the command line.

    `save` is the name of a profile to write. Raises UsageError before any call if there can be no such profile; at the
    end the first error that keeps commands from working, for the exit code.
    """
    settings, save = connect.settings(values), values["save"]
    if save is not None:
        profiles.check_new(save, profiles.read())
    reporter = connect.reporter(values)
    with connect.open_service(settings, reporter) as service:
        endpoint, url = service.connection.endpoint, service.url
        with Prober(endpoint, reporter.call) as prober:
            # The dialect is detected anew; the given or remembered one applies only if that fails.
            stated = DIALECTS.get(service.dialect_name, DIALECTS["chain"])
            diagnosis = diagnose(prober, url, stated, service.names, int(time.time()))
    if diagnosis.dialect is not None:
        dialect_cache.remember(url, diagnosis.dialect)
    with open_sink(None) as sink:
        sink.write((_json(diagnosis) if values["json"] else _table(diagnosis)).encode())
    if save is not None:
        _save(save, diagnosis, url, settings, bool(endpoint.headers), reporter)
    for check in diagnosis.checks:
        if check.fault is not None:
            raise check.fault


def _json(diagnosis: Diagnosis) -> str:
    found = {
        "url": diagnosis.url,
        "dialect": diagnosis.dialect,
        "checks": [
            {"check": check.name, "finding": check.finding, "meaning": check.meaning, "ok": check.ok}
            for check in diagnosis.checks
        ],
    }
    return msgspec.json.encode(found).decode() + "\n"


def _table(diagnosis: Diagnosis) -> str:
    head = f"{diagnosis.url}: dialect {diagnosis.dialect or 'unknown'}, {counted(diagnosis.calls, 'request')}"
    lines = [("" if check.ok else "!", check.name, check.finding, check.meaning) for check in diagnosis.checks]
    return aligned([(head,)], ()) + "\n" + aligned(lines, (1, 20, 28))


def _save(
    name: str,
    diagnosis: Diagnosis,
    url: str,
    settings: connect.ConnectionSettings,
    headers: bool,
    reporter: Reporter,
) -> None:
    """Write the profile without anything that may be secret, and warn of what is left out. Raises OutputError."""
    if diagnosis.dialect is None:
        reporter.warn(f"profile {name!r} was not saved: the server's dialect is unknown")
        return
    secret = mask_url(url) != url
    profile = profiles.Profile(
        None if secret else url, diagnosis.dialect, settings.rate, settings.timeout, names=diagnosis.names
    )
    path = profiles.add(name, profile)
    if not reporter.quiet:
        reporter.line(f"chainq: saved as --profile {name} in {path}")
    if secret:
        reporter.warn("the URL has credentials and was not saved: set CHAINQ_URL, or add url to the profile")
    if headers:
        reporter.warn('headers were not saved: add headers = { NAME = "env:VARIABLE" } to the profile')
