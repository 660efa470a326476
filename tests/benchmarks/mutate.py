"""Removes each statement of the kernel of proofs in turn, and prints those that no test misses.

    python tests/benchmarks/mutate.py [MODULE] [TESTS...] [--from LINE] [--to LINE]

A statement is replaced by `pass`; a condition by each of True and False. What survives is either not needed, or not
tested: one line for each, with its number. The module is changed in a copy of the package, never in place.
"""

import argparse
import ast
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
KERNEL = "chainq/planning/kernel.py"
LONGEST = 60  # seconds that the tests may take, as of a loop without an end


def mutants(source: str) -> Iterator[tuple[int, str, str]]:
    """Yield of each mutant the line, what was done, and the text."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.If | ast.While):
            yield from (
                (node.lineno, f"if {value}", _replaced(source, node.test, str(value))) for value in (True, False)
            )
        elif isinstance(node, ast.BoolOp):
            rest = "True" if isinstance(node.op, ast.And) else "False"
            for operand in node.values:
                yield operand.lineno, "without an operand", _replaced(source, operand, rest)
        elif isinstance(node, ast.stmt) and not _structure(node):
            yield node.lineno, "removed", _replaced(source, node, "pass")


def _structure(node: ast.stmt) -> bool:
    """Return whether a statement is a definition, a declaration or a docstring, without which nothing runs at all."""
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    kinds = (ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.AnnAssign, ast.Pass, ast.Assert)
    return isinstance(node, kinds) and not (isinstance(node, ast.AnnAssign) and node.col_offset > 4)


def _replaced(source: str, node: ast.stmt | ast.expr, text: str) -> str:
    lines = source.encode().splitlines(keepends=True)
    assert node.end_lineno is not None
    before, after = lines[node.lineno - 1][: node.col_offset], lines[node.end_lineno - 1][node.end_col_offset :]
    return b"".join([*lines[: node.lineno - 1], before, text.encode(), after, *lines[node.end_lineno :]]).decode()


def survives(folder: Path, tests: list[str]) -> bool:
    """Return whether the tests pass on the package of a folder."""
    line = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider", *tests]
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1", "CHAINQ_EXAMPLES": "600"}
    try:
        return not subprocess.run(
            line, cwd=folder, env=environment, capture_output=True, timeout=LONGEST, check=False
        ).returncode
    except subprocess.TimeoutExpired:
        return False


def main() -> int:
    """Print the survivors; give 0 where there are none."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("module", nargs="?", default=KERNEL)
    parser.add_argument("tests", nargs="*", default=["tests/planning/test_kernel.py"])
    parser.add_argument("--from", dest="low", type=int, default=0)
    parser.add_argument("--to", dest="high", type=int, default=1 << 30)
    asked = parser.parse_args()
    source = (ROOT / asked.module).read_text()
    every = sorted((mutant for mutant in mutants(source) if asked.low <= mutant[0] <= asked.high), key=lambda m: m[0])
    left = 0
    with tempfile.TemporaryDirectory(prefix="chainq-mutate-") as name:
        folder = Path(name)
        for part in ("chainq", "tests"):
            shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "pyproject.toml", folder)
        if not survives(folder, asked.tests):
            parser.error("the tests fail on the module as it is")
        for line, done, text in every:
            (folder / asked.module).write_text(text)
            if survives(folder, asked.tests):
                left += 1
                sys.stdout.write(f"{asked.module}:{line}: {done}: {source.splitlines()[line - 1].strip()}\n")
                sys.stdout.flush()
    sys.stdout.write(f"{left} of {len(every)} mutants survive\n")
    return min(left, 1)


if __name__ == "__main__":
    sys.exit(main())
