"""`chainq profiles`: the profiles in config.toml."""

from typing import TYPE_CHECKING

import msgspec

from chainq.catalog.dialects import AUTO
from chainq.cli.output import as_json
from chainq.cli.report import Reporter
from chainq.config import profiles
from chainq.sinks.open import open_sink
from chainq.text.align import aligned
from chainq.text.sanitize import mask_url

if TYPE_CHECKING:
    from chainq.cli.options import ReportOptions


def run(given: "ReportOptions") -> None:
    """Print the profiles in config.toml as a table or a JSON array; of headers only the names. Raises UsageError."""
    settings = profiles.read()
    if hidden := profiles.hidden(settings):
        Reporter().warn(hidden)
    found = []
    for name, one in settings.profiles.items():
        url = mask_url(one.url) if one.url else None
        found.append((name, url, one.dialect or AUTO, list(one.headers), name == settings.default))
    keys = ("name", "url", "dialect", "headers", "default")
    if as_json(given):
        text = msgspec.json.encode([dict(zip(keys, row, strict=True)) for row in found]).decode() + "\n"
    elif found:
        lines = [
            (name, url or "-", dialect, ", ".join(headers) or "-", "*" if default else "")
            for name, url, dialect, headers, default in found
        ]
        text = "".join(f"{line}\n" for line in aligned([keys, *lines]))
    else:
        text = ""
        Reporter().warn(f"no profiles in {settings.path}")
    with open_sink(None) as sink:
        sink.write(text.encode())
