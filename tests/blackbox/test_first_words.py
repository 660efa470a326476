"""What people type first: help, version, completion."""

import pytest

from harness.program import ROOT, Program, one_line

SCRIPTS = {"bash": "chainq.bash", "zsh": "_chainq", "fish": "chainq.fish"}


@pytest.mark.parametrize("shell", SCRIPTS)
def test_completion_prints_the_script(shell: str, chainq: Program) -> None:
    """It is the file that is written from the commands themselves."""
    ran = chainq("completion", shell)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == (ROOT / "completions" / SCRIPTS[shell]).read_bytes()


def test_help_is_help(chainq: Program) -> None:
    """`help` is `--help`, of the program or of a command; a name that is not a command is refused as elsewhere."""
    assert chainq("help") == chainq("--help")
    assert chainq("help", "records") == chainq("records", "--help")
    assert one_line(chainq("help", "recods"), 2) == "chainq help: no such command 'recods'. Did you mean 'records'?\n"
    assert b"records" in chainq("help").out
