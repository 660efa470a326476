"""`chainq doctor`: examines a server, prints the findings as a table or as JSON, and saves them as a profile.

What is examined, and what the findings mean, is in `chainq.doctor`.
"""

import shutil
import time
from collections.abc import Iterator, Sequence
from shlex import quote

import msgspec

from chainq.catalog.dialects import DIALECTS
from chainq.catalog.methods import BY_COMMAND
from chainq.cli import connect
from chainq.cli.output import form_of
from chainq.cli.report import Reporter
from chainq.cli.tool_options import DoctorCommand
from chainq.config import dialect_cache, profile_writer, profiles
from chainq.doctor.diagnosis import Diagnosis, diagnose
from chainq.doctor.methods import WORKS
from chainq.doctor.prober import Check, Prober
from chainq.errors import UsageError
from chainq.sinks.open import open_sink
from chainq.text.align import aligned
from chainq.text.humanize import counted
from chainq.text.sanitize import mask_url
from chainq.text.spelling import spelled
from chainq.transport.base import ServiceOptions

WIDE = 79  # cells of a terminal from which on findings get a wide column


def run(given: DoctorCommand) -> None:
    """Examine the server that the options name and write the findings.

    `save` is the name of a profile to write. Raises UsageError before any call if there can be no such profile; at the
    end the first error that keeps commands from working, for the exit code.
    """
    form = form_of(given, "json")
    options, save = connect.service_options(given), given.save
    if given.default and save is None:
        raise UsageError("--default needs --save NAME")
    if save is not None:
        profile_writer.check_new(save, profiles.read())
    reporter = connect.reporter(given)
    with connect.open_service(options, reporter) as service:
        url, headers = service.url, service.options.headers
        with Prober(service.options, reporter.call, service.transport) as prober:
            # The dialect is detected anew; the given or remembered one applies only if that fails.
            stated = DIALECTS.get(service.dialect.name, DIALECTS["chain"])
            diagnosis = diagnose(prober, url, stated, service.dialect.names, int(time.time()))
    if diagnosis.dialect is not None:
        dialect_cache.remember(url, diagnosis.dialect)
    with open_sink(None, pager=reporter.warn) as sink:
        sink.write((_json(diagnosis) if form else _table(diagnosis)).encode())
        saved = save is not None and _save(given, diagnosis, url, options, bool(headers), reporter)
        if not form and diagnosis.dialect is not None:
            works = all(check.ok for check in diagnosis.checks if check.name in ("latest", "tip"))
            sink.write(_next(url, options, save if saved else None, default=given.default, works=works).encode())
    if said := profiles.hidden(profiles.read()):  # also one that has just become the default
        reporter.warn(said)
    for check in diagnosis.checks:
        if check.fault is not None:
            raise check.fault


def _json(diagnosis: Diagnosis) -> str:
    found = {
        "url": diagnosis.url,
        "dialect": diagnosis.dialect,
        "checks": [
            {"check": check.name, "finding": check.finding, "meaning": spelled(check.meaning), "ok": check.ok}
            for check in diagnosis.checks
        ],
    }
    return msgspec.json.encode(found).decode() + "\n"


def _table(diagnosis: Diagnosis) -> str:
    head = f"{diagnosis.url}  dialect {diagnosis.dialect or 'unknown'}, {counted(diagnosis.calls, 'request')}"
    lines = []
    for check in _folded(diagnosis.checks):
        meaning = "" if check.meaning == str(check.fault) else spelled(check.meaning)  # stderr says it at the end
        lines.append(("" if check.ok else "!", check.name, check.finding, meaning))
    wide = shutil.get_terminal_size().columns >= WIDE
    return aligned([(head,)], ()) + "\n" + aligned(lines, (1, 20, 28) if wide else (1, 15, 14))


def _folded(checks: Sequence[Check]) -> Iterator[Check]:
    """Yield the checks, those of methods with which all is well as one."""
    fine = [check for check in checks if check.name in BY_COMMAND and check.meaning == WORKS]
    for check in checks:
        if check not in fine:
            yield check
        elif check is fine[0]:
            yield Check("methods", f"{len(fine)} of {len(BY_COMMAND)}", "their commands work")


def _next(url: str, options: ServiceOptions, saved: str | None, *, default: bool, works: bool) -> str:
    """Return the commands to go on with, `works` if the tip can be shown; a URL with secrets is not repeated."""
    where = f" --profile {quote(options.profile)}" if options.profile else f" --url {quote(url)}"
    where = where if options.profile or mask_url(url) == url else ""
    if saved:
        where = "" if default else f" --profile {saved}"
    new = not saved and not options.profile
    commands = [f"chainq show latest{where}"] * works + [f"chainq doctor --save NAME --default{where}"] * new
    return "\n  ".join(["\nnext", *commands]) + "\n" if commands else ""


def _save(
    given: DoctorCommand, diagnosis: Diagnosis, url: str, options: ServiceOptions, has_headers: bool, reporter: Reporter
) -> bool:
    """Write the profile without anything that may be secret, and warn of what is left out; return whether there is one.

    Raises OutputError.
    """
    name = given.save or ""
    if diagnosis.dialect is None:
        reporter.warn(f"profile {name!r} was not saved: the server's dialect is unknown")
        return False
    secret = mask_url(url) != url
    values = None if secret else url, diagnosis.dialect, options.rate, options.timeout
    profile = profiles.Profile(*values, **diagnosis.names._asdict())
    path = profile_writer.add(name, profile, default=given.default)
    reporter.note(f"saved as {'the default profile' if given.default else '--profile'} {name} in {path}")
    if secret:
        reporter.warn("the URL has credentials and was not saved: set CHAINQ_URL, or add url to the profile")
    if has_headers:
        reporter.warn('headers were not saved: add headers = { NAME = "env:VARIABLE" } to the profile')
    return True
