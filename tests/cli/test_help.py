"""Help fits the terminal: no line is too long, and no word is broken."""

import re

import pytest

from chainq.catalog.methods import BY_COMMAND
from chainq.cli.commands import COMMANDS
from harness.running.program import Program


def shown(program: Program, width: int, *words: str, tier: str = "--help") -> str:
    """The help of a command on a terminal of that width."""
    ran = program(*words, tier, env={"COLUMNS": str(width)})
    assert (ran.code, ran.err) == (0, "")
    return ran.out.decode()


@pytest.mark.parametrize("width", [60, 200])
@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_fits_the_terminal(program: Program, command: str, width: int) -> None:
    """No line but those of examples is wider than the terminal, or than 100 characters; columns are whole."""
    text = shown(program, width, *command.split(), tier="--help-all" if command else "--help")
    breakable = [line for line in text.splitlines() if not line.startswith("    chainq ")]
    assert max(map(len, breakable)) <= min(width, 100)
    assert "x>=" not in text
    assert "x<=" not in text
    if method := BY_COMMAND.get(command):
        assert method.example in text


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_fits_a_screen(program: Program, command: str) -> None:
    """What most people need, at 80 columns; the last line says what shows all."""
    lines = shown(program, 80, *command.split()).splitlines()
    assert len(lines) <= 45
    assert next(place for place, line in enumerate(lines) if re.match("  .*chainq ", line)) < 12
    more = f"chainq {command} --help-all shows every option."
    assert not command or (lines[-1] == more) == (shown(program, 80, command, tier="--help-all").splitlines() != lines)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_all_shows_every_option(program: Program, command: str) -> None:
    """By its names."""
    words = set(re.split(r"[\s,/]+", shown(program, 80, command, tier="--help-all")))
    options = [param for param in COMMANDS[command][2]().params if param.param_type_name == "option"]
    assert {name for option in options for name in option.opts} <= words
