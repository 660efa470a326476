"""What people type for a command or an option: what they most likely mean. Loaded only if one is unknown."""

import re
from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from chainq.catalog.dialects import DIALECTS
from chainq.catalog.kinds import WITH_SCREEN, kind_of
from chainq.catalog.methods import BY_COMMAND, METHODS, Role
from chainq.catalog.tables import DERIVED
from chainq.cli.help import PlainGroup
from chainq.cli.topic_words import PLACES, WORDS, by_word
from chainq.cli.topics import TOPICS, VARIABLES, as_name, topic_of
from chainq.formats import registry
from chainq.text.alike import alike

if TYPE_CHECKING:
    from typer._click import Command

# Words of other explorers and of everyday speech.
_WORDS = by_word(
    {
        "transaction": "tx txn",
        "transactions": "txs",
        "latest": "tip head height block-number",
        "records": "record",
        "transitions": "transition",
        "address-transactions": "address account history",
        "program-transactions": "program function",
        "ownership": "owner",
        "rpc": "call",
        "sql": "query",
        "profiles": "config",
        "doctor": "check",
        "show": "get fetch view",
        "serve": "server mock",
        "help": "man",
    }
)
MOST_NAMED = 5  # commands that have an option
MOST_BEGUN = 3  # options that an abbreviation may mean
# Options of other programs, and of other commands of this one, besides the words of help: the first one that the
# command has is meant.
_OPTIONS = {
    "--to": ("--end",),
    "--count": ("--limit", "--last"),
    "--number": ("--limit", "--last"),
    "-n": ("--limit", "--last"),
    "--out": ("--output", "-o", "--to"),
    "--output": ("--to",),
    "-o": ("--to",),
    "--outfile": ("--output", "-o"),
    "--file": ("--output", "-o"),
    "--field": ("--columns",),
    "--filter": ("--where",),
    "-L": ("--limit",),
    "--reverse": ("--newest",),
    "--desc": ("--reverse",),
    "--newest": ("--reverse",),
    "--jq": ("--columns",),
    "-H": ("--header",),
    "--endpoint": ("--url",),
    "-s": ("--quiet",),
    "--last": ("--newest",),
}
_IN_QUERY = {"--columns", "--limit", "--where", "--program", "--function", "--reverse"}
_OF_ROWS = {"--columns", "--csv", "--jsonl", "--format", "--output", "-o", "--where", "--limit"}
_BY_RANGE = {"--last", "--tail", "--start", "--end", "--from", "--begin", "--to", "--stop"}
_HEIGHT = re.compile(r"[0-9][0-9_.]*[KkMm]?")
_RANGE = re.compile(r"-?(?:[0-9][0-9_.]*[KkMm]?)?:(?:[0-9][0-9_.]*[KkMm]?)?")
_OF_STDIN = ("block", "transactions", "transaction")
_NEWEST = {"--latest", "--tip"}
_BY_TIME = {"--since", "--until"}
_FILTERS = {"--where", "--program", "--function", "--limit"}


def guess(word: str, commands: Collection[str], after: Sequence[str] = ()) -> str:
    """Return what to do about an unknown command: the one that is most likely meant, for a range or an ID with it.

    For an option or a topic of help, where it is described; else the list of commands. `after`: what follows the word.

    >>> guess("tx", ["transaction", "transactions"]), guess("0:5", ["blocks", "records"], ["records"])
    ('did you mean transaction?', 'did you mean records 0:5?')
    """
    if (name := as_name(word)) in commands:
        return f"did you mean {name}?"
    if taker := "show" if kind_of(word) in WITH_SCREEN else "blocks" if _RANGE.fullmatch(word) else "":
        method = BY_COMMAND.get(after[0]) if after else None
        return f"did you mean {method.command if method and method.params else taker} {word}?"
    if word.lower() in DERIVED and word.lower() not in commands:
        query = f"select * from {word.lower()} limit 10"  # noqa: S608  # the name is one of DERIVED
        return f"it is a table of chainq export chain: chainq sql DEST '{query}'"
    meant = _meant(word, commands)
    if not meant and (topic := topic_of(word)):
        return f"did you mean {topic}?" if topic in commands else f"see chainq help {topic}"
    meant = meant or next(iter(alike(word, commands)), None)
    return f"did you mean {meant}?" if meant else "chainq --help lists the commands"


