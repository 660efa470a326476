"""What `chainq help WORD` prints if WORD is not a command: an option of any command, or a topic.

Loaded only by such a command line, by one that is mistyped, and by the generator of the manual.
"""

import re
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from chainq.catalog.methods import BY_COMMAND
from chainq.cli.help import MORE, PlainGroup, examples, notes_in_words, sections, wrapped, write_exit_codes
from chainq.cli.options import FILTER, OUTPUT, RANGE, RANGE_HELP, RESUME, SERVICE
from chainq.cli.topic_words import PLACES, REMEDIES, WORDS, by_word
from chainq.errors import UsageError, exit_codes

if TYPE_CHECKING:
    from typer._click import Context, HelpFormatter, Parameter

ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID, AWS_ENDPOINT_URL, AWS_PROFILE, AWS_REGION": "Access to S3, with its other variables.",
    "CHAINQ_DEBUG": "If not empty, show the traceback of a bug (exit code 70).",
    "CHAINQ_FORMAT": (
        "Format to use if neither an option nor the extension of `-o` FILE selects one. A command that has no such "
        "format, such as `status` for csv, prints its own default."
    ),
    "CHAINQ_PROFILE": "Name of the profile to use, like `--profile`.",
    "CHAINQ_URL": "URL of the service, like `--url`.",
    "CHAINQ_VIEW_KEY": "View keys for `chainq owned` and `balance`, one per line, unless you pass a file of keys.",
    "COLUMNS": (
        "Width of tables, screens and help in characters. Default: the terminal's, else 80. A table in `-o` FILE is "
        "not limited by default."
    ),
    "FORCE_COLOR": "If not empty, use color in tables and screens even if the output is not a terminal.",
    "HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY": "Proxies, as for curl: http, https and socks5.",
    "NO_COLOR": "If not empty, do not use color on the terminal, unless you pass `--color always`.",
    "SOURCE_DATE_EPOCH": "Time from which to count the ages that tables and show print, in Unix seconds. Default: now.",
    "SSL_CERT_FILE, SSL_CERT_DIR": "Certificates to trust instead of the certificates in chainq's libraries.",
    "TERM": "If `dumb`, do not use color, unless FORCE_COLOR is set or you pass `--color always`.",
    "XDG_CACHE_HOME": (
        "Folder that contains `chainq/`, the cache of the dialects that `--dialect auto` detected. Default: `~/.cache`."
    ),
    "XDG_CONFIG_HOME": "Folder that contains `chainq/config.toml`. Default: `~/.config`.",
}
"""Every environment variable that chainq reads, in Markdown."""

_HEADINGS = {"range": RANGE, "filter": FILTER, "resume": RESUME, "output": OUTPUT, "service": SERVICE}
_LISTED = {
    "range": "heights and times: --start, --end, --last, --since, --limit",
    "filter": "rows to print: --where, --program, --function",
    "resume": "runs that continue: --checkpoint, --follow",
    "output": "formats, columns and files",
    "service": "URL, profile, limits and retries",
    "chart": "what --format chart draws",
    "environment": "environment variables",
    "exit-codes": "what each exit code means",
    "topics": "this list",
}
TOPICS = (*_LISTED, *PLACES)
"""The topics of `chainq help`: those that list options, codes or variables, and the others."""
_HEIGHTS = "Heights and other whole numbers can be written 12345, 12_345, 12K or 1.5M."
VARIABLES = {variable: name for name in ENVIRONMENT for variable in name.split(", ")}
"""Every environment variable that chainq reads, and its key in `ENVIRONMENT`."""
PLACE_OF = by_word({place: words for place, (words, _) in PLACES.items()})


def topic_of(word: str) -> str:
    """Return the topic, the command, the variable, the option or the exit code that a word names, empty if it names
    none.

    >>> topic_of("env"), topic_of("ranges"), topic_of("Exit codes"), topic_of("exit code 6"), topic_of("xyzzy")
    ('environment', 'range', 'exit-codes', '6', '')
    """
    name = as_name(word)
    if topic := name if name in _LISTED else WORDS.get(name):
        return topic
    if word in VARIABLES:
        return word
    code = re.sub(r"^((exit|status|error|return)-?)?(code-?)?(?=[0-9])", "", name)
    if code in exit_codes():
        return code
    if code.isdecimal() and 128 < int(code[:4]) < 160:
        return "exit-codes"
    if place := name if name in PLACES else PLACE_OF.get(word if word.startswith("-") else name):
        return place
    return _option(word) or (word.upper() if word.upper() in VARIABLES else "")


def entry(word: str) -> str:
    """Return the command or what else a word names, and the word itself if it names nothing."""
    command = as_name(word)
    return command if command in PlainGroup.catalogue else topic_of(word) or word


def write_all(words: Sequence[str], formatter: "HelpFormatter") -> None:
    """Write the help of what each word names; of several words, where the help of commands and of long lists is."""
    purposes = {**_LISTED, **{name: purpose for name, (_, purpose, _) in PlainGroup.catalogue.items()}}
    brief = {entry(word) for word in words if len(words) > 1} & purposes.keys()
    for word in words:
        if entry(word) not in brief:
            if topic_of(word) in (*PLACES, "chart", "range"):  # begin with text, not with a heading
                formatter.write_paragraph()
            write(word, formatter)
    sections(formatter, [("More", f"chainq help {name}", purposes[name]) for name in purposes if name in brief])


