"""The pages of the project: their blocks of code, and a home folder in which those run."""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from select import select

from harness.models.belief import UNPROVED, besides_belief
from harness.running.program import DIALECT, LONGEST, ROOT, Ran, installed
from harness.running.sample import VIEW_KEY

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
# A block in `sh own-server` is left out: it needs a server of its own. test_verify_hashes.py runs such blocks.
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_FIRST_WORDS = re.compile(r"(?:^|[|&;]\s*|\$\(|\bdo\s+)\s*([\w./~-]+)", re.MULTILINE)

INSTALLERS = {"pip", "pipx", "uv", "brew", ".venv/bin/pip", "~/.venvs/chainq/bin/pip"}
"""Not run, for they would change the machine."""
DEVELOPERS = {"pytest", ".venv/bin/pytest", "ruff", "mypy", "nox", "lint-imports", "python", "bash", ".ci/run"}
"""Not run, for they would run these tests, or take long."""
OF_THE_SYSTEM = {"systemctl", "journalctl", "crontab", "dask", "docker"}
"""Not run, for they would change the user's session, or need other machines."""
OPTIONAL = {"jq", "sqlite3"}
"""Run where they are installed."""
OPTIONAL_PACKAGES = {"pyiceberg"}
"""Packages of Python, likewise."""

# Stand-ins for tools that are not installed by the `test` extra: DuckDB by its Python package.
DUCKDB = """\
#!{python}
import sys, duckdb
*place, _, query = sys.argv[1:]
init = open(place[1]).read() if place[:1] == ["-init"] else ""
connection = duckdb.connect(*([] if init else place))
connection.execute(init).fetchall() if init else None
print(connection.sql(query) or "")
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
        lacking = {name for name in self.programs & OPTIONAL if shutil.which(name) is None}
        lacking |= {name for name in OPTIONAL_PACKAGES if name in self.text and find_spec(name) is None}
        return lacking | self.programs & OF_THE_SYSTEM

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def sections(page: Path) -> Iterator[list[Block]]:
    """The blocks of each section of a page that has some."""
    text = page.read_text("utf-8")
    heads = [0, *(match.start() for match in re.finditer(r"^#{2,4} ", text, re.MULTILINE)), len(text)]
    for start, end in pairwise(heads):
        found = [
            Block(str(page.relative_to(ROOT)), text.count("\n", 0, start + match.start()) + 2, match[1], match[2])
            for match in FENCE.finditer(text[start:end])
        ]
        if found:
            yield found


class Home:
    """A home folder as the pages assume it: profiles `main` and `other`, a view key, chainq in ~/.local/bin and in
    environments, a clone around."""

    def __init__(self, place: Path, url: str) -> None:
        self.place, self.url = place, url
        for name in ("completions", "man", "docs"):
            (place / name).symlink_to(ROOT / name)
        environment = Path(sys.executable).parent
        for path in (".venv", ".venvs/chainq"):
            (place / path / "bin").mkdir(parents=True)
            for name in ("python", "pytest"):
                (place / path / "bin" / name).symlink_to(environment / name)
            (place / path / "bin" / "chainq").symlink_to(place / "bin" / "chainq")
        (place / ".local" / "bin").mkdir(parents=True)
        (place / ".local" / "bin" / "chainq").symlink_to(place / "bin" / "chainq")
        (place / "bin").mkdir()
        (place / "bin" / "chainq").symlink_to(installed())
        for name, text in (("duckdb", DUCKDB),):
            (place / "bin" / name).write_text(text.format(python=sys.executable))
            (place / "bin" / name).chmod(0o755)
        config = place / ".config" / "chainq" / "config.toml"
        config.parent.mkdir(parents=True)
        config.write_text(CONFIG.format(url=url, dialect=DIALECT))
        path = f"{place / 'bin'}:{environment}:{os.environ.get('PATH', '')}"
        self.environment = {"HOME": str(place), "PATH": path, "LANG": "C.UTF-8", "CHAINQ_VIEW_KEY": VIEW_KEY}

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
            # The verdict of `verify`, what export and sql did, the end of the sample chain, and the only error that a
            # page expects: that of --max-age.
            ended = r"warning: no blocks in that range: the tip is 3000000, of 2024"
            verdict = r"compared: |open: |no findings$|heights .*: no records of "
            report = rf"chainq: (fetching |compared |{verdict}|{ended}|.*partitions? .*\b(written|to write))"
            known = re.match(report, said) or any(
                command in line[-1] and besides_belief(Ran(0, b"", f"{said}\n"), command).err == ""
                for command in UNPROVED
                if command in said
            )
            assert known or (" old" in said and "||" in line[-1]), (line[-1], done.stderr)
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
