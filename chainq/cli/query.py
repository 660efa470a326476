"""Turns the parsed values of a command line into one validated `Query`, before any request.

Each kind of setting is read from the options once: the query and how it resumes here, the output in `output`, the
connection in `connect`.
"""

import os
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from chainq.catalog import identifiers
from chainq.catalog.dialects import Dialect
from chainq.catalog.methods import Method, Role
from chainq.cli.output import file_of
from chainq.cli.stdin import expanded
from chainq.defaults import INTERVAL, SETTLE
from chainq.errors import UsageError
from chainq.heights.bounds import LATEST, Bounds, bounds_of, parse_height, parse_range
from chainq.query import STDIN, Lookup, Query

if TYPE_CHECKING:
    from chainq.cli.options import MethodOptions, RangeOptions
    from chainq.cli.tool_options import VerifyCommand
    from chainq.resume.rounds import ResumeSettings
    from chainq.rows.where import Where

_RANGE = re.compile(r"-?[0-9_.:KkMm\u2212][0-9_.:KkMm\u2212-]*|latest")
"""What a range can look like, also one with a mistake; anything else is a data set or a file, and so is ./5."""
_FIELDS = {Role.HEIGHT: ("height", "header.metadata.height"), Role.ID: ("transaction_id", "transaction.id")}
"""Where the rows of chainq's own jsonl have what a lookup takes."""


def read_query(method: Method, given: "MethodOptions") -> Query:
    """Return the query of a method's command. Raises UsageError."""
    check = not given.no_check
    given.exclude("newest", "page")
    given.require("newest", "limit")
    arguments = {Role.PROGRAM: given.program, Role.FUNCTION: given.function, Role.ADDRESS: given.address}
    values = {role: _checked(role, word, check) for role, word in arguments.items() if method.param(role)}
    whole = method.param(Role.ADDRESS) is not None
    bounds = read_bounds(given, given.range, whole=whole) if method.ranged else None
    lookups = _lookups(method, given, check)
    match lookups:
        case (Bounds() as bounds,):
            lookups = None
    return Query(
        method,
        values,
        lookups,
        bounds,
        reverse=given.reverse,
        newest=given.newest,
        limit=given.limit,
        page=given.page,
        page_size=given.page_size,
        verify=not given.no_verify,
        check=check,
        where=_where(method, given, check),
        hash_workers=hash_workers(given) if method.linked else 0,
    )


def hash_workers(given: "MethodOptions | VerifyCommand") -> int:
    """Return how many processes recompute hashes, 0 without `--hashes`. Raises UsageError, also without aleo-sdk."""
    given.require("workers", "hashes")
    if not given.hashes:
        return 0
    from chainq.hashes.sdk import check_installed
    from chainq.process.pool import cores

    check_installed("--hashes", "hashes")
    return given.workers or cores()


def resume_settings(query: Query, given: "MethodOptions") -> "ResumeSettings | None":
    """Return how the run resumes or follows, None for one that does neither.

    Raises UsageError for options that contradict `--checkpoint` or `--follow`, and for those that need one of them.
    """
    if query.bounds is None or query.by_height:
        return None
    given.require("rewind", "checkpoint")
    given.require("max_age", "checkpoint", "follow")
    given.require("lag", "checkpoint", "follow")
    given.require("interval", "follow")
    given.exclude("checkpoint", "reverse", "page", "limit", "last", "since", "until")
    given.exclude("follow", "reverse", "page", "until")
    if given.follow and query.bounds.end is not None:
        raise UsageError("--follow cannot be combined with --end")
    if given.checkpoint is None and not given.follow:
        return None
    from chainq.resume.rounds import ResumeSettings

    lag = SETTLE if given.lag is None else given.lag
    interval = INTERVAL if given.interval is None else given.interval
    return ResumeSettings(given.checkpoint, lag, given.rewind, given.max_age, given.follow, interval, file_of(given))


def lookups(query: Query) -> Iterator[Lookup | Bounds | None]:
    """Return the lookups, with those of standard input in the place of STDIN (`stdin.expanded`).

    Raises UsageError for a line that is not a height or an ID.
    """
    role = Role.HEIGHT if query.by_height else Role.ID
    return expanded(query.lookups or (), lambda line: _lookup(role, value_in(line, _FIELDS[role]), query.check))


