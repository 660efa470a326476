"""What is imported: by each command no more than it needs, for start-up; and by each module only what lies below it."""

import ast
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import chainq
from harness.running.program import LONGEST, Program, Servers
from harness.wallet.wallet import PUBLISHED, key_file

ROOT = Path(chainq.__file__).parent
GOLDEN = Path(__file__).parent / "golden"

# The program ends by os._exit, which would take the list with it. Where click happens to be installed, `import httpx`
# loads httpx's own command line with it, and pygments and rich: the list is to show what chainq asks for, so httpx is
# told that click is not there.
LISTING = """
import os, sys
sys.modules["click"] = None
def end(code):
    with open("modules", "w") as file:
        print(code, *sorted(sys.modules.keys() - {"click"}), file=file)
os._exit = end
from chainq.__main__ import main
main()
"""

COMMANDS = (
    "--version",
    "--help",
    "records --help",
    "serve --help",
    "block 5 --jsonl --url demo:",
    "blocks --start 0 --end 5 --jsonl",
    "records --start 0 --end 5 --csv",
    "records --start 0 --end 5 --table",
    "program-transactions a.aleo b --limit 1 --jsonl",
    "show 5 --json",
    "export blocks 0:5 --to lake -w 1 -q",  # its workers load pyarrow; the coordinator decides by names of files
    "export blocks 0:5 --to lake -w 1 -q",
)

HEAVY = {
    *("aleo", "asyncio", "deltalake", "distributed", "duckdb", "httpx", "json", "msgspec", "numpy"),
    *("obstore", "orjson", "pandas", "plotille", "pyarrow", "pydantic", "pygments", "rich", "tomllib"),
}
"""Packages that take their time. pydantic comes with typer 0.29."""


def loaded(program: Program, line: str, url: str | None = None) -> set[str]:
    """The names of all modules that a command has loaded when it ends well."""
    command = [sys.executable, "-c", LISTING, *line.split(), *(["--url", url] if url else [])]
    env = program.environment()
    subprocess.run(command, env=env, cwd=program.home, capture_output=True, timeout=LONGEST, check=True)
    code, *names = (program.home / "modules").read_text().split()
    assert code == "0", line
    return set(names)


def own(modules: set[str]) -> set[str]:
    """Those of chainq, without its name before them."""
    return {name.removeprefix("chainq.") for name in modules if name.startswith("chainq.")}


def test_a_command_loads_no_more_than_it_needs(
    chainq: Program, server: Servers, golden: Callable[[Path, str], None]
) -> None:
    """The record has the modules of chainq by their folders, and the packages that take their time."""
    record = ""
    for line in COMMANDS:
        modules = loaded(chainq, line, None if line.endswith(("--help", "--version", "demo:")) else server())
        folders = {"packages": sorted(modules & HEAVY)}
        for name in sorted(own(modules)):
            folder, _, module = name.rpartition(".")
            folders.setdefault(folder or "chainq", []).append(module)
        lines = [f"{folder}: {' '.join(names)}\n" for folder, names in folders.items() if names]
        record += "".join([f"$ {line}\n", *lines])
    golden(GOLDEN / "imports.txt", record)


@pytest.mark.parametrize(
    ("line", "package", "part"),
    [
        ("sql from/**/blocks --end 5", "pandas", "pyarrow"),  # pyarrow would load it, if it is installed
        ("owned 110:120 --view-key-file {key} -w 1", "aleo", "aleo._aleolib_mainnet"),
    ],
)
def test_a_package_is_not_loaded_for_a_part_of_it(line: str, package: str, part: str, program: Program) -> None:
    """Which takes longer than a short run."""
    pytest.importorskip(package)
    modules = loaded(program, line.format(key=key_file(program.home, PUBLISHED)), "demo:")
    assert part in modules and package not in modules


def test_chainq_as_a_package_loads_nothing_before_it_is_used() -> None:
    """`import chainq` is free; `chainq.Client` loads what calls, and nothing of the command line."""
    program = "import sys, chainq; print(*sys.modules); chainq.Client; print(*sys.modules)"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=LONGEST, check=True)
    before, after = (set(line.split()) for line in ended.stdout.splitlines())
    assert own(before) == {"_version"}
    assert {"client", "fetching.service", "transport.connection"} <= own(after)
    assert not after & {"typer", "rich", "httpx", "chainq.cli.main", "chainq.cli.options"}


FILES = sorted(path for path in ROOT.rglob("*.py") if path.stem != "_docgen")


@cache
def loads(path: Path) -> Sequence[ast.Import | ast.ImportFrom]:
    """All imports in a file, those in functions too; imports for types alone do not count."""
    tree = ast.parse(path.read_bytes())
    unseen = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for part in ast.walk(node)
    }
    return [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom) and id(node) not in unseen]


def imports(path: Path) -> set[str]:
    """The full names of all modules that running a file can load."""
    found: set[str] = set()
    for node in loads(path):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        else:
            assert node.module, f"{path}: a relative import"
            found.add(node.module)
    return found


def test_packages_are_imported_only_where_they_belong(golden: Callable[[Path, str], None]) -> None:
    """The record has the folders that import each package: the network in one place, drawing in few.

    Any folder may import msgspec, and the standard library but for tomllib.
    """
    users: dict[str, set[str]] = {}
    anywhere = (sys.stdlib_module_names - {"tomllib"}) | {"chainq", "msgspec"}
    for path in FILES:
        for package in {full.split(".")[0] for full in imports(path)} - anywhere:
            users.setdefault(package, set()).add(path.relative_to(ROOT).parts[0])
    record = [f"{package}: {' '.join(sorted(folders))}\n" for package, folders in sorted(users.items())]
    golden(GOLDEN / "packages.txt", "".join(record))


def test_no_file_imports_itself_by_way_of_others() -> None:
    """Imports inside functions count, too: they save time at the start, and hide no circle."""
    files = {
        ".".join(path.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__"): path for path in FILES
    }
    graph: dict[str, set[str]] = {}
    for name, path in files.items():
        taken = [
            (node.module, one.name) for node in loads(path) if isinstance(node, ast.ImportFrom) for one in node.names
        ]
        modules = (full if (full := f"{module}.{one}") in files else module for module, one in taken)
        graph[name] = {module for module in modules if module in files} - {"chainq"}
    assert graph["chainq.cli.run"] >= {"chainq.cli.query", "chainq.resume.follow"}
    list(TopologicalSorter(graph).static_order())  # raises CycleError
