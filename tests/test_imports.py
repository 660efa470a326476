"""What is imported: by each command no more than it needs, for start-up; and by each module only what lies below it."""

import ast
import subprocess
import sys
from collections.abc import Set
from functools import cache
from pathlib import Path

import pytest

import chainq
from harness.belief import besides_belief
from harness.program import LONGEST, Program, Ran, Servers
from harness.search import some
from harness.wallet import PUBLISHED, key_file

ROOT = Path(chainq.__file__).parent

# The program ends by os._exit, which would take the list with it. Where click happens to be installed, `import httpx`
# loads httpx's own command line with it, and pygments and rich: the list is to show what chainq asks for, so httpx is
# told that click is not there.
LISTING = """
import os, sys
sys.modules["click"] = None
os._exit = lambda code: print(code, *sorted(sys.modules), file=sys.stderr)
from chainq.__main__ import main
main()
"""

SHELL = {
    *("__main__", "_version", "defaults", "errors", "catalog", "catalog.methods", "process", "process.signals"),
    *(
        "cli",
        "cli.build",
        "cli.commands",
        "cli.help",
        "cli.log",
        "cli.main",
        "cli.options",
        "text",
        "text.sanitize",
        "text.width",
    ),
}
ANSWERED = SHELL | {
    *("catalog.bech32", "catalog.dialects", "catalog.identifiers", "config", "config.server", "config.values"),
    *("cli.connect", "cli.output", "cli.query", "cli.report", "cli.run", "cli.single_run", "cli.stdin"),
    *(
        "fetching",
        "fetching.blocks",
        "fetching.calls",
        "fetching.service",
        "fetching.service_dialect",
        "fetching.tip",
        "formats",
        "formats.protocol",
        "formats.registry",
    ),
    *("heights", "heights.block_time", "heights.bounds", "heights.range", "query"),
    *(
        "process.progress",
        "process.threads",
        "rows",
        "rows.fields",
        "rows.raw_json",
        "rows.response",
        "sinks",
        "sinks.base",
        "sinks.stdout",
        "sinks.open",
    ),
    "text.humanize",
    "tuning",
    *("transport", "transport.base", "transport.attempts", "transport.connection", "transport.failures"),
    *("transport.http", "transport.jsonrpc", "transport.proxies", "transport.rate_limit"),
}
LOOKED_UP = ANSWERED | {"fetching.lookups", "fetching.single_rows"}
RANGED = LOOKED_UP | {
    *(
        "planning",
        "fetching.ranges",
        "planning.belief",
        "planning.chunk_line",
        "planning.chunking",
        "planning.conservation",
        "planning.evidence",
        "planning.exact_heights",
        "planning.facts",
        "planning.naming",
    ),
    "rows.full_block",
    *("fetching.links", "planning.one_chain", "planning.order", "rows.sorting", "planning.questions"),
    *("planning.range_plan", "planning.seen", "planning.spans", "planning.spot_checks", "planning.exchange"),
}
WITNESSED = RANGED | {"fetching.witness", "config.dialect_cache", "config.paths"}
PAGED = LOOKED_UP | {
    *(
        "planning",
        "fetching.pages",
        "rows.sorting",
        "planning.page_blocks",
        "planning.page_plan",
        "planning.page_requests",
        "rows.full_block",
        "rows.transaction",
    ),
    "planning.exchange",
}
DETECTED = {"config.dialect_cache", "config.paths", "fetching.dialect_detection", "sinks.atomic_file", "sinks.disk"}
TABLE = {
    "formats.cells",
    "formats.drawing",
    "formats.table",
    "rows.full_block",
    "rows.transaction",
    "text.humanize",
    "text.style",
}

FAULTS = {
    f"demo.{name}"
    for name in ("exchange", "faults", "ids", "plants", "registry", "reply_faults", "request_faults", "row_faults")
}

BUDGETS: dict[str, Set[str]] = {
    "--version": SHELL,
    "--help": SHELL,
    "records --help": SHELL,
    "serve --help": SHELL | {"cli.serve", "demo", *FAULTS},
    "block 5 --jsonl": LOOKED_UP | {"formats.jsonl"},
    "latest --jsonl": LOOKED_UP | {"formats.jsonl"},
    "blocks --start 0 --end 5 --jsonl": RANGED | DETECTED | {"formats.jsonl"},
    "records --start 0 --end 5 --jsonl": WITNESSED | {"formats.jsonl"},
    "records --start 0 --end 5 --csv": WITNESSED | {"formats.csv"},
    "records --start 0 --end 5 --json": WITNESSED | {"formats.json"},
    "records --start 0 --end 5 --table": WITNESSED | TABLE,
    "records --start 0 --end 5 --jsonl --dry-run": LOOKED_UP
    | {"formats.jsonl", "cli.dry_run", "planning", "planning.chunking", "planning.exchange"},
    "program-transactions a.aleo b --limit 1 --jsonl": PAGED | DETECTED | {"formats.jsonl"},
    "program-transactions a.aleo b --newest --limit 1 --jsonl": PAGED | DETECTED | {"formats.jsonl"},
    "show --help": SHELL | {"cli.tool_options"},
    "show 5 --json": (WITNESSED - {"cli.run", "cli.query", "cli.stdin"})
    | DETECTED
    | {"catalog.kinds", "cli.show", "cli.tool_options", "show", "show.parts", "show.as_json"},
}
"""Which of chainq's own modules a command may load. `demo`, `_docgen` and `config.profiles` load only where needed."""

