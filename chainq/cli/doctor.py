"""`chainq doctor`: asks a server what it is, says so in a table or as JSON, and saves it as a profile.

What is asked and what the answers mean is in `diagnosis`; here are only its beginning and its end.
"""

import time
from collections.abc import Mapping
from typing import Any

import msgspec

from chainq.catalog.dialects import DIALECTS
from chainq.cli import connect
from chainq.cli.report import Reporter
from chainq.config import dialect_cache, profiles
from chainq.doctor.diagnosis import Diagnosis, examine
from chainq.doctor.prober import Asker
from chainq.errors import UsageError
from chainq.sinks.open import open_sink
from chainq.text.align import aligned
from chainq.text.humanize import counted
from chainq.text.sanitize import mask_url


def run(values: Mapping[str, Any]) -> None:
    """Examine the server that the options name and write what was found; `values` are those of the command line.

    `save` is the name of a profile to write. Raises UsageError before any call where that cannot be; and at the end the
    first error that keeps the server from being used, so that the exit code says it.
    """
    settings, save = connect.settings(values), values["save"]
    if settings.dry_run:
        raise UsageError("doctor has no --dry-run: what it asks depends on what was answered")
    if save is not None:
        profiles.check_new(save, profiles.read())
    reporter = connect.reporter(values)
    with connect.open_service(settings, reporter) as service:
        endpoint, url = service.connection.endpoint, service.url
        with Asker(endpoint, reporter.call) as asker:
            # Found out anew, whatever was said or remembered; that is only what to go by where nothing decides.
            stated = DIALECTS.get(service.dialect_name, DIALECTS["chain"])
            diagnosis = examine(asker, url, stated, service.names, int(time.time()))
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
    head = f"{diagnosis.url}: dialect {diagnosis.dialect or 'unknown'}, {counted(diagnosis.calls, 'call')}"
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
    """Write the profile, without anything that may be secret, and say what was left out. Raises OutputError."""
    if diagnosis.dialect is None:
        reporter.warn(f"profile {name!r} is not saved: the server's dialect is not known")
        return
    secret = mask_url(url) != url
    profile = profiles.Profile(
        None if secret else url, diagnosis.dialect, settings.rate, settings.timeout, names=diagnosis.names
    )
    place = profiles.add(name, profile)
    if not reporter.quiet:
        reporter.line(f"chainq: saved as --profile {name} in {place}")
    if secret:
        reporter.warn("the URL holds credentials and was left out: give it with CHAINQ_URL, or write it there")
    if headers:
        reporter.warn('headers were left out: write them there as headers = { NAME = "env:VARIABLE" }')
