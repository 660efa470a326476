"""How help looks: Typer's commands with options and commands under headings, at the width of the terminal.

Drawn without rich, which takes longer to load than most commands take to run.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from typer.core import TyperCommand, TyperGroup

from chainq.text.width import NARROWEST, terminal_width

if TYPE_CHECKING:
    from typer._click import Command, Context, HelpFormatter

    from chainq.catalog.methods import Method

MAX_WIDTH = 100  # of the lines of help, in characters
MORE = "\f"
"""Before what the manual pages and docs/reference.md say of an option, and help does not."""
WIDEST_NAME = 30  # an option or command wider than this gets a line of its own
FEW = 16  # options of a command whose help shows all of them
COMMON = frozenset(
    [
        "start",
        "end",
        "last",
        "since",
        "limit",
        "of_program",
        "of_function",
        "where",
        "checkpoint",
        "follow",
        "format",
        "columns",
        "output",
        "url",
        "profile",
        "reverse",
        "view_key_file",
        "decrypt",
        "unspent",
        "spent",
        "watch",
        "to",
        "partition",
        "repair",
        "partial",
        "witness",
        "full",
        "anchor",
        "port",
        "tip",
        "now",
        "sealed",
        "fault",
    ]
)
"""The parameters that `--help` shows of a command with many; `--help-all` shows all."""
ALL = "--help-all"


class _Described:
    """What commands and the program itself have in common."""

    help: str | None
    epilog: str | None

    @property
    def complete(self) -> bool:
        """Whether help shows all options and paragraphs."""
        return True

    def format_help_text(self, _ctx: "Context", formatter: "HelpFormatter") -> None:
        """Write what it does, and examples."""
        for paragraph in (self.help or "").split("\n\n")[: None if self.complete else 1]:
            formatter.write_paragraph()
            with formatter.indentation():
                wrapped(formatter, " ".join(paragraph.split()))
        examples(formatter, self.epilog or "")


class PlainCommand(_Described, TyperCommand):
    """A command with its options under the headings of their groups; `listed` has the columns to list after them."""

    listed: "Method | None" = None
    everything = False

    def parse_args(self, ctx: "Context", args: list[str]) -> list[str]:
        """Parse the command line. A range that counts back from the tip, such as `-100:`, is not taken for options."""
        ctx.terminal_width = _width()
        self.everything = ALL in args
        if self.everything:
            args = ["--help"]
        # Rejected: to let the parser pass on what it does not know, which would hide a misspelt option.
        places = [place for place, word in enumerate(args) if re.fullmatch(r"-[0-9][0-9_.KkMm]*:\S*", word)]
        if places:
            from chainq.heights.bounds import MINUS

            args = [MINUS + word[1:] if place in places else word for place, word in enumerate(args)]
        return super().parse_args(ctx, args)

    @property
    def complete(self) -> bool:
        """Whether help shows all options and paragraphs."""
        return self.everything or len(self.params) <= FEW

    def collect_usage_pieces(self, ctx: "Context") -> list[str]:
        """Return the parts of the usage line after the command: options, then the arguments by their plain names."""
        arguments = [param for param in self.get_params(ctx) if param.param_type_name == "argument"]
        return ["[OPTIONS]", *(str(getattr(argument, "metavar", "")) for argument in arguments)]

    def format_options(self, ctx: "Context", formatter: "HelpFormatter") -> None:
        """Write arguments and options, a section for each group."""
        rows = []
        for param in self.params:
            if not (self.complete or param.name in COMMON or param.param_type_name == "argument"):
                continue
            if record := param.get_help_record(ctx):
                default = "Arguments" if param.param_type_name == "argument" else "Options"
                heading = getattr(param, "rich_help_panel", None) or default
                rows.append((heading, record[0], notes_in_words(record[1])))
        sections(formatter, rows)

    def format_epilog(self, _ctx: "Context", formatter: "HelpFormatter") -> None:
        """Write the names of the columns, or where they are."""
        if not self.everything:
            formatter.write_paragraph()
            wrapped(formatter, f"chainq {self.name} {ALL} shows every option.")
        elif self.listed:
            with formatter.section(f"Columns (*: shown {self.listed.starred})"):
                wrapped(formatter, " ".join(f"{one.path}{'*' * bool(one.brief)}" for one in self.listed.columns))


class PlainGroup(_Described, TyperGroup):
    """The program itself: knows the commands by name and purpose, and builds only the one that is called.

    `catalogue` maps each command to its heading, its purpose, and what builds it.
    """

    catalogue: Mapping[str, tuple[str, str, Callable[[], "Command"]]] = {}

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = dict.fromkeys(self.catalogue)  # type: ignore[assignment]  # only their names, from which Typer suggests one

    def parse_args(self, ctx: "Context", args: list[str]) -> list[str]:
        """Parse the command line."""
        ctx.terminal_width = _width()
        return super().parse_args(ctx, args)

    def list_commands(self, _ctx: "Context") -> list[str]:
        """Return the names of all commands, in the order of the catalogue."""
        return list(self.catalogue)

    def get_command(self, _ctx: "Context", cmd_name: str) -> "Command | None":
        """Build one command; None if there is none of that name."""
        entry = self.catalogue.get(cmd_name)
        return entry[2]() if entry else None

    def format_commands(self, _ctx: "Context", formatter: "HelpFormatter") -> None:
        """Write the commands under their headings, without building them."""
        width = max(map(len, self.catalogue))
        rows = ((heading, name.ljust(width), purpose) for name, (heading, purpose, _) in self.catalogue.items())
        sections(formatter, rows)

    def format_options(self, ctx: "Context", formatter: "HelpFormatter") -> None:
        """Write the commands alone: the last line names the options."""
        self.format_commands(ctx, formatter)

    def format_epilog(self, _ctx: Any, formatter: "HelpFormatter") -> None:
        """Write what shows more."""
        formatter.write_paragraph()
        wrapped(formatter, "chainq COMMAND --help explains a command; man chainq has the exit codes.")


def _width() -> int:
    """Return how wide help is, in characters."""
    return max(min(terminal_width(), MAX_WIDTH), NARROWEST) - 2


def notes_in_words(text: str) -> str:
    """Return help with what Typer adds in brackets put in words, and nothing in brackets to be wrapped.

    Left out is what goes without saying: that a count is not negative, and that an argument without brackets in the
    usage line is required. So is what follows MORE.
    """
    text = re.sub(rf"{MORE}.*?(?=(?:  \[[^][]+\])*$)", "", text)
    text = re.sub(r"(; )?x>=0(\.0)?(?=\])|(; )?required(?=\])", "", text).replace("  []", "")
    text = bounds_in_words(text)
    return re.sub(r"\[[^]]*\]$", lambda notes: notes[0].replace(" ", "\N{NO-BREAK SPACE}"), text)


def bounds_in_words(text: str) -> str:
    """Return help or a message of Typer's with the bounds of a number in words: `at least 1`, `1 to 64`."""
    text = re.sub(r"(is not )in the range (\S+)<=x<=(\S+)", r"\1from \2 to \3", text)
    text = re.sub(r"(is not )in the range x>=(\S+)", r"\1at least \2", text)
    return re.sub(r"(\S+)<=x<=([^\s\]]+)", r"\1 to \2", re.sub(r"x>=([^\s\]]+)", r"at least \1", text))


