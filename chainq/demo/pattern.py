"""The sample chain's pattern: ordinary blocks that repeat, and special heights.

Real chains have all of these: empty blocks, blocks with thousands of records, long stretches without any, programs with
large sources, deployments, rejected transactions.
"""

from functools import lru_cache
from itertools import count

from chainq.demo.ids import mix
from chainq.demo.layout import BlockPlan, Call, Function, Layout, Stretch, TransactionPlan


def _function(program: str, line: str) -> Function:
    name, inputs, outputs = (part.split() for part in line.split("|"))
    return Function(program, name[0], tuple(inputs), tuple(outputs))


_LINES = {
    "credits.aleo": (
        "mint | address u64 | record",
        "transfer_public | address u64 | future",
        "transfer_private | record private private | record record",
        "transfer_public_to_private | private u64 | record future",
        "transfer_private_to_public | record address u64 | record future",
        "split | record private | record record",
        "join | record record | record",
        "fee_public | u64 u64 field | future",
        "fee_private | record u64 u64 field | record",
    ),
    "token_registry.aleo": (
        "mint_public | field address u128 u32 | future",
        "transfer_public | field address u128 | future",
        "transfer_from_public | field address address u128 | future",
        "transfer_private | record private u128 | record record",
        "transfer_public_to_private | field private u128 | record future",
    ),
    "wrapped_credits.aleo": (
        "deposit_credits_private | external_record u64 | external_record record future",
        "withdraw_credits_private | record u64 | external_record record future",
    ),
    "hello_hello.aleo": ("hello | u32 private | private",),
    "tile_gallery.aleo": ("claim | field private | record", "show | address field | future"),
    "wide_library.aleo": ("run | u64 field | private",),
}
"""Of each program the functions: name, kinds of inputs, kinds of outputs."""
PROGRAMS = {
    program: {made.name: made for made in (_function(program, line) for line in lines)}
    for program, lines in _LINES.items()
}
"""Program ID -> function name -> Function."""

_LONG = {"wide_library.aleo": 100_000}  # characters
_TYPES = {"private": "u64.private", "future": "future"}
_TYPES |= {kind: f"note.{kind}" for kind in ("record", "external_record")}


@lru_cache
def source(program: str) -> str:
    """Return the source text of a program, with line breaks: a few hundred bytes to 1.5 KB (`wide_library.aleo`: over
    100 KB)."""
    functions = PROGRAMS.get(program, {}).values()
    text = f"program {program};\n\nmapping account:\n    key as address.public;\n    value as u64.public;\n"
    if any(function.records for function in functions):
        text += "\nrecord note:\n    owner as address.private;\n    amount as u64.private;\n"
    for function in functions:
        text += f"\nfunction {function.name}:\n"
        for number, kind in enumerate(function.inputs + function.outputs):
            what = "input" if number < len(function.inputs) else "output"
            text += f"    {what} r{number} as {_TYPES.get(kind, f'{kind}.public')};\n"
    for number in count():
        if len(text) >= _LONG.get(program, 0):
            break
        text += (
            f"\nclosure step_{number}:\n    input r0 as u64;\n    input r1 as u64;\n    add.w r0 {number}u64 into r2;\n"
            "    xor r1 r2 into r3;\n    output r3 as u64;\n"
        )
    return text


# --- which of them are called at which heights

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


def dense(records: int) -> BlockPlan:
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
        Stretch(HUGE, (dense(25_000),)),
        Stretch(HUGE + 1, ordinary),
        Stretch(HELLO.start, tuple(map(_hello, range(len(HELLO))))),
        Stretch(HELLO.stop, ordinary),
        Stretch(WIDE, (BlockPlan([_plan("wide_library/run"), _ORDINARY[0]]),)),
        Stretch(WIDE + 1, ordinary),
        Stretch(EMPTY.start, quiet),
        Stretch(EMPTY.stop, ordinary),
        Stretch(FAR_HUGE, (dense(12_000),)),
        Stretch(FAR_HUGE + 1, ordinary),
    )


@lru_cache
def sample_layout() -> Layout:
    """Return the layout of the sample chain."""
    return Layout(_stretches())
