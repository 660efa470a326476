"""A run that may take so long and no longer, and servers that hang."""

import re
import signal
import threading
from collections.abc import Iterator

import pytest

from harness.models.search import some
from harness.running.jobs import FIRST, Job, starting
from harness.running.program import LONGEST, Program, Servers, finish
from harness.running.truth import Truth, difference
from harness.servers.services import Moving, serving


class Hanging(Moving):
    """A service that stops responding after some calls, until it is released."""

    def __init__(self, tip: int) -> None:
        super().__init__(tip)
        self.released, self.hung, self.most = threading.Event(), threading.Event(), 0
        self.hook = self._hang

    def _hang(self, _: str) -> None:
        if len(self.calls) > self.most:
            self.hung.set()
            self.released.wait(LONGEST)


@pytest.fixture
def hanging() -> Iterator[tuple[Hanging, str]]:
    """Such a service and its URL."""
    service = Hanging(FIRST + 900)
    with serving(service, service.released) as url:
        yield service, url


@pytest.mark.parametrize(
    ("words", "most"),
    some(
        [
            (("block", "5"), 0),
            (("records", "0:3000"), 0),
            (("records", "0:3000"), 1),
            (("records", "0:3000"), 3),
            (("ownership", "0:3000"), 4),
            (("program-transactions", "credits.aleo", "transfer_public"), 2),
            (("show", "5"), 1),
            (("blocks", "--follow"), 1),
            (("sql", "--end", "50", "select 1 from blocks"), 0),
        ],
        (("block", "5"), 0),
        (("records", "0:3000"), 3),
        (("blocks", "--follow"), 1),
        (("sql", "--end", "50", "select 1 from blocks"), 0),
        several=True,
    ),
)
def test_4_a_server_that_hangs(
    words: tuple[str, ...], most: int, hanging: tuple[Hanging, str], chainq: Program
) -> None:
    """The run ends with exit code 4 when its time is over, long before the request times out."""
    hanging[0].most = most
    ran = chainq(*words, "--deadline", "1s", "--timeout", "3600", "--quiet", url=hanging[1])
    assert ran.code == 4
    assert "the run took longer than --deadline 1s allows" in ran.err.splitlines()[-1]


@pytest.mark.parametrize(
    "words",
    [
        ("records", "0:3000", "--where", 'transaction_id ~ "([a-z0-9]+)+!"'),
        ("sql", "--end", "9", "select count(*) from blocks, range(1000000000) a, range(1000000000) b"),
    ],
)
def test_4_what_takes_long_between_requests(words: tuple[str, ...], chainq: Program) -> None:
    """An expression or a query that never ends: the time of the run is over all the same."""
    ran = chainq(*words, "--deadline", "1s", "--quiet", url="demo:")
    assert ran.code == 4
    assert "the run took longer than --deadline 1s allows" in ran.err
    assert ("resume with --start 0 --end 3000" in ran.err) == ("--where" in words)


def test_4_a_request_beyond_the_range(hanging: tuple[Hanging, str], chainq: Program) -> None:
    """A request may reach beyond the range; the message then says why."""
    lines = {
        "records": r"records/all heights 0-[1-9][0-9]* \(to prove heights 0-4 complete\): http\S+: the run took",
        "full-blocks": r"full-blocks: [A-Za-z]+ heights? 0(-[1-4])?: http\S+: the run took",
    }
    runs = [chainq.start(command, "0:5", "--deadline", "3s", "--quiet", url=hanging[1]) for command in lines]
    for line, run in zip(lines.values(), runs, strict=True):
        assert re.search(line, (ran := finish(run)).err), ran.err


def test_4_the_next_run_resumes(hanging: tuple[Hanging, str], chainq: Program, truth: Truth) -> None:
    """With a checkpoint, runs that are ended again and again come to the end, each row once."""
    service, url = hanging
    job = Job(chainq, url, "records", "--start", str(FIRST), "--page-size", "500", "-j", "2")
    for service.most in (3, 8):
        service.calls.clear()
        assert job("--deadline", "1s").code == 4
    service.released.set()
    assert job("--deadline", "2h").code == 0
    assert difference(job.out.read_bytes().split(b"\n")[:-1], truth.groups("records", FIRST, FIRST + 901)) == ""


@pytest.mark.parametrize(("recorded", "stop"), [(True, "signal"), (False, "deadline")])
def test_a_run_that_is_ended_records_what_is_whole(
    recorded: bool, stop: str, hanging: tuple[Hanging, str], chainq: Program, truth: Truth
) -> None:
    """A position whose hashes were there needs no request; else the hashes of what is written are requested, past
    requests for rows that hang. So short runs come to the end as well."""
    service, url = hanging
    seconds = "0, 1e9" if recorded else "1e9, 1e9"
    late = f"from chainq import tuning\ntuning.FIRST_RECORD_SECONDS, tuning.RECORD_SECONDS = {seconds}\n"
    late += "from chainq.process import signals\nsignals.GRACE = 60\n"  # a busy machine needs longer to clean up
    job = Job(chainq, url, "records", "--start", str(FIRST), "--page-size", "500", "-j", "2")
    service.most = 20 if recorded else 13
    hook = service.hook
    service.hook = lambda method: hook(method) if recorded or method == "records/all" else None
    process = job.start(*(["--deadline", "5s"] if stop == "deadline" else []), env=starting(chainq, "late", late))
    assert service.hung.wait(LONGEST)
    if stop == "signal":
        process.send_signal(signal.SIGTERM)
    ran = finish(process)
    assert ran.code == (4 if stop == "deadline" else -signal.SIGTERM)
    assert job.next > FIRST
    assert f"the next run resumes at height {job.next}" in ran.err
    assert job.out.read_bytes().splitlines() == truth.rows("records", FIRST, job.next)


def test_the_first_timeout_is_a_warning(server: Servers, chainq: Program) -> None:
    """One line, at once, that names the request: nobody waits half an hour to learn that the server hangs."""
    ran = chainq("block", "5", "--timeout", "0.2", "--retries", "1", url=server("--fault", "latency:60"))
    assert ran.code == 4
    warnings = [line for line in ran.err.splitlines() if "warning" in line]
    assert len(warnings) == 1
    assert "warning: block height 5: " in warnings[0]
    assert "no complete response within 0.2 s" in warnings[0]
