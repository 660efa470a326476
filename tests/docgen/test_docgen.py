"""What is generated equals the app: manual pages, completions, the reference, and what a wheel holds of them."""

import io
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import get_args

import msgspec
import pytest
from rich.console import Console
from rich.text import Text

from chainq import _docgen
from chainq.cli.help import PlainGroup
from chainq.config import profiles
from chainq.formats.protocol import BUILT_IN, EXTENSIONS, Capabilities, OutputSpec
from harness.running.program import ROOT, Program

COMMANDS = {name: command for name, (_, command) in _docgen.commands().items()}
NAMES = ["chainq", *(f"chainq-{name}" for name in COMMANDS)]
REFERENCE = (ROOT / _docgen.REFERENCE).read_text()


PAGES = cache(_docgen.man_pages)


@cache
def plain(name: str) -> str:
    """A manual page without fonts."""
    return re.sub(r"\\f[BRI]", "", PAGES()[f"man/{name}.1"])


def section(heading: str) -> dict[str, str]:
    """The names in a list of the reference, each with its text."""
    text = REFERENCE.split(f"## {heading}\n")[1].split("\n## ")[0]
    rows = re.findall(r"^- (`.*?`): (.*)", text, re.MULTILINE)
    return {name: told for names, told in rows for name in re.findall(r"`([^`]+)`", names)}


def fence(page: str, language: str) -> str:
    """The first block in a language."""
    return str(re.findall(rf"^```{language}\n(.*?)^```", page, re.MULTILINE | re.DOTALL)[0])


def test_files_equal_the_app() -> None:
    """The files in the tree are what the app and the catalog give now, and no page outlives its command."""
    stale = [name for name, text in _docgen.due().items() if (ROOT / name).read_text("utf-8") != text]
    assert stale == [], f"{_docgen.COMMAND} writes them anew"
    assert {f"man/{path.name}" for path in (ROOT / "man").iterdir()} == {*PAGES()}


def test_one_command_rewrites_what_is_stale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that is added to the app gets its page, and stands in chainq(1) and the reference; what is left over is
    removed."""
    for name in ("docs", "man", "completions"):
        shutil.copytree(ROOT / name, tmp_path / name)
    monkeypatch.setattr(_docgen, "ROOT", tmp_path)
    build = PlainGroup.catalogue["serve"][2]
    monkeypatch.setattr(PlainGroup, "catalogue", {**PlainGroup.catalogue, "newest": ("Tools", "a new purpose", build)})
    (tmp_path / "man" / "chainq-gone.1").touch()
    _docgen.main()
    assert "a new purpose" in (tmp_path / "man" / "chainq-newest.1").read_text()
    for name in ("man/chainq.1", _docgen.REFERENCE):
        assert "newest" in (tmp_path / name).read_text().replace(r"\-newest", "-newest")
    assert not (tmp_path / "man" / "chainq-gone.1").exists()


def test_examples_use_what_there_is() -> None:
    """Every command line of the help names a command of the app, and only options that this command has."""
    shown = [line for command in COMMANDS.values() for line in command.epilog.splitlines()]
    calls = [call for line in shown for call in re.findall(r"(?:^|[|] |[*] | {2})chainq ([^|]*)", line)]
    known = {name: {one for param in command.params for one in param.opts} for name, command in COMMANDS.items()}
    assert len(calls) > len(COMMANDS)
    for call in calls:
        name, *words = call.split()
        assert {word.split("=")[0] for word in words if re.match(r"--?[a-z]", word)} - known[name] == set(), call


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "line",
    [["mandoc", "-T", "lint", "-W", "warning"], ["man", "--warnings", "-E", "ascii", "-l"]],
    ids=lambda line: line[0],
)
def test_tools_find_nothing(name: str, line: list[str], tmp_path: Path) -> None:
    """Neither mandoc's linter nor man-db with groff has a warning for a page as it would be written now."""
    if shutil.which(line[0]) is None or (line[0] == "man" and shutil.which("groff") is None):
        pytest.skip(f"{line[0]} is not installed")
    page = tmp_path / f"{name}.1"
    page.write_text(PAGES()[f"man/{name}.1"], "ascii")
    done = subprocess.run(
        [*line, page], capture_output=True, env={"LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin"}, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert bool(done.stdout) == (line[0] == "man")


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("--no-check", r"\-\-no\-check"),
        (r"a\b", r"a\eb"),
        (".hidden", r"\&.hidden"),
        ("'quoted'", r"\(aqquoted\(aq"),
        ("the `--url` of", r"the \fB\-\-url\fR of"),
        ("see [a page](page.md)", "see a page"),
        ("a…b", "a...b"),
    ],
)
def test_roff_is_escaped(text: str, written: str) -> None:
    """Nothing that is special in roff gets into a page by way of text."""
    assert _docgen.roff(text) == written


