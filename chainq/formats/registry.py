"""What a format is, and how one is found.

A format is a callable, `(out, sheet) -> Writer`, under a name in the entry-point group `chainq.formats`; another
package adds one by naming its own there. It gets rows as the server's own bytes and writes bytes to `out`; it knows of
no network, no heights and no files.
"""

from importlib import import_module
from typing import cast

from chainq.errors import UsageError
from chainq.formats.protocol import Format

BUILT_IN = {
    "table": "chainq.formats.table:Table",
    "jsonl": "chainq.formats.jsonl:Jsonl",
    "json": "chainq.formats.json:Json",
    "csv": "chainq.formats.csv:Csv",
    "chart": "chainq.formats.chart:Chart",
    "parquet": "chainq.formats.parquet:Parquet",
}
GROUP = "chainq.formats"


def names() -> list[str]:
    """The names of all formats, built-in ones first."""
    from importlib.metadata import entry_points

    others = {entry.name for entry in entry_points(group=GROUP)} - BUILT_IN.keys()
    return [*BUILT_IN, *sorted(others)]


def load(name: str) -> Format:
    """The format of that name. Raises UsageError where there is none, or where its package cannot be imported."""
    if place := BUILT_IN.get(name):  # without a search through the metadata of all packages
        module, _, attribute = place.partition(":")
        return cast("Format", getattr(import_module(module), attribute))
    from importlib.metadata import entry_points

    found = list(entry_points(group=GROUP, name=name))
    if not found:
        raise UsageError(f"there is no format {name!r}", f"the formats are {', '.join(names())}")
    try:
        return cast("Format", found[0].load())
    except Exception as error:  # another package's code: whatever it raises, the user hears which one it is
        raise UsageError(f"the format {name!r} of {found[0].value} cannot be loaded: {error}") from None