def write(word: str, formatter: "HelpFormatter") -> None:
    """Write the help of the topic, the option and the column that a word names. Raises UsageError, which lists the
    topics, if it names none.
    """
    topic = topic_of(word)
    if topic:
        _write_topic(topic, formatter)
    option = _option(word) if topic in PLACES else ""
    if any(option in param.opts and command != "serve" for command, param, _ in options_of_all()):
        _write_option(option, formatter)
    columns = _columns(word)
    if columns:
        sections(formatter, columns)
    if topic or columns:
        return
    raise UsageError(unknown(word), "expected a command, an option or a column; chainq help topics lists the topics")


def unknown(word: str) -> str:
    """Return that a word is unknown, and what is most likely meant."""
    from chainq.catalog.kinds import shown
    from chainq.cli.guesses import guess_topic

    near = guess_topic(as_name(word))
    return f"unknown help topic{shown(word)}{f' (did you mean {near}?)' if near else ''}"


def as_name(word: str) -> str:
    """Return a word as topics and options are written."""
    return re.sub(r"[_\s]+", "-", word.strip().rstrip(".…").lower())


def is_known(word: str) -> bool:
    """Return whether `write` takes a word."""
    return bool(topic_of(word) or _columns(word))


def _option(word: str) -> str:
    """Return the option that a word names, empty if it names none."""
    option = word if word.startswith("-") else f"--{as_name(word)}"
    return option if any(option in param.opts for _, param, _ in options_of_all()) else ""


def _columns(word: str) -> list[tuple[str, str, str]]:
    """Return what is said of the columns, the values of columns and the tables that a word names."""
    from chainq.cli import topic_columns

    name = re.sub(r"[-\s]+", "_", word.strip())
    return topic_columns.rows(name)


def _write_topic(topic: str, formatter: "HelpFormatter") -> None:
    if topic in PLACES:
        text, _, shown = PLACES[topic][1].partition("\n")
        wrapped(formatter, text)
        if shown:
            examples(formatter, shown)
    elif topic.startswith("-"):
        _write_option(topic, formatter)
    elif topic == "chart":
        from chainq.cli import chart_help

        chart_help.write(formatter)
    elif topic == "environment" or topic in VARIABLES:
        names = [VARIABLES[topic]] if topic in VARIABLES else ENVIRONMENT
        sections(formatter, (("Environment", name, ENVIRONMENT[name].replace("`", "")) for name in names))
    elif topic == "exit-codes":
        write_exit_codes(formatter)
    elif topic in exit_codes():
        sections(formatter, [("Exit code", topic, exit_codes()[topic])])
        formatter.write_paragraph()
        wrapped(formatter, f"{REMEDIES.get(topic, '')} See chainq help exit-codes.".lstrip())
    elif topic == "topics":
        sections(formatter, (("Topics", name, text) for name, text in _LISTED.items()))
        formatter.write_paragraph()
        wrapped(formatter, f"Further topics: {', '.join(sorted(PLACES))}.")
        wrapped(formatter, "Any command, option, column, environment variable or exit code is a topic, too.")
    else:
        if topic == "range":
            wrapped(formatter, f"A range can also be an argument: {RANGE_HELP[0].lower()}{RANGE_HELP[1:]} {_HEIGHTS}")
        _write_heading(_HEADINGS[topic], formatter)
        formatter.write_paragraph()
        wrapped(formatter, "chainq help --OPTION names the commands that have an option.")


def _write_heading(heading: str, formatter: "HelpFormatter") -> None:
    """Write the options under a heading: those of all commands that have its first one, then those of some."""
    found: dict[tuple[str, ...], tuple[str, str, list[str]]] = {}
    for command, param, context in options_of_all():
        if command in BY_COMMAND and getattr(param, "rich_help_panel", None) == heading:
            found.setdefault(tuple(param.opts), (*_record(param, context), []))[2].append(command)
    shared, some = [], []
    first = set(next(iter(found.values()))[2])
    for name, text, commands in found.values():
        if first <= set(commands):
            shared.append((heading, name, text))
        else:
            listed = ", ".join(sorted(commands, key=list(BY_COMMAND).index))
            some.append((f"{heading}: options of some commands", name, f"{text} Commands: {listed}."))
    sections(formatter, [*shared, *some])


def _write_option(option: str, formatter: "HelpFormatter") -> None:
    """Write each form of an option, all of its text, and the commands that have it in this form."""
    forms: dict[str, tuple[str, str, list[str]]] = {}
    for command, param, context in options_of_all():
        if option in param.opts:
            name, text = _record(param, context)
            # An example in quotes is that of one command.
            forms.setdefault(re.sub("'[^']*'", "", text), (name, text, []))[2].append(command)
    order = list(PlainGroup.catalogue)
    for name, text, commands in forms.values():
        sections(formatter, [("Option", name, text)])
        with formatter.indentation():
            wrapped(formatter, f"Commands: {', '.join(sorted(commands, key=order.index))}.")


def _record(param: "Parameter", context: "Context") -> tuple[str, str]:
    """Return an option as help shows it, and all that is said of it."""
    name, text = param.get_help_record(context) or ("", "")
    return name, notes_in_words(text.replace(MORE, " "))


@cache
def options_of_all() -> "tuple[tuple[str, Parameter, Context], ...]":
    """Return the options of all commands; those of records first, as it has most, and examples for most commands."""
    found = []
    for name in sorted(PlainGroup.catalogue, key=lambda name: name != "records"):
        command = PlainGroup.catalogue[name][2]()
        context = command.make_context(name, [], resilient_parsing=True)
        found += [(name, param, context) for param in command.params if param.param_type_name == "option"]
    return tuple(found)
