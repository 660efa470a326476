"""What the tests share: the installed program, sample servers on loopback sockets, and the chain's own rows.

Nothing here asks the program what is right: `Truth` computes rows from the sample chain and splits JSON on its own.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeVar

import pytest

T = TypeVar("T")
# The dialect that the sample servers speak and the program is told: the suite is run in both.
DIALECT = os.environ.get("CHAINQ_TEST_DIALECT", "chain")
LONGEST = 60  # seconds that any run of the program may take before it counts as hanging

# A shell that starts pytest in the background has children ignore SIGINT; these tests send it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


class Ran(NamedTuple):
    """How a run of the program ended."""

    code: int
    out: bytes
    err: str

    @property
    def rows(self) -> list[bytes]:
        """The lines of stdout; the last one must be whole."""
        assert self.out == b"" or self.out.endswith(b"\n"), f"stdout ends inside a line: {self.out[-80:]!r}"
        return self.out.split(b"\n")[:-1]


def installed() -> str:
    """The program as a user gets it: the script that the installer wrote."""
    beside = Path(sys.executable).with_name("chainq")
    found = str(beside) if beside.exists() else shutil.which("chainq")
    assert found, "chainq is not installed"
    return found


class Program:
    """Runs the installed program as a process, in an environment of its own."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.config = home / "config" / "chainq" / "config.toml"
        self.path = installed()

    def environment(self, env: dict[str, str] | None = None) -> dict[str, str]:
        """Nothing of the caller's own settings, proxies or CHAINQ_*."""
        return {
            "PATH": os.environ.get("PATH", ""),
            "LANG": "C.UTF-8",
            "HOME": str(self.home),
            "XDG_CONFIG_HOME": str(self.home / "config"),
            "XDG_CACHE_HOME": str(self.home / "cache"),
            "XDG_STATE_HOME": str(self.home / "state"),
            **(env or {}),
        }

    def start(
        self,
        *args: str,
        url: str | None = None,
        env: dict[str, str] | None = None,
        stdout: int | IO[bytes] = subprocess.PIPE,
        stdin: int | IO[bytes] = subprocess.DEVNULL,
    ) -> subprocess.Popen[bytes]:
        """Start a run and leave it to the caller; stderr is a pipe."""
        where = [] if url is None else ["--url", url]
        if url not in (None, "demo:") and args[0] != "rpc" and "--dialect" not in args:
            where += ["--dialect", DIALECT]
        return subprocess.Popen(
            [self.path, *args, *where],
            env=self.environment(env),
            cwd=self.home,
            stdin=stdin,
            stdout=stdout,
            stderr=subprocess.PIPE,
            bufsize=0,  # so that a line can be read and the rest left to `finish`
        )

    def __call__(
        self, *args: str, url: str | None = None, env: dict[str, str] | None = None, stdin: bytes | None = None
    ) -> Ran:
        """Run the program to its end; `url` stands last, as --url."""
        process = self.start(*args, url=url, env=env, stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE)
        return finish(process, stdin)


def finish(process: subprocess.Popen[bytes], stdin: bytes | None = None) -> Ran:
    """Read all that a started run still says, and wait for its end."""
    try:
        out, err = process.communicate(stdin, timeout=LONGEST)
    except BaseException:
        process.kill()
        process.communicate()
        raise
    return Ran(process.returncode, out, err.decode())


def side_by_side(jobs: Iterable[Callable[[], T]]) -> list[T]:
    """Do independent jobs two at a time, for tests that take many short runs; their results in order."""
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(lambda job: job(), jobs))


class Servers:
    """Starts `chainq serve` with switches. `servers(...)` keeps one for each set of switches until the session ends."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._kept: dict[tuple[str, ...], tuple[str, subprocess.Popen[bytes]]] = {}

    def __call__(self, *switches: str) -> str:
        """The URL of a server with these switches. It is shared, so they must not depend on a count of calls."""
        if switches not in self._kept:
            self._kept[switches] = self._open(switches)
        return self._kept[switches][0]

    @contextmanager
    def own(self, *switches: str) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
        """A server of the caller's own: its URL and its process, which may be killed."""
        url, process = self._open(switches)
        try:
            yield url, process
        finally:
            self._close(process)

    def stop(self) -> None:
        """Stop all that are kept."""
        for _, process in self._kept.values():
            self._close(process)

    def _open(self, switches: tuple[str, ...]) -> tuple[str, subprocess.Popen[bytes]]:
        process = self._program.start("serve", "--port", "0", "--dialect", DIALECT, *switches)
        assert process.stdout is not None
        url = process.stdout.readline().decode().strip()
        if not url.startswith("http://127.0.0.1:"):
            raise AssertionError(f"chainq serve gave no URL but {url!r}: {finish(process).err}")
        return url, process

    @staticmethod
    def _close(process: subprocess.Popen[bytes]) -> None:
        process.terminate()
        ended = finish(process)
        assert "Traceback" not in ended.err, ended.err


