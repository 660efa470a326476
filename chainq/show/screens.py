"""Draws the screens of `chainq show`: what an object is, and what happened.

Everything from the service is sanitized in `summary`. An ID that a command takes is whole wherever its line has room.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from msgspec import Raw

from chainq.catalog.methods import BY_COMMAND
from chainq.formats.cells import Cell, brief_fee, credits_cell, id_cell, number_cell, plain, status_cell, time_cell
from chainq.formats.drawing import ENDLESS, Lane, Node, beside, draw_texts, encoded, texts_width
from chainq.formats.protocol import OutputSpec
from chainq.formats.tree import view_of
from chainq.heights.range import HeightRange
from chainq.rows.fields import Picker, array_of, object_of, text_of
from chainq.show import summary
from chainq.show.parts import (
    NEWEST,
    AddressParts,
    BlockParts,
    FunctionParts,
    Parts,
    ProgramParts,
    RecordParts,
    TransactionParts,
    TransitionParts,
)
from chainq.show.summary import Call, FunctionCalls, Transaction
from chainq.text.humanize import counted
from chainq.text.style import BOLD, CYAN, DIM, paint
from chainq.text.width import NARROWEST, width_of, wrap

_WORDS = {
    "transaction.id": "id",
    "finalizedAt": "time",
    "global_state_root": "state root",
    "mapping_id": "mapping",
    "key_id": "key",
    "value_id": "value",
    "program_checksum": "checksum",
    "program_owner": "owner",
    "sender_ciphertext": "sender",
}
"""What a screen calls the fields of a transaction; unknown ones keep their names."""
_MORE = "--last N looks at more blocks."


def draw(parts: Parts, spec: OutputSpec, first: int) -> bytes:
    """Return the screen of what was gathered. `first`: the lowest height that there is."""
    room = max(spec.width, NARROWEST) if spec.abbreviate or spec.terminal else ENDLESS  # for what has no long value
    width = room if spec.abbreviate else ENDLESS
    return encoded(_screen(parts, spec._replace(width=width), room, first))


def _screen(parts: Parts, spec: OutputSpec, room: int, first: int) -> Iterator[str]:
    if isinstance(parts, BlockParts):
        return _block(parts, spec)
    if isinstance(parts, TransactionParts):
        return _transaction(parts, spec)
    if isinstance(parts, AddressParts):
        return _address(parts, spec)
    if isinstance(parts, ProgramParts):
        return _program(parts, spec, room, first)
    if isinstance(parts, TransitionParts | RecordParts):
        return _made(parts, spec)
    return _function(parts, spec, room, first)


def _block(parts: BlockParts, spec: OutputSpec) -> Iterator[str]:
    names = ("block_hash", "previous_hash", "round", "timestamp", "coinbase_target", "proof_target", "coinbase_reward")
    values = dict(zip(names, Picker(names)(parts.summary), strict=True))
    yield _title("block", str(parts.height), spec)
    yield from _fields(
        spec,
        ("time", time_cell(text_of(values["timestamp"]))),
        ("hash", id_cell(text_of(values["block_hash"]))),
        ("previous", id_cell(text_of(values["previous_hash"]))),
        ("round", plain(summary.shown(values["round"]))),
        ("targets", plain(f"coinbase {_number(values['coinbase_target'])}, proof {_number(values['proof_target'])}")),
        *((name, plain(text)) for name, text in _rewards(values["coinbase_reward"], parts.block)),
    )
    by_transition = summary.records_by_transition(parts.records or ())
    members = object_of(parts.block)
    found = [summary.transaction_of(row, by_transition) for row in array_of(members.get("transactions"))]
    yield ""
    yield from _tree("transactions", _by_status(found), found, spec)
    if aborted := array_of(members.get("aborted_transaction_ids")):
        yield ""
        yield _title("aborted", counted(len(aborted), "transaction"), spec)
        for item in aborted:
            yield f"  {id_cell(text_of(item)).text(spec.width - 2)}"
    if parts.records is not None:
        yield ""
        yield _title("records", f"{len(parts.records):,}", spec)
    if parts.records:
        rows = [(f"{count:,}", name) for name, count in summary.records_by_function(parts.records).items()]
        lanes = [Lane("", max(len(count) for count, _ in rows), right=True), Lane("")]
        yield from _indented(beside(lanes, [[*map(plain, row)] for row in rows], spec.color, header=False))


def _rewards(coinbase: Raw | None, block: Raw) -> Iterator[tuple[str, str]]:
    """Yield the coinbase reward, and the rewards that were paid, which differ from it.

    Two thirds of it are the puzzle reward, the rest is a part of the block reward (snarkVM, ledger/block/src/helpers/
    target.rs); the shares were others before.
    """
    found = []
    for item in array_of(object_of(block).get("ratifications")):
        kind, amount = Picker(["type", "amount"])(item)
        found.append(f"{summary.shown(kind).replace('_', ' ')} {_credits(amount)}".rstrip())
    reward = _credits(coinbase)
    yield "coinbase", f"{reward} for puzzle solutions" if reward.endswith("credits") else reward
    if found:
        yield "paid", ", ".join(found)
    if found and reward.endswith("credits"):
        yield "", "(the block reward also has staking rewards and fees)"


def _by_status(found: Sequence[Transaction]) -> str:
    counts = Counter(one.status or f"{one.type or 'other'} whose status the service does not give" for one in found)
    kinds = ", ".join(f"{count:,} {status}" for status, count in counts.items())
    return f"{len(found):,}" + (f": {kinds}" if len(counts) > 1 or (found and "accepted" not in counts) else "")


def _transaction(parts: TransactionParts, spec: OutputSpec) -> Iterator[str]:
    """Yield the transaction as `chainq transaction` draws it, with the tree of everything in it, named in words."""
    yield _title("transaction", "" if parts.height is None else f"in block {parts.height}", spec)
    yield from view_of(parts.transaction, spec._replace(columns=BY_COMMAND["transaction"].columns), _WORDS)


def _address(parts: AddressParts, spec: OutputSpec) -> Iterator[str]:
    yield _title("address", id_cell(parts.address).text(spec.width - 9), spec)
    yield ""
    found = [summary.transaction_of(row) for row in parts.transactions]
    found.sort(key=lambda one: (one.time or 0, int(one.position) if one.position.isdecimal() else 0), reverse=True)
    words = f"the newest {len(found)}" if found else "none"
    yield from _tree("public transactions", f"{words} in {_blocks(parts.heights)}", found, spec)


def _program(parts: ProgramParts, spec: OutputSpec, room: int, first: int) -> Iterator[str]:
    names = summary.functions_in(parts.transitions)
    calls = summary.calls_by_function([*parts.records, *parts.transitions], names)
    yield _title("program", parts.program + (f"  {counted(len(names), 'function')}" if names else ""), spec)
    yield ""
    yield _title("newest calls", f"in {_blocks(parts.heights)}", spec)
    yield from _indented(_calls(calls, spec, room - 2) if calls else ["none"])
    yield from _sentence(
        "These are the calls that made a record or had none as input, as far as the service lists them: some list"
        " neither fees nor calls such as transfer_public. chainq program-transactions lists all calls of one function."
        f"{f' {_MORE}' if parts.heights.start > first else ''}",
        spec,
        room,
    )


def _calls(calls: Sequence[FunctionCalls], spec: OutputSpec, room: int) -> list[str]:
    """Return the calls of functions as a table. Its times, then its heights are left out if it is too wide."""
    columns = {
        "function": ["function", *(one.name for one in calls)],
        "calls": ["calls", *(f"{one.calls:,}" for one in calls)],
        "height": ["height", *("-" if one.height is None else str(one.height) for one in calls)],
        "time": ["time", *map(_time, calls)],
    }
    ids = [id_cell(one.transaction) for one in calls]
    short = [cell.short for cell in ids]
    for dropped in ("time", "height"):
        if spec.abbreviate and texts_width([*columns.values(), short]) > room:
            del columns[dropped]
    whole = [cell.whole for cell in ids]
    fits = not spec.abbreviate or texts_width([*columns.values(), whole]) <= room
    columns["transaction"] = ["transaction", *(whole if fits else short)]
    return draw_texts([(texts, name in ("calls", "height")) for name, texts in columns.items()], room)


def _sentence(text: str, spec: OutputSpec, room: int) -> Iterator[str]:
    return (paint(line, DIM, spec.color) for line in wrap(text, room))


def _function(parts: FunctionParts, spec: OutputSpec, room: int, first: int) -> Iterator[str]:
    yield _title("function", f"{parts.program}/{parts.function}", spec)
    found = [summary.transaction_of(row) for row in parts.transactions]
    unique = list(dict.fromkeys(found))
    yield ""
    whole = f"from height {parts.start}" if parts.start else "of the whole chain"
    some = len(parts.transactions) < NEWEST  # else older ones do not matter
    yield from _tree("calls", f"the newest {len(unique)}{f', {whole}' if some else ''}", unique, spec)
    if some and parts.start > first:
        yield from _sentence(_MORE, spec, room)


def _made(parts: TransitionParts | RecordParts, spec: OutputSpec) -> Iterator[str]:
    made = summary.made_by(parts)
    record = parts.record if isinstance(parts, RecordParts) else None
    yield _title("transition" if record is None else "record", "", spec)
    index, ciphertext = Picker(["output_index", "record_ciphertext"])(record or b"{}")
    yield from _fields(
        spec,
        ("call", plain(made.call)),
        ("height", plain("" if made.height is None else str(made.height))),
        ("time", time_cell(made.time)),
        ("transaction", id_cell(made.transaction)),
        ("transition", id_cell(made.transition)),
        ("output", plain(summary.shown(index))),
        ("ciphertext", id_cell(text_of(ciphertext))),
        ("records", plain(f"{len(parts.records):,}" if isinstance(parts, TransitionParts) else "")),
    )


def _tree(word: str, rest: str, found: Iterable[Transaction], spec: OutputSpec) -> Iterator[str]:
    """Yield a tree of transactions: what each is, its ID, and the transitions in it."""
    nodes = []
    for one in found:
        status = status_cell(one.status)
        children = [Node("", id_cell(one.id, CYAN))]
        if one.deploys:
            children.append(Node(f"deploys {one.deploys}"))
        noted = ((call.name, _notes(call, one)) for call in one.calls)
        for (name, notes), equal in groupby(noted):  # a transaction may have thousands of equal calls
            times = sum(1 for _ in equal)
            more = ", ".join([*notes, *[f"{times:,} times"] * (times > 1)])
            fits = width_of(name) <= spec.width - 8
            children.append(Node(name if fits else name.replace("/", "/\n  ", 1), plain(more, DIM)))
        label = "  ".join(filter(None, (_time(one) or one.position, one.type, status.short)))
        nodes.append(Node(label, children=children, style=status.style))
    return Node(word, plain(rest), nodes, BOLD).lines(spec.width, spec.color)


def _notes(call: Call, one: Transaction) -> tuple[str, ...]:
    """Return what a tree says of a call beside its name."""
    notes = [counted(call.records, "record")] if call.records else []
    notes += [f"fee {brief_fee(one.fee)}".rstrip()] if call.fee and one.fee else []
    notes += ["not done"] if one.status.lower() == "rejected" and not call.fee else []
    return tuple(notes)


def _title(word: str, rest: str, spec: OutputSpec) -> str:
    return paint(word, BOLD, spec.color) + (f"  {rest}" if rest else "")


def _fields(spec: OutputSpec, *pairs: tuple[str, Cell]) -> Iterator[str]:
    indent = max(len(name) for name, _ in pairs)
    for name, value in pairs:
        if value.whole:
            yield from _indented(Node(name, value, style=DIM, indent=indent).lines(spec.width - 2, spec.color))


def _indented(lines: Iterable[str]) -> Iterator[str]:
    return (f"  {line}" for line in lines)


def _number(value: Raw | None) -> str:
    """Return a number with its digits in groups; empty if it is not sent, `none` for null."""
    return "" if value is None else number_cell(text_of(value)).whole or "none"


def _credits(value: Raw | None) -> str:
    """Return an amount of microcredits in credits, as `_number` does for others."""
    text = _number(value)
    return f"{credits_cell(text_of(value)).whole} credits" if text[:1].isdecimal() else text


def _time(one: Transaction | FunctionCalls) -> str:
    """Return a block time in UTC; empty for no time."""
    return "" if not one.time else time_cell(str(one.time)).short


def _blocks(heights: HeightRange) -> str:
    """Return a range that ends at the tip in words."""
    if heights.end == 0:  # the tip is -1
        return "a chain without blocks"
    return f"the newest {counted(len(heights), 'block')} ({heights.start} to {heights.end - 1})"
