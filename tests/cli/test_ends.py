"""What a run says on stderr while it lasts, how the program ends, and what `chainq serve` refuses."""

import json
import os

import pytest

from chainq.cli import log, main
from chainq.cli.options import ServiceFlags
from chainq.cli.report import Reporter
from chainq.cli.tool_options import ServeOptions
from chainq.cli.tools.serve import run
from chainq.errors import UsageError
from chainq.process import signals
from chainq.transport.base import Report
from harness.running.program import Program, Servers

REFUSED = Report("records/all", "", 0, 0.1, 1, "HTTP 429", wait=8.0, rate_limited=True)
FINE = Report("records/all", "", 90, 0.1, 2, "ok", rows=3)
LIMITED = "chainq: warning: records/all: HTTP 429, the service limits the rate of calls; chainq retries for up to 120 s"


@pytest.mark.parametrize(
    ("quiet", "terminals", "said"), [(False, (), LIMITED), (False, (1, 2), LIMITED), (True, (), ""), (True, (2,), "")]
)
def test_a_rate_limit_is_said_once(
    quiet: bool,
    terminals: tuple[int, ...],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A whole line, with what helps, however often requests are refused; none with --quiet, also on a terminal."""
    monkeypatch.setenv("COLUMNS", "200")  # or a line on a terminal is wrapped
    monkeypatch.setattr(os, "isatty", terminals.__contains__)
    reporter = Reporter(ServiceFlags(quiet=quiet))
    for each in (REFUSED, FINE, REFUSED, REFUSED):
        reporter.call(each)
    reporter.end()
    error = capsys.readouterr().err
    assert error.startswith(said)
    assert error.count("\n") == error.count("--rate N") == bool(said)
    assert "\x1b" not in error


def test_an_outage_has_a_line_each_time_it_is_twice_as_long(capsys: pytest.CaptureFixture[str]) -> None:
    """Counted in attempts, of all requests; a response ends it."""
    reporter, down = Reporter(), Report("latest/block", "", 0, 0.1, 1, "HTTP 503", wait=5.0)
    for attempt in range(1, 1025):
        reporter.call(down)
        assert bool(capsys.readouterr().err) == (attempt.bit_count() == 1), attempt
    reporter.call(FINE)
    reporter.call(down)
    assert capsys.readouterr().err == "chainq: warning: latest/block: HTTP 503; retrying in 5 s\n"


def test_a_signal_while_an_error_is_printed_ends_the_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By that signal, without a traceback."""
    write, came = log.write, list[str]()

    def interrupted(line: str) -> None:
        if not came:
            came.append(line)
            raise signals.Interrupted(15)
        write(line)

    monkeypatch.setattr(log, "write", interrupted)
    assert main.run(["records", "--nonsense"]) == -15
    assert capsys.readouterr().err == "chainq records: stopped by SIGTERM\n"


def test_faults_reach_the_service(chainq: Program, server: Servers) -> None:
    """Faults of several stages; and a port that is taken is a usage error."""
    faults = ("--fault", "row-cap:50", "--fault", "offset-by-asked", "--fault", "database-down:1")
    with server.process(*faults) as (url, _):
        params = {"start": 777, "end": 778, "page": 1, "recordsPerRequest": 60}
        down = chainq("rpc", "records/all", json.dumps(params), "--retries", "0", url=url)
        assert "57P01" in down.err
        page = chainq("rpc", "records/all", json.dumps(params), url=url)
        port = int(url.rstrip("/").rpartition(":")[2])
        with pytest.raises(UsageError, match=f"cannot listen on 127.0.0.1:{port}"):
            run(ServeOptions(port=port))
    assert len(json.loads(page.out)) == 50
