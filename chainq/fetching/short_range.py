"""Says what a range lacks: why it has fewer blocks than it was asked for, and which of its rows rest on belief."""

from collections.abc import Mapping

from chainq.catalog.methods import BY_NAME
from chainq.errors import Shortfall
from chainq.fetching.service import Service
from chainq.heights.bounds import Bounds, none_below
from chainq.heights.range import HeightRange
from chainq.text.humanize import chain_end, end_above, utc


def reason(service: Service, bounds: Bounds, heights: HeightRange) -> str:
    """Return why bounds resolve to `heights`, which are none; empty if only requests for a fixed range can show it.

    Raises ChainqError.
    """
    since, until, place = bounds.since, bounds.until, heights.start
    if bounds.last == 0:
        return "the range is empty"
    if (bounds.start or 0) == bounds.end:
        return none_below(bounds.end, bounds.end)
    if since is not None and since == until:
        return f"no times from {utc(since)} to {utc(until)}: --until is exclusive"
    if bounds.fixed:
        return ""
    tip = service.blocks.tip()
    if place > tip.height:
        time = "" if tip.time is None else f", of {utc(tip.time)}"
        return f"no blocks in that range: {chain_end(tip.height)}{time}"
    if since is None and until is None:
        return none_below(place, heights.end)
    return f"no blocks in that range: block {place} is of {utc(service.blocks.time_of(place))}"


def unreached(service: Service, bounds: Bounds, read: HeightRange) -> str:
    """Return where the chain ends, if that is below the end of the bounds; empty if it is not.

    `read`: the heights that were read, with all their rows. The tip is not requested if there are any: of several
    servers behind a URL, another one may have ended the range than the one asked again. Raises ChainqError.
    """
    end = bounds.end
    if bounds.until is not None and len(read):
        newest = service.blocks.tip()  # known, because the time was searched below it
        if newest.height < read.end and newest.time is not None and newest.time < bounds.until:
            until, ends = utc(bounds.until), chain_end(newest.height)
            return Shortfall(f"the end {until} is not reached: {ends}, of {utc(newest.time)}")
    if end is None or end <= max(0, read.end):
        return ""
    tip = read.end - 1 if len(read) else service.blocks.tip_for(end)
    if bounds.one_word and bounds.start == end - 1:
        return Shortfall(f"block {bounds.start} does not exist: {chain_end(tip)}")
    if bounds.start is not None and bounds.start >= max(0, read.end) and not len(read):
        return Shortfall(f"no blocks in that range: {chain_end(tip)}")
    return end_above(end, tip)


def unproved(believed: Mapping[str, object], *, limited: bool) -> str:
    """Return the text that names the rows of methods: of which command, and at which heights or where in its list.

    `limited`: the rows ended at their limit, so that none are claimed beyond.
    """
    rows = "; ".join(f"{BY_NAME[method].command} {where}".rstrip() for method, where in believed.items())
    limit = " up to the limit" if limited else ""
    return f'{rows}: nothing proves that these are all rows{limit} (docs/completeness.md, "Belief")'