def guess_topic(word: str) -> str:
    """Return the command, option, variable or topic of help that is most likely meant; empty if none is near."""
    commands = PlainGroup.catalogue
    params = [param for one in commands.values() for param in one[2]().params if param.param_type_name == "option"]
    options = {name for param in params for name in param.opts}
    if word.startswith("-"):
        return _nearest(word, options)
    names = (*VARIABLES, *(name.lstrip("-") for name in options), *commands, *TOPICS)
    words = {as_name(name).lstrip("-"): name for name in names}
    near = [words[name] for name in alike(as_name(word), words)]
    return _meant(word, commands) or next(iter(near), "")


def _meant(word: str, commands: Collection[str]) -> str | None:
    """Return the command that a word of other programs, or the method that it names, stands for; None for others."""
    named = {dialect.wire(method).name: method.command for dialect in DIALECTS.values() for method in METHODS}
    meant = _WORDS.get(word.lower()) or named.get(word)
    return meant if meant in commands else None


def guess_option(option: str, command: "Command | None", arguments: Sequence[str] = ()) -> str:
    """Return what to do about an option that the command does not have: the one that is most likely meant, or help.

    `arguments`: of the command line, with the values of range options.
    """
    params = [param for param in command.params if param.param_type_name == "option"] if command else []
    known = [*(name for param in params for name in param.opts), "--help"]
    if "--format" in known and option[2:] in registry.names():
        return f"use --format {option[2:]}"
    if command and command.name == "show" and option in _OF_ROWS:
        return "a screen has no columns or rows; use --json, or a command that prints rows, such as records"
    if command and option in (*_OF_ROWS, "--table", "--text") and "--json" in known and "--format" not in known:
        *others, last = (form for form in ("--csv", "--jsonl", "--json") if form in known)
        forms = " or ".join(filter(None, (", ".join(others), last)))
        if option in ("--table", "--text"):
            return f"leave it out, or use {forms}"
        return f"use chainq {command.name} {forms}{' > FILE' if option in ('-o', '--output') else ''}"
    meant = next((name for name in _meant_by(option) if name in known), None)
    if meant is None and option in _BY_RANGE and command and command.name == "block":
        return f"use a range: {_range_of(arguments)}"
    if option in _BY_TIME | {"--reverse"} and command and command.name in ("block", "transactions"):
        blocks = f"chainq blocks {option} {_heights_of(arguments) if option == '--reverse' else 'TIME'}"
        of_each = f"pipe heights: {blocks} --columns height --text | chainq {command.name} -"
        return f"use {blocks}" if command.name == "block" else of_each
    if option in ("--program", "--function") and command and command.name == "transactions":
        return "use chainq program-transactions PROGRAM FUNCTION, or chainq full-blocks --program PROGRAM"
    if command and (instead := _instead(command.name or "", option)):
        return instead
    if (option, meant) == ("--last", "--newest"):
        return f"use --newest --limit {_last_of(arguments)}"
    one_dash = next((f"-{word}" for word in arguments if word.startswith("-") and f"-{word}" in known), None)
    near = meant or _begun(option, known) or one_dash or _nearest(option, known)
    return _topic(option, command, near, arguments) or (f"did you mean {near}?" if near else _owners(option))


def _meant_by(option: str) -> tuple[str, ...]:
    """Return the options that an option of another program may mean."""
    return (*_OPTIONS.get(option, ()), WORDS.get(option.removeprefix("--"), ""))


def _topic(option: str, command: "Command | None", near: str, arguments: Sequence[str]) -> str:
    """Return which help says what a command for rows has instead of an option; empty if none does, or if the option
    that is near fits better: it takes no value, or gets the number that it takes."""
    if command is None or command.name not in BY_COMMAND or _having(option):
        return ""
    topic = topic_of(option.lstrip("-"))
    flag = any(near in param.opts and getattr(param, "is_flag", False) for param in command.params)
    if near and (topic not in PLACES or flag or _before_number(option, arguments)):
        return ""
    return "" if topic.startswith("-") or not topic else f"see chainq help {topic}"


def _before_number(option: str, arguments: Sequence[str]) -> bool:
    """Return whether a number follows an option, as for a limit."""
    words = [part for word in arguments for part in word.split("=", 1)]
    return any(word == option and value.isdecimal() for word, value in pairwise(words))


