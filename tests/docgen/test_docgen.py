"""What is generated equals the app: manual pages, completions, the reference, and where a wheel puts them."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from msgspec import Raw

from chainq import _docgen
from chainq._docgen import __main__, manual, roff, surface
from chainq.catalog.methods import BY_COMMAND, METHODS, Method
from chainq.cli.completion import SCRIPTS as SCRIPT_NAMES
from chainq.cli.help import PlainGroup
from chainq.config import profiles
from chainq.errors import ExitCode
from chainq.formats.protocol import Capabilities, OutputSpec, capabilities

PROGRAM = surface.read()
PAGES = [f"man/{name}" for name in manual.names(PROGRAM)]
SHOWN = ["README.md", *(f"docs/{path.name}" for path in (_docgen.root() / "docs").glob("*.md"))]
SCRIPTS = {f"completions/{name}" for name in _docgen.COMPLETIONS}
COMMANDS = pytest.mark.parametrize("command", PROGRAM.commands, ids=lambda command: command.name)


@cache
def written() -> dict[str, str]:
    """The files that are written as a whole."""
    return _docgen.generated(PROGRAM)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project's folder with nothing written yet."""
    for name, marks in _docgen.MARKS.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("\n".join(("before", *marks, "after\n")))
    (tmp_path / "README.md").write_text("text\n")
    return tmp_path


def fences(page: str, language: str) -> list[str]:
    """The blocks in a language that a page of docs/manual/ shows."""
    return re.findall(rf"^```{language}\n(.*?)^```", manual.source(page, PROGRAM), re.MULTILINE | re.DOTALL)


def described(page: str, heading: str) -> dict[str, str]:
    """The names in the first column of a table of docs/manual/, each with the second column."""
    text = manual.source(page, PROGRAM).split(f"\n# {heading}\n")[1].split("\n# ")[0]
    rows = re.findall(r"^\| `([^|]*)` \| (.*?) \|", text, re.MULTILINE)
    return {name: told for names, told in rows for name in names.split("`, `")}


def tool(name: str) -> str:
    """A program that checks pages; the test is skipped where it is not installed."""
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"{name} is not installed")
    return path


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """No pictures: commands would run for them, each time that files are compared."""
    monkeypatch.setattr(_docgen, "images", dict)


@pytest.fixture(scope="module")
def due() -> dict[str, str]:
    """All files as they should be."""
    return _docgen.texts(_docgen.root())


@pytest.mark.parametrize("name", sorted({*PAGES, _docgen.REFERENCE, *_docgen.MARKS, *SHOWN, *SCRIPTS}))
def test_files_equal_the_app(name: str, due: dict[str, str]) -> None:
    """The files in the tree are what the app and the catalogue give now, and commands in pages print what they show."""
    path = _docgen.root() / name
    assert path.exists() and path.read_text("utf-8") == due[name], f"{name} is stale: run `{_docgen.COMMAND}`"


def test_no_file_outlives_its_command() -> None:
    """Nothing stands in man/ and completions/ that is not written from the app."""
    folders = [_docgen.root() / part for part in ("man", "completions")]
    found = {str(place.relative_to(_docgen.root())) for folder in folders for place in folder.iterdir()}
    assert found == set(_docgen.packaged(PROGRAM)), f"run `{_docgen.COMMAND}`"


