"""How help looks: Typer's commands with options and commands under headings, drawn without rich (which takes longer
to load than most commands to run).
"""

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from typer.core import TyperCommand, TyperGroup

from chainq.errors import UsageError

if TYPE_CHECKING:
    from typer._click import Command, Context, HelpFormatter


class PlainCommand(TyperCommand):
    """A command whose options stand under the headings of their groups, and whose closing lines are not re-wrapped."""

    def format_options(self, ctx: "Context", formatter: "HelpFormatter") -> None:
        """Write arguments and options, a section for each group."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None:
                usual = "Arguments" if param.param_type_name == "argument" else "Options"
                sections.setdefault(getattr(param, "rich_help_panel", None) or usual, []).append(record)
        for heading, records in sections.items():
            with formatter.section(heading):
                formatter.write_dl(records)

    def format_epilog(self, _ctx: "Context", formatter: "HelpFormatter") -> None:
        """Write the closing lines as they are."""
        if self.epilog:
            formatter.write("\n" + self.epilog.rstrip() + "\n")


class PlainGroup(TyperGroup):
    """The program itself: knows the commands by name and purpose, and builds only the one that is called.

    `catalogue` maps each command to its heading, its purpose, and what builds it.
    """

    catalogue: Mapping[str, tuple[str, str, Callable[[], "Command"]]] = {}

    def list_commands(self, _ctx: "Context") -> list[str]:
        """All commands, in the order of the catalogue."""
        return list(self.catalogue)

    def get_command(self, _ctx: "Context", cmd_name: str) -> "Command | None":
        """Build one command, or give None where there is none of that name."""
        entry = self.catalogue.get(cmd_name)
        return entry[2]() if entry else None

    def resolve_command(self, ctx: "Context", args: list[str]) -> "tuple[str | None, Command | None, list[str]]":
        """Find the command, or say which ones are near."""
        name = args[0]
        if name not in self.catalogue and not name.startswith("-") and not ctx.resilient_parsing:
            near = get_close_matches(name, self.catalogue, 3, 0.5)
            hint = f"did you mean {' or '.join(near)}?" if near else "chainq --help lists them"
            raise UsageError(f"there is no command {name!r}", hint)
        return super().resolve_command(ctx, args)

    def format_commands(self, _ctx: "Context", formatter: "HelpFormatter") -> None:
        """Write the commands under their headings, without building them."""
        width = max(map(len, self.catalogue))
        headings: dict[str, list[tuple[str, str]]] = {}
        for name, (heading, purpose, _) in self.catalogue.items():
            headings.setdefault(heading, []).append((name.ljust(width), purpose))
        for heading, rows in headings.items():
            with formatter.section(heading):
                formatter.write_dl(rows)

    def format_epilog(self, _ctx: Any, formatter: "HelpFormatter") -> None:
        """Write the closing lines as they are."""
        if self.epilog:
            formatter.write("\n" + self.epilog.rstrip() + "\n")
