"""The sample chain's pattern: ordinary blocks that repeat, and special heights.

Real chains have all of these: empty blocks, blocks with thousands of records, long stretches without any, programs with
large sources, deployments, rejected transactions.
"""

from functools import lru_cache

from chainq.demo.ids import mix
from chainq.demo.layout import BlockPlan, Call, Layout, Stretch, TransactionPlan
from chainq.demo.programs import PROGRAMS

PERIOD = 160
"""Heights after which the ordinary pattern repeats."""

HUGE, FAR_HUGE = 777, 2_000_000
"""Heights of the blocks with 25,000 and with 12,000 records."""

HELLO = range(1_200, 1_240)
"""Heights that hold all calls of hello_hello.aleo/hello."""

WIDE = 2_345
"""The height that calls the program whose text has 100 KB."""

EMPTY = range(40_000, 44_000)
"""Heights without any record."""


def _call(text: str) -> Call:
    name, _, address = text.partition("@")
    program, _, function = name.rpartition("/")
    return Call(PROGRAMS[f"{program or 'credits'}.aleo"][function], int(address or -1))


def _plan(
    calls: str, fee: str = "fee_public", kind: str = "execute", status: str | None = "accepted"
) -> TransactionPlan:
    return TransactionPlan(kind, status, tuple(map(_call, calls.split())), _call(fee) if fee else None)


# Address 0 is the busy one, address 1 occurs twice in one transaction; the others rotate.
_ORDINARY = (
    _plan("transfer_public"),
    _plan("transfer_public@0"),
    _plan("transfer_private", "fee_private"),
    _plan("transfer_private"),
    _plan("split", ""),
    _plan("join"),
    _plan("transfer_public_to_private"),
    _plan("transfer_private_to_public"),
    _plan("mint", ""),
    _plan("token_registry/transfer_public"),
    _plan("token_registry/transfer_private token_registry/transfer_private"),
    _plan("wrapped_credits/deposit_credits_private token_registry/transfer_public_to_private transfer_private"),
    _plan("wrapped_credits/withdraw_credits_private transfer_private_to_public"),
    _plan("token_registry/transfer_public_to_private"),
    _plan("token_registry/mint_public"),
    _plan("tile_gallery/claim"),
)
_RARE = {
    17: _plan("token_registry/transfer_from_public@1"),
    31: _plan("transfer_private", "fee_private", "rejected", "rejected"),
    47: _plan("", "fee_public", "deploy"),
    63: _plan("", "fee_private", "deploy"),
    79: _plan("", "fee_public", "fee", None),
    95: _plan("token_registry/mint_public", "fee_public", "rejected", "rejected"),
    111: _plan("tile_gallery/show@1 transfer_public@1"),
    127: _plan("transfer_public", status=None),
}
_SPLITS = _plan("split " * 25, "")
_HELLO = _plan("hello_hello/hello")


def _ordinary(offset: int) -> BlockPlan:
    if offset == 40:
        return BlockPlan([_plan("split " * 10, "")] * 2)
    if offset % 13 == 12:
        return BlockPlan([])
    word = mix(offset, 0xC4A1)
    plans = [_ORDINARY[word >> 8 * i & 15] for i in range(1, 2 + word % 7)]
    return BlockPlan([*plans, _RARE[offset]] if offset in _RARE else plans)


def _hello(offset: int) -> BlockPlan:
    if offset == 20:
        return BlockPlan([_HELLO] * 60)
    several = _plan("hello_hello/hello " * (5 if offset == 21 else 3))
    return BlockPlan(([_HELLO] * 12, [several] * (10 if offset == 21 else 2), [_ORDINARY[2], _HELLO], [])[offset % 4])


def _dense(records: int) -> BlockPlan:
    """Return a block with that number of records."""
    whole, rest = divmod(records, _SPLITS.records)
    plans = [_SPLITS] * whole
    if rest > 1:
        plans.append(_plan("split " * (rest // 2), ""))
    if rest % 2:
        plans.append(_plan("join"))
    return BlockPlan(plans)


def _stretches() -> tuple[Stretch, ...]:
    ordinary = tuple(map(_ordinary, range(PERIOD)))
    quiet = (BlockPlan([_ORDINARY[0]] * 2), BlockPlan([]), BlockPlan([_ORDINARY[9]]), BlockPlan([]), BlockPlan([]))
    return (
        Stretch(0, (BlockPlan([_plan("mint", "")] * 4),)),
        Stretch(1, ordinary),
        Stretch(HUGE, (_dense(25_000),)),
        Stretch(HUGE + 1, ordinary),
        Stretch(HELLO.start, tuple(map(_hello, range(len(HELLO))))),
        Stretch(HELLO.stop, ordinary),
        Stretch(WIDE, (BlockPlan([_plan("wide_library/run"), _ORDINARY[0]]),)),
        Stretch(WIDE + 1, ordinary),
        Stretch(EMPTY.start, quiet),
        Stretch(EMPTY.stop, ordinary),
        Stretch(FAR_HUGE, (_dense(12_000),)),
        Stretch(FAR_HUGE + 1, ordinary),
    )


def _with_dense(layout: Layout, height: int, records: int) -> Layout:
    """Return the layout with that number of records at `height`; other heights keep their transactions."""
    stretch, offset = layout.locate(height)
    turn = (offset + 1) % len(stretch.pattern)
    after = Stretch(height + 1, stretch.pattern[turn:] + stretch.pattern[:turn])
    others = [other for other in layout.stretches if other is not stretch]
    parts = (stretch, after, *others, Stretch(height, (_dense(records),)))  # the later of two with one start counts
    starts = {part.start: part for part in parts}
    return Layout([starts[start] for start in sorted(starts)])


@lru_cache(maxsize=16)
def sample_layout(dense: tuple[int, int] | None = None) -> Layout:
    """Return the layout of the sample chain; `dense`: a height and the number of its records."""
    layout = Layout(_stretches())
    return _with_dense(layout, *dense) if dense else layout
