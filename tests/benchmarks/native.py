"""The server in C: built in a folder of its own, started on a loopback port, stopped when its input closes."""

import http.client
import json
import shutil
import subprocess
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple

from measure import run

FIRST = 1_000_000  # the lowest height it has
ROWS_A_HEIGHT = 20  # records


class Call(NamedTuple):
    """A call as chainq made it: heights from `start` to before `end`."""

    method: str
    start: int
    end: int
    page: int
    body: str


class Server:
    """The running server."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdout is not None
        self._host = f"127.0.0.1:{int(process.stdout.readline())}"
        self._heard: SimpleQueue[str] = SimpleQueue()  # taken out of the pipe at once: a full one would stop the server
        threading.Thread(target=self._hear, args=[process.stdout], daemon=True).start()

    def _hear(self, lines: Iterable[str]) -> None:
        for line in lines:
            self._heard.put(line)

    def url(self, latency: int = 0, *, gzip: bool = False, log: bool = False) -> str:
        """Where it answers after so many milliseconds."""
        return f"http://{self._host}/?latency={latency}{'&gzip' * gzip}{'&log' * log}"

    def calls(self, chainq: list[str], end: int) -> list[Call]:
        """The calls by which chainq reads a range up to `end` whole, in order of height, no height twice.

        What proves the last heights is left out: calls of other methods, and heights from `end` on.
        """
        run([[*chainq, "--url", self.url(log=True)]])
        last = http.client.HTTPConnection(self._host, timeout=10)
        last.request("POST", "/?&log", '{"jsonrpc":"2.0","id":0,"method":"latest/block","end":true}')
        last.getresponse().read()
        last.close()
        made = []
        while '"end":true' not in (line := self._heard.get(timeout=60)):
            made.append(_call(line))
        ((method, _),) = Counter(call.method for call in made if call.start >= 0).most_common(1)
        first: dict[int, Call] = {}
        for call in (call for call in made if call.method == method):
            # What was asked for in one piece and then in two counts as two.
            if call.page == 0 <= call.start < end and (call.start not in first or call.end < first[call.start].end):
                first[call.start] = call
        whole = [first[start] for start in sorted(first)]
        return [
            _before(call, until) for call, until in zip(whole, [*(call.start for call in whole[1:]), end], strict=True)
        ]


def _before(call: Call, end: int) -> Call:
    """The call without the heights that the next one asks for again: chunks overlap, so as to prove each other."""
    request = json.loads(call.body)
    request["params"]["end"] = end
    return call._replace(end=end, body=json.dumps(request))


def _call(line: str) -> Call:
    request: dict[str, Any] = json.loads(line)
    params = request.get("params", {})
    heights = params.get("start", -1), params.get("end", -1)
    return Call(request["method"], *heights, params.get("page", 0), line.strip())


def missing() -> str | None:
    """What there is no server without."""
    return None if shutil.which("cc") else "cc, which builds the server"


@contextmanager
def server(folder: Path) -> Iterator[Server]:
    """Build and start it. Raises RuntimeError with what the compiler says."""
    program = folder / "server"
    source = Path(__file__).with_name("server.c")
    built = subprocess.run(
        ["cc", "-O2", "-pthread", "-o", str(program), str(source), "-lz"],  # noqa: S607  # whichever cc
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    if built.returncode:
        raise RuntimeError(f"the server cannot be built (does it find zlib.h?):\n{built.stderr}")
    with subprocess.Popen([str(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Server(process)
        finally:
            process.terminate()


def curl(calls: list[Call], url: str, config: Path, *, many: bool = False, compressed: bool = False) -> list[str]:
    """The command by which curl makes the calls over one connection, or 8 at once into /dev/null."""
    parts = []
    for call in calls:
        lines = [
            f'url = "{url}"',
            f"data = {json.dumps(call.body)}",
            'header = "Content-Type: application/json"',
            "silent",
            *(["compressed"] if compressed else []),
            *(['output = "/dev/null"'] if many else []),
        ]
        parts.append("\n".join(lines))
    config.write_text("\nnext\n".join(parts) + "\n")
    return ["curl", *(["-Z", "--parallel-max", "8"] if many else []), "-K", str(config)]
