"""`.ci/run`, with tools that only write down that they were called."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from harness.running.program import ROOT

PYTHON = """#!/bin/bash
bin=$3/bin
mkdir -p "$bin"
for tool in pip ruff mypy lint-imports pytest; do
    echo "#!/bin/bash" > "$bin/$tool"
    echo "echo $tool \\$* >> $CALLS; [ $tool != '$FAILING' ]" >> "$bin/$tool"
    chmod +x "$bin/$tool"
done
echo "environment" >> "$CALLS"
"""


def run(folder: Path, failing: str = "") -> tuple[int, list[str]]:
    """Run it in a copy of what it reads: its exit code, and what was called."""
    (folder / "bin").mkdir()
    (folder / "bin" / "python3").write_text(PYTHON)
    (folder / "bin" / "python3").chmod(0o755)
    (folder / "project" / ".ci").mkdir(parents=True)
    shutil.copy(ROOT / ".ci" / "run", folder / "project" / ".ci")
    for name in ("README.md", "pyproject.toml"):
        shutil.copy(ROOT / name, folder / "project")
    calls = folder / "calls"
    path = f"{folder / 'bin'}:{os.environ['PATH']}"
    env = {"PATH": path, "CALLS": str(calls), "FAILING": failing, "TMPDIR": str(folder)}
    code = subprocess.run([folder / "project" / ".ci" / "run"], env=env, check=False, capture_output=True).returncode
    assert not [*folder.glob("tmp.*")], "an environment was left behind"
    return code, [line.strip() for line in calls.read_text().splitlines()]


def test_ruff_comes_first_and_tests_have_an_environment_of_their_own(tmp_path: Path) -> None:
    """The README's command installs all that the tests need: nothing that was installed for the linters helps."""
    code, calls = run(tmp_path)
    assert (code, calls[0], calls[1][:20]) == (0, "environment", "pip install --quiet ")
    assert calls[2:5] == ["ruff check .", "ruff format --check .", "lint-imports"]
    assert calls[5:7] == ["environment", "pip install -e .[test]"]
    assert {*calls[7:]} == {"mypy --python-executable .venv/bin/python", "pytest -n 4 -m"}


@pytest.mark.parametrize(("tool", "tests"), [("ruff", 0), ("mypy", None), ("lint-imports", None), ("pytest", 1)])
def test_a_tool_that_fails_is_told(tool: str, tests: int | None, tmp_path: Path) -> None:
    """By the exit code: before the tests, which take minutes, beside them, or as soon as the suite has ended."""
    code, calls = run(tmp_path, tool)
    assert code != 0
    assert tests in (None, [line.split()[0] for line in calls].count("pytest"))
