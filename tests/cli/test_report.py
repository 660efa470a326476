"""What a run says on stderr: one line for a rate limit, however often requests are refused, and few for an outage."""

import os
import sys

import pytest

from chainq.cli.options import ServiceFlags
from chainq.cli.report import Reporter
from chainq.transport.base import Report

REFUSED = Report("records/all", "", 0, 0.1, 1, "HTTP 429", wait=8.0, rate_limited=True)
FINE = Report("records/all", "", 90, 0.1, 2, "ok", rows=3)


@pytest.fixture
def terminals(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """The descriptors that count as terminals; none at first."""
    found: set[int] = set()
    monkeypatch.setenv("COLUMNS", "200")  # or a line on a terminal is wrapped
    monkeypatch.setattr(os, "isatty", lambda descriptor: descriptor in found)
    return found


def test_a_log_gets_one_line(terminals: set[int], capsys: pytest.CaptureFixture[str]) -> None:
    """The first refusal is said, with what helps; the others are not."""
    reporter = Reporter()
    for each in (REFUSED, FINE, REFUSED, REFUSED):
        reporter.call(each)
    reporter.end()
    assert not terminals
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert error.startswith(
        "chainq: warning: records/all: HTTP 429, the service limits the rate of calls; chainq retries for up to 120 s"
    )
    assert "--rate N" in error


def test_rows_on_the_terminal_are_not_overwritten(terminals: set[int], capsys: pytest.CaptureFixture[str]) -> None:
    """Where rows come on the same terminal a line that changes would stand among them."""
    terminals |= {1, 2}
    reporter = Reporter()
    reporter.call(REFUSED)
    reporter.call(REFUSED)
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "\x1b" not in error


def test_quiet_says_nothing_of_it(terminals: set[int], capsys: pytest.CaptureFixture[str]) -> None:
    """Neither as a line nor as one that changes."""
    for descriptors in (set(), {2}):
        terminals |= descriptors
        Reporter(ServiceFlags(quiet=True)).call(REFUSED)
    assert capsys.readouterr().err == ""
    assert sys.stderr is not None


def test_an_outage_has_a_line_each_time_it_is_twice_as_long(capsys: pytest.CaptureFixture[str]) -> None:
    """Counted in attempts, of all requests; a response ends it."""
    reporter, down = Reporter(), Report("latest/block", "", 0, 0.1, 1, "HTTP 503", wait=5.0)
    for attempt in range(1, 1025):
        reporter.call(down)
        assert bool(capsys.readouterr().err) == (attempt.bit_count() == 1), attempt
    reporter.call(FINE)
    reporter.call(down)
    assert capsys.readouterr().err == "chainq: warning: latest/block: HTTP 503; retrying in 5 s\n"
