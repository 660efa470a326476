"""Draws the screens of `chainq show`: what an object is, and what happened.

Everything from the service is sanitized here or in `formats.cells`. An ID that a command takes is whole wherever its
line has room. Fields that a row lacks, or that have another shape, are left out.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from msgspec import Raw

from chainq.catalog.methods import BY_COMMAND
from chainq.formats.cells import Cell, brief_fee, credits_cell, id_cell, number_cell, plain, status_cell, time_cell
from chainq.formats.drawing import ENDLESS, Node, draw_texts, encoded, texts_width
from chainq.formats.protocol import OutputSpec
from chainq.formats.tree import view_of
from chainq.heights.range import HeightRange
from chainq.rows.fields import Picker, array_of, integer_of, object_of, text_of
from chainq.rows.transaction import Call, calls_of, deployed_by, functions_of, program_of
from chainq.show import parts as shown_parts
from chainq.show.parts import NEWEST, Parts
from chainq.text.humanize import counted
from chainq.text.sanitize import printable
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
    screen = Screen(spec._replace(width=room if spec.abbreviate else ENDLESS), room, first)
    return encoded(getattr(screen, type(parts).__name__.removesuffix("Parts").lower())(parts))


@dataclass(frozen=True)
class Screen:
    """How to draw the parts of each kind of object."""

    spec: OutputSpec
    room: int
    first: int

    def block(self, parts: shown_parts.BlockParts) -> Iterator[str]:
        """Yield a block: its fields, transactions and records."""
        found = object_of(parts.summary)
        members = object_of(parts.block)
        yield self._title("block", str(parts.height))
        targets = [_number(found.get(f"{name}_target")) for name in ("coinbase", "proof")]
        yield from self._fields(
            ("time", time_cell(text_of(found.get("timestamp")))),
            ("hash", id_cell(text_of(found.get("block_hash")))),
            ("previous", id_cell(text_of(found.get("previous_hash")))),
            ("round", plain(_text(found.get("round")))),
            ("targets", plain(f"coinbase {targets[0]}, proof {targets[1]}")),
            *((name, plain(text)) for name, text in _rewards(found.get("coinbase_reward"), members)),
        )
        transactions = array_of(members.get("transactions"))
        pick = Picker(["transition_id", "program_id", "function_name"])
        records = [tuple(map(_text, pick(row))) for row in parts.records or ()]
        made = Counter(transition for transition, _, _ in records)
        yield ""
        yield from self._transactions("transactions", _by_status(transactions), transactions, made)
        if aborted := array_of(members.get("aborted_transaction_ids")):
            yield ""
            yield self._title("aborted", counted(len(aborted), "transaction"))
            yield from (f"  {id_cell(text_of(item)).text(self.spec.width - 2)}" for item in aborted)
        if parts.records is not None:
            yield ""
            yield self._title("records", f"{len(records):,}")
        functions = Counter(f"{program or '?'}/{function or '?'}" for _, program, function in records).most_common()
        digits = max((len(f"{count:,}") for _, count in functions), default=0)
        yield from (f"  {count:{digits},}  {name}" for name, count in functions)

    def transaction(self, parts: shown_parts.TransactionParts) -> Iterator[str]:
        """Yield the transaction as `chainq transaction` draws it, with the tree of everything in it, named in words."""
        yield self._title("transaction", "" if parts.height is None else f"in block {parts.height}")
        columns = BY_COMMAND["transaction"].columns
        yield from view_of(parts.transaction, self.spec._replace(columns=columns), _WORDS)

    def address(self, parts: shown_parts.AddressParts) -> Iterator[str]:
        """Yield the newest transactions of an address."""
        yield self._title("address", id_cell(parts.address).text(self.spec.width - 9))
        yield ""
        place = Picker(["finalizedAt", "index"])
        found = sorted(parts.transactions, key=lambda row: [integer_of(one) or 0 for one in place(row)], reverse=True)
        words = f"the newest {len(found)}" if found else "none"
        yield from self._transactions("public transactions", f"{words} in {_blocks(parts.heights)}", found)

    def program(self, parts: shown_parts.ProgramParts) -> Iterator[str]:
        """Yield the functions of a program with their newest calls."""
        pick = Picker(["program"])
        sources = (text_of(pick(row)[0]) for row in parts.transitions)
        names = [*map(printable, functions_of(next((text for text in sources if "\n" in text), "")))]
        calls = calls_by_function([*parts.records, *parts.transitions], names)
        yield self._title("program", parts.program + (f"  {counted(len(names), 'function')}" if names else ""))
        yield ""
        yield self._title("newest calls", f"in {_blocks(parts.heights)}")
        yield from _indented(self._calls(calls) if calls else ["none"])
        yield from self._sentence(
            "These are the calls that made a record or had none as input, as far as the service lists them: some list"
            " neither fees nor calls such as transfer_public. chainq program-transactions lists all calls of one"
            f" function.{f' {_MORE}' if parts.heights.start > self.first else ''}"
        )

    def function(self, parts: shown_parts.FunctionParts) -> Iterator[str]:
        """Yield the newest transactions that call a function."""
        yield self._title("function", f"{parts.program}/{parts.function}")
        found = list(dict.fromkeys(map(bytes, parts.transactions)))
        some = len(parts.transactions) < NEWEST  # else older ones do not matter
        whole = f", {f'from height {parts.start}' if parts.start else 'of the whole chain'}" if some else ""
        yield ""
        yield from self._transactions("calls", f"the newest {len(found)}{whole}", map(Raw, found))
        if some and parts.start > self.first:
            yield from self._sentence(_MORE)

    def transition(self, parts: shown_parts.TransitionParts) -> Iterator[str]:
        """Yield a transition by the rows of lists."""
        yield self._title("transition", "")
        records = ("records", plain(f"{len(parts.records):,}"))
        yield from self._fields(*_made([*parts.records, *parts.transitions][0]), records)

    def record(self, parts: shown_parts.RecordParts) -> Iterator[str]:
        """Yield a record."""
        yield self._title("record", "")
        index, ciphertext = Picker(["output_index", "record_ciphertext"])(parts.record)
        more = ("output", plain(_text(index))), ("ciphertext", id_cell(text_of(ciphertext)))
        yield from self._fields(*_made(parts.record), *more)

    def _calls(self, calls: Sequence["FunctionCalls"]) -> list[str]:
        """Return the calls of functions as a table. Its times, then its heights are left out if it is too wide."""
        ids = [id_cell(one.transaction) for one in calls]
        columns = {
            "function": [one.name for one in calls],
            "calls": [f"{one.calls:,}" for one in calls],
            "height": ["-" if one.height is None else str(one.height) for one in calls],
            "time": [time_cell(str(one.time)).short if one.time else "" for one in calls],
            "transaction": [cell.short for cell in ids],
        }
        for dropped in ("time", "height"):
            if self.spec.abbreviate and _width(columns) > self.room:
                del columns[dropped]
        whole = {**columns, "transaction": [cell.whole for cell in ids]}
        columns = whole if not self.spec.abbreviate or _width(whole) <= self.room else columns
        found = [([name, *texts], name in ("calls", "height")) for name, texts in columns.items()]
        return draw_texts(found, self.room - 2)

    def _transactions(
        self, word: str, rest: str, found: Iterable[Raw], made: Mapping[str, int] | None = None
    ) -> Iterator[str]:
        """Yield a tree of transactions: what each is, its ID, and the transitions in it.

        `made`: how many records each transition made, by its ID.
        """
        nodes = [self._transaction(object_of(row), calls_of(row), deployed_by(row), made or {}) for row in found]
        return Node(word, plain(rest), nodes, BOLD).lines(self.spec.width, self.spec.color)

    def _transaction(
        self, outer: Mapping[str, Raw], calls: Sequence[Call], deploys: str, made: Mapping[str, int]
    ) -> Node:
        inner = object_of(outer.get("transaction"))
        status, time = status_cell(text_of(outer.get("status"))), integer_of(outer.get("finalizedAt"))
        children = [Node("", id_cell(text_of(inner.get("id")), CYAN))]
        if deploys:
            children.append(Node(f"deploys {printable(deploys)}"))
        noted = ((_name(call), _notes(call, made.get(printable(call.id), 0), status.whole)) for call in calls)
        for (name, notes), equal in groupby(noted):  # a transaction may have thousands of equal calls
            times = sum(1 for _ in equal)
            more = ", ".join([*notes, *[f"{times:,} times"] * (times > 1)])
            fits = width_of(name) <= self.spec.width - 8
            children.append(Node(name if fits else name.replace("/", "/\n  ", 1), plain(more, DIM)))
        at = time_cell(str(time)).short if time else _text(outer.get("index"))
        label = "  ".join(filter(None, (at, _text(outer.get("type")) or _text(inner.get("type")), status.short)))
        return Node(label, children=children, style=status.style)

    def _sentence(self, text: str) -> Iterator[str]:
        return (paint(line, DIM, self.spec.color) for line in wrap(text, self.room))

    def _title(self, word: str, rest: str) -> str:
        return paint(word, BOLD, self.spec.color) + (f"  {rest}" if rest else "")

    def _fields(self, *pairs: tuple[str, Cell]) -> Iterator[str]:
        indent = max(len(name) for name, _ in pairs)
        for name, value in pairs:
            if value.whole:
                node = Node(name, value, style=DIM, indent=indent)
                yield from _indented(node.lines(self.spec.width - 2, self.spec.color))


class FunctionCalls(NamedTuple):
    """What was seen of a function: how many transitions, and the newest one (None for no transition)."""

    name: str
    calls: int
    height: int | None = None
    time: int | None = None
    transaction: str = ""


def calls_by_function(rows: Iterable[Raw], names: Iterable[str]) -> list[FunctionCalls]:
    """Return what rows of records and transitions show of each function, the one called last first.

    `names` of which there is no row come last.
    """
    pick = Picker(["function_name", "transition_id", "height", "timestamp", "transaction_id"])
    seen: dict[str, dict[str, tuple[int, int, str]]] = {name: {} for name in names}
    for row in rows:
        name, transition, height, time, transaction = pick(row)
        newest = (integer_of(height) or 0, integer_of(time) or 0, _text(transaction))
        seen.setdefault(_text(name) or "?", {})[_text(transition)] = newest
    found = [FunctionCalls(name, len(calls), *max(calls.values(), default=())) for name, calls in seen.items()]
    return sorted(found, key=lambda one: (-1 if one.height is None else one.height, one.calls), reverse=True)


def _made(row: Raw) -> list[tuple[str, Cell]]:
    """Return the fields of the transition that a row of a list is of."""
    paths = ("program_id", "program", "function_name", "height", "timestamp", "transaction_id", "transition_id")
    named, source, function, height, time, transaction, transition = map(text_of, Picker(paths)(row))
    program = named or program_of(source) or source[:100]
    return [
        ("call", plain(printable(f"{program}/{function}"))),
        ("height", plain(height if height.isdecimal() else "")),
        ("time", time_cell(time)),
        ("transaction", id_cell(transaction)),
        ("transition", id_cell(transition)),
    ]


def _rewards(coinbase: Raw | None, block: Mapping[str, Raw]) -> Iterator[tuple[str, str]]:
    """Yield the coinbase reward, and the rewards that were paid, which differ from it.

    Two thirds of it are the puzzle reward, the rest is a part of the block reward (snarkVM, ledger/block/src/helpers/
    target.rs); the shares were others before.
    """
    found = []
    for item in array_of(block.get("ratifications")):
        kind, amount = Picker(["type", "amount"])(item)
        found.append(f"{_text(kind).replace('_', ' ')} {_credits(amount)}".rstrip())
    reward = _credits(coinbase)
    yield "coinbase", f"{reward} for puzzle solutions" if reward.endswith("credits") else reward
    if found:
        yield "paid", ", ".join(found)
    if found and reward.endswith("credits"):
        yield "", "(the block reward also has staking rewards and fees)"


def _by_status(found: Sequence[Raw]) -> str:
    pick = Picker(["status", "type", "transaction.type"])
    kinds: Counter[str] = Counter()
    for status, kind, inner in (map(_text, pick(row)) for row in found):
        kinds[status or f"{kind or inner or 'other'} whose status the service does not give"] += 1
    words = ", ".join(f"{count:,} {status}" for status, count in kinds.items())
    return f"{len(found):,}" + (f": {words}" if len(kinds) > 1 or (found and "accepted" not in kinds) else "")


def _name(call: Call) -> str:
    return f"{printable(call.program) or '?'}/{printable(call.function) or '?'}"


def _notes(call: Call, records: int, status: str) -> tuple[str, ...]:
    """Return what a tree says of a call beside its name."""
    notes = [counted(records, "record")] if records else []
    notes += [f"fee {brief_fee(call)}".rstrip()] if call.fee else []
    notes += ["not done"] if status.lower().endswith("rejected") and not call.fee else []
    return tuple(notes)


def _indented(lines: Iterable[str]) -> Iterator[str]:
    return (f"  {line}" for line in lines)


def _width(columns: Mapping[str, Sequence[str]]) -> int:
    """Return the cells that columns take beside each other, two blanks before them included."""
    return texts_width([name, *texts] for name, texts in columns.items()) + 2


def _text(value: Raw | None) -> str:
    """Return a value as sanitized text, empty for none."""
    return printable(text_of(value))


def _number(value: Raw | None) -> str:
    """Return a number with its digits in groups; empty if it is not sent, `none` for null."""
    return "" if value is None else number_cell(text_of(value)).whole or "none"


def _credits(value: Raw | None) -> str:
    """Return an amount of microcredits in credits, as `_number` does for others."""
    text = _number(value)
    return f"{credits_cell(text_of(value)).whole} credits" if text[:1].isdecimal() else text


def _blocks(heights: HeightRange) -> str:
    """Return a range that ends at the tip in words."""
    if heights.end == 0:  # the tip is -1
        return "a chain without blocks"
    return f"the newest {counted(len(heights), 'block')} ({heights.start} to {heights.end - 1})"