def check_page_size(query: Query, dialect: Dialect) -> None:
    """Raise UsageError for a page size above the maximum of the dialect."""
    maximum = dialect.page_size_max(query.method)
    if query.check and maximum is not None and (query.page_size or 0) > maximum:
        raise UsageError(f"invalid --page-size {query.page_size}: {query.method.name} allows at most {maximum}")


def _where(method: Method, given: "MethodOptions", check: bool) -> "Where | None":
    """Return the condition of the filter options, None without any. Raises UsageError."""
    programs, functions = (
        [_checked(role, word, check) for word in words or ()]
        for role, words in ((Role.PROGRAM, given.of_program), (Role.FUNCTION, given.of_function))
    )
    if not (given.where or programs or functions):
        return None
    from chainq.rows.where import Where

    return Where(method, given.where or (), programs, functions, check=check)


def _lookups(method: Method, given: "MethodOptions", check: bool) -> tuple[Lookup | Bounds, ...] | None:
    for role, words in ((Role.HEIGHT, given.heights), (Role.ID, given.ids)):
        if method.param(role):
            if method.listed and (others := given.given_bounds()):
                if words:
                    raise UsageError(f"{words[0]} cannot be combined with {' or '.join(others)}")
                return (read_bounds(given, whole=False),)
            if not words:
                raise UsageError("missing argument HEIGHT...")
            return tuple(word if word == STDIN else _lookup(role, word, check) for word in words)
    return None


def value_in(line: str, paths: Sequence[str]) -> str:
    """Return the height or ID in a line of standard input: the line itself, the text of a JSON string, as jq prints it,
    or a field of a JSON object.

    `paths`: of the fields, the first one that is there counts. Raises UsageError.
    """
    with suppress(msgspec.DecodeError):
        return msgspec.json.decode(line, type=str).strip()
    if not line.startswith("{"):
        return line
    from chainq.rows.fields import Picker, text_of
    from chainq.rows.raw_json import members

    try:
        fields = members(line.encode())
    except ValueError:
        raise UsageError("it is not valid JSON") from None
    # The paths as keys too: with --columns, rows are flat.
    for value in (*map(fields.get, paths), *Picker(paths)(line.encode())):
        if value is not None and bytes(value)[:1] in b'"-0123456789' and (text := text_of(value)):
            return text
    raise UsageError(f"its JSON object has no {' or '.join(paths)}")


def _lookup(role: Role, word: str, check: bool) -> Lookup | Bounds:
    if role is Role.HEIGHT:
        return parse_range(word) if ":" in word else word if word == LATEST else parse_height(word)
    return _checked(role, word, check)


def _checked(role: Role, word: str, check: bool) -> str:
    return identifiers.CHECKS[role](word) if check else identifiers.sendable(word)


def is_range(word: str) -> bool:
    """Return whether the argument is a range, or is meant as one: a name that exists and is no range is not."""
    with suppress(UsageError):
        return parse_range(word) is not None
    return bool(_RANGE.fullmatch(word)) and not os.path.exists(word)  # noqa: PTH110  # a Path raises for a name that is too long


def split_range(words: Sequence[str] | None) -> tuple[str | None, list[str]]:
    """Return the argument that is a range, None without one, and the other arguments. Raises UsageError for two."""
    ranges = [word for word in words or () if is_range(word)]
    if ranges[1:]:
        raise UsageError(f"unexpected argument {ranges[1]}")
    return ranges[0] if ranges else None, [word for word in words or () if word not in ranges]


def read_bounds(given: "RangeOptions", word: str | None = None, *, whole: bool) -> Bounds:
    """Return the bounds that the range options give, or `word`, the argument. `whole`: without any, all of the chain.

    Raises UsageError.
    """
    if word is None:
        return bounds_of(given.start, given.end, given.last, given.since, given.until, whole=whole, now=time.time())
    bounds = parse_range(word, whole=whole)
    if others := given.given_bounds():
        raise UsageError(f"the range {word} cannot be combined with {' or '.join(others)}")
    return bounds
