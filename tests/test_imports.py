"""What is imported: by each command no more than it needs, for start-up; and by each module only what lies below it."""

import ast
import subprocess
import sys
from collections.abc import Iterator, Set
from pathlib import Path

import pytest
from conftest import Program, Servers

import chainq

ROOT = Path(chainq.__file__).parent

# The program ends by os._exit, which would take the list with it.
LISTING = """
import os, sys
os._exit = lambda code: print(code, *sorted(sys.modules), file=sys.stderr)
from chainq.__main__ import main
main()
"""

SHELL = {"__main__", "app", "errors", "helptext", "methods", "options", "safe", "signals"}
ANSWERED = SHELL | {
    *("asked", "bech32", "checks", "client", "connect", "dialects", "formats", "heights", "output", "pool", "envelope"),
    *("progress", "question", "refusals", "report", "rows", "rpc", "run", "sink", "span", "times"),
}
NAMED = ANSWERED | {"named"}
RANGED = NAMED | {"arrange", "fetch", "plan"}
TABLE = {"formats.cells", "formats.table", "formats.tree"}

BUDGETS: dict[str, Set[str]] = {
    "--version": SHELL,
    "--help": SHELL,
    "records --help": SHELL,
    "serve --help": SHELL,
    "block 5 --jsonl": NAMED | {"formats.jsonl"},
    "latest --jsonl": NAMED | {"formats.jsonl"},
    "records --start 0 --end 5 --jsonl": RANGED | {"formats.jsonl"},
    "records --start 0 --end 5 --csv": RANGED | {"formats.csv"},
    "records --start 0 --end 5 --json": RANGED | {"formats.json", "formats.jsonl"},
    "records --start 0 --end 5 --table": RANGED | TABLE,
    "records --start 0 --end 5 --jsonl --dry-run": RANGED | {"formats.jsonl", "dryrun"},
    "program-transactions a.aleo b --limit 1 --jsonl": NAMED | {"arrange", "formats.jsonl", "pages"},
}
"""Which of chainq's own modules a command may load. Not `demo`, `docs` or `config` where none of them is asked for."""

OUTSIDE = {
    "httpx": "block 5 --jsonl",
    "msgspec": "block 5 --jsonl",
    "rich": "records --start 0 --end 5 --table",
}
"""The heavy packages, each with a command that does need it: a list that has grown stale must not pass for thrift."""
# pydantic comes with typer 0.29, pygments and click with httpx where click is installed (its own command line).
NEVER = {"asyncio", "click", "pandas", "plotille", "pyarrow", "pydantic", "pygments", "rich", "tomllib"}


