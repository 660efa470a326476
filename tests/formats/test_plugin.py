"""Another package adds a format: installed in a virtual environment, it is used by its name."""

import os
import re
import subprocess
import sys
import sysconfig
import tomllib
import venv
from pathlib import Path

import pytest

import chainq
from harness.program import LONGEST, ROOT, Ran
from harness.truth import Truth

PAGE = (ROOT / "docs" / "formats.md").read_text()


def shown(language: str) -> str:
    """Return the page's code in that language."""
    (code,) = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    return str(code)


# A format with a header, which it writes only where there is none yet; and one that declares nothing: only True counts.
HEADED = """
class Headed:
    append = True
    needs_heights = True

    def __init__(self, out, spec):
        self.out = out
        if not spec.resumed:
            out.write(f"# {spec.command} by {spec.height}\\n".encode())

    def write(self, rows):
        for row in rows:
            self.out.write(b"- " + bytes(row) + b"\\n")

    def close(self):
        pass

class Bare(Headed):
    needs_heights = 1

    def append(self):
        pass
"""


class Environment:
    """A virtual environment that has chainq, what it needs, and packages that are installed by hand."""

    def __init__(self, place: Path) -> None:
        venv.create(place, symlinks=True)
        self.python = place / "bin" / "python"
        self.packages = Path(sysconfig.get_path("purelib", vars={"base": str(place), "platbase": str(place)}))
        # Every folder of packages, also those that a .pth file added: a .pth file inside of one is not read again.
        ours = {str(Path(chainq.__file__).parents[1]), *(path for path in sys.path if path.endswith("-packages"))}
        (self.packages / "ours.pth").write_text("".join(f"{path}\n" for path in sorted(ours)))

    def install(self, name: str, module: str, text: str, place: str) -> None:
        """Install a package with no build and no network: its module and its metadata."""
        (self.packages / f"{module}.py").write_text(text)
        metadata = self.packages / f"chainq_{name}-1.0.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: chainq-{name}\nVersion: 1.0\n")
        (metadata / "entry_points.txt").write_text(f"[chainq.formats]\n{name} = {place}\n")

    def run(self, line: str, folder: Path) -> Ran:
        """Run chainq there, on the sample chain."""
        ran = subprocess.run(
            [self.python, "-m", "chainq", *line.split(), "--url", "demo:"],
            cwd=folder,
            env={"PATH": os.environ.get("PATH", ""), "HOME": str(self.packages), "LANG": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=LONGEST,
            check=False,
        )
        return Ran(ran.returncode, ran.stdout, ran.stderr.decode())


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """An environment with the page's own example, and packages that cannot be loaded."""
    made = Environment(tmp_path_factory.mktemp("plugin") / "venv")
    ((name, place),) = tomllib.loads(shown("toml"))["project"]["entry-points"]["chainq.formats"].items()
    made.install(name, place.partition(":")[0], shown("python"), place)
    made.install("headed", "chainq_headed", HEADED, "chainq_headed:Headed")
    made.install("bare", "chainq_bare", HEADED, "chainq_bare:Bare")
    made.install("needy", "chainq_needy", "import no_such_package\n", "chainq_needy:Needy")
    made.install("empty", "chainq_empty", "", "chainq_empty:Empty")
    return made


def test_a_format_of_another_package(environment: Environment, truth: Truth, tmp_path: Path) -> None:
    """The format in the documentation is used by its name, with the requested rows and columns, also with -o."""
    ran = environment.run("blocks 5:8 --columns height,network --format psv", tmp_path)
    assert (ran.code, ran.out, ran.err) == (0, b"5|3\n6|3\n7|3\n", "")
    whole = environment.run("records 5:6 --format psv", tmp_path)
    assert len(whole.rows) == len(truth.rows("records", 5, 6))
    ran = environment.run("block 5 --columns height --format psv -o heights.psv", tmp_path)
    assert (ran.code, ran.out, ran.err, (tmp_path / "heights.psv").read_bytes()) == (0, b"", "", b"5\n")


def test_what_is_not_declared_is_false(environment: Environment, tmp_path: Path) -> None:
    """Only True counts: not a method that has the name by chance, and no number."""
    assert environment.run("ownership 5:6 --format bare", tmp_path).code == 0


def test_the_example_is_ten_lines() -> None:
    """A format takes no more than ten lines beside its imports."""
    lines = [line for line in shown("python").splitlines() if line]
    assert len([line for line in lines if not line.startswith(("import ", "from "))]) <= 10


def test_a_format_that_is_appended_to(environment: Environment, tmp_path: Path) -> None:
    """A plug-in that declares `append` works with --checkpoint: the next run adds its rows, with no second header."""
    for end in ("7", "9"):
        line = f"blocks --start 5 --end {end} --checkpoint c -o heights --columns height --format headed"
        ran = environment.run(line, tmp_path)
        assert (ran.code, ran.out, ran.err) == (0, b"", "")
    header, *rows = (tmp_path / "heights").read_text().splitlines()
    assert header.startswith("# ")
    assert re.findall('"height":"(.+?)"', "".join(rows)) == ["5", "6", "7", "8"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (
            "blocks --checkpoint c -o rows --format bare",
            "bare cannot be used with --checkpoint or --follow, which append rows",
        ),
        ("blocks --follow --format bare", "bare needs a finished range and cannot be used with --follow"),
        ("ownership 5:7 --format headed", "headed needs several rows with heights, and ownership has none here"),
        ("block 5 --format nope", "unknown format 'nope': expected one of table, jsonl, json, csv, .*psv"),
        (
            "block 5 --format needy",
            "cannot load the format 'needy' from chainq_needy:.*No module named 'no_such",
        ),
        ("block 5 --format empty", "cannot load the format 'empty' from chainq_empty:.*has no attribute 'Empty'"),
    ],
)
def test_what_a_format_cannot_do(environment: Environment, line: str, words: str, tmp_path: Path) -> None:
    """What a plug-in does not declare it cannot do; nor is one used that cannot be loaded: exit 2, and no file."""
    ran = environment.run(line, tmp_path)
    assert (ran.code, ran.out, ran.err.count("\n"), [*tmp_path.iterdir()]) == (2, b"", 1, [])
    assert re.match(f"chainq {line.split()[0]}: {words}", ran.err)
