"""Another package adds a format: installed in a virtual environment, it is used by its name."""

import json
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
    """Return the code of that language in the page's section on formats."""
    section = PAGE
    (code,) = re.findall(rf"```{language}\n(.*?)```", section, re.DOTALL)
    return str(code)


# A format with a header, which it writes only where there is none yet; and one that declares nothing.
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
    append = needs_heights = None
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
    made.install("headed", "chainq_headed", HEADED, "chainq_headed:Headed")
    made.install("bare", "chainq_bare", HEADED, "chainq_bare:Bare")
    made.install("needy", "chainq_needy", "import no_such_package\n", "chainq_needy:Needy")
    made.install("empty", "chainq_empty", "", "chainq_empty:Empty")
    return made


def test_a_format_of_another_package(environment: Environment, truth: Truth) -> None:
    """The format in the documentation is used by its name, with the requested rows and columns."""
    ran = environment.run("blocks", "--start", "5", "--end", "8", "--columns", "height,network", "--format", "psv")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == b"5|3\n6|3\n7|3\n"
    whole = environment.run("records", "--start", "5", "--end", "6", "--format", "psv")
    assert len(whole.rows) == len(truth.rows("records", 5, 6))


def test_the_example_is_ten_lines() -> None:
    """A format takes no more than ten lines beside its imports."""
    lines = [line for line in shown("python").splitlines() if line]
    assert len([line for line in lines if not line.startswith(("import ", "from "))]) <= 10


def test_a_format_of_another_package_goes_to_a_file(environment: Environment, tmp_path: Path) -> None:
    """-o works with any format."""
    file = tmp_path / "heights.psv"
    ran = environment.run("block", "5", "--columns", "height", "--format", "psv", "-o", str(file))
    assert (ran.code, ran.out, ran.err) == (0, b"", "")
    assert file.read_bytes() == b"5\n"


def test_a_format_of_another_package_is_appended_to(environment: Environment, tmp_path: Path) -> None:
    """A plug-in that declares `append` works with --checkpoint: the next run adds its rows, with no second header."""
    out, checkpoint = tmp_path / "heights", tmp_path / "checkpoint"
    going = ("--start", "5", "--checkpoint", str(checkpoint), "-o", str(out), "--columns", "height")
    for name, expected in (("psv", b"5\n6\n7\n8\n"), ("headed", None)):
        for end in ("7", "9"):
            ran = environment.run("blocks", *going, "--end", end, "--format", name)
            assert (ran.code, ran.out, ran.err) == (0, b"", "")
        lines = out.read_bytes().splitlines()
        if expected is None:
            assert lines[0] == b"# blocks by height"
            assert [json.loads(line[2:])["height"] for line in lines[1:]] == ["5", "6", "7", "8"]
        else:
            assert out.read_bytes() == expected
        out.unlink()
        checkpoint.unlink()


def test_a_format_that_declares_nothing_is_not_appended_to(environment: Environment, tmp_path: Path) -> None:
    """What a plug-in does not declare it cannot do: exit 2, for --checkpoint and --follow, and nothing is written."""
    out, checkpoint = tmp_path / "rows", tmp_path / "checkpoint"
    ran = environment.run("blocks", "--checkpoint", str(checkpoint), "-o", str(out), "--format", "bare")
    assert (ran.code, ran.out) == (2, b"")
    assert "bare cannot be used with --checkpoint" in ran.err
    ran = environment.run("blocks", "--follow", "--format", "bare")
    assert (ran.code, ran.out) == (2, b"")
    assert "bare needs a finished range and cannot be used with --follow" in ran.err
    assert list(tmp_path.iterdir()) == []


def test_a_format_that_needs_heights(environment: Environment) -> None:
    """A plug-in that declares `needs_heights` is refused where rows have none, as chart is."""
    ran = environment.run("ownership", "--start", "5", "--end", "7", "--format", "headed")
    assert (ran.code, ran.out) == (2, b"")
    assert "headed needs rows with heights, and ownership has none" in ran.err


def test_other_formats_are_listed(environment: Environment) -> None:
    """For an unknown name the error lists all formats, those of other packages too."""
    ran = environment.run("block", "5", "--format", "nope")
    assert (ran.code, ran.out) == (2, b"")
    assert "psv" in ran.err


@pytest.mark.parametrize(
    ("name", "reason"), [("needy", "No module named 'no_such_package'"), ("empty", "has no attribute 'Empty'")]
)
def test_a_package_that_cannot_be_loaded(environment: Environment, name: str, reason: str) -> None:
    """A format that cannot be imported is a usage error: one line with its name, its module and the reason."""
    ran = environment.run("block", "5", "--format", name)
    assert (ran.code, ran.out) == (2, b"")
    assert ran.err.startswith(f"chainq block: cannot load the format '{name}' from chainq_{name}:")
    assert reason in ran.err
    assert ran.err.count("\n") == 1


def test_the_environment_is_used(environment: Environment) -> None:
    """The commands run in the environment of the plug-in, not in the one that runs the tests."""
    words = [str(environment.python), "-c", "import sys; print(sys.prefix)"]
    prefix = subprocess.run(words, capture_output=True, check=True, timeout=LONGEST).stdout.decode().strip()
    assert Path(prefix) == environment.python.parents[1] != Path(sys.prefix)
