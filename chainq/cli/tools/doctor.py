"""`chainq doctor`: examines a server, prints the findings as a table or as JSON, and prints them as a profile to paste.

What is examined, and what the findings mean, is in `chainq.doctor`.
"""

import json
import time
from collections.abc import Iterator, Sequence

import msgspec

from chainq.catalog.dialects import DIALECTS
from chainq.catalog.methods import BY_COMMAND
from chainq.cli import connect
from chainq.cli.output import as_json, write
from chainq.cli.report import Reporter
from chainq.cli.tool_options import DoctorCommand
from chainq.config import dialect_cache, profiles
from chainq.doctor.diagnosis import WORKS, Check, Diagnosis, diagnose
from chainq.doctor.prober import Prober
from chainq.options import ServiceOptions
from chainq.text.humanize import counted
from chainq.text.sanitize import mask_url
from chainq.text.width import aligned, terminal_width, wrap

WIDE = 79  # cells of a terminal from which on findings get a wide column


def run(given: DoctorCommand) -> None:
    """Examine the server that the options name and write the findings.

    Raises at the end the first error that keeps commands from working, for the exit code.
    """
    form = as_json(given)
    options = connect.service_options(given)
    reporter = Reporter(given)
    with connect.open_service(options, reporter) as service:
        url, headers = service.url, service.options.headers
        with Prober(service.options, reporter.call, service.transport) as prober:
            # The dialect is detected anew; the given or remembered one applies only if that fails.
            stated = DIALECTS.get(service.dialect.name, DIALECTS["chain"])
            diagnosis = diagnose(prober, url, stated, int(time.time()))
    if diagnosis.dialect is not None:
        dialect_cache.remember(url, diagnosis.dialect)
    new = diagnosis.dialect is not None and not service.options.profile
    profile = _profile(diagnosis, url, options, has_headers=bool(headers)) if new else ""
    write(_json(diagnosis) if form else _table(diagnosis) + profile)
    if said := profiles.hidden(profiles.read()):
        reporter.warn(said)
    for check in diagnosis.checks:
        if check.fault is not None:
            raise check.fault


def _json(diagnosis: Diagnosis) -> str:
    found = {
        "url": diagnosis.url,
        "dialect": diagnosis.dialect,
        "checks": [
            {"check": check.name, "finding": check.finding, "meaning": check.meaning, "ok": check.fault is None}
            for check in diagnosis.checks
        ],
    }
    return msgspec.json.encode(found).decode() + "\n"


def _table(diagnosis: Diagnosis) -> str:
    head = f"{diagnosis.url}  dialect {diagnosis.dialect or 'unknown'}, {counted(diagnosis.calls, 'request')}"
    lines = []
    for check in _folded(diagnosis.checks):
        meaning = "" if check.meaning == str(check.fault) else check.meaning  # stderr says it at the end
        lines.append(("!" if check.fault else "", check.name, check.finding, meaning))
    room = terminal_width()
    drawn = [*wrap(head, room), "", *aligned(lines, room, 24 if room >= WIDE else 14)]
    return "".join(f"{line}\n" for line in drawn)


def _folded(checks: Sequence[Check]) -> Iterator[Check]:
    """Yield the checks, those of methods with which all is well as one."""
    fine = [check for check in checks if check.name in BY_COMMAND and check.meaning == WORKS]
    for check in checks:
        if check not in fine:
            yield check
        elif check is fine[0]:
            yield Check("methods", f"{len(fine)} of {len(BY_COMMAND)}", "their commands work")


def _profile(diagnosis: Diagnosis, url: str, options: ServiceOptions, *, has_headers: bool) -> str:
    """Return an empty line and those of a profile for `config.toml`, without what may be secret: that the user adds."""
    secret = mask_url(url) != url
    values: dict[str, object] = {"url": None if secret else url, "dialect": diagnosis.dialect}
    values |= {"rate": options.rate, "timeout": options.timeout}
    lines = ["", f"# a profile, for {profiles.config_file()}", "[profiles.NAME]"]
    # A JSON string is a TOML one, except for DEL and for escaped pairs of surrogates.
    texts = {key: json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f") for key, value in values.items()}
    lines += [f"{key} = {text}" for key, text in texts.items() if values[key] is not None]
    lines += ['# url = "…": it has credentials'] * secret + ['# headers = { NAME = "env:VARIABLE" }'] * has_headers
    return "\n".join(lines) + "\n"