def loaded(program: Program, line: str, url: str | None = None) -> set[str]:
    """The names of all modules that a command has loaded when it ends well."""
    where = [] if url is None else ["--url", url]
    ended = subprocess.run(
        [sys.executable, "-c", LISTING, *line.split(), *where],
        env=program.environment(),
        cwd=program.home,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    code, *names = ended.stderr.split()
    assert code == "0", ended.stderr
    return set(names)


def own(modules: set[str]) -> set[str]:
    """Those of chainq, without its name before them."""
    return {name.removeprefix("chainq.") for name in modules if name.startswith("chainq.")}


@pytest.mark.parametrize("line", BUDGETS)
def test_a_command_loads_no_more_than_it_needs(program: Program, server: Servers, line: str) -> None:
    """Of chainq the modules of its budget; of others nothing that only another command or format needs."""
    helps = line.endswith(("--help", "--version"))
    modules = loaded(program, line, None if helps else server())
    assert not own(modules) - BUDGETS[line], "modules that the command has no use for, or a budget that is too small"
    heavy = NEVER | {"httpx", "msgspec", "orjson"} if helps else NEVER
    assert not modules & (heavy - ({"rich"} if "--table" in line else set()))


@pytest.mark.parametrize("package", OUTSIDE)
def test_the_heavy_packages_are_still_those(program: Program, server: Servers, package: str) -> None:
    """What is watched for above is what the commands that need it do load."""
    assert package in loaded(program, OUTSIDE[package], server())


def test_the_sample_chain_is_loaded_only_where_it_is_asked_for(program: Program) -> None:
    """`demo:` loads the chain, and no server."""
    modules = own(loaded(program, "block 5 --jsonl", "demo:"))
    assert "demo.chain" in modules
    assert not modules & {"demo.server", "docs", "config"}


def test_chainq_as_a_package_loads_nothing_before_it_is_used() -> None:
    """`import chainq` is free; `chainq.Client` loads what calls, and nothing of the command line."""
    program = "import sys, chainq; print(*sys.modules); chainq.Client; print(*sys.modules)"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    before, after = (set(line.split()) for line in ended.stdout.splitlines())
    assert own(before) == set()
    assert {"api", "client", "rpc"} <= own(after)
    assert not after & {"typer", "rich", "httpx", "chainq.app", "chainq.options"}


LAYERS = (
    # Words that all others are said in; they import nothing of chainq's.
    "bech32 demo errors methods options pool progress safe signals span",
    "rows",
    "envelope refusals",
    # Pure: from typed text to values, from values to chunks, from bytes to rows. And two doors: one call, one file.
    "arrange checkpoint checks dialects formats heights helptext plan rpc sink times",
    "asked config detect formats.cells formats.csv formats.jsonl formats.parquet probes question report",
    # Many calls, and what tables are made of.
    "columns dryrun fetch formats.chart formats.json formats.tree named output presence",
    "formats.table habits pages",
    "client diagnosis",
    # From options to a client, and what is done with one.
    "api connect follow",
    "doctor run tools",
    # The command line, and what is generated from it.
    "app",
    "__main__ docs",
)
"""The modules from the bottom up: each may import from lines above its own, a package from itself too."""
RANK = {name: rank for rank, line in enumerate(LAYERS) for name in line.split()}
PACKAGES = ("demo", "docs")  # what is below their first name is theirs
FILES = sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")  # it imports when it is asked


def named(path: Path) -> str:
    """A file's module as LAYERS calls it."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__" or len(parts) == 1)


def place(module: str) -> str:
    """The entry of LAYERS that a module belongs to."""
    first = module.partition(".")[0]
    return first if first in PACKAGES else module


def imports(path: Path, *, types: bool = True) -> Iterator[tuple[int, str]]:
    """Line and full name of all that a file imports, wherever in it; without `types` only what running it can load."""
    tree = ast.parse(path.read_bytes())
    unseen = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING" and not types
        for part in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in unseen:
            continue
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.module, f"{path} line {node.lineno}: a relative import"
            first, *rest = node.module.split(".")
            is_module = first == "chainq" and ROOT.joinpath(*rest).is_dir()
            for alias in node.names:
                yield node.lineno, f"{node.module}.{alias.name}" if is_module else node.module


def target(full: str) -> str | None:
    """The chainq module that an imported name is, or stands in; None for others' and for the package itself."""
    parts = full.split(".")
    if parts[0] != "chainq":
        return None
    while len(parts) > 1 and not (
        ROOT.joinpath(*parts[1:]).with_suffix(".py").exists() or ROOT.joinpath(*parts[1:]).is_dir()
    ):
        parts.pop()
    return ".".join(parts[1:]) or None


@pytest.mark.parametrize("path", FILES, ids=named)
def test_imports_point_down(path: Path) -> None:
    """A module imports only from the layers below its own."""
    module = place(named(path))
    assert module in RANK, f"{module} has no place in LAYERS yet: which lines does it need, and who needs it?"
    for line, full in imports(path):
        below = target(full)
        if below is None or (place(below) == module and module in PACKAGES):
            continue
        assert RANK[place(below)] < RANK[module], f"{path.name} line {line}: {below} is not below {module}"


def test_no_layer_names_a_module_that_is_gone() -> None:
    """LAYERS tells of what is there."""
    assert RANK.keys() == {place(named(path)) for path in FILES}


USERS = {
    "httpx": {"rpc", "refusals", "demo"},
    "typer": {"app", "config", "docs", "helptext", "options"},
    "rich": {"formats.cells", "progress"},
    "pyarrow": {"formats.parquet"},
    "plotille": {"formats.chart"},
    "orjson": {"demo"},
    "tomllib": {"config"},
}
"""Who may import what: the network in one place, drawing in few."""


@pytest.mark.parametrize("package", USERS)
def test_packages_are_imported_only_where_they_belong(package: str) -> None:
    """Each package's users are those of USERS, no fewer and no more."""
    files = [path for path in FILES if any(full.split(".")[0] == package for _, full in imports(path, types=False))]
    assert {place(named(path)) for path in files} == USERS[package]
