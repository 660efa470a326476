"""Draws the screens of `chainq show`: what an object is, and what happened.

Everything from the service is sanitized here or in `formats.cells`. An ID that a command takes is whole wherever its
line has room. Fields that a row lacks, or that have another shape, are left out.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby

from msgspec import Raw

from chainq.catalog.methods import BY_COMMAND
from chainq.formats.cells import Cell, Node, encoded, fee_text, id_cell, number_cell, plain, status_cell, time_cell
from chainq.formats.protocol import OutputSpec
from chainq.formats.tree import view_of
from chainq.rows.block import Transition, read_block
from chainq.rows.fields import Picker, array_of, integer_of, object_of, text_of
from chainq.rows.transaction import calls_of, deployed_by, program_of
from chainq.show import parts as shown_parts
from chainq.show.parts import NEWEST, Parts, newest_blocks
from chainq.text.humanize import in_credits
from chainq.text.sanitize import printable
from chainq.text.style import BOLD, CYAN, DIM, paint
from chainq.text.width import ENDLESS, NARROWEST, aligned, wrap


def draw(parts: Parts, spec: OutputSpec, first: int) -> bytes:
    """Return the screen of what was gathered. `first`: the lowest height that there is."""
    room = max(spec.width, NARROWEST) if spec.abbreviate or spec.terminal else ENDLESS  # for what has no long value
    screen = Screen(spec._replace(width=room if spec.abbreviate else ENDLESS), room, first)
    return encoded(getattr(screen, str(parts.__struct_config__.tag))(parts))


@dataclass(frozen=True)
class Screen:
    """How to draw the parts of each kind of object, by the method of its tag."""

    spec: OutputSpec
    room: int
    first: int

    def block(self, parts: shown_parts.BlockParts) -> Iterator[str]:
        """Yield a block: its fields, transactions and aborted transactions."""
        found, members = object_of(parts.summary), object_of(parts.block)
        transactions, aborted = array_of(members.get("transactions")), array_of(members.get("aborted_transaction_ids"))
        targets = [_number(found.get(f"{name}_target")) for name in ("coinbase", "proof")]
        ratified = map(Picker(["type", "amount"]), array_of(members.get("ratifications")))
        paid = [f"{_text(kind)} {_credits(amount)}".rstrip() for kind, amount in ratified]
        yield self._title("block", str(parts.height))
        yield from self._fields(
            ("time", time_cell(text_of(found.get("timestamp")))),
            ("hash", id_cell(text_of(found.get("block_hash")))),
            ("previous", id_cell(text_of(found.get("previous_hash")))),
            ("round", plain(_text(found.get("round")))),
            ("targets", plain(f"coinbase {targets[0]}, proof {targets[1]}")),
            ("coinbase", plain(_credits(found.get("coinbase_reward")))),
            ("paid", plain(", ".join(paid))),
            ("records", plain(f"{len(read_block(parts.block).outputs):,}")),
        )
        yield from self._transactions("transactions", f"{len(transactions):,}", transactions)
        if aborted:
            ids = [Node("", id_cell(text_of(item))) for item in aborted]
            yield from self._tree(Node("aborted", plain(f"{len(aborted):,}"), ids, BOLD))

    def transaction(self, parts: shown_parts.TransactionParts) -> Iterator[str]:
        """Yield the transaction as `chainq transaction` draws it, with the tree of everything in it."""
        yield self._title("transaction", "" if parts.height is None else f"in block {parts.height}")
        columns = BY_COMMAND["transaction"].columns
        yield from view_of(parts.transaction, self.spec._replace(columns=columns))

    def address(self, parts: shown_parts.AddressParts) -> Iterator[str]:
        """Yield the newest transactions of an address."""
        yield self._title("address", id_cell(parts.address).text(self.spec.width - 9))
        place = Picker(["finalizedAt", "index"])
        found = sorted(parts.transactions, key=lambda row: [integer_of(one) or 0 for one in place(row)], reverse=True)
        words = f"the newest {len(found)}" if found else "none"
        yield from self._transactions("public transactions", f"{words} in {newest_blocks(parts.heights)}", found)

    def program(self, parts: shown_parts.ProgramParts) -> Iterator[str]:
        """Yield the functions of a program that were called, with the newest call of each."""
        yield self._title("program", parts.program)
        yield ""
        yield self._title("newest calls", f"in {newest_blocks(parts.heights)}")
        pick = Picker(["function_name", "transition_id", "height", "transaction_id"])
        calls: dict[str, dict[str, tuple[int, str]]] = {}
        for name, transition, height, transaction in map(pick, [*parts.records, *parts.transitions]):
            newest = (integer_of(height) or 0, id_cell(text_of(transaction)).text(self.spec.width - 60))
            calls.setdefault(_text(name) or "?", {})[_text(transition)] = newest
        rows = sorted(((*max(one.values()), len(one), name) for name, one in calls.items()), reverse=True)
        lines = [(name, f"{count:,}", str(height), transaction) for height, transaction, count, name in rows]
        yield from aligned([("function", "calls", "height", "transaction"), *lines], self.room)
        more = " --last N looks at more blocks." if parts.heights.start > self.first else ""
        note = (
            "Services list calls that make a record or have none as input; some leave out fees and calls such as"
            f" transfer_public. chainq program-transactions lists all calls of one function.{more}"
        )
        yield from (paint(line, DIM, self.spec.color) for line in wrap(note, self.room))

    def function(self, parts: shown_parts.FunctionParts) -> Iterator[str]:
        """Yield the newest transactions that call a function."""
        yield self._title("function", f"{parts.program}/{parts.function}")
        found = list(dict.fromkeys(map(bytes, parts.transactions)))
        some = len(parts.transactions) < NEWEST  # else older ones do not matter
        whole = f", {f'from height {parts.start}' if parts.start else 'of the whole chain'}" if some else ""
        yield from self._transactions("calls", f"the newest {len(found)}{whole}", map(Raw, found))

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

    def _transactions(self, word: str, rest: str, found: Iterable[Raw]) -> Iterator[str]:
        """Yield a tree of transactions: what each is, its ID, and the transitions in it."""
        nodes = [self._transaction(object_of(row), calls_of(row), deployed_by(row)) for row in found]
        return self._tree(Node(word, plain(rest), nodes, BOLD))

    def _transaction(self, outer: Mapping[str, Raw], calls: Iterable[Transition], deploys: str) -> Node:
        inner = object_of(outer.get("transaction"))
        status, time = status_cell(text_of(outer.get("status"))), integer_of(outer.get("finalizedAt"))
        children = [Node("", id_cell(text_of(inner.get("id")), CYAN))]
        if deploys:
            children.append(Node(f"deploys {printable(deploys)}"))
        for (name, fee), equal in groupby(map(_called, calls)):  # a transaction may have thousands of equal calls
            times = sum(1 for _ in equal)
            children.append(Node(name, plain(fee if times == 1 else f"{times:,} times", DIM)))
        at = time_cell(str(time)).short if time else _text(outer.get("index"))
        label = "  ".join(filter(None, (at, _text(outer.get("type")) or _text(inner.get("type")), status.short)))
        return Node(label, children=children, style=status.style)

    def _tree(self, node: Node) -> Iterator[str]:
        yield ""
        yield from node.lines(self.spec.width, self.spec.color)

    def _title(self, word: str, rest: str) -> str:
        return paint(word, BOLD, self.spec.color) + (f"  {rest}" if rest else "")

    def _fields(self, *pairs: tuple[str, Cell]) -> Iterator[str]:
        indent = max(len(name) for name, _ in pairs)
        for name, value in pairs:
            if value.whole:
                node = Node(name, value, style=DIM, indent=indent)
                yield from (f"  {line}" for line in node.lines(self.spec.width - 2, self.spec.color))


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


def _called(call: Transition) -> tuple[str, str]:
    """Return the function that a transition calls, and the fee that it pays, empty for none."""
    name = f"{printable(call.program) or '?'}/{printable(call.function) or '?'}"
    return name, f"fee {fee_text(call)}".rstrip() if call.fee else ""


def _text(value: Raw | None) -> str:
    """Return a value as sanitized text, empty for none."""
    return printable(text_of(value))


def _number(value: Raw | None) -> str:
    """Return a number with its digits in groups; empty if it is not sent, `none` for null."""
    return "" if value is None else number_cell(text_of(value)).whole or "none"


def _credits(value: Raw | None) -> str:
    """Return an amount of microcredits in credits, as `_number` does for others."""
    text = text_of(value)
    return f"{in_credits(int(text))} credits" if re.fullmatch("[0-9]{1,20}", text) else _number(value)
