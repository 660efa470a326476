"""What is said of blocks and rows that a service lacks."""

from chainq import tuning

NO_VERIFY = "chainq blocks and chainq full-blocks read such rows unchecked with --no-verify"


def behind(first: int, top: int) -> str:
    """Return what to do if a server is behind and lacks rows from `first` on; empty far from the tip.

    `top`: the height after the highest known block.
    """
    blocks = max(tuning.BELOW_TIP, top - first)
    near = top - first <= tuning.NEAR_TIP
    return f"if a server is behind, end {blocks} blocks below the tip (--end -{blocks} or --lag {blocks})" * near


def lacking(heights: list[int], tip: int) -> str:
    """Return that blocks do not come which must exist, for they are not above the tip."""
    return f"missing {listed(heights)}, though the tip is {tip}"


def listed(heights: list[int]) -> str:
    """Return heights as text: `height 5`, `heights 5, 7, 9 and 40 more`."""
    shown = ", ".join(map(str, heights[:5]))
    more = f" and {len(heights) - 5:,} more" if len(heights) > 5 else ""
    return f"{'height' if len(heights) == 1 else 'heights'} {shown}{more}"