def test_keys_of_a_profile_are_all_told() -> None:
    """Every key that a profile may have is described with its type, and no other."""
    told = {name: text.split(".")[0] for name, text in section("Service and configuration").items()}
    kinds = {"str": "a string", "Annotated": "a number", "bool": "a boolean", "dict": "a table"}
    keys = {
        one.encode_name: kinds[(get_args(one.type)[0] if type(None) in get_args(one.type) else dict).__name__]
        for one in msgspec.structs.fields(profiles.Profile)
    }
    assert told == keys, f"describe them in {_docgen.REFERENCE}"


def test_what_formats_get_and_declare_is_described() -> None:
    """The docstrings, to which docs/formats.md points, have every field and every capability."""
    for part in (OutputSpec, Capabilities):
        assert {f"`{name}`" for name in part._fields} <= set(re.findall(r"`\w+`", part.__doc__ or ""))


def test_formats_are_all_told() -> None:
    """The reference describes every format of chainq, and names the extensions that select one."""
    assert {*BUILT_IN} == section("Output").keys()
    (told,) = re.findall(r"the extension selects it: (.*?), else", REFERENCE, re.DOTALL)
    assert {*EXTENSIONS} == set(re.findall(r"\.\w+", told))


def test_variables_that_set_an_option_are_all_told() -> None:
    """Every environment variable that the help of an option names is in the reference, with that option."""
    options = (option for command in COMMANDS.values() for option in _docgen.options(command))
    named = {found[1]: option for option, text in options if (found := re.search(r"env var: (\w+)", text))}
    assert len(named) > 1
    for variable, option in named.items():
        assert f"`{option.split()[0]}`" in section("Environment")[variable]


def test_the_sample_configuration_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """The file that the reference shows is read as it stands."""
    monkeypatch.setenv("CHAINQ_TOKEN", "secret")
    settings = profiles.parse(fence(REFERENCE, "toml").encode(), Path("config.toml"))
    assert profiles.profile(None, settings).headers["Authorization"] == "secret"
    assert [profile.url for profile in settings.profiles.values()][:2] == ["https://rpc.example.org/", "demo:"]


def test_the_picture_is_what_a_command_prints(chainq: Program, golden: Callable[[Path, str], None]) -> None:
    """The README's, of a terminal of 80 columns. `--update-golden` writes it anew."""
    line = "chainq show at12ckvvk59m3pzpfedt8ly9wn6d0hy22peqjg8dxeg7mt3g8wgzg0qcmgnw4"
    ran = chainq(*line.split()[1:], url="demo:", env={"COLUMNS": "80", "FORCE_COLOR": "1"})
    console = Console(record=True, width=80, file=io.StringIO(), color_system="truecolor")
    console.print(Text(f"$ {line}", "bold"), Text.from_ansi(ran.out.decode()), sep="\n", soft_wrap=True)
    fonts = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)  # a picture would fetch them from another host
    drawn = fonts.sub("", console.export_svg(title="", unique_id="chainq"))
    golden(ROOT / "docs/images/show.svg", drawn)


def test_a_wheel_holds_all_of_it(tmp_path: Path) -> None:
    """A wheel, built here without a network, holds every page and script as they stand in the tree."""
    pytest.importorskip("hatchling", reason="hatchling builds the wheel")
    ignored = shutil.ignore_patterns(".*", "tests", "__pycache__", "dist")
    copy = shutil.copytree(ROOT, tmp_path / "tree", ignore=ignored)
    line = [sys.executable, "-m", "hatchling", "build", "-t", "wheel"]
    subprocess.run(line, cwd=copy, capture_output=True, check=True)
    (built,) = (copy / "dist").glob("*.whl")
    with zipfile.ZipFile(built) as wheel:
        data = {name.split(".data/data/", 1)[1]: wheel.read(name) for name in wheel.namelist() if ".data/data/" in name}
        assert not [name for name in wheel.namelist() if "_docgen" in name]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    shared = project["tool"]["hatch"]["build"]["targets"]["wheel"]["shared-data"]
    places = {place: ROOT / name for name, place in shared.items() if name != "man"}
    places |= {f"share/man/man1/{path.name}": path for path in (ROOT / "man").iterdir()}
    assert data == {place: path.read_bytes() for place, path in places.items()}
