"""Says why a range has no heights."""

from chainq.fetching.service import Service
from chainq.heights.bounds import Bounds
from chainq.heights.range import HeightRange
from chainq.text.humanize import chain_end, utc

_DAY = 86_400  # seconds


def reason(service: Service, bounds: Bounds, heights: HeightRange) -> str:
    """Return why bounds resolve to `heights`, which are none; empty if only requests for a fixed range can show it.

    Raises ChainqError.
    """
    since, until, place = bounds.since, bounds.until, heights.start
    if bounds.last == 0:
        return "the range is empty"
    if bounds.start is not None and bounds.start == bounds.end:
        return f"no heights from {bounds.start} to {bounds.end}: --end is exclusive"
    if since is not None and since == until:
        later = f"; for that day use --until {utc(until + _DAY)[:10]}" if until % _DAY == 0 else ""
        return f"no times from {utc(since)} to {utc(until)}: --until is exclusive{later}"
    if bounds.fixed:
        return ""
    tip = service.tip()
    if place > tip.height:
        time = "" if tip.time is None else f", of {utc(tip.time)}"
        return f"no blocks in that range: {chain_end(tip.height)}{time}"
    if since is None and until is None:
        return f"no heights from {place} to {heights.end}: --end is exclusive"
    if place == 0:
        return f"no blocks in that range: block 0 is of {utc(service.time_of(0))}"
    around = f"block {place - 1} is of {utc(service.time_of(place - 1))}, and block {place} of "
    missing = (
        "blocks in that range" if since is None or until is None else f"block between {utc(since)} and {utc(until)}"
    )
    return f"no {missing}: {around}{utc(service.time_of(place))}"
