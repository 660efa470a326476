"""What `chainq help WORD` prints if WORD is not a command: an option of any command, or a topic.

Loaded only by such a command line, by one that is mistyped, and by the generator of the manual.
"""

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from chainq.catalog.methods import BY_COMMAND
from chainq.cli.help import MORE, PlainGroup, notes_in_words, sections, wrapped, write_exit_codes
from chainq.cli.options import FILTER, OUTPUT, RANGE, RANGE_HELP, RESUME, SERVICE
from chainq.errors import UsageError, exit_codes
from chainq.text.spelling import spelled

if TYPE_CHECKING:
    from typer._click import Context, HelpFormatter, Parameter

ENVIRONMENT = {
    "CHAINQ_DEBUG": "If not empty, show the traceback of a bug (exit code 70).",
    "CHAINQ_FORMAT": "Format to use if neither an option nor the extension of `-o` FILE selects one.",
    "CHAINQ_PAGER, PAGER": (
        "Pager for output to a terminal, such as `less`. chainq uses the first that is set. `cat` or an "
        "empty value means no pager. chainq sets LESS to FRX unless it is set."
    ),
    "CHAINQ_PROFILE": "Name of the profile to use, like `--profile`.",
    "CHAINQ_URL": "URL of the service, like `--url`.",
    "CHAINQ_VIEW_KEY": "View key for `chainq owned` and `balance`, unless you pass a file of keys.",
    "COLUMNS": "Width of tables, screens and help in characters. Default: the terminal's, else 80; none in a file.",
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
TOPICS = (*_HEADINGS, "chart", "environment", "exit-codes")
"""The topics of `chainq help`, in the order in which they are listed."""


def by_word(words: Mapping[str, str]) -> dict[str, str]:
    """Return what each word stands for, given the words for it with blanks between."""
    return {word: meant for meant, text in words.items() for word in text.split()}


_WORDS = by_word(
    {
        "range": "ranges heights height date dates time times pagination paging",
        "filter": "filters filtering condition conditions expression expressions regex regexp jq",
        "resume": "resuming checkpoints following incremental",
        "output": "outputs formats files parquet tsv",
        "service": "server connection network proxy proxies",
        "chart": "charts plot graph",
        "environment": "env environ variables envvars",
        "exit-codes": "exit exit-code exit-status codes status-codes errors",
    }
)
_HEIGHTS = "Heights can be written 12345, 12_345, 12K or 1.5M."
_CONFIG = "config"
_PLACES = {
    _CONFIG: "The configuration file, config.toml, contains profiles of services: see man 5 chainq, or Configuration "
    "file in docs/reference.md. chainq profiles lists them, and chainq doctor --save NAME adds one.",
    "wallet": "chainq owned prints the records that your view keys own, and chainq balance adds them up. Both read the "
    "keys from --view-key-file FILE or CHAINQ_VIEW_KEY: see chainq help owned.",
    "demo": "--url demo: is a built-in sample chain that needs no network. chainq serve serves it over HTTP: see "
    "chainq help serve.",
    "tables": "chainq export writes the tables of a chain, and chainq sql queries them: see chainq help sql. "
    "docs/tables.md lists them with their columns.",
    "reorg": "If blocks that a run with --checkpoint has read are replaced, chainq exits with code 6. --rewind N reads "
    "the last N blocks again: see chainq help resume.",
    "proof": "chainq prints rows only if later rows, another method or repeated responses show that none is missing; "
    "-v names the proof. The last one is called belief: chainq warns, and --strict makes it an error. See "
    "docs/completeness.md, and chainq help verify.",
    "version": "chainq --version, -V and chainq version print the version.",
    "python": "In Python, chainq.Client has a method for each command, and returns rows as Arrow tables or data "
    "frames of pandas, Polars and Spark: see docs/python.md.",
    "object-store": "chainq export writes to s3://, gs:// and az:// URLs, and --url and --lake read exports there: see "
    "docs/export.md, and chainq help export.",
    "rate-limit": "If a server limits requests (HTTP 429), chainq waits and sends them again; --rate N and -j N send "
    "fewer. chainq doctor names a rate that the server accepts. See Rate limits in docs/protocol.md.",
    "extra": "The last column of Parquet files and exports: fields that have no column, and values that do not fit "
    "theirs, as JSON. See docs/tables.md.",
}
"""What is said of words without options of their own to list."""
_PLACE_OF = by_word(
    {
        _CONFIG: "configuration config.toml config-file",
        "wallet": "view-key view-keys viewkey wallets key keys",
        "demo": "demo: sample sample-chain",
        "tables": "schema lake",
        "reorg": "reorgs fork forks",
        "proof": "proofs belief witness completeness grade",
        "version": "--version -V",
        "python": "client pandas polars arrow spark pyspark jupyter notebook dataframe",
        "object-store": "s3 gs gcs az azure minio bucket",
        "rate-limit": "429 rate-limits rate-limiting throttling",
    }
)


def topic_of(word: str) -> str:
    """Return the topic or the option that a word names, empty if it names none.

    >>> topic_of("env"), topic_of("ranges"), topic_of("xyzzy")
    ('environment', 'range', '')
    """
    name = word.lower().replace("_", "-")
    if topic := name if name in TOPICS else _WORDS.get(name):
        return topic
    variables = re.findall(r"\w+", " ".join(ENVIRONMENT))
    if word in variables:
        return "environment"
    if word in exit_codes() or (word.isdecimal() and 128 < int(word[:4]) < 160):
        return "exit-codes"
    if place := name if name in _PLACES else _PLACE_OF.get(word if word.startswith("-") else name):
        return place
    option = word if word.startswith("-") else f"--{name}"
    if any(option in param.opts for _, param, _ in _options()):
        return option
    return "environment" if word.upper() in variables else ""


def write(word: str, formatter: "HelpFormatter") -> None:
    """Write the help of the topic or option that a word names. Raises UsageError, which lists the topics."""
    topic = topic_of(word)
    if not topic and _write_column(word, formatter):
        return
    if not topic:
        from chainq.catalog.kinds import shown
        from chainq.cli.guesses import guess_topic

        near = guess_topic(word)
        named = f"unknown help topic{shown(word)}{f' (did you mean {near}?)' if near else ''}"
        raise UsageError(named, f"expected a command, an option, a column, {', '.join(TOPICS[:-1])} or {TOPICS[-1]}")
    if topic.startswith("-"):
        _write_option(topic, formatter)
    elif topic in _PLACES:
        wrapped(formatter, _PLACES[topic])
    elif topic == "chart":
        from chainq.cli import chart_help

        chart_help.write(formatter)
    elif topic == "environment":
        sections(formatter, (("Environment", name, text.replace("`", "")) for name, text in ENVIRONMENT.items()))
    elif topic == "exit-codes":
        write_exit_codes(formatter)
    else:
        if topic == "range":
            wrapped(formatter, f"A range can also be an argument: {RANGE_HELP[0].lower()}{RANGE_HELP[1:]} {_HEIGHTS}")
        _write_heading(_HEADINGS[topic], formatter)
        formatter.write_paragraph()
        wrapped(formatter, "chainq help --OPTION names the commands that have an option.")


def _write_column(name: str, formatter: "HelpFormatter") -> bool:
    """Write each meaning of a column, and the commands that have it. Return whether there is one of that name."""
    from chainq.catalog.columns import known_column
    from chainq.cli.list_columns import columns_by_command

    meanings: dict[str, list[str]] = {}
    for command, columns in columns_by_command().items():
        if column := known_column(name, columns):
            array = name.rpartition("[]")[0]
            described = (f"in each item of {array}",) if array else (spelled(column.note), column.type)
            text = "; ".join(filter(None, described))
            unit = f", in {column.unit}" if column.unit and column.unit not in text else ""
            meanings.setdefault(text + unit, []).append(command)
    for text, commands in meanings.items():
        sections(formatter, [("Column", name, f"{text}. Commands: {', '.join(commands)}.")])
    return bool(meanings)


def _write_heading(heading: str, formatter: "HelpFormatter") -> None:
    """Write the options under a heading: those of all commands that have its first one, then those of some."""
    found: dict[tuple[str, ...], tuple[str, str, list[str]]] = {}
    for command, param, context in _options():
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
    for command, param, context in _options():
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


def _options() -> "Iterator[tuple[str, Parameter, Context]]":
    """Yield the options of all commands; those of records first, as it has most, and examples for most commands."""
    for name in sorted(PlainGroup.catalogue, key=lambda name: name != "records"):
        command = PlainGroup.catalogue[name][2]()
        context = command.make_context(name, [], resilient_parsing=True)
        yield from ((name, param, context) for param in command.params if param.param_type_name == "option")
