"""Reads findings of `chainq verify` for an export: the partitions to rewrite."""

from pathlib import Path

import msgspec

from chainq.catalog.tables import TABLES
from chainq.errors import UsageError
from chainq.heights.range import HeightRange
from chainq.stored.inventory import REMOVES
from chainq.text.sanitize import printable


class _Finding(msgspec.Struct):
    """The needed fields of a finding; several commands have commas. If `repair` is null or
    removes files, no export can repair it."""

    command: str | None
    height: int | None
    repair: str | None = ""
    end: int | None = None


def read_findings(path: Path) -> frozenset[tuple[str, HeightRange]]:
    """Return the commands and heights that a file of findings names. Raises UsageError if none can be repaired."""
    places: set[tuple[str, HeightRange]] = set()
    removes = False
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise UsageError(f"cannot read {printable(str(path))}: {error.strerror}") from None
    for number, line in enumerate(lines, 1):
        try:
            finding = msgspec.json.decode(line, type=_Finding)
        except msgspec.DecodeError:
            raise UsageError(
                f"{printable(str(path))}: line {number} is not a finding as JSON",
                "chainq verify DEST -o findings.jsonl writes the file that --repair reads",
            ) from None
        if (finding.repair or "").startswith(REMOVES):
            removes = True
        elif finding.height is not None and finding.repair is not None:
            heights = HeightRange(finding.height, max(finding.height + 1, finding.end or 0))
            places |= {(name, heights) for name in (finding.command or "").split(",") if name in TABLES}
    if not places:
        hint = "run the commands in repair, which remove files" if removes else ""
        raise UsageError(f"{printable(str(path))} has no finding that an export can repair", hint)
    return frozenset(places)
