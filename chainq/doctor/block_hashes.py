"""Checks, for `chainq doctor`, whether a server's block hashes can be recomputed, and at which heights they cannot."""

from collections.abc import Iterable

from msgspec import Raw

from chainq.catalog.methods import Role
from chainq.doctor.methods import MethodProber
from chainq.doctor.prober import UNKNOWN, Check, Outcome
from chainq.errors import Phrase
from chainq.hashes import sdk
from chainq.hashes.check import Checked, check_row
from chainq.installer import install_command
from chainq.rows.fields import Picker, integer_of
from chainq.text.humanize import counted

NAME = "block hashes"
SHARES = (0, 0.25, 0.5, 0.75)
"""Positions of the checked blocks besides the tip, as shares of the chain, because eras differ."""


def block_hashes(methods: MethodProber, tip: int, latest: Outcome, full_blocks: Outcome) -> Check:
    """Return a check of a few blocks from the first one to the tip, and of a full block that was read before."""
    if not sdk.installed():
        return Check(NAME, UNKNOWN, f"this needs the aleo-sdk package: {install_command('hashes')}")
    heights = dict.fromkeys(int(tip * share) for share in SHARES) if tip >= 0 else {}
    sent = [latest, *(methods.call("block", {Role.HEIGHT: height}) for height in heights if height != tip)]
    found = [*_checked(sent, full=False), *_checked([full_blocks], full=True)]
    wrong = [height for height, checked in found if checked.wrong]
    unproved = [height for height, checked in found if not checked.wrong and not checked.proved]
    contents = [height for height, checked in found if checked.proved and checked.skipped]
    if not found:
        return Check(NAME, UNKNOWN, "no block could be read")
    if wrong or unproved:
        parts = [f"do not hold at {_named(wrong)}"] if wrong else []
        parts += [f"cannot be recomputed at {_named(unproved)}"] if unproved else []
        altered = Phrase(
            "these blocks are made up, as on a sample chain, or altered: {hashes} exits with code 6 there", hashes=True
        )
        older_era = Phrase("headers of an older era lack fields: {hashes} counts these as not checked", hashes=True)
        return Check(NAME, "; ".join(parts), altered if wrong else older_era)
    holds = f"hold in {counted(len({height for height, _ in found}), 'block')}"
    if contents:
        return Check(NAME, holds, f"at {_named(contents)}, contents of an older era are not checked")
    return Check(NAME, holds, Phrase("verify {hashes} can prove blocks against an anchor", hashes=True))


def _checked(outcomes: Iterable[Outcome], *, full: bool) -> Iterable[tuple[int, Checked]]:
    """Yield the heights of blocks and their findings."""
    path = "header.metadata.height" if full else "height"
    for outcome in outcomes:
        for row in outcome.rows[:1] or [Raw(outcome.result)]:  # latest/block is an object on some servers
            height = integer_of(Picker([path])(row)[0])
            if height is not None:
                yield height, check_row(bytes(row), full=full)


def _named(heights: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(set(heights))))