def sections(formatter: "HelpFormatter", rows: Iterable[tuple[str, str, str]]) -> None:
    """Write names and texts in two columns, each below its heading."""
    sections: dict[str, list[tuple[str, str]]] = {}
    for heading, name, text in rows:
        sections.setdefault(heading, []).append((name, text))
    for heading, pairs in sections.items():
        wide = min(max(len(name) for name, _ in pairs), WIDEST_NAME, formatter.width // 2)
        with formatter.section(heading):
            for name, text in pairs:
                beside = len(name) <= wide
                if not beside:
                    formatter.write(f"{'':{formatter.current_indent}}{name}\n")
                wrapped(formatter, text, name.ljust(wide + 2) if beside else "", wide + 2)


def wrapped(formatter: "HelpFormatter", text: str, first: str = "", indent: int = 0) -> None:
    """Write text in the width of the formatter, after `first` on its first line; no word is broken, not at hyphens."""
    from textwrap import fill

    left = " " * formatter.current_indent
    lines = fill(
        text,
        formatter.width,
        initial_indent=left + first.ljust(indent),
        subsequent_indent=left + " " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    formatter.write(lines.replace("\N{NO-BREAK SPACE}", " ") + "\n")


def examples(formatter: "HelpFormatter", epilog: str) -> None:
    """Write headings and, indented, command lines; one that is too long goes on after a backslash. A line of a crontab
    does not, as cron has no such thing, and nothing within single quotes, as there it is a character for the shell.
    """
    formatter.write_paragraph()
    for line in epilog.strip("\n").splitlines():
        if not line.startswith(" "):
            wrapped(formatter, line)
            continue
        shown = line
        while len(shown) > formatter.width and "* * *" not in shown and (space := _last_space(shown, formatter.width)):
            formatter.write(shown[:space] + " \\\n")
            shown = "    " + shown[space:].lstrip()
        formatter.write(shown + "\n")


def _last_space(command: str, width: int) -> int:
    """Return the place of the last space at which a command can go on in the next line, 0 if there is none."""
    spaces = (found.start() for found in re.finditer(" ", command[: width - 1]))
    return max((space for space in spaces if space > 4 and command.count("'", 0, space) % 2 == 0), default=0)
