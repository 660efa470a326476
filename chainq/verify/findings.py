"""The findings of `chainq verify`, as rows that every format can write."""

import shlex
from collections.abc import Mapping
from typing import NamedTuple

import msgspec
from msgspec import Raw

from chainq.catalog.methods import BY_COMMAND, Column, Kind, Method
from chainq.heights.range import HeightRange


class Finding(NamedTuple):
    """One contradiction.

    `height`: of the wrong row, None if unknown. `command`: whose row it is, None if the file does not show that;
    several commands are separated by commas.
    `check`: the broken rule, one of CHECKS. `expected` and `found`: the correct and the actual value; None for nothing.
    `repair`: the command that fetches the rows of that height again, or removes a misplaced file; None if unknown.
    `end`: the height after the last one, if the finding is about several heights, or about one of them that is not
    known.
    """

    height: int | None
    command: str | None
    check: str
    expected: str | None
    found: str | None
    repair: str | None
    end: int | None = None

    def encode(self) -> Raw:
        """Return the finding as a row."""
        return Raw(msgspec.json.encode(self._asdict()))


class Contradiction(NamedTuple):
    """A finding without a position: the broken rule, the expected and the actual value.

    `heights`: how many heights are wrong, from the one of the finding on.
    """

    check: str
    expected: str | None
    found: str | None
    heights: int = 1


Located = tuple[int | None, Contradiction]
"""What is wrong at a height, None if that is not known."""


class Repair(NamedTuple):
    """Makes findings with the command that fetches their rows again. `url`: of the service, empty to leave it to
    settings."""

    url: str = ""

    def of_command(self, command: str, height: int | None, contradiction: Contradiction) -> Finding:
        """Return a finding about rows of a command, with a shell command line if one can repair it."""
        if height is None or contradiction.check in (ANCHOR, ORDER) or command not in BY_COMMAND:
            return Finding(height, command or None, *contradiction[:3], None)
        end = height + contradiction.heights
        where = f"--start {height} --end {end}" if BY_COMMAND[command].ranged else str(height)
        url = f" --url {shlex.quote(self.url)}" if self.url else ""
        return Finding(height, command, *contradiction[:3], f"chainq {command} {where}{url}")


class Step(NamedTuple):
    """The findings in some rows, their heights, and how many rows were read, by command."""

    heights: HeightRange
    findings: list[Finding]
    rows: Mapping[str, int]


ANCHOR, ORDER = "anchor", "order"
CHECKS = {
    "missing": "a row, a block or a file that must be there is not",
    "doubled": "a row appears more than once",
    "unexpected": "a row that its block does not explain",
    "misplaced": "a row of another block, or the file of another partition",
    "altered": "a field differs from the same field elsewhere: in the full block, another method or the service",
    "link": "a block does not contain the hash of the previous block",
    "time": "a block is older than the previous block",
    "round": "a block has a lower round than the previous block",
    "checksum": "an ID has a wrong bech32 checksum",
    "hash": "a block hash does not match the header of its block",
    "root": "a root does not match the contents of its block",
    "id": "the ID of a transaction or transition does not match its contents",
    "value": "the ID of an input or output does not match its value",
    ANCHOR: "the block of --anchor has another hash, or the blocks below it do not lead to it",
    "count": "the transactions of a block are not numbered from 0 without gaps",
    "invalid": "a file or row cannot be read, or a file is not as it was written",
    "unproved": "the rows of a height cannot be proved complete",
    "differs": "the service of --witness has another row",
    "foreign": "a file that chainq export did not write, but that readers of the folder take for data",
    ORDER: "rows are not in order of height",
}
"""The values of `check`, each in words."""

FINDINGS = Method(
    command="verify",
    name="",
    group="Tools",
    purpose="find missing, duplicate, altered and misplaced rows",
    columns=(
        Column("height", "null or number", "first height that is wrong; null if unknown", Kind.HEIGHT, brief=True),
        Column("command", "null or string", "command whose rows show it, or several with commas", brief=True),
        Column("check", "string", "broken rule", brief=True),
        Column("expected", "null or string", "what should be there, or what the witness has", brief=True, folds=True),
        Column("found", "null or string", "what is there; null for nothing", brief=True, folds=True),
        Column("repair", "null or string", "command that fetches the row again, or replaces the file"),
        Column("end", "null or number", "height after the last one, if several are wrong, or one of them", Kind.HEIGHT),
    ),
    height="height",
)
"""The rows of `chainq verify` in the form that formats take. No method of the service, so not in the catalogue."""


def by_height(finding: Finding) -> int:
    """Return the sort key of a finding; findings without a height sort first."""
    return -1 if finding.height is None else finding.height


def label(command: str, key: tuple[str, ...]) -> str:
    """Return a row in words, by its identity: `record au1...:0`."""
    return f"{command.removesuffix('s')} {':'.join(key)}"
