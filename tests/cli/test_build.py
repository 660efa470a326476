"""What every command checks, whichever it is."""

from typing import Any

import pytest

from chainq.cli.commands import COMMANDS
from chainq.errors import UsageError


def numbers() -> list[tuple[str, str]]:
    """Each command with the name of each of its options that takes a whole number."""
    commands = {name: build() for name, (_, _, build) in COMMANDS.items()}
    return [
        (name, param.opts[0])
        for name, built in commands.items()
        for param in built.params
        if "int" in param.type.name and param.param_type_name == "option"
    ]


@pytest.mark.parametrize(("command", "option"), numbers())
@pytest.mark.parametrize("number", [10**400, -(10**400), 2**53 + 1])
def test_no_option_takes_a_number_beyond_all_heights(command: str, option: str, number: int) -> None:
    """A whole number that a float or a JavaScript server cannot hold is refused, by one rule for all options."""
    built: Any = COMMANDS[command][2]()
    values = {param.name: number if option in param.opts else None for param in built.params}
    with pytest.raises(UsageError, match=f"^invalid {option} .* the highest number is"):
        built.callback(**values)
