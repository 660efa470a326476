"""Every command of the README and of docs/ runs as written, on the sample chain; every path and link exists.

A page's blocks run in the order of the page, a section in a home folder of its own. Blocks in `sh` go to bash as they
are; crontab lines and `ExecStart=` run with the short PATH of cron and systemd; Python and TOML are run and read.
"""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from select import select

import pytest

from chainq.config import profiles
from harness.program import DIALECT, LONGEST, ROOT, Program, Servers
from harness.truth import Truth

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_FIRST_WORDS = re.compile(r"(?:^|[|&;]\s*|\$\(|\bdo\s+)\s*([\w./~-]+)", re.MULTILINE)

INSTALLERS = {
    "pip",
    "pipx",
    "uv",
    "brew",
    ".venv/bin/pip",
    "~/.venvs/chainq/bin/pip",
}  # checked for their shape: they would change the machine
DEVELOPERS = {
    "pytest",
    ".venv/bin/pytest",
    "ruff",
    "mypy",
    "nox",
    "lint-imports",
    "python",
    "bash",
    ".ci/run",
}  # their paths must exist
OF_THE_SYSTEM = {"systemctl", "journalctl", "crontab"}  # would change or end the session they run in
OPTIONAL = {"jq", "sqlite3"}  # run where they are installed
ENDLESS = re.compile(r"\bchainq serve\b|--follow\b")  # run until they print, then interrupted

DUCKDB = """\
#!{python}
import sys, duckdb
*place, _, query = sys.argv[1:]
print(duckdb.connect(*place).sql(query) or "")
"""
FZF = """\
#!{python}
import subprocess, sys
words = sys.argv[1:]
_, line, *_ = sys.stdin.read().splitlines()  # the first below the header is picked
preview = words[words.index("--preview") + 1].replace("{{1}}", line.split(",")[0])
subprocess.run(preview, shell=True, check=True, stdout=subprocess.DEVNULL)
print(line)
"""
CONFIG = """\
default-profile = "main"
[profiles.main]
url = "demo:"
[profiles.other]
url = "{url}"
dialect = "{dialect}"
"""


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, and where it is."""

    page: str
    line: int
    language: str
    text: str

    @property
    def programs(self) -> set[str]:
        """The words in the places of commands, as far as they can be told without a parser of shells."""
        return set(_FIRST_WORDS.findall(self.text)) if self.language == "sh" else set()

    @property
    def missing(self) -> set[str]:
        """The programs that a block needs and this machine lacks, or that must not run here."""
        return {name for name in self.programs & OPTIONAL if shutil.which(name) is None} | self.programs & OF_THE_SYSTEM

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def sections(page: Path) -> Iterator[list[Block]]:
    """The blocks of each section of a page that has some."""
    text = page.read_text("utf-8")
    heads = [0, *(match.start() for match in re.finditer(r"^#{2,4} ", text, re.MULTILINE)), len(text)]
    for start, end in pairwise(heads):
        found = [
            Block(str(page.relative_to(ROOT)), text.count("\n", 0, start + match.start()) + 2, match[1], match[2])
            for match in _FENCE.finditer(text[start:end])
        ]
        if found:
            yield found


SECTIONS = [blocks for page in PAGES if page.exists() for blocks in sections(page)]
BLOCKS = [block for blocks in SECTIONS for block in blocks]


class Home:
    """A home folder as the pages assume it: profiles `main` and `other`, chainq in ~/.venvs/chainq, a clone around."""

    def __init__(self, place: Path, url: str) -> None:
        self.place, self.url = place, url
        for name in ("completions", "man", "docs"):
            (place / name).symlink_to(ROOT / name)
        environment = Path(sys.executable).parent
        for path in (".venv", ".venvs/chainq"):
            (place / path / "bin").mkdir(parents=True)
            for name in ("chainq", "python", "pytest"):
                (place / path / "bin" / name).symlink_to(environment / name)
        (place / "bin").mkdir()
        for name, text in (("duckdb", DUCKDB), ("fzf", FZF)):
            (place / "bin" / name).write_text(text.format(python=sys.executable))
            (place / "bin" / name).chmod(0o755)
        config = place / ".config" / "chainq" / "config.toml"
        config.parent.mkdir(parents=True)
        config.write_text(CONFIG.format(url=url, dialect=DIALECT))
        path = f"{place / 'bin'}:{environment}:{os.environ.get('PATH', '')}"
        self.environment = {"HOME": str(place), "PATH": path, "LANG": "C.UTF-8"}

    def run(self, line: list[str], **env: str) -> str:
        """Run to the end: what was printed. Fails where the exit code is not 0 or chainq warns of something."""
        done = subprocess.run(
            line,
            cwd=self.place,
            env={**self.environment, **env},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LONGEST,
            check=False,
        )
        assert done.returncode == 0, (line[-1], done.returncode, done.stderr)
        for said in done.stderr.splitlines():
            # `doctor --save`, and the only error that a page expects: that of --max-age.
            assert "saved as" in said or (" old" in said and "||" in line[-1]), (line[-1], done.stderr)
        return done.stdout

    def interrupted(self, text: str) -> None:
        """Run until a line is printed, then interrupt."""
        process = subprocess.Popen(
            ["bash", "-c", f"exec {text}"],  # noqa: S607  # wherever bash is
            cwd=self.place,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert process.stdout is not None
        try:
            ready, _, _ = select([process.stdout.fileno()], [], [], LONGEST)
            assert ready, "nothing was printed"
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=LONGEST)
        finally:
            process.kill()
            process.communicate()
        assert out, err.decode()
        assert process.returncode in (0, -signal.SIGINT), (text, process.returncode, err.decode())
        assert b"Traceback" not in err


@pytest.fixture
def home(tmp_path: Path, server: Servers) -> Home:
    """A home folder with a second server."""
    return Home(tmp_path, server())


def sample(text: str, truth: Truth, url: str) -> str:
    """A command with the sample chain's own values in the place of the words that stand for one."""
    chain = truth.chain
    words = {
        "http://127.0.0.1:8545": url.rstrip("/"),
        " TRANSACTION_ID": f" {chain.transaction_id(12345, 0)}",
        " ADDRESS": f" {chain.addresses[0]}",
    }
    for word, value in words.items():
        text = text.replace(word, value)
    return text


