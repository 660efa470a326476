"""How help looks: Typer's plain help, with options and commands under headings, and in two tiers.

Without rich, which takes longer to load than most commands take to run.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from typer.core import TyperCommand, TyperGroup

if TYPE_CHECKING:
    from typer._click import Command, Context, HelpFormatter

FEW = 16  # options of a command whose help shows all of them
ALL = "--help-all"


class PlainCommand(TyperCommand):
    """A command with its options under the headings of their groups. `common`: those that --help shows of many."""

    common: Collection[str] = ()
    everything = False

    def parse_args(self, ctx: "Context", args: list[str]) -> list[str]:
        """Parse the command line."""
        self.everything = ALL in args
        return super().parse_args(ctx, ["--help"] if self.everything else args)

    @property
    def complete(self) -> bool:
        """Whether help shows all options and paragraphs."""
        return self.everything or len(self.params) <= FEW

    def collect_usage_pieces(self, ctx: "Context") -> list[str]:
        """Return the parts of the usage line after the command: options, then the arguments by their plain names."""
        arguments = [param for param in self.get_params(ctx) if param.param_type_name == "argument"]
        return ["[OPTIONS]", *(str(getattr(argument, "metavar", "")) for argument in arguments)]

    def format_help_text(self, _ctx: "Context", formatter: "HelpFormatter") -> None:
        """Write what it does, and examples."""
        paragraphs(formatter, (self.help or "").split("\n\n")[: None if self.complete else 1], self.epilog)

    def format_options(self, ctx: "Context", formatter: "HelpFormatter") -> None:
        """Write arguments and options, a section for each group."""
        rows = []
        for param in self.get_params(ctx):
            argument = param.param_type_name == "argument"
            if record := param.get_help_record(ctx) if argument or self.complete or param.name in self.common else None:
                heading = getattr(param, "rich_help_panel", None) or ("Arguments" if argument else "Options")
                rows.append((heading, *record))
        sections(formatter, rows)

    def format_epilog(self, _ctx: "Context", formatter: "HelpFormatter") -> None:
        """Write what shows more."""
        if not self.complete:
            formatter.write_paragraph()
            formatter.write_text(f"chainq {self.name} {ALL} shows every option.")


class PlainGroup(TyperGroup):
    """The program itself: knows the commands by name and purpose, and builds only the one that is called.

    `catalogue` maps each command to its heading, its purpose, and what builds it.
    """

    catalogue: Mapping[str, tuple[str, str, Callable[[], "Command"]]] = {}

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = dict.fromkeys(self.catalogue)  # type: ignore[assignment]  # only their names, in this order

    def get_command(self, _ctx: "Context", cmd_name: str) -> "Command | None":
        """Build one command; None if there is none of that name."""
        entry = self.catalogue.get(cmd_name)
        return entry[2]() if entry else None

    def format_help_text(self, _ctx: "Context", formatter: "HelpFormatter") -> None:
        """Write what it does, and examples."""
        paragraphs(formatter, [self.help or ""], self.epilog)

    def format_options(self, _ctx: "Context", formatter: "HelpFormatter") -> None:
        """Write the commands under their headings, without building them: the last line names the options."""
        width = max(map(len, self.catalogue))
        rows = ((heading, name.ljust(width), purpose) for name, (heading, purpose, _) in self.catalogue.items())
        sections(formatter, rows)

    def format_epilog(self, _ctx: Any, formatter: "HelpFormatter") -> None:
        """Write what shows more."""
        formatter.write_paragraph()
        formatter.write_text("chainq COMMAND --help explains a command; man chainq has the exit codes.")


def paragraphs(formatter: "HelpFormatter", texts: Iterable[str], examples: str | None) -> None:
    """Write paragraphs, and after the first one examples, whose lines are not wrapped, so that they can be copied."""
    first, *rest = texts
    with formatter.indentation():
        for text in (first, f"\b\n{examples}", *rest):  # Typer does not wrap what follows \b
            formatter.write_paragraph()
            formatter.write_text(text)


def sections(formatter: "HelpFormatter", rows: Iterable[tuple[str, str, str]]) -> None:
    """Write names and texts in two columns, each below its heading."""
    sections: dict[str, list[tuple[str, str]]] = {}
    for heading, name, text in rows:
        sections.setdefault(heading, []).append((name, text))
    for heading, pairs in sections.items():
        with formatter.section(heading):
            formatter.write_dl(pairs)
