"""Draws the screens of `chainq show` with rich: what an object is, and what happened.

Everything from the service is sanitized in `summary` and shown without markup. An ID that a command takes is whole
wherever its line has room.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from msgspec import Raw
from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from chainq.catalog.methods import BY_COMMAND
from chainq.formats.cells import ID_WIDTH, brief_fee, credits_cell, id_cell, number_cell, status_cell, time_cell
from chainq.formats.drawing import ENDLESS, render
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
from chainq.text.width import GAP, NARROWEST, width_of, wrap

_HEIGHT = 10  # cells of the column with heights
_CALL_COLUMNS = 2 + 2 + 7 + _HEIGHT + ID_WIDTH  # cells of a row of calls beside the function's name and the time
_TIME = 22  # cells of the column with times
_ROW = "none"  # rich's name for the style of plain text
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
    return render([*_screen(parts, spec._replace(width=width), room, first)], width, spec.color)


def _screen(parts: Parts, spec: OutputSpec, room: int, first: int) -> Iterator[RenderableType]:
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


def _block(parts: BlockParts, spec: OutputSpec) -> Iterator[RenderableType]:
    names = ("block_hash", "previous_hash", "round", "timestamp", "coinbase_target", "proof_target", "coinbase_reward")
    values = dict(zip(names, Picker(names)(parts.summary), strict=True))
    yield _title("block", str(parts.height))
    yield _fields(
        ("time", time_cell(text_of(values["timestamp"])).whole),
        ("hash", _id(text_of(values["block_hash"]), spec.width - 12)),
        ("previous", _id(text_of(values["previous_hash"]), spec.width - 12)),
        ("round", summary.shown(values["round"])),
        ("targets", f"coinbase {_number(values['coinbase_target'])}, proof {_number(values['proof_target'])}"),
        *_rewards(values["coinbase_reward"], parts.block),
    )
    by_transition = summary.records_by_transition(parts.records or ())
    members = object_of(parts.block)
    found = [summary.transaction_of(row, by_transition) for row in array_of(members.get("transactions"))]
    yield ""
    yield _tree(_title("transactions", _by_status(found)), found, spec)
    if aborted := array_of(members.get("aborted_transaction_ids")):
        yield ""
        yield _title("aborted", counted(len(aborted), "transaction"))
        for item in aborted:
            yield Text(f"  {_id(text_of(item), spec.width - 2)}")
    if parts.records is not None:
        yield ""
        yield _title("records", f"{len(parts.records):,}")
    if parts.records:
        grid = _grid()
        for name, count in summary.records_by_function(parts.records).items():
            grid.add_row(Text(f"{count:,}", justify="right"), Text(name))
        yield Padding.indent(grid, 2)


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


def _transaction(parts: TransactionParts, spec: OutputSpec) -> Iterator[RenderableType]:
    """Yield the transaction as `chainq transaction` draws it, with the tree of everything in it, named in words."""
    yield _title("transaction", "" if parts.height is None else f"in block {parts.height}")
    yield from view_of(parts.transaction, spec._replace(columns=BY_COMMAND["transaction"].columns), _WORDS)


def _address(parts: AddressParts, spec: OutputSpec) -> Iterator[RenderableType]:
    yield _title("address", _id(parts.address, spec.width - 9))
    yield ""
    found = [summary.transaction_of(row) for row in parts.transactions]
    found.sort(key=lambda one: (one.time or 0, int(one.position) if one.position.isdecimal() else 0), reverse=True)
    words = f"the newest {len(found)}" if found else "none"
    yield _tree(_title("public transactions", f"{words} in {_blocks(parts.heights)}"), found, spec)


def _program(parts: ProgramParts, spec: OutputSpec, room: int, first: int) -> Iterator[RenderableType]:
    names = summary.functions_in(parts.transitions)
    calls = summary.calls_by_function([*parts.records, *parts.transitions], names)
    yield _title("program", parts.program + (f"  {counted(len(names), 'function')}" if names else ""))
    yield ""
    yield _title("newest calls", f"in {_blocks(parts.heights)}")
    if calls:
        left = spec.width - _CALL_COLUMNS - max(len(one.name) for one in calls)
        high, timed = left >= 0, left >= _TIME  # a transaction says as much as a height, and that as much as a time
        id_room = left - _TIME * timed + _HEIGHT * (not high)
        headings = ["function", "calls", *["height"] * high, *["time"] * timed, "transaction"]
        rows = []
        for one in calls:
            height = "-" if one.height is None else str(one.height)
            cells = [one.name, f"{one.calls:,}", *[height] * high, *[_time(one)] * timed]
            rows.append([*cells, _id(one.transaction, ID_WIDTH + max(id_room, 0))])
        yield from _rows(headings, rows, room)
    else:
        yield Text("  none")
    yield _sentence(
        "These are the calls that made a record or had none as input, as far as the service lists them: some list"
        " neither fees nor calls such as transfer_public. chainq program-transactions lists all calls of one function."
        f"{f' {_MORE}' if parts.heights.start > first else ''}",
        room,
    )


def _rows(headings: Sequence[str], rows: Sequence[Sequence[str]], room: int) -> Iterator[RenderableType]:
    """Yield rows as a table; each as lines of fields, before an empty line, if that is wider than `room`."""
    if sum(max(map(width_of, texts)) + GAP for texts in zip(headings, *rows, strict=True)) > room:
        for row in rows:
            yield _fields(*zip(headings, row, strict=True))
            yield ""
        return
    grid = _grid(*headings)
    for row in rows:
        grid.add_row(*map(Text, row))
    yield Padding.indent(grid, 2)


def _sentence(text: str, room: int) -> Text:
    return Text("\n".join(wrap(text, room)), "dim")


def _function(parts: FunctionParts, spec: OutputSpec, room: int, first: int) -> Iterator[RenderableType]:
    yield _title("function", f"{parts.program}/{parts.function}")
    found = [summary.transaction_of(row) for row in parts.transactions]
    unique = list(dict.fromkeys(found))
    yield ""
    whole = f"from height {parts.start}" if parts.start else "of the whole chain"
    some = len(parts.transactions) < NEWEST  # else older ones do not matter
    yield _tree(_title("calls", f"the newest {len(unique)}{f', {whole}' if some else ''}"), unique, spec)
    if some and parts.start > first:
        yield _sentence(_MORE, room)


def _made(parts: TransitionParts | RecordParts, spec: OutputSpec) -> Iterator[RenderableType]:
    made, room = summary.made_by(parts), spec.width - 15
    record = parts.record if isinstance(parts, RecordParts) else None
    yield _title("transition" if record is None else "record", "")
    index, ciphertext = Picker(["output_index", "record_ciphertext"])(record or b"{}")
    yield _fields(
        ("call", made.call),
        ("height", "" if made.height is None else str(made.height)),
        ("time", time_cell(made.time).whole),
        ("transaction", _id(made.transaction, room)),
        ("transition", _id(made.transition, room)),
        ("output", summary.shown(index)),
        ("ciphertext", _id(text_of(ciphertext), room)),
        ("records", f"{len(parts.records):,}" if isinstance(parts, TransitionParts) else ""),
    )


def _tree(title: Text, found: Iterable[Transaction], spec: OutputSpec) -> Tree:
    """Return a tree of transactions: what each is, its ID, and the transitions in it."""
    root = Tree(title, guide_style="dim")
    for one in found:
        status = status_cell(one.status)
        label = "  ".join(filter(None, (_time(one) or one.position, one.type, status.short)))
        tree = root.add(Text(label, status.style or _ROW))
        tree.add(Text(_id(one.id, spec.width - 8), "cyan"))
        if one.deploys:
            tree.add(Text(f"deploys {one.deploys}"))
        noted = ((call.name, _notes(call, one)) for call in one.calls)
        for (name, notes), equal in groupby(noted):  # a transaction may have thousands of equal calls
            times = sum(1 for _ in equal)
            more = ", ".join([*notes, *([f"{times:,} times"] if times > 1 else [])])
            fits = width_of(f"{name}  {more}") <= spec.width - 8
            line = Text(name if width_of(name) <= spec.width - 8 else name.replace("/", "/\n  ", 1))
            if more:
                line.append(f"  {more}" if fits else f"\n  {more}", "dim")
            tree.add(line)
    return root


def _notes(call: Call, one: Transaction) -> tuple[str, ...]:
    """Return what a tree says of a call beside its name."""
    notes = [counted(call.records, "record")] if call.records else []
    notes += [f"fee {brief_fee(one.fee)}".rstrip()] if call.fee and one.fee else []
    notes += ["not done"] if one.status.lower() == "rejected" and not call.fee else []
    return tuple(notes)


def _title(word: str, rest: str) -> Text:
    title = Text(word, "bold")
    return title.append(f"  {rest}" if rest else "", _ROW)


def _grid(*headings: str) -> Table:
    table = Table(box=None, show_header=bool(headings), padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    for heading in headings or ("", ""):
        right = heading in ("calls", "height")
        table.add_column(heading, overflow="fold", justify="right" if right else "left")
    return table


def _fields(*pairs: tuple[str, str]) -> Padding:
    grid = _grid()
    for name, value in pairs:
        if value:
            grid.add_row(Text(name, "dim"), Text(value))
    return Padding.indent(grid, 2)


def _id(text: str, room: int) -> str:
    """Return an ID whole if there is room, else abbreviated as in tables."""
    return id_cell(text).text(room)


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
