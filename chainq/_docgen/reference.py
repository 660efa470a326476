"""docs/reference.md: each command once, the options that commands share once, and sections of docs/manual/."""

from collections.abc import Iterable

from chainq._docgen.manual import option_rows, parts, rows, source, tag
from chainq._docgen.surface import Param, Program, by_heading

_HEAD = """\
# Reference

<!-- Written by python -m chainq._docgen; change what it is written from. -->

Everything that `--help` and the manual pages say, on one page. Tasks are in the [cookbook](cookbook.md), and words in
[words.md](words.md). The examples need a service, such as `export CHAINQ_URL=demo:`, and those with
`http://127.0.0.1:8545` a running `chainq serve`.
Those of `owned` and `balance` also need a [view key](cookbook.md#your-own-records)."""
_TAIL = {
    "Environment variables": ("chainq.1", "Environment"),
    "Configuration file": ("chainq.5", "Synopsis", "Description", "Precedence", "Keys of a profile", "Examples"),
    "Exit codes": ("chainq.1", "Exit status"),
}
"""The last headings, and the page and sections of docs/manual/ that are below each."""
_VARIED = ("--columns", "--where")  # shared, but in other words for each command


def reference(program: Program) -> str:
    """Return the text of docs/reference.md."""
    lines = [_HEAD, "## Commands"]
    for heading, commands in by_heading(program.commands).items():
        lines.append(f"### {heading}")
        for command in commands:
            own = [option for option in program.shares.get((command.name,), ()) if option.names[0] not in _VARIED]
            lines += [f"#### `{command.usage}`", *parts(command, option_rows(own) if own else "").values()]
    lines += ["## Options that commands share", *_shared(program)]
    lines += ["## Words", "Words of the chain and of chainq are in [words.md](words.md)."]
    for heading, (name, *sections) in _TAIL.items():
        text = source(name, program)
        lines += [f"## {heading}", *(text.split(f"# {part}\n\n")[1].split("\n\n# ")[0] for part in sections)]
    return "\n\n".join(lines) + "\n"


def _shared(program: Program) -> Iterable[str]:
    """Yield tables of the options that several commands have, one for each group, with the commands that have them."""
    having: dict[Param, set[str]] = {}
    for commands, options in program.shares.items():
        for option in options:
            if len(commands) > 1 or option.names[0] in _VARIED:
                like = next((known for known in having if known.names == option.names), option)
                having.setdefault(like, set()).update(commands)
    for heading, group in by_heading(having).items():
        cells = ((tag(option), option.said, _who(program, having[option])) for option in group)
        yield from (f"### {heading} options", rows(("option", "what it does", "commands"), cells))


def _who(program: Program, names: set[str]) -> str:
    """Return the commands, in words if that is shorter."""
    words, methods = [], [command for command in program.commands if command.method]
    ranged = [command for command in methods if command.method and command.method.ranged]
    for word, group in (("all", program.commands), ("all methods", methods), ("range commands", ranged)):
        if names >= {command.name for command in group}:
            names = names - {command.name for command in group}
            words.append(word)
    return ", ".join((*words, *(f"`{command.name}`" for command in program.commands if command.name in names)))