@pytest.mark.parametrize("blocks", SECTIONS, ids=lambda blocks: str(blocks[0]))
def test_commands_run_as_written(blocks: list[Block], home: Home, truth: Truth) -> None:
    """What a section shows works when its blocks are pasted one after the other."""
    for block in blocks:
        if not block.missing and block.programs.isdisjoint(INSTALLERS | DEVELOPERS):
            run(block, home, truth)


def run(block: Block, home: Home, truth: Truth) -> None:
    """Run a block as its language says."""
    text = sample(block.text, truth, home.url)
    match block.language:
        case "sh" if ENDLESS.search(text):
            (line,) = text.splitlines()
            home.interrupted(f"{line} --port 0" if "chainq serve" in line else line)
        case "sh":
            home.run(["bash", "-euo", "pipefail", "-c", text])
        case "crontab":
            for line in text.splitlines():
                *_, command = line.split(None, 5)
                home.run(["sh", "-c", command.replace("\\%", "%")], PATH="/usr/bin:/bin")
        case "ini":
            for command in re.findall(r"^ExecStart=(.*)$", text, re.MULTILINE):
                home.run(shlex.split(command.replace("%h", str(home.place))), PATH="/usr/bin:/bin")
        case _:
            read(block)


def read(block: Block) -> None:
    """Check a block that is no command: configuration that chainq reads, a document, or what others run."""
    match block.language:
        case "toml":
            if "profiles" in tomllib.loads(block.text):
                profiles.parse(block.text.replace("env:CHAINQ_TOKEN", "a-token"), Path("config.toml"))
        case "json":
            for line in block.text.splitlines():
                json.loads(line)
        case "console" | "python":
            pass  # the drift test of chainq._docgen runs the first, `test_python_runs` the second
        case _:
            pytest.fail(f"{block}: what is {block.language}?")


@pytest.mark.parametrize("block", [block for block in BLOCKS if block.language == "python"], ids=str)
def test_python_runs(block: Block, home: Home) -> None:
    """Python on a page runs as it is."""
    if "pandas" in block.text:
        pytest.importorskip("pandas")
    home.run([sys.executable, "-c", block.text])


