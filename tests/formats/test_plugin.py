"""Another package adds a format: where it is installed, it is used by its name."""

import re
import tomllib
from pathlib import Path

import pytest

from harness.running.program import ROOT, Program, one_line
from harness.running.truth import Truth

PAGE = (ROOT / "docs" / "formats.md").read_text()


def shown(language: str) -> str:
    """Return the page's code in that language."""
    (code,) = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    return str(code)


# A format with a header, which it writes only where there is none yet; and one that declares nothing: only True counts.
HEADED = """
class Headed:
    append = typed = True
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


@pytest.fixture(autouse=True)
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Packages as an installer leaves them: the page's own example, and some that cannot be loaded."""
    folder = tmp_path / "packages"
    folder.mkdir()
    ((name, place),) = tomllib.loads(shown("toml"))["project"]["entry-points"]["chainq.formats"].items()
    texts = {f"{name} = {place}": shown("python"), "needy = chainq_needy:Needy": "import no_such_package\n"}
    texts |= {f"{one.lower()} = chainq_{one.lower()}:{one}": HEADED for one in ("Headed", "Bare")}
    texts["empty = chainq_empty:Empty"] = ""
    for entry, text in texts.items():
        module = re.split("[=:] ?", entry)[1].strip()
        (folder / f"{module}.py").write_text(text)
        metadata = folder / f"{module}-1.0.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
        (metadata / "entry_points.txt").write_text(f"[chainq.formats]\n{entry}\n")
    monkeypatch.syspath_prepend(folder)


def test_a_format_of_another_package(chainq: Program, truth: Truth) -> None:
    """The format in the documentation is used by its name, with the requested rows and columns, also with -o."""
    ran = chainq("blocks", "5:8", "--columns", "height,network", "--format", "psv", url="demo:")
    assert ran == (0, b"5|3\n6|3\n7|3\n", "")
    whole = chainq("records", "5:6", "--format", "psv", url="demo:")
    assert len(whole.rows) == len(truth.rows("records", 5, 6))
    assert chainq("block", "5", "--columns", "height", "--format", "psv", "-o", "heights.psv", url="demo:") == (
        0,
        b"",
        "",
    )
    assert (chainq.home / "heights.psv").read_bytes() == b"5\n"


def test_what_is_not_declared_is_false(chainq: Program) -> None:
    """Only True counts: not a method that has the name by chance, and no number."""
    assert chainq("ownership", "5:6", "--format", "bare", url="demo:").code == 0


def test_the_example_is_ten_lines() -> None:
    """A format takes no more than ten lines beside its imports."""
    lines = [line for line in shown("python").splitlines() if line]
    assert len([line for line in lines if not line.startswith(("import ", "from "))]) <= 10


def test_a_format_that_is_appended_to(chainq: Program) -> None:
    """A plug-in that declares `append` works with --checkpoint: the next run adds its rows, with no second header."""
    for end in ("7", "9"):
        words = f"blocks --start 5 --end {end} --checkpoint c -o heights --columns height --format headed"
        assert chainq(*words.split(), url="demo:") == (0, b"", "")
    header, *rows = (chainq.home / "heights").read_text().splitlines()
    assert header.startswith("# ")
    assert re.findall('"height":"(.+?)"', "".join(rows)) == ["5", "6", "7", "8"]


def test_a_format_that_can_be_typed(chainq: Program) -> None:
    """A plug-in that declares `typed` gets numbers with --typed."""
    ran = chainq("blocks", "5:6", "--typed", "--format", "headed", url="demo:")
    assert b'"height":5,' in ran.out


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("blocks --checkpoint c -o rows --format bare", "bare cannot be used with --checkpoint or --follow, which"),
        ("blocks --follow --format bare", "bare needs a finished range and cannot be used with --follow"),
        ("ownership 5:7 --format headed", "headed needs several rows with heights, and ownership has none here"),
        ("blocks 5:7 --flatten --format headed", "headed cannot be combined with --flatten, which needs jsonl or csv"),
        ("block 5 --format nope", "unknown format 'nope': expected one of table, jsonl, json, csv, .*psv"),
        ("block 5 --format needy", "cannot load the format 'needy' from chainq_needy:.*No module named 'no_such"),
        ("block 5 --format empty", "cannot load the format 'empty' from chainq_empty:.*has no attribute 'Empty'"),
    ],
)
def test_what_a_format_cannot_do(chainq: Program, line: str, words: str) -> None:
    """What a plug-in does not declare it cannot do; nor is one used that cannot be loaded: exit 2, and no file."""
    ran = chainq(*line.split(), url="demo:")
    assert re.match(f"chainq {line.split()[0]}: {words}", one_line(ran, 2))
    assert [one.name for one in chainq.home.iterdir()] == ["packages"]
