"""The one warning of a run whose rows rest on belief: expected, then taken out of what the run said."""

import re

from chainq.catalog.methods import BY_NAME
from harness.running.program import Ran

UNPROVED = ("program-transactions", "address-transactions")  # no other method names their rows


def besides_belief(ran: Ran, command: str, *, due: bool | None = None) -> Ran:
    """The run without the one warning that rows of a command (or a method) rest on belief. All else stays in `err`.

    `due`: whether the warning must be there, by default where no other method names the rows; where it need not be,
    it stays in `err`.
    """
    if not (command in UNPROVED if due is None else due):
        return ran
    heights = r"heights? \d+(-\d+)?"
    rows = rf"( {heights}(, {heights})*( and [0-9,]+ more)?| rows \d+ to \d+ of the list| list without rows)"
    name = BY_NAME[command].command if command in BY_NAME else command
    words = r": nothing proves that these are all rows[^\n]*; --strict makes this an error\r?\n"
    err, count = re.subn(rf"(?m)^chainq: warning: {re.escape(name)}{rows}{words}", "", ran.err)
    assert count == 1, ran.err
    return ran._replace(err=err)
