"""What a data command asks, read from its arguments and options, and checked as far as it can be before any call."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from chainq.catalog import identifiers
from chainq.catalog.dialects import Dialect, Value
from chainq.catalog.methods import Method, Role, Shape
from chainq.cli.options import (
    CheckpointOptions,
    LimitOptions,
    OutputOptions,
    PageOptions,
    RangeOptions,
    SourceOptions,
    VerifyOptions,
)
from chainq.cli.stdin import _lines
from chainq.errors import UsageError
from chainq.heights.block_time import parse_age, parse_time
from chainq.heights.bounds import Bounds, parse_bound, parse_height


@dataclass(frozen=True, slots=True)
class Options:
    """All options of a data command; groups that a command does not have stand at their defaults."""

    source: SourceOptions
    output: OutputOptions
    heights: RangeOptions = field(default_factory=RangeOptions)
    limit: LimitOptions = field(default_factory=LimitOptions)
    page: PageOptions = field(default_factory=PageOptions)
    verify: VerifyOptions = field(default_factory=VerifyOptions)
    checkpoint: CheckpointOptions = field(default_factory=CheckpointOptions)


@dataclass(frozen=True, slots=True)
class Asked:
    """The question of one command.

    `arguments` go into every call; `names` are heights or IDs as typed, None for commands that take none; `heights` is
    the range, None for commands without. `page` is the one page that is wanted raw, `page_size` what calls ask for at
    first, `limit` the most rows. `check`: arguments are held against the catalogue.
    """

    method: Method
    arguments: dict[Role, Value]
    names: list[str] | None
    heights: Bounds | None
    reverse: bool
    limit: int | None
    page: int | None
    page_size: int | None
    verify: bool
    check: bool

    @property
    def single(self) -> bool:
        """Whether the answer is one object by nature."""
        names = self.names
        return self.method.shape is not Shape.ROWS and (names is None or (len(names) == 1 and names[0] != "-"))

    def typed(self) -> Iterator[int | str | None]:
        """The names one by one, heights as numbers; `-` stands for the lines of stdin, `latest` stays a word.

        None means that stdin has no line yet: whoever can wait for something else may, and ask again.
        """
        role = Role.HEIGHT if self.method.param(Role.HEIGHT) else Role.ID
        for name in self.names or []:
            for line in _lines() if name == "-" else [name]:
                if line is None or (role is Role.HEIGHT and line == "latest"):
                    yield line
                else:
                    yield _name(role, line, self.check)


def read(method: Method, words: dict[Role, list[str]], options: Options) -> Asked:
    """The question that arguments (`words`, by role) and options put. Raises UsageError."""
    check, page = not options.source.no_check, options.page
    asked = Asked(
        method,
        _arguments(words, check),
        _names(words, check),
        _range_ask(method, options.heights) if method.ranged else None,
        reverse=options.heights.reverse,
        limit=options.limit.limit,
        page=page.page,
        page_size=page.page_size or method.page_size,
        verify=not options.verify.no_verify,
        check=check,
    )
    _check_going_on(asked, options.checkpoint)
    return asked


def check_page_size(asked: Asked, dialect: Dialect) -> None:
    """Hold the page size against the most that the dialect allows. Raises UsageError."""
    most = dialect.page_size_max(asked.method)
    if asked.check and most is not None and (asked.page_size or 0) > most:
        size, name = asked.page_size, asked.method.name
        raise UsageError(f"--page-size {size} is above the {most} of {name}", "--no-check sends it")


def _check_going_on(asked: Asked, going: CheckpointOptions) -> None:
    """Hold `--checkpoint` and `--follow` against the options that contradict them, and those that need them."""
    kept, follow = going.checkpoint is not None, going.follow
    ask = asked.heights or Bounds()
    if going.max_age is not None:
        parse_age(going.max_age)
    if going.rewind is not None and not kept:
        raise UsageError("--rewind belongs to --checkpoint")
    if (going.max_age is not None or going.lag) and not (kept or follow):
        raise UsageError("--lag and --max-age belong to --checkpoint or --follow")
    if not 0 < going.interval < 1e6:
        raise UsageError(f"--interval {going.interval:g} is no number of seconds to wait")
    wrong = {
        "--reverse": (kept or follow) and asked.reverse,
        "--page": (kept or follow) and asked.page is not None,
        "--limit": kept and asked.limit is not None,
        "--last": kept and ask.last is not None,
        "--since": kept and ask.since is not None,
        "--until": (kept or follow) and ask.until is not None,
        "--end": follow and ask.end is not None,
    }
    for other, given in wrong.items():
        if given:
            name = "--checkpoint" if kept else "--follow"
            raise UsageError(f"{name} goes forward to the newest block: it excludes {other}")


def _arguments(words: dict[Role, list[str]], check: bool) -> dict[Role, Value]:
    """The arguments that go into every call: program, function, address."""
    several = (Role.HEIGHT, Role.ID)
    return {role: _word(role, word[0], check) for role, word in words.items() if role not in several}


def _word(role: Role, word: str, check: bool) -> str:
    return identifiers.CHECKS[role](word) if check else identifiers.sendable(word)


def _names(words: dict[Role, list[str]], check: bool) -> list[str] | None:
    """The heights or IDs as typed, checked as far as they can be before any call; None where a command takes none."""
    for role in (Role.HEIGHT, Role.ID):
        if role in words:
            for word in words[role]:
                if word not in ("-", "latest"):
                    _name(role, word, check)
            return words[role]
    return None


def _name(role: Role, word: str, check: bool) -> int | str:
    if role is Role.HEIGHT:
        return parse_height(word)
    return identifiers.CHECKS[role](word) if check else identifiers.sendable(word)


def _range_ask(method: Method, options: RangeOptions) -> Bounds:
    ask = Bounds(
        start=parse_bound(options.start) if options.start is not None else None,
        end=parse_bound(options.end) if options.end is not None else None,
        last=parse_height(options.last) if options.last is not None else None,
        since=parse_time(options.since, time.time()) if options.since is not None else None,
        until=parse_time(options.until, time.time()) if options.until is not None else None,
        whole=method.param(Role.ADDRESS) is not None,
    )
    ask.check()
    return ask
