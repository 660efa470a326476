"""The words that say which rows rest on belief (docs/completeness.md, "Belief"), for the commands and for Python."""

from collections.abc import Mapping

from chainq.catalog.methods import BY_NAME


def unproved(believed: Mapping[str, object], *, limited: bool) -> str:
    """Return the text that names the rows of methods: of which command, and at which heights or where in its list.

    `limited`: the rows ended at their limit, so that none are claimed beyond.
    """
    rows = "; ".join(f"{BY_NAME[method].command} {where}".rstrip() for method, where in believed.items())
    limit = " up to the limit" if limited else ""
    return f'{rows}: nothing proves that these are all rows{limit} (docs/completeness.md, "Belief")'
