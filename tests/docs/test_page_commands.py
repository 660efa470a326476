"""Every command of the README and of docs/ runs as written, on the sample chain.

A page's blocks run in the order of the page, in a home folder of its own. Blocks in `sh` go to bash as they
are; crontab lines and `ExecStart=` run with the short PATH of cron and systemd; Python and TOML are run and read.
"""

import json
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from itertools import chain
from pathlib import Path

import pytest

from chainq.catalog.tables import TABLES
from chainq.config import profiles
from harness.models.search import some
from harness.running.pages import DEVELOPERS, INSTALLERS, PAGES, Block, Home, sections
from harness.running.program import ROOT, Servers

BLOCKS = [block for page in PAGES for blocks in sections(page) for block in blocks]
PYTHON = [block for block in BLOCKS if block.language == "python"]
ENDLESS = re.compile(r"\bchainq serve\b|--follow\b")  # run until they print, then interrupted


@pytest.fixture
def home(tmp_path: Path, server: Servers) -> Home:
    """A home folder with a second server."""
    return Home(tmp_path, server())


def sample(text: str, url: str) -> str:
    """A command with the URL of this test's server in the place of the usual one."""
    return text.replace("http://127.0.0.1:8545", url.rstrip("/"))


@pytest.mark.parametrize("page", some(PAGES, PAGES[0]), ids=lambda page: page.name)
def test_a_page_works_from_top_to_bottom(page: Path, home: Home) -> None:
    """What a page shows works if all its blocks are pasted in one folder: no block is in the way of a later one."""
    for block in chain.from_iterable(sections(page)):
        if not block.missing and block.programs.isdisjoint(INSTALLERS | DEVELOPERS):
            run(block, home)


def run(block: Block, home: Home) -> None:
    """Run a block as its language says."""
    text = sample(block.text, home.url)
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


def check_map(text: str) -> None:
    """The tables of a map exist, and so do the columns that join them."""
    edges = re.findall(r'^ +(\w+) \S+ (\w+) : "?([^"\n]+)"?$', text, re.MULTILINE)
    assert len(edges) == len(text.splitlines()) - 1
    for left, right, columns in edges:
        for pair in columns.split(", "):
            for table, name in ((left, pair.split(" = ")[0]), (right, pair.split(" = ")[-1])):
                assert name in [column.path for column in TABLES[table.replace("_", "-")].columns]


def read(block: Block) -> None:
    """Check a block that is no command: configuration that chainq reads, a document, or what others run."""
    match block.language:
        case "toml":
            if "profiles" in tomllib.loads(block.text):
                profiles.parse(block.text.replace("env:CHAINQ_TOKEN", "a-token").encode(), Path("config.toml"))
        case "json":
            for line in block.text.splitlines():
                json.loads(line)
        case "dockerfile":
            steps = [line.split(" ", 1) for line in block.text.splitlines()]
            assert [name for name, _ in steps][:: len(steps) - 1] == ["FROM", "ENTRYPOINT"]
            known = {"FROM", "COPY", "RUN", "USER", "ENV", "WORKDIR", "VOLUME", "ENTRYPOINT"}
            assert {name for name, _ in steps} <= known
            extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
            assert set(re.findall(r"chainq\[(\w+)\]", block.text)) <= set(extras)
        case "logrotate":
            if shutil.which("logrotate"):
                subprocess.run(["logrotate", "-d", "/dev/stdin"], input=block.text, text=True, check=True)  # noqa: S607
        case "mermaid":
            check_map(block.text)
        case "python" | "text":
            pass  # `test_python_runs` runs it; a drawing
        case _:
            pytest.fail(f"{block}: what is {block.language}?")


@pytest.mark.parametrize("block", some(PYTHON, *(block for block in PYTHON if block.page == "README.md")), ids=str)
def test_python_runs(block: Block, home: Home) -> None:
    """Python on a page runs as it is."""
    if "pandas" in block.text:
        pytest.importorskip("pandas")
    home.run([sys.executable, "-c", block.text])


@pytest.mark.search
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_in_tables_run_as_written(page: Path, home: Home) -> None:
    """A command in the last cell of a table's row works."""
    for line in re.findall(r"\| `(chainq [^`]*)` \|$", page.read_text("utf-8"), re.MULTILINE):
        run(Block(page.name, 0, "sh", f"{line}\n"), home)


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
        assert find_spec(module), module


def test_install_and_run_prints_little(home: Home) -> None:
    """What the README's first command runs after the installation: a short table and five rows, all in 40 lines."""
    (line,) = re.findall(r"^python3 .*pip install \. && (.*)$", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE)
    out = home.run(["bash", "-c", line])
    assert 10 <= out.count("\n") <= 40
    assert len(out) < 4000
