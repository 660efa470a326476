"""What workers are given: shares that add up, and values that survive the way."""

from collections.abc import Iterable
from pathlib import Path
from threading import Event
from typing import Any, cast

import pytest

from chainq.errors import OutputError
from chainq.fetching.blocks import Tip
from chainq.lake.data_set import Entry, PartitionSpec
from chainq.lake.plan import Task
from chainq.lake.workers import Done, Job, Worker, write_all
from chainq.options import ServiceOptions
from chainq.planning.exchange import NOTHING_KNOWN
from harness.running.inside import LONGEST


@pytest.mark.parametrize("workers", [1, 2, 3, 64])
def test_workers_share_rate_requests_and_memory(workers: int) -> None:
    """All workers together are no faster, and take no more, than the options allow."""
    options = ServiceOptions(
        timeout=9.0, retries=3, rate=20.0, concurrency=8, max_memory=2**30, headers={"X-Key": "secret"}
    )
    job = Job(options, Tip(5, "a", "b", None), "/data")
    share = job.shared(workers).service
    assert share.rate is not None
    assert share.rate * workers == pytest.approx(20)
    assert share.max_memory * workers <= 2**30
    assert 8 <= share.concurrency * workers < 8 + workers
    assert (share.timeout, share.retries, share.headers, share.profile) == (9.0, 3, {"X-Key": "secret"}, None)


@pytest.mark.parametrize(
    ("profile_url", "sent"),
    [("", False), ('url = "http://127.0.0.1:2/"', False), ('url = "http://127.0.0.1:1/rpc"', True)],
)
def test_headers_of_a_profile_are_sent_to_its_own_host_only(
    profile_url: str, sent: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a worker as by the coordinator; a profile without a URL has no host."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "chainq").mkdir()
    config = f'[profiles.p]\n{profile_url}\nheaders = {{ "X-Key" = "secret" }}\n'
    (tmp_path / "chainq" / "config.toml").write_text(config)
    settings = ServiceOptions("http://127.0.0.1:1/", "p", "chain")
    job = Job(settings, Tip(5, "a", "b", None), str(tmp_path))
    with Worker(job) as worker:
        assert ("X-Key" in worker._service.options.headers) is sent


def test_no_memory_is_an_error_with_advice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not a bug: smaller partitions need less."""

    def fail(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr(Worker, "_fetch", fail)
    settings = ServiceOptions("demo:", dialect="chain")
    job = Job(settings, Tip(5, "a", "b", None), str(tmp_path))
    with Worker(job) as worker, pytest.raises(OutputError, match="smaller --partition"):
        worker.write(Task(PartitionSpec("records", 0, 5), ("records",)))
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_what_is_written_counts_also_behind_a_failure() -> None:
    """Tasks end in any order: of two at a time the second is written before the first fails."""
    first, second = (Task(PartitionSpec("blocks", start, start + 10), ("blocks",)) for start in (0, 10))
    file = Entry(second.spec, 100, 10, "0", "0")
    done = Done(second.spec, (file,), 1, NOTHING_KNOWN, (), {})
    ended = Event()

    class Crew:
        size = 2

        def write(self, task: Task) -> Done:
            if task.spec != first.spec:
                return done
            assert ended.wait(LONGEST)
            raise OutputError("no space")

    class Written(list[Entry]):
        def extend(self, files: Iterable[Entry]) -> None:
            super().extend(files)
            ended.set()

    written = Written()
    with pytest.raises(OutputError, match="no space"):
        list(write_all(cast("Any", Crew()), [first, second], written))
    assert written == [file]
