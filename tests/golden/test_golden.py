"""Golden records: what command lines print, in files that a diff shows. `pytest --update-golden` writes them anew.

A file of `commands/` is a session in a home of its own. `$ NAME=VALUE chainq WORDS <<< 'text'` is a run, where a word
`serve SWITCHES` stands for the URL of such a sample server, and `result JSON`, `error JSON` or `answer STATUS HEADER
BODY` for that of a server with one answer to everything (`ID` in a body is the id of the request). `moving` stands for
that of a server which the session moves: `% tip HEIGHT` (or `+BLOCKS`), `% fork HEIGHT`, `% fault NAME…`, `% refuse
HEIGHT`, and `% on METHOD STEP…`, which takes the step at each call of a method. `SCREEN=N` is a terminal of N columns.
`% DAMAGE …` changes a file (`DAMAGES`). Below stand the lines of stdout after `| `, those of stderr after `! `, after
`@ ` the number of requests to `moving` or a server with one answer if `COUNT=yes` asks for it, and after `= ` an exit
code that is not 0. A line is all that a further run takes. Times, paths and what else differs from run to run are
replaced (`VARYING`). Whatever the record says: a usage error is one line, and no secret is printed.
"""

import hashlib
import re
import shlex
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import Any

import pytest

from chainq.demo.faults import Faults
from harness.lake.fork import Fork
from harness.models import page_model
from harness.models.attempts import attempt
from harness.models.model import KINDS, NARROW, WRONG
from harness.models.page_model import PageFaults, PageServer
from harness.running.program import Program, Ran, Servers, one_line
from harness.servers.services import Canned, Moving, Serve, canned, error

