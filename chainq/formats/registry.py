"""Finds formats by name: entry points of the group `chainq.formats`, of this package and of all others.

Any package adds a format with an entry point of that group, `name = "module:attribute"`; the attribute is what
`chainq.formats.protocol` describes. `chart` is found in this way too, as the proof that the protocol suffices.
"""

from importlib import import_module
from typing import cast

from chainq.errors import UsageError
from chainq.formats.protocol import Format
from chainq.text.sanitize import quoted

GROUP = "chainq.formats"
# Entry points as well; listed here because a search through the metadata of all packages would slow down every start.
BUILT_IN = {
    "table": "chainq.formats.table:Table",
    "jsonl": "chainq.formats.jsonl:Jsonl",
    "json": "chainq.formats.json:Json",
    "csv": "chainq.formats.csv:Csv",
    "text": "chainq.formats.csv:Text",
    "tsv": "chainq.formats.csv:Tsv",
    "parquet": "chainq.formats.parquet:Parquet",
}

_OTHERS = {".ndjson": "jsonl", ".txt": "text"}
EXTENSIONS = {f".{name}": name for name in ("jsonl", "json", "csv", "tsv", "parquet")} | _OTHERS
"""The format of a file if no option names one."""


def names() -> list[str]:
    """Return the names of all formats, built-in ones first."""
    from importlib.metadata import entry_points

    others = {entry.name for entry in entry_points(group=GROUP)} - BUILT_IN.keys()
    return [*BUILT_IN, *sorted(others)]


def load(name: str) -> Format:
    """Return the format of that name. Raises UsageError if there is none, or its package cannot be imported."""
    if location := BUILT_IN.get(name):
        module, _, attribute = location.partition(":")
        return cast("Format", getattr(import_module(module), attribute))
    from importlib.metadata import entry_points

    found = list(entry_points(group=GROUP, name=name))
    if not found:
        raise UsageError(f"unknown format {quoted(name)}: expected one of {', '.join(names())}")
    try:
        return cast("Format", found[0].load())
    except Exception as error:  # code of another package can raise anything
        raise UsageError(f"cannot load the format {quoted(name)} from {found[0].value}: {error}") from None