def _instead(command: str, option: str) -> str:
    """Return what a command without filters, ranges or `--lake` has instead; empty for other commands and options."""
    if command in _OF_STDIN and option in ("--file", "--ids", "--input", "--input-file"):
        return f"- reads standard input: chainq {command} - < FILE"
    first = BY_COMMAND[command].params[:1] if command in BY_COMMAND and option in _NEWEST else ()
    if any(param.role in (Role.START, Role.HEIGHT) for param in first):
        return f"a height can be latest: chainq {command} latest"
    if command == "sql" and option == "--lake":
        return "the folder or URL of an export comes before the query: chainq sql DEST QUERY"
    if command == "sql" and re.search(r"\s", option):
        return "a query that begins with a comment comes after --: chainq sql -- 'QUERY'"
    if command == "sql" and option in _IN_QUERY:
        return "write it in the query, such as select height from blocks limit 5"
    if command == "owned" and option in _FILTERS:
        condition = '.program_id == "credits.aleo" and (.amount // 0 | tonumber) > 1500000'
        columns = "--columns height,amount,program_id --jsonl"
        return f"filter what it prints, with these columns: {columns} | jq 'select({condition})'"
    if command == "balance" and option in ("--as-of", "--at"):
        return "for a balance as of block H use --end H+1"
    if command == "program-transactions" and option in _BY_TIME | _BY_RANGE - {"--last", "--tail"}:
        given = f"{option} TIME" if option in _BY_TIME else "RANGE"
        return f"it takes no range; use chainq full-blocks {given} --program PROGRAM --function FUNCTION"
    if command == "export" and option in _FILTERS | {"--columns"}:
        what = "columns" if option == "--columns" else "rows of its heights"
        return f"an export has all {what}; select some of them as you read it, with chainq sql or --url DEST"
    return ""


def _range_of(arguments: Sequence[str]) -> str:
    """Return the range that unknown range options mean, else an example.

    >>> _range_of(["--last", "20"]), _range_of(["--start=5", "--end", "8"]), _range_of(["--last", "x"])
    ('-20:', '5:8', '-100: for the last 100 blocks; for the last one use latest')
    """
    words = [part for word in arguments for part in word.split("=", 1)]
    given = {name: value for name, value in pairwise(words) if name in _BY_RANGE and _HEIGHT.fullmatch(value)}
    given = {name if name == "--last" else _meant_by(name)[0] or name: value for name, value in given.items()}
    if last := given.get("--last"):
        return f"-{last}:"
    start, end = given.get("--start", ""), given.get("--end", "")
    return f"{start}:{end}" if start or end else "-100: for the last 100 blocks; for the last one use latest"


def _heights_of(arguments: Sequence[str]) -> str:
    """Return the range among the arguments, or its option, else an example.

    >>> _heights_of(["block", "5:8", "--reverse"]), _heights_of(["--reverse", "--last=4"]), _heights_of(["block", "5"])
    ('5:8', '--last 4', '--last N')
    """
    ranges = [word for word in arguments if _RANGE.fullmatch(word)]
    return ranges[0] if ranges else f"--last {_last_of(arguments)}"


def _last_of(arguments: Sequence[str]) -> str:
    """Return the value of `--last` among the arguments, else `N`."""
    last = _range_of(arguments)
    return last[1:-1] if _RANGE.fullmatch(last) and last[0] == "-" else "N"


def _nearest(option: str, known: Collection[str]) -> str:
    """Return the option that is spelled most like another one; empty if none is near.

    >>> _nearest("--lasst", ["--last", "--limit"]), _nearest("--sort", ["--start", "--text"])
    ('--last', '')
    """
    names = {name.lstrip("-"): name for name in known}
    return next((names[near] for near in alike(option.lstrip("-"), names)), "")


def _begun(option: str, known: Collection[str]) -> str:
    """Return the options that an abbreviation may mean; empty if these are fewer than two, or too many.

    >>> _begun("--col", ["--columns", "--color"]), _begun("--col", ["--columns"])
    ('--columns or --color', '')
    """
    begun = [name for name in known if name.startswith(option)]
    return " or ".join(begun) if 1 < len(begun) <= MOST_BEGUN else ""


def _owners(option: str) -> str:
    """Return which commands have an option, or help if none has it."""
    names = _having(option)
    if len(names) > MOST_NAMED + 1:  # the last one is no longer than "1 more"
        names[MOST_NAMED:] = [f"{len(names) - MOST_NAMED} more (chainq help {option})"]
    *first, last = names or [""]
    return f"it is an option of {', '.join(first)}{' and ' if first else ''}{last}" if names else "see --help"


def _having(option: str) -> list[str]:
    """Return the names of the commands that have an option."""
    built = ((name, entry[2]()) for name, entry in PlainGroup.catalogue.items())
    return [name for name, command in built if any(option in param.opts for param in command.params)]
