"""Exports whose processes are killed (-9) at random moments, wherever the data set lies, and what a reader then finds.

`CHAINQ_EXPORT_KILLS` says how many processes are killed for each kind of store (2).
"""

import os
import random
import select
import signal
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from harness.lake.chain_tables import TABLES, table_rows
from harness.lake.lake import Lake, Texts, due
from harness.running.program import Program, finish
from harness.running.truth import Truth
from harness.servers.services import Moving, serving

if TYPE_CHECKING:
    from harness.lake.buckets import Bucket

KILLS = int(os.environ.get("CHAINQ_EXPORT_KILLS", "2"))
COMMANDS = ("records", "blocks")
START, END = 2400, 3200
HEIGHTS = (f"{START}:{END}", "--partition", "100")
RANGE = (*COMMANDS, *HEIGHTS)


class Exported(NamedTuple):
    """What is exported: the arguments, the tables, and the rows that are due of one of them, of a height range."""

    words: tuple[str, ...]
    tables: tuple[str, ...]
    due: Callable[[Truth, str, int, int], list[Texts]]


LISTS = Exported(RANGE, COMMANDS, lambda truth, table, start, end: due(truth.rows(table, start, end)))
CHAIN = Exported(("chain", *HEIGHTS), TABLES, table_rows)


def children(process: int) -> list[int]:
    """The processes that the threads of a process have started."""
    found: list[int] = []
    with suppress(OSError):  # the process, or one of its threads, has ended
        for task in Path(f"/proc/{process}/task").iterdir():
            with suppress(OSError):
                found += map(int, (task / "children").read_text().split())
    return found


def ends(descriptor: int) -> bool:
    """Whether the process of a descriptor ends within a minute."""
    return bool(select.select([descriptor], [], [], 60)[0])


def kill_and_resume(
    chainq: Program,
    truth: Truth,
    seed: int,
    to: str,
    found: "Lake | Bucket",
    *,
    env: Mapping[str, str] | None = None,
    exported: Exported = LISTS,
) -> None:
    """Kill a worker or the coordinator of an export at a moment of `seed`, then run it again; all assertions are
    here."""
    dice = random.Random(seed)  # noqa: S311
    words = ("export", *exported.words, "--to", to, "-w", "2", "-q")
    service, moment, after = Moving(END + 1000), threading.Event(), dice.randrange(1, 60)
    service.hook = lambda _: moment.set() if len(service.calls) > after else None
    with serving(service) as url:
        with chainq.executed():
            run = chainq.start(*words, url=url, env=dict(env or {}))
        while not moment.wait(0.01) and run.poll() is None:
            pass
        moment.wait(dice.random() * 0.2)  # the moment of death is anybody's guess
        workers = children(run.pid)
        descriptors = [descriptor for worker in workers for descriptor in _opened(worker)]
        for process in [run.pid] if seed % 2 else workers[:1]:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        ran = finish(run)
        for descriptor in descriptors:
            assert ends(descriptor)
            os.close(descriptor)
        _whole(found, truth, exported)
        if seed % 2 == 0:
            assert ran.code == 0, ran.err
        again = chainq(*words, url=url, env=dict(env or {}))
        assert again.code == 0, again.err
        service.calls.clear()
        assert chainq(*words, url=url, env=dict(env or {})).code == 0
    assert len(service.calls) <= 3
    for command in exported.tables:
        assert found.rows(command) == exported.due(truth, command, START, END)
        assert len(found.names(f"{command}/")) == 8


def _opened(process: int) -> list[int]:
    with suppress(OSError):
        return [os.pidfd_open(process)]
    return []


def _whole(found: "Lake | Bucket", truth: Truth, exported: Exported) -> None:
    """All that a reader can see is a whole partition with the right rows."""
    for command in exported.tables:
        for one in found.partitions(command):
            assert one.rows == exported.due(truth, command, one.receipt["start"], one.receipt["end"]), one.name
