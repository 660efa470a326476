"""What `chainq help chart` prints: what each command's chart draws, as the format itself decides it."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from chainq.catalog import owned
from chainq.catalog.methods import METHODS, Column, Method, height_of, is_charted
from chainq.cli.help import sections, wrapped
from chainq.formats.chart import Subject, drawable, subject_of
from chainq.formats.chart_result import DRAWS
from chainq.formats.protocol import OutputSpec
from chainq.verify.findings import FINDINGS

if TYPE_CHECKING:
    from typer._click import HelpFormatter


def write(formatter: "HelpFormatter") -> None:
    """Write what is drawn of each command, with its unit, and the columns that `--columns` can name instead."""
    methods = [*(method for method in METHODS if is_charted(method)), owned.listed(), FINDINGS]
    wrapped(
        formatter,
        "--format chart draws one value over block height, after the last row. If several blocks share a column of "
        "the chart, it shows their mean. chainq sql draws two columns of a result: " + DRAWS + ".",
    )
    sections(formatter, _grouped("Chart", [(method, _titled(subject_of(_spec(method)))) for method in methods]))
    columns = [(method, ", ".join(_listed(method))) for method in methods]
    sections(formatter, _grouped("Columns that --columns NAME draws instead", columns))


def _grouped(heading: str, texts: list[tuple[Method, str]]) -> Iterator[tuple[str, str, str]]:
    """Yield the rows of a section, one for all commands with the same text."""
    commands: dict[str, list[str]] = {}
    for method, text in texts:
        commands.setdefault(text, []).append(method.command)
    for text, names in commands.items():
        if text:
            yield heading, ", ".join(names), text


def _spec(method: Method, *selected: Column) -> OutputSpec:
    return OutputSpec(method.command, selected or method.columns, bool(selected), height_of(method))


def _listed(method: Method) -> Iterator[str]:
    """Yield the columns that a chart can draw, with their units."""
    for column in drawable(method.columns, height_of(method)):
        unit = subject_of(_spec(method, column)).unit
        yield f"{column.path}\N{NO-BREAK SPACE}({unit})" if unit else column.path


def _titled(subject: Subject) -> str:
    return subject.title if subject.title.startswith(subject.unit) else f"{subject.title} ({subject.unit})"
