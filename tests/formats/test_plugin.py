"""Another package adds a format: installed in a virtual environment of its own, it is used by its name."""

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

PAGE = (ROOT / "docs" / "architecture.md").read_text()


def shown(language: str) -> str:
    """The code of that language in the page's section on formats."""
    section = PAGE.partition("### A format")[2].partition("\n### ")[0]
    (code,) = re.findall(rf"```{language}\n(.*?)```", section, re.DOTALL)
    return str(code)


class Environment:
    """A virtual environment that sees chainq and what it needs, and packages that are put into it by hand."""

    def __init__(self, place: Path) -> None:
        venv.create(place, symlinks=True)
        self.python = place / "bin" / "python"
        self.packages = Path(sysconfig.get_path("purelib", vars={"base": str(place), "platbase": str(place)}))
        ours = {str(Path(chainq.__file__).parents[1]), sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
        (self.packages / "ours.pth").write_text("".join(f"{path}\n" for path in sorted(ours)))

    def install(self, name: str, module: str, text: str, place: str) -> None:
        """Lay down a package as an installer does, with no build and no network: its module, and its metadata."""
        (self.packages / f"{module}.py").write_text(text)
        metadata = self.packages / f"chainq_{name}-1.0.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: chainq-{name}\nVersion: 1.0\n")
        (metadata / "entry_points.txt").write_text(f"[chainq.formats]\n{name} = {place}\n")

    def run(self, *args: str) -> Ran:
        """Run chainq there, on the sample chain."""
        ran = subprocess.run(
            [self.python, "-m", "chainq", *args, "--url", "demo:"],
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
    made.install("needy", "chainq_needy", "import no_such_package\n", "chainq_needy:Needy")
    made.install("empty", "chainq_empty", "", "chainq_empty:Empty")
    return made


def test_a_format_of_another_package(environment: Environment, truth: Truth) -> None:
    """The format that the page shows is used by its name, with the rows and the columns that were asked for."""
    ran = environment.run("blocks", "--start", "5", "--end", "8", "--columns", "height,network", "--format", "tsv")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == b"5\t3\n6\t3\n7\t3\n"
    whole = environment.run("records", "--start", "5", "--end", "6", "--format", "tsv")
    assert len(whole.rows) == len(truth.rows("records", 5, 6))


def test_the_example_is_ten_lines() -> None:
    """A format takes no more than ten lines."""
    assert len([line for line in shown("python").splitlines() if line]) <= 10


def test_a_format_of_another_package_goes_to_a_file(environment: Environment, tmp_path: Path) -> None:
    """-o works with any format."""
    file = tmp_path / "heights.tsv"
    ran = environment.run("block", "5", "--columns", "height", "--format", "tsv", "-o", str(file))
    assert (ran.code, ran.out, ran.err) == (0, b"", "")
    assert file.read_bytes() == b"5\n"


def test_other_formats_are_listed(environment: Environment) -> None:
    """A name that nobody has is answered with all names there are, those of other packages too."""
    ran = environment.run("block", "5", "--format", "nope")
    assert (ran.code, ran.out) == (2, b"")
    assert "tsv" in ran.err


@pytest.mark.parametrize(
    ("name", "reason"), [("needy", "No module named 'no_such_package'"), ("empty", "has no attribute 'Empty'")]
)
def test_a_package_that_cannot_be_loaded(environment: Environment, name: str, reason: str) -> None:
    """A format that cannot be imported is a usage error: one line with its name, its place and the reason."""
    ran = environment.run("block", "5", "--format", name)
    assert (ran.code, ran.out) == (2, b"")
    assert ran.err.startswith(f"chainq block: the format '{name}' of chainq_{name}:")
    assert reason in ran.err
    assert ran.err.count("\n") == 1


def test_our_python_is_the_one_that_was_asked(environment: Environment) -> None:
    """The environment is one of its own, not the one that runs the tests."""
    words = [str(environment.python), "-c", "import sys; print(sys.prefix)"]
    prefix = subprocess.run(words, capture_output=True, check=True, timeout=LONGEST).stdout.decode().strip()
    assert Path(prefix) == environment.python.parents[1] != Path(sys.prefix)