def split(body: bytes) -> list[bytes]:
    """The items of a compact JSON array, each as it stands there."""
    rows = [json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode() for row in json.loads(body)]
    assert b"[" + b",".join(rows) + b"]" == body, "not compact, or a value that json does not keep"
    return rows


Groups = Sequence[Sequence[bytes]]


def difference(rows: Sequence[bytes], groups: Groups) -> str:
    """Where rows differ from those due, in words; empty when they are the same, height by height.

    Each group holds the rows of one height, which may come in any order among themselves.
    """
    at = 0
    for place, group in enumerate(groups):
        found = Counter(rows[at : at + len(group)])
        if found != Counter(group):
            missing, strange = Counter(group) - found, found - Counter(group)
            return (
                f"group {place} (rows from {at}, {len(rows)} came, {sum(map(len, groups))} are due):"
                f" {missing.total()} missing such as {next(iter(missing), b'')[:120]!r},"
                f" {strange.total()} others such as {next(iter(strange), b'')[:120]!r}"
            )
        at += len(group)
    return "" if at == len(rows) else f"{len(rows) - at} rows too many, such as {rows[at][:120]!r}"


class Truth:
    """The chain's own rows, computed in this process in the order of the chain, as compact JSON."""

    def __init__(self, newest: int | None = None) -> None:
        from chainq.demo.answers import Answers
        from chainq.demo.chain import DEFAULT_NEWEST, Chain
        from chainq.demo.faults import NO_FAULTS

        self.newest = DEFAULT_NEWEST if newest is None else newest
        self.chain = Chain(newest=self.newest)
        self._answers = Answers(self.chain, NO_FAULTS, shuffle=False)

    def _ask(self, answer: str, **args: Any) -> bytes:
        from chainq.demo.answers import Asked

        body: bytes = getattr(self._answers, answer)(Asked({"page": 0, "size": 1 << 40, **args}, self.newest, 0))
        return body

    def block(self, height: int) -> bytes:
        """A Block summary."""
        return self._ask("block", block=height)[1:-1]

    def transactions(self, height: int) -> list[bytes]:
        """The Transaction summaries of a block."""
        return split(self._ask("transactions", block=height))

    def transaction_id(self, height: int, index: int) -> str:
        """The ID of a transaction."""
        return self.chain.transaction_id(height, index)

    def transaction(self, height: int, index: int) -> bytes:
        """A Transaction."""
        return self._ask("transaction", id=self.transaction_id(height, index))

    def program_transactions(self, program: str, function: str) -> list[bytes]:
        """The Transactions that call a function."""
        return split(self._ask("program_transactions", program=program, function=function))

    @lru_cache(maxsize=64)  # noqa: B019  # there is one Truth for each chain, and it lives as long as the session
    def groups(self, command: str, start: int, end: int, address: str = "") -> Groups:
        """The rows of a ranged command, height by height."""
        from chainq.demo.callers import occurrences

        end = min(end, self.newest + 1)
        rows = split(self._ask(command.replace("-", "_"), start=start, end=end, address=address))
        if command == "address-transactions":
            places = Counter(height for height, _ in occurrences(self.chain.address_numbers[address], start, end))
            counts = [places[height] for height in range(start, end)]
        elif command in ("records", "ownership", "transitions"):
            tally = self.chain.open_calls if command == "transitions" else self.chain.records
            counts = [tally.count(height) for height in range(start, end)]
        else:
            counts = [1] * (end - start)
        assert sum(counts) == len(rows)
        groups, at = [], 0
        for count in counts:
            groups.append(rows[at : at + count])
            at += count
        return groups

    def rows(self, command: str, start: int, end: int, address: str = "") -> list[bytes]:
        """The rows of a ranged command in one list."""
        return [row for group in self.groups(command, start, end, address) for row in group]


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    """The URL of a sample server: `server("--row-cap", "700")`; or one to be killed: `with server.own(...)`."""
    servers = Servers(Program(tmp_path_factory.mktemp("servers")))
    yield servers
    servers.stop()


@pytest.fixture
def chainq(tmp_path: Path) -> Program:
    """Runs the installed program: `chainq("block", "5", url=...)`."""
    return Program(tmp_path)


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Program:
    """The same for tests that run it again and again (hypothesis)."""
    return Program(tmp_path_factory.mktemp("program"))


@pytest.fixture(scope="session")
def truth() -> Truth:
    """The rows of the sample chain as `chainq serve` and `demo:` have it."""
    return Truth()


@pytest.fixture
def nowhere() -> Iterator[str]:
    """A URL where nothing listens, and nothing can begin to."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{held.getsockname()[1]}/"