HERE = Path(__file__).parent
SESSIONS = sorted((HERE / "commands").glob("*.txt"))
LONGEST = 1000  # characters of a line that is shown whole
SEEDS = range(2)
VARYING = (
    (r"http://127\.0\.0\.1:[0-9]+", "http://SERVER"),
    (r"\*@127\.0\.0\.1:[0-9]+", "*@SERVER"),
    (r"chainq [0-9]+\.[0-9]+\.[0-9]+\S*", "chainq VERSION"),
    (r"\d\d:\d\d:\d\d\.\d{3}Z", "TIME"),
    (r" *\b\d+ ms\b *", " N ms "),
    (r'"(success|failure|age|seconds)":[0-9.e-]+', r'"\1":N'),
    (r"last error, \d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ", "last error, DATE"),
    (r'"(time|run)":"[^"]*"', r'"\1":"…"'),
    (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC, in [0-9.]+ s", "DATE, in N s"),
    (r"\b[0-9.]+ [kM]B\b", "N kB"),
    (r" +\d+ s$", " N s"),
    (r"\d+ seconds? ago", "N seconds ago"),
    (r"\b\d+ months old *", "AGE old "),
    (r"retrying in [0-9.]+ s", "retrying in N s"),
    (r'"id":[0-9]+,"result', '"id":N,"result'),  # of a response that a message repeats
)


def _lines(change: Callable[[list[bytes]], list[bytes]]) -> Callable[[bytes], bytes]:
    return lambda data: b"".join(change(data.splitlines(keepends=True)))


DAMAGES: dict[str, Callable[..., Callable[[bytes], bytes]]] = {
    "text": lambda text: lambda _: text.replace("\\n", "\n").encode() + b"\n",
    "replace": lambda old, new: lambda data: data.replace(old.encode(), new.encode(), 1),
    "lose": lambda line: _lines(lambda lines: lines[: int(line)] + lines[int(line) + 1 :]),
    "double": lambda line: _lines(lambda lines: lines[: int(line) + 1] + lines[int(line) :]),
    "swap": lambda line: _lines(
        lambda lines: [*lines[: int(line)], *lines[int(line) :][:2][::-1], *lines[int(line) + 2 :]]
    ),
    "cut": lambda size: lambda data: data[: int(size)],
    "flip": lambda place: lambda data: data[: int(place)] + bytes([data[int(place)] ^ 1]) + data[int(place) + 1 :],
    "as": lambda other: lambda _: Path(other).read_bytes(),
}
"""What `% DAMAGE FILE ARGUMENT…` makes of the bytes of a file; `% remove FILE` removes it, `% print FILE` shows it."""

SECRETS = re.compile("hunter|APrivateKey1z|AViewKey1m|secretsecret")


def _answer(rest: str) -> Callable[[Any], Canned]:
    status, header, body = rest.split(" ", 2)
    name, _, value = header.partition(":")
    content = body.encode().decode("unicode_escape")
    return lambda request: Canned(
        content.replace("ID", str(request["id"])).encode("latin-1"),
        int(status),
        value if name == "Content-Type" else "text/plain",
        () if name == "Content-Type" else ((name, value),),
    )


def _member(name: str) -> Callable[[str], Callable[[Any], Canned]]:
    return lambda value: lambda request: Canned(f'{{"jsonrpc":"2.0","id":{request["id"]},"{name}":{value}}}'.encode())


ANSWERS = {"answer": _answer, "result": _member("result"), "error": _member("error")}


class Session:
    """What the steps of a file share: a home, servers, and the one that the steps move."""

    def __init__(self, chainq: Program, server: Servers, serve: Serve) -> None:
        self.chainq, self.server, self.serve = chainq, server, serve
        self.moving = Moving(0)

    def move(self, action: str, *arguments: str) -> None:
        """Change the chain of the server that moves, now or at each call of a method."""
        service, first = self.moving, next(iter(arguments), "")
        if action == "on":
            service.hook = lambda method: self.move(*arguments[1:]) if method == first else None
        elif action == "fork":
            service.swap(Fork(int(first)))
        elif action == "refuse":
            refusal = error(7, "not this one")
            service.instead = lambda body: refusal(body) if int(first) in service.requests[-1].params.values() else None
        elif action == "fault":
            service.change(service.chain, Faults(*arguments))
        else:
            service.tip = int(first) + service.tip * first.startswith("+")

    def done(self, step: str) -> str:
        """Do a step: what it printed."""
        if step.startswith("$"):
            return _printed(*self._run(shlex.split(step[2:])), self.chainq)
        if step.startswith("%"):
            action, *arguments = shlex.split(step[2:])
            if action in ("tip", "fork", "fault", "refuse", "on"):
                self.move(action, *arguments)
            else:
                return self._change(action, *arguments)
        return ""

    def _change(self, action: str, name: str, *arguments: str) -> str:
        """Change or print a file."""
        home = self.chainq.home
        path = next(iter(home.glob(name)), home / name)  # `*`: the file of a partition
        if action == "remove":
            path.unlink()
        elif action == "print":
            return _marked("| ", _text(path.read_bytes()), self.chainq)
        else:
            given = [str(home / arguments[0])] if action == "as" else arguments
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(DAMAGES[action](*given)(path.read_bytes() if path.exists() else b""))
        return ""

    def _run(self, words: list[str]) -> tuple[Ran, list[list[Any]]]:
        """Run a command line: how it ended, and the requests that servers have seen, if counted."""
        stdin = None
        if "<<<" in words:
            *words, _, text = words
            stdin = text.replace("\\n", "\n").encode() + b"\n"
        program = words.index("chainq")
        env = dict(word.split("=", 1) for word in words[:program])
        columns, counted = env.pop("SCREEN", ""), env.pop("COUNT", "")
        seen: list[list[Any]] = []
        with ExitStack() as servers:

            def meant(word: str) -> str:
                kind, _, rest = word.partition(" ")
                if word == "moving":
                    self.moving.calls.clear()
                    seen.append(self.moving.calls)
                    return self.serve(self.moving)
                if kind == "serve" and rest:
                    return self.server(*rest.split())
                if kind not in ANSWERS or not rest:
                    return word
                url, requests = servers.enter_context(canned(ANSWERS[kind](rest)))
                seen.append(requests)
                return url

            words = [meant(word) for word in words[program + 1 :]]
            if columns:
                shown = self.chainq.shown(*words, columns=int(columns), url=None, **env)
                return Ran(0, shown.encode(), ""), []
            return self.chainq(*words, env=env, stdin=stdin), seen if counted else []


@pytest.mark.parametrize("file", SESSIONS, ids=lambda file: file.stem)
def test_command_lines(
    file: Path, chainq: Program, server: Servers, serve: Serve, golden: Callable[[Path, str], None]
) -> None:
    """Every run prints what it printed when its record was made, and ends as it ended."""
    session = Session(chainq, server, serve)
    steps = [line for line in file.read_text().splitlines() if line.startswith(("$ ", "% ", "#"))]
    golden(file, "".join(f"{step}\n{session.done(step)}" for step in steps))


def _printed(ran: Ran, seen: list[list[Any]], chainq: Program) -> str:
    """The lines of a record."""
    assert not SECRETS.search(f"{ran.out!r}{ran.err}")
    last = ran.err.splitlines(keepends=True)[-1:]  # warnings may stand before it
    if ran.code == 2 and not last[0].startswith("{"):  # as --log-format json has it
        one_line(ran._replace(err=last[0]), 2)
    said = _marked("| ", _text(ran.out), chainq) + _marked("! ", ran.err, chainq)
    said += "".join(f"@ {len(requests)}\n" for requests in seen)
    return said + (f"= {ran.code}\n" if ran.code else "")


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return "(bytes)\n"


def _marked(mark: str, text: str, chainq: Program) -> str:
    text = text.replace(str(chainq.home), "HOME")
    for pattern, word in VARYING:
        text = re.sub(pattern, word, text, flags=re.MULTILINE)
    if text and not text.endswith("\n"):
        text += "(no newline)\n"
    return "".join(f"{mark}{_short(line)}".rstrip() + "\n" for line in text.split("\n")[:-1])


def _short(line: str) -> str:
    digest = hashlib.sha256(line.encode()).hexdigest()[:16]
    return line if len(line) <= LONGEST else f"{line[:200]}… {len(line)} characters, SHA-256 {digest}"


def test_wrong_servers(golden: Callable[[Path, str], None]) -> None:
    """For each kind of wrong server the share of runs that end in the truth, in belief and in an error; the calls."""
    record = ""
    for kind in [*KINDS, *NARROW, *WRONG]:
        runs = [attempt(seed, kind, rows=1000, lengths=(50,)) for seed in SEEDS]
        record += _shares(kind, [(end, outcome.calls) for end, outcome in runs])
    for kind, faults in (page_model.KINDS | page_model.WRONG).items():
        record += _shares(f"pages, {kind}", [_pages(faults, seed) for seed in SEEDS])
    golden(HERE / "wrong_servers.txt", record)


def _pages(faults: Callable[[Random], PageFaults], seed: int) -> tuple[str, int]:
    """How a run over the pages of a server ended, and its calls."""
    rng = Random(seed)  # noqa: S311  # a seed is to be repeated
    server = PageServer(page_model.blocks(rng, 40, 60), faults(rng), seed)
    rows, error = page_model.run(server)
    end = "truth" if rows == server.due else "the beginning" if rows == server.due[: len(rows)] else "others"
    return "error" if error else end, len(server.requests)


def _shares(kind: str, runs: list[tuple[str, int]]) -> str:
    ends = Counter(end for end, _ in runs)
    shares = ", ".join(f"{count} {end}" for end, count in sorted(ends.items()))
    return f"{kind}: {shares}; {sum(calls for _, calls in runs)} calls\n"
