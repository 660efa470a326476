"""What `chainq verify` compares, window by window, and its findings, as rows that every format can write."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec import Raw

from chainq.catalog.methods import Column, Kind, Schema
from chainq.heights.range import HeightRange


class Finding(NamedTuple):
    """One contradiction.

    `height`: of the wrong row, None if unknown. `command`: whose row it is, None if the file does not show that;
    several commands are separated by commas.
    `check`: the broken rule (docs/completeness.md, "What `chainq verify` checks"). `expected` and `found`: the correct
    and the actual value; None for nothing.
    `file`: of an export, to be removed and written again; None if no file is wrong.
    `end`: the height after the last one, if the finding is about several heights, or about one of them that is not
    known.
    """

    height: int | None
    command: str | None
    check: str
    expected: str | None
    found: str | None
    file: str | None = None
    end: int | None = None

    def encode(self) -> Raw:
        """Return the finding as a row."""
        return Raw(msgspec.json.encode(self._asdict()))


class Window(NamedTuple):
    """All rows of some heights, as Arrow tables, whatever they come from.

    `tables`: by command. `due`: what the full blocks among them explain (`explain.explain`), empty without any.
    `doubts`: why rows of a height may be missing, by command and height. `wrong`: findings about
    where the rows come from. `located`: adds the file to a finding. `compared`: of a second source, the heights whose
    rows it has been asked for.
    """

    heights: HeightRange
    tables: dict[str, Any]
    due: dict[str, Any]
    doubts: Mapping[tuple[str, int], str] = {}
    wrong: Sequence[Finding] = ()
    located: Callable[[Finding], Finding] = lambda one: one
    compared: Sequence[HeightRange] = ()


FINDINGS = Schema(
    command="verify",
    columns=(
        Column("height", "null or number", "first height that is wrong; null if unknown", Kind.HEIGHT, brief=True),
        Column("command", "null or string", "command whose rows show it, or several with commas", brief=True),
        Column("check", "string", "broken rule", brief=True),
        Column("expected", "null or string", "what should be there, or what the witness has", brief=True, folds=True),
        Column("found", "null or string", "what is there; null for nothing", brief=True, folds=True),
        Column("file", "null or string", "file of an export that is to be removed and written again"),
        Column("end", "null or number", "height after the last one, if several are wrong, or one of them", Kind.HEIGHT),
    ),
    height="height",
)
"""The rows of `chainq verify` in the form that formats take. No method of the service, so not in the catalogue."""


def by_height(finding: Finding) -> int:
    """Return the sort key of a finding; findings without a height sort first."""
    return -1 if finding.height is None else finding.height


def label(command: str, key: str) -> str:
    """Return a row in words, by its identity: `record au1...:0`."""
    return f"{command.removesuffix('s')} {key}"