OUTSIDE = {
    "httpx": "block 5 --jsonl",
    "msgspec": "block 5 --jsonl",
}
"""The heavy packages, each with a command that does need it: a list that has grown stale must not pass for thrift."""
# pydantic comes with typer 0.29.
NEVER = {
    *("aleo", "asyncio", "deltalake", "distributed", "duckdb", "obstore", "pandas", "plotille"),
    *("pyarrow", "pydantic", "pygments", "rich", "tomllib"),
}


def loaded(program: Program, line: str, url: str | None = None) -> set[str]:
    """The names of all modules that a command has loaded when it ends well."""
    where = [] if url is None else ["--url", url]
    ended = subprocess.run(
        [sys.executable, "-c", LISTING, *line.split(), *where],
        env=program.environment(),
        cwd=program.home,
        capture_output=True,
        text=True,
        timeout=LONGEST,
        check=True,
    )
    told = [line for line in ended.stderr.splitlines(keepends=True) if "no transactions call" not in line]
    due = None if ended.stderr == "".join(told) else False  # an empty list has that warning alone
    ran = besides_belief(Ran(ended.returncode, b"", "".join(told)), line.split()[0], due=due)
    code, *names = (name for name in ran.err.split() if name != "click")
    assert code == "0", ended.stderr
    return set(names)


def own(modules: set[str]) -> set[str]:
    """Those of chainq, without its name before them."""
    return {name.removeprefix("chainq.") for name in modules if name.startswith("chainq.")}


@pytest.mark.parametrize(
    "line",
    some(
        BUDGETS,
        *("--help", "block 5 --jsonl", "blocks --start 0 --end 5 --jsonl", "records --start 0 --end 5 --csv"),
        *("records --start 0 --end 5 --table", "program-transactions a.aleo b --limit 1 --jsonl", "show 5 --json"),
    ),
)
def test_a_command_loads_no_more_than_it_needs(program: Program, server: Servers, line: str) -> None:
    """Of chainq the modules of its budget; of others nothing that only another command or format needs."""
    helps = line.endswith(("--help", "--version"))
    modules = loaded(program, line, None if helps else server())
    extra = own(modules) - BUDGETS[line]
    assert not extra, "modules that the command has no use for, or a budget that is too small"
    heavy = NEVER | {"httpx", "json", "msgspec", "orjson"} if helps else NEVER
    assert not modules & heavy


@pytest.mark.parametrize("package", OUTSIDE)
def test_the_heavy_packages_are_still_those(program: Program, server: Servers, package: str) -> None:
    """What is watched for above is what the commands that need it do load."""
    assert package in loaded(program, OUTSIDE[package], server())


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


def test_the_sample_chain_is_loaded_only_where_it_is_asked_for(program: Program) -> None:
    """`demo:` loads the chain, no server, and nothing of HTTP."""
    modules = loaded(program, "block 5 --jsonl", "demo:")
    assert "demo.chain" in own(modules)
    assert not own(modules) & {"demo.http_server", "_docgen", "config.profiles", "transport.http"}
    assert "httpx" not in modules


def test_the_coordinator_of_an_export_loads_no_pyarrow(program: Program, server: Servers) -> None:
    """It decides by names of files; workers write them."""
    line, url = "export blocks 0:5 --to lake -w 1 -q", server()
    for _ in range(2):
        modules = loaded(program, line, url)
        assert "lake.plan" in own(modules)
        assert not modules & {"pyarrow", "numpy"}


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
def imports(path: Path) -> Set[str]:
    """The full names of all that running a file can load; imports for types alone do not count."""
    tree = ast.parse(path.read_bytes())
    unseen = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for part in ast.walk(node)
    }
    found: set[str] = set()
    for node in ast.walk(tree):
        if id(node) in unseen:
            continue
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.module, f"{path}: a relative import"
            found.add(node.module)
    return found


USERS = {
    "httpx": {"transport"},
    "typer": {"cli", "config"},
    "rich": {"process", "text"},
    "pyarrow": {"formats", "lake", "stored", "verify"},
    "duckdb": {"lake"},
    "deltalake": {"lake"},
    "distributed": {"lake"},
    "obstore": {"stored"},
    "starlette": {"stored"},
    "uvicorn": {"stored"},
    "plotille": {"formats"},
    "orjson": {"config", "demo", "transport"},
    "tomllib": {"config"},
}
"""The folders that may import each package: the network in one place, drawing in few."""


@pytest.mark.parametrize("package", USERS)
def test_packages_are_imported_only_where_they_belong(package: str) -> None:
    """Each package's users are those of USERS, no fewer and no more."""
    files = [path for path in FILES if any(full.split(".")[0] == package for full in imports(path))]
    assert {path.relative_to(ROOT).parts[0] for path in files} == USERS[package]
