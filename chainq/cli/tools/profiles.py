"""`chainq profiles`: what the configuration file names."""

from typing import TYPE_CHECKING

import msgspec

from chainq.catalog.dialects import AUTO
from chainq.cli.output import as_json, write
from chainq.cli.report import Reporter
from chainq.config import profiles as configured
from chainq.text.sanitize import mask_url
from chainq.text.width import aligned

if TYPE_CHECKING:
    from chainq.cli.options import ReportOptions


def run(given: "ReportOptions") -> None:
    """Print the profiles in config.toml as a table or a JSON array; of headers only the names. Raises UsageError,
    also after them if none of them is the default one."""
    settings = configured.read()
    if hidden := configured.hidden(settings):
        Reporter().warn(hidden)
    rows = []
    for name, one in settings.profiles.items():
        url = mask_url(one.url) if one.url else None
        rows.append((name, url, one.dialect or AUTO, list(one.headers), name == settings.default))
    keys = ("name", "url", "dialect", "headers", "default")
    if as_json(given):
        write(msgspec.json.encode([dict(zip(keys, row, strict=True)) for row in rows]).decode() + "\n")
    elif rows:
        lines = [
            (name, url or "-", dialect, ", ".join(headers) or "-", "*" if default else "")
            for name, url, dialect, headers, default in rows
        ]
        write("".join(f"{line}\n" for line in aligned([keys, *lines])))
    else:
        Reporter().warn(f"no profiles in {settings.path}")
    configured.check_default(settings)
