"""The parsed values of a command line become one validated Query, and settings for what is not part of it."""

from pathlib import Path
from typing import Any

import pytest

from chainq.catalog.methods import BY_COMMAND, Role
from chainq.cli.options import MethodOptions
from chainq.cli.query import lookups, read_query, resume_settings
from chainq.errors import UsageError
from chainq.heights.bounds import LATEST, Bounds
from chainq.query import STDIN, Query
from chainq.resume.settings import ResumeSettings


def query_of(command: str, **given: Any) -> Query:
    """The query of a command line."""
    return read_query(BY_COMMAND[command], MethodOptions(**given))


def test_options_of_a_range() -> None:
    """Bounds are parsed, and everything that decides about rows is in the query."""
    query = query_of("records", start="12K", end="-5", reverse=True, limit=7, page_size=100)
    assert query.bounds == Bounds(start=12_000, end=-5)
    assert (query.reverse, query.limit, query.page_size, query.lookups) == (True, 7, 100, None)


def test_a_range_in_one_word() -> None:
    """It gives the bounds that options would, and remembers its form."""
    assert query_of("records", range="12K:-5").bounds == Bounds(start=12_000, end=-5, one_word=True)
    assert query_of("block", heights=["5:7", "9"]).lookups == (Bounds(5, 7, one_word=True), 9)


def test_defaults_are_those_of_the_method() -> None:
    """Without options a range is open, the page size what suits the method, and everything is checked."""
    query = query_of("records")
    assert query == Query(BY_COMMAND["records"], {}, bounds=Bounds())
    assert query_of("blocks", no_verify=True).verify is False
    assert query_of("block", heights=["5"], no_check=True).check is False


def test_lookups_keep_their_order() -> None:
    """Heights become numbers; the tip and standard input stay words until they are needed."""
    query = query_of("block", heights=["5", "latest", "1K", "-"])
    assert query.lookups == (5, LATEST, 1000, STDIN)
    assert not query.single
    assert list(lookups(query_of("block", heights=["5", "latest"]))) == [5, LATEST]


@pytest.mark.parametrize(("heights", "single"), [(["5"], True), (["5", "6"], False), (["-"], False)])
def test_one_lookup_is_a_single_object(heights: list[str], single: bool) -> None:
    """Only one lookup gives one object; what standard input holds is not known."""
    assert query_of("block", heights=heights).single is single
    assert query_of("latest").single
    assert not query_of("transactions", heights=heights).single


def test_arguments_are_checked_unless_asked_not_to() -> None:
    """Programs, functions and addresses are arguments of every request."""
    query = query_of("program-transactions", program="a.aleo", function="b")
    assert query.arguments == {Role.PROGRAM: "a.aleo", Role.FUNCTION: "b"}
    with pytest.raises(UsageError, match="program ID"):
        query_of("program-transactions", program="a", function="b")
    assert query_of("program-transactions", program="a", function="b", no_check=True).arguments[Role.PROGRAM] == "a"


def resumed(**given: Any) -> ResumeSettings | None:
    """The resume settings of `chainq records`."""
    options = MethodOptions(**given)
    return resume_settings(read_query(BY_COMMAND["records"], options), options)


def test_a_plain_run_does_not_resume() -> None:
    """Without --checkpoint and --follow there are no resume settings, nor for a method without a range."""
    assert resumed() is None
    assert resume_settings(query_of("latest"), MethodOptions()) is None


def test_resume_settings() -> None:
    """Ages are seconds, and `-o -` is standard output."""
    assert resumed(checkpoint=Path("c"), lag=3, max_age="10m", output="-") == ResumeSettings(
        Path("c"), lag=3, max_age=600.0
    )
    assert resumed(follow=True, output="f") == ResumeSettings(follow=True, output=Path("f"))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"rewind": 1}, "--rewind needs --checkpoint"),
        ({"rewind": 1, "follow": True}, "--rewind needs --checkpoint"),
        ({"lag": 1}, "--lag needs --checkpoint or --follow"),
        ({"max_age": "1h"}, "--max-age needs --checkpoint or --follow"),
        ({"max_age": "soon", "follow": True}, "invalid --max-age 'soon'"),
        ({"interval": 1e9, "follow": True}, "invalid --interval"),
        ({"checkpoint": Path("c"), "last": "5"}, "--checkpoint cannot be combined with --last"),
        ({"checkpoint": Path("c"), "limit": 5}, "--checkpoint cannot be combined with --limit"),
        ({"checkpoint": Path("c"), "since": "2h"}, "--checkpoint cannot be combined with --since"),
        ({"follow": True, "until": "2h"}, "--follow cannot be combined with --until"),
        ({"follow": True, "page": 0}, "--follow cannot be combined with --page"),
        ({"follow": True, "reverse": True}, "--follow cannot be combined with --reverse"),
        ({"follow": True, "checkpoint": Path("c"), "end": "9"}, "--follow cannot be combined with --end"),
    ],
)
def test_options_that_contradict_each_other(given: dict[str, Any], message: str) -> None:
    """A resumed or followed run goes forward to the tip; what contradicts that is refused before any request."""
    with pytest.raises(UsageError, match=message):
        resumed(**given)


@pytest.mark.parametrize(
    "given",
    [{"checkpoint": Path("c"), "end": "9"}, {"follow": True, "limit": 5}, {"follow": True, "since": "2h"}],
)
def test_options_that_go_together(given: dict[str, Any]) -> None:
    """A checkpoint may have an end, and following a limit and a beginning."""
    assert resumed(**given) is not None