@pytest.mark.parametrize("page", [page for page in PAGES if page.exists()], ids=lambda page: page.name)
def test_commands_in_tables_run_as_written(page: Path, home: Home, truth: Truth) -> None:
    """A command in the last cell of a table's row works."""
    for line in re.findall(r"\| `(chainq [^`]*)` \|$", page.read_text("utf-8"), re.MULTILINE):
        run(Block(page.name, 0, "sh", f"{line}\n"), home, truth)


@pytest.mark.parametrize("block", [block for block in BLOCKS if block.programs & (OPTIONAL | OF_THE_SYSTEM)], ids=str)
def test_tools_of_blocks_are_installed(block: Block) -> None:
    """Where a tool is missing, or would change this machine, the report says which block was left out."""
    if block.missing:
        pytest.skip(f"not run here: {', '.join(sorted(block.missing))}")


@pytest.mark.parametrize("block", [block for block in BLOCKS if block.programs & INSTALLERS], ids=str)
def test_installers_name_what_there_is(block: Block) -> None:
    """A block that installs takes this project, with extras that it has."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for names in re.findall(r"\.\[([\w,]+)\]", block.text):
        assert set(names.split(",")) <= set(extras), block
    assert re.search(r"(\.|chainq)(\[[\w,]+\])?['\"]?( |$)", block.text, re.MULTILINE), block


@pytest.mark.parametrize("block", [block for block in BLOCKS if block.programs & DEVELOPERS], ids=str)
def test_developers_commands_name_what_there_is(block: Block) -> None:
    """A block for contributors names files, folders and modules of the tree."""
    for word in re.findall(r"[\w./{},-]*/[\w./{},-]+", block.text):
        if not word.startswith((".venv", "~")):
            assert (ROOT / word).exists(), (str(block), word)
    for module in re.findall(r"-m (chainq[\w.]*)", block.text):
        assert (ROOT / module.replace(".", "/")).exists(), module


def test_the_profile_of_a_server_that_speaks_differently_works(server: Servers, chainq: Program) -> None:
    """The cookbook's profile makes a server usable that fits no dialect of the name it is given."""
    (block,) = (block for block in BLOCKS if "[profiles.renamed]" in block.text)
    with server.own("--dialect", "aleo") as (url, _):
        chainq.config.parent.mkdir(parents=True)
        chainq.config.write_text(block.text.replace("http://127.0.0.1:8545/", url))
        for words in (["blocks", "--last", "3"], ["full-blocks", "--last", "2"], ["transactions", "12345"]):
            ran = chainq(*words, "--profile", "renamed", "--dialect", "chain")
            assert ran.code == 0, ran.err
            assert ran.rows


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    """Links to files and headings of this project have their target."""
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text("utf-8")):
        if not re.match(r"[a-z]+:", target):
            path, _, anchor = target.partition("#")
            there = page if not path else (page.parent / path).resolve()
            assert there.exists(), target
            assert not anchor or anchor in anchors(there), target


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as hosts of Markdown make them."""
    text = _FENCE.sub("", page.read_text("utf-8"))
    heads = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w-]", "", head.lower().replace(" ", "-")) for head in heads}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_paths_exist(page: Path) -> None:
    """Files and folders of the project that a page names exist."""
    named = re.findall(
        r"`((?:chainq|tests|docs|man|completions|\.ci)/(?!config.toml)[\w./-]*)`", page.read_text("utf-8")
    )
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_the_readme_is_short_and_keeps_its_two_commands() -> None:
    """The README has fewer than 300 lines, one command that installs and runs, and one that installs and tests."""
    lines = (ROOT / "README.md").read_text("utf-8").splitlines()
    assert len(lines) < 300
    (tests,) = (line for line in lines if re.fullmatch(r"python3 .*pytest", line))
    (runs,) = (line for line in lines if re.match(r"python3 -m venv .venv && .venv/bin/pip install \. && ", line))
    assert tests.startswith("python3 -m venv .venv && .venv/bin/pip install -e '.[test]' && ")
    assert runs.count("--url demo:") == 2


def test_install_and_run_prints_little(home: Home) -> None:
    """What the README's first command runs after the installation: a short table and five rows, all in 40 lines."""
    (line,) = re.findall(r"^python3 .*pip install \. && (.*)$", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE)
    out = home.run(["bash", "-c", line])
    assert 10 <= out.count("\n") <= 40
    assert len(out) < 4000