@pytest.mark.usefixtures("undrawn")
def test_one_command_rewrites_what_is_stale(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The check names each stale file and the command, which writes those and removes what is left over.

    A command that is added to the app is missed in its page, the pages that list it, and everything else; a column in
    the page of its command.
    """
    monkeypatch.setattr(__main__, "root", lambda: project)
    (project / "man").mkdir()
    (project / "man" / "chainq-gone.1").touch()
    assert __main__.main([]) == 0
    assert len(capsys.readouterr().out.splitlines()) > len(PAGES) + 1
    assert not (project / "man" / "chainq-gone.1").exists()
    tables = (project / "docs/tables.md").read_text()
    assert (tables[:11], tables[-10:]) == ("before\n<!--", "-->\nafter\n")
    assert _docgen.stale(project) == []
    build, method = PlainGroup.catalogue["serve"][2], METHODS[0]
    monkeypatch.setattr(PlainGroup, "catalogue", {**PlainGroup.catalogue, "newest": ("Tools", "a new purpose", build)})
    longer = method._replace(columns=(*method.columns, method.columns[0]._replace(path="new_column")))
    monkeypatch.setitem(BY_COMMAND, method.command, longer)
    assert __main__.main(["--check"]) == 1
    told = dict(line.split(" is stale; ") for line in capsys.readouterr().out.splitlines())
    due = {"man/chainq.1", "man/chainq-newest.1", f"man/chainq-{method.command}.1", _docgen.REFERENCE, "pyproject.toml"}
    assert due <= told.keys()
    assert set(told.values()) == {f"{_docgen.COMMAND} rewrites it"}


@pytest.mark.usefixtures("undrawn")
def test_missing_marks_are_told(project: Path) -> None:
    """Without its marks a file is not touched, and the message says which are missing."""
    (project / "docs/tables.md").write_text("no marks")
    with pytest.raises(_docgen.DocsError, match=r"docs/tables.md lacks .*tables:begin"):
        _docgen.write(project)


@COMMANDS
def test_the_page_of_a_command_has_all_of_it(command: surface.Command) -> None:
    """Its page has every option with its help, every argument, every column and every example."""
    text = written()[f"man/chainq-{command.name}.1"]
    plain = re.sub(r"\\f[BRI]", "", text)
    for option in command.options:
        for name in option.names:
            assert re.search(rf"^\.TP\n(.*, )?{re.escape(roff.escaped(name))}\b", plain, re.MULTILINE), name
        assert roff.escaped(option.metavar) in plain
        assert re.sub(r"\\f[BRI]", "", roff.prose(option.text)) in plain
    for argument in command.arguments:
        assert f".TP\n{roff.escaped(argument.metavar)}\n" in plain
    for column in command.method.columns if command.method else ():
        assert f".TP\n{roff.escaped(column.path)}" in plain
    for line in command.examples:
        assert roff.escaped(line) in plain
    assert command.examples


@COMMANDS
def test_every_list_has_every_command(command: surface.Command) -> None:
    """The main page and the reference name every command and its options."""
    assert roff.escaped(f"chainq-{command.name}") in written()["man/chainq.1"]
    told = written()[_docgen.REFERENCE]
    assert f"#### `chainq {command.name}" in told
    for option in command.options:
        assert re.search(rf"`(-\w, )?{option.names[0]}\b", told), option.names


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.command)
def test_every_column_is_in_the_reference(method: Method) -> None:
    """By its whole path."""
    text = (_docgen.root() / _docgen.REFERENCE).read_text()
    for column in method.columns:
        assert re.search(rf"(?<![\w.]){re.escape(column.path)}(?![\w.])", text), column.path


def test_examples_use_what_there_is() -> None:
    """Every command line that the pages show names a command of the app, and only options that this command has."""
    shown = [line for block in fences("chainq.1", "sh") for line in block.splitlines()]
    shown += [line for command in PROGRAM.commands for line in command.examples]
    calls = [call for line in shown for call in re.findall(r"(?:^|[|] |[*] )chainq ([^|]*)", line)]
    known = {
        command.name: {name for option in command.options for name in option.names} for command in PROGRAM.commands
    }
    assert len(calls) > len(PROGRAM.commands)
    for call in calls:
        name, *words = call.split()
        assert {word.split("=")[0] for word in words if re.match(r"--?[a-z]", word)} - known[name] == set(), call


@pytest.mark.parametrize("name", PAGES)
def test_mandoc_finds_nothing(name: str, tmp_path: Path) -> None:
    """mandoc's linter has no warning for a page as it would be written now."""
    page = tmp_path / Path(name).name
    page.write_text(written()[name], "ascii")
    done = subprocess.run([tool("mandoc"), "-T", "lint", "-W", "warning", page], capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (0, b"")


@pytest.mark.parametrize("name", PAGES)
def test_groff_finds_nothing(name: str, tmp_path: Path) -> None:
    """man-db with groff shows a page as it would be written now, without a warning."""
    tool("groff")
    page = tmp_path / Path(name).name
    page.write_text(written()[name], "ascii")
    done = subprocess.run(
        [tool("man"), "--warnings", "-E", "ascii", "-l", page],
        capture_output=True,
        env={**os.environ, "LC_ALL": "C.UTF-8", "MANWIDTH": "80"},
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("--no-check", r"\-\-no\-check"),
        (r"a\b", r"a\eb"),
        (".hidden", r"\&.hidden"),
        ("'quoted'", r"\(aqquoted\(aq"),
        ("the `--url` of", r"the \fB\-\-url\fR of"),
        ("One. Two.", "One.\nTwo."),
        ("a…b", "a...b"),
        ("ü", r"\[u00FC]"),
    ],
)
def test_roff_is_escaped(text: str, written: str) -> None:
    """Nothing that is special in roff gets into a page by way of text."""
    assert roff.prose(text) == written


@pytest.mark.parametrize("name", ["man/chainq.1", _docgen.REFERENCE])
def test_exit_codes_are_all_told(name: str) -> None:
    """Every exit code and its meaning are in chainq(1) and in the reference."""
    text = written()[name].replace("\\-", "-")
    for code in ExitCode:
        assert code.meaning in " ".join(text.split()), code


def test_keys_of_a_profile_are_all_told() -> None:
    """Every key that a profile may have is described in chainq(5), and no other."""
    assert described("chainq.5", "Keys of a profile") == profiles.KEYS, "describe them in docs/manual/chainq.5.md"


def test_what_formats_get_and_declare_is_described() -> None:
    """Every field of what a format is given, and every capability, is in chainq-formats(7), and nothing else."""
    fields, abilities = (list(described("chainq-formats.7", part)) for part in ("The specification", "Capabilities"))
    assert fields == list(OutputSpec._fields), "describe them in docs/manual/chainq-formats.7.md"
    assert abilities == list(Capabilities._fields), "describe them in docs/manual/chainq-formats.7.md"


def test_variables_that_set_an_option_are_all_told() -> None:
    """Every environment variable that the help of an option names is in chainq(1), with that option."""
    told = described("chainq.1", "Environment")
    options = [option for command in PROGRAM.commands for option in command.options]
    named = {found[1]: option for option in options if (found := re.search(r"variable: (\w+)", option.said))}
    assert len(named) > 1
    for variable, option in named.items():
        assert f"`{option.names[0]}`" in told[variable], "describe it in docs/manual/chainq.1.md"


def test_the_sample_configuration_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """The file that chainq(5) shows is read as it stands."""
    monkeypatch.setenv("CHAINQ_TOKEN", "secret")
    (example,) = fences("chainq.5", "toml")
    settings = profiles.parse(example, Path("config.toml"))
    assert profiles.profile(None, settings).headers["Authorization"] == "secret"
    assert [profile.url for profile in settings.profiles.values()][:2] == ["https://rpc.example.org/", "demo:"]


def test_the_sample_format_is_one() -> None:
    """The format that chainq-formats(7) shows writes rows as it says."""
    names: dict[str, Any] = {}
    (example,) = fences("chainq-formats.7", "python")
    exec(example, names)  # noqa: S102  # the page's own text
    out: list[bytes] = []

    class Out:
        def write(self, data: bytes, /) -> None:
            out.append(data)

    columns = METHODS[0].columns[:2]
    assert capabilities(names["Psv"]) == Capabilities(append=True, endless=True)
    writer = names["Psv"](Out(), OutputSpec("blocks", columns))
    writer.write([Raw(b'{"height":"7","id":340282366920938463463374607431768211455}')])
    writer.close()
    assert b"".join(out) == b"340282366920938463463374607431768211455|7\n"


@pytest.mark.parametrize("line", ["--help", "records --help", "block 5 --url demo:"])
def test_commands_do_not_load_this(line: str) -> None:
    """No command imports what only writes documents."""
    code = "import os, sys; os._exit = lambda _: print(*sorted(sys.modules)); from chainq.cli.main import main; main()"
    done = subprocess.run([sys.executable, "-c", code, *line.split()], capture_output=True, text=True, check=True)
    modules = done.stdout.splitlines()[-1].split()
    assert "chainq.cli.main" in modules
    assert [name for name in modules if name.startswith("chainq._docgen")] == []


def wheel_places() -> dict[str, str]:
    """Where pyproject.toml has a wheel put files outside of the package, by their paths in the tree."""
    project = tomllib.loads((_docgen.root() / "pyproject.toml").read_text())
    places: dict[str, str] = project["tool"]["hatch"]["build"]["targets"]["wheel"].get("shared-data", {})
    return places


def test_a_wheel_holds_all_of_it(tmp_path: Path) -> None:
    """A wheel, built here without a network, holds every page and script as they stand in the tree."""
    pytest.importorskip("hatchling", reason="hatchling builds the wheel")
    copy = shutil.copytree(
        _docgen.root(), tmp_path / "tree", ignore=shutil.ignore_patterns(".*", "tests", "__pycache__", "dist")
    )
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel"], cwd=copy, capture_output=True, check=True
    )
    (built,) = (copy / "dist").glob("*.whl")
    with zipfile.ZipFile(built) as wheel:
        data = {name.split(".data/data/", 1)[1]: wheel.read(name) for name in wheel.namelist() if ".data/data/" in name}
        wheel.extractall(tmp_path / "installed")
    assert data == {place: (_docgen.root() / name).read_bytes() for name, place in wheel_places().items()}
    start = "import sys; sys.path.insert(0, sys.argv.pop(1)); from chainq.__main__ import main; main()"
    for shell, name in SCRIPT_NAMES.items():
        line = [sys.executable, "-c", start, str(tmp_path / "installed"), "completion", shell]
        printed = subprocess.run(line, cwd=tmp_path, capture_output=True, check=True).stdout
        assert printed == (_docgen.root() / "completions" / name).read_bytes()
