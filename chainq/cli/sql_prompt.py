"""The prompt of `chainq sql` on a terminal: history, completion, and commands that begin with a dot."""

import os
import re
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from chainq.config.paths import state_folder
from chainq.errors import ChainqError, UsageError, needed
from chainq.text.prose import wrapped
from chainq.text.sanitize import printable, quoted
from chainq.text.spelling import spelled

HELP = """\
A query ends with a semicolon and may have several lines. Ctrl-C drops or stops it; Ctrl-D ends the prompt.
.tables          the tables
.schema [TABLE]  their columns and types
.help            this text
.quit            end the prompt
"""
_KEYWORDS = (
    "select from where group by order limit having join on using with as distinct count sum min max avg and or not"
)
DOTTED = (".tables", ".schema", ".help", ".quit", ".exit")
"""The commands of the prompt that begin with a dot."""
_ENDS = (".quit", ".exit", "quit", "exit")
_HELP = (".help", "help")
_DOTTED = re.compile(r"\.[A-Za-z_]+( +\w+)?")  # unlike lines of a query: .5, .lower(), .height,
_SIGNS = (".", "\\")  # how commands begin, the latter elsewhere
_BEGIN = "A query ends with a semicolon; .help lists commands.\n"
_UNFINISHED = "stopped\n"


class SqlPrompt:
    """Reads queries and has them answered, until the input ends.

    `schema`: the columns of each table, as (name, type). `answer` prints the result of a query. `ends` returns whether
    a text ends with the semicolon of a query. Raises UsageError without prompt_toolkit.
    """

    def __init__(
        self,
        schema: Mapping[str, Sequence[tuple[str, str]]],
        answer: Callable[[str], None],
        ends: Callable[[str], bool],
    ) -> None:
        with needed("a prompt needs the prompt_toolkit package; or pass a query", "sql"):
            from prompt_toolkit import PromptSession
            from prompt_toolkit.application import get_app
            from prompt_toolkit.completion import WordCompleter
            from prompt_toolkit.filters import Condition
            from prompt_toolkit.history import FileHistory
        self._schema, self._answer = schema, answer
        columns = {name for table in schema.values() for name, _ in table}
        words = [*schema, *sorted(columns), *_KEYWORDS.split(), *DOTTED]

        class History(FileHistory):
            def append_string(self, string: str) -> None:
                """Add what was typed, an unfinished query without the command after it."""
                super().append_string(_last(string, ended=ends(string))[0].rstrip("\n") or string)

        self._session: PromptSession[str] = PromptSession(
            history=History(str(_history() or os.devnull)),
            completer=WordCompleter(words, ignore_case=True, WORD=True),
            complete_while_typing=False,
            multiline=Condition(
                lambda: (
                    not (
                        _is_command(text := get_app().current_buffer.text) or ends(text) or _last(text, ended=False)[1]
                    )
                )
            ),
        )
        self._ends = ends

    def run(self) -> None:
        """Read and answer until Ctrl-D or `.quit`; an error is printed, and the next query is read."""
        unfinished = ""
        sys.stderr.write(_BEGIN)
        with _keyboard_interrupts():
            while True:
                begun, unfinished = unfinished, ""
                try:
                    text = self._session.prompt(
                        "chainq> ", prompt_continuation=_continuation, handle_sigint=False, default=begun
                    ).strip()
                    unfinished, command = _last(text, ended=self._ends(text))
                    text = command or text
                    if _word(text) in _ENDS:
                        return
                    self._do(text, unfinished)
                except KeyboardInterrupt:
                    sys.stderr.write(_UNFINISHED)
                except EOFError:
                    return
                except ChainqError as error:
                    sys.stderr.write(f"{wrapped(printable(spelled(str(error))))}\n")

    def _do(self, text: str, unfinished: str) -> None:
        word, _, table = text.rstrip("; ").partition(" ")
        if _word(text) in _HELP:
            sys.stdout.write("".join(f"{wrapped(line)}\n" for line in HELP.splitlines()))
        elif not text.startswith(_SIGNS):
            if text.strip("; "):
                self._answer(text)
        elif word == ".tables":
            sys.stdout.write("".join(f"{name}\n" for name in self._schema))
        elif word == ".schema":
            for name in [table.strip()] if table.strip() else self._schema:
                sys.stdout.write(self._described(name))
        else:
            rest = "; the query is not finished: end it with a semicolon, or drop it with Ctrl-C" if unfinished else ""
            raise UsageError(f"unknown command {quoted(word)}", f".help lists the commands{rest}")

    def _described(self, table: str) -> str:
        if table not in self._schema:
            raise UsageError(f"no table {quoted(table)}", f"the tables are {', '.join(self._schema)}")
        columns = self._schema[table]
        width = max(len(name) for name, _ in columns)
        return f"{table}\n" + "".join(f"  {name:{width}}  {kind}\n" for name, kind in columns)


def _continuation(width: int, _: int, wrapped_lines: int) -> str:
    """Return what is before a line that Enter began; before the rest of a line that is too long, only spaces."""
    return " " * width if wrapped_lines else "   ...> "


def _word(text: str) -> str:
    return text.strip().rstrip("; ").lower()


def _is_command(text: str) -> bool:
    """Return whether Enter ends a text without a semicolon: a command with a dot, a word to end with, or nothing."""
    return text.lstrip()[:1] in ("", *_SIGNS) or _word(text) in (*_ENDS, *_HELP)


def _last(text: str, *, ended: bool) -> tuple[str, str]:
    """Return the lines of an unfinished query and the command that follows them; empty texts if none does.

    `ended`: by a semicolon, after which the last line is a command only if it is one with a dot: `exit` may be a name.
    """
    query, _, last = text.rpartition("\n")
    word = _word(last)
    named = word == ".tables" or word.split(" ")[0] == ".schema" or word in (*_ENDS, *_HELP)
    named = named and last.startswith(".") if ended else named or bool(_DOTTED.fullmatch(last.rstrip()))
    return (f"{query}\n", last) if query.strip() and named else ("", "")


def _history() -> Path | None:
    """Return the file that keeps what was typed, for its owner alone; None if there is no place for one."""
    folder = state_folder()
    if folder is None:
        return None
    path = folder / "sql_history"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
    except OSError:
        return None
    return path


@contextmanager
def _keyboard_interrupts() -> Iterator[None]:
    """Have Ctrl-C stop what is under way, not the program.

    Not by Python's own handler, since asyncio, under the prompt, takes its place and loses a signal that comes as the
    prompt ends.
    """

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
