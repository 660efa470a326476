"""One row for a person: its fields as lines, and what is nested in it as trees (`view_of`).

Older blocks and other servers have unknown fields, null, or arrays where objects are expected. So what an object is
shows by its members, whatever its name is: a transition has a program and a function, for example. All else is shown as
it is, and nothing here fails for it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from msgspec import Raw

from chainq.catalog.methods import Column, Kind
from chainq.formats import cells
from chainq.formats.cells import BLANK, NULL, Cell, Node, plain
from chainq.formats.protocol import OutputSpec
from chainq.rows.block import read_transaction
from chainq.rows.fields import Picker, array_of, count_of, object_of, text_of, tree_of, unknown
from chainq.rows.transaction import program_of
from chainq.text.sanitize import printable
from chainq.text.style import BOLD, DIM
from chainq.text.width import ENDLESS, NARROWEST, width_of

_ITEMS = 20  # items of an array, where long values may be abbreviated
_LABEL = 40  # character cells of a name that others are aligned with
_DEPTH = 5  # levels of a value of unknown meaning; what is deeper stays JSON
_FIELDS = {
    **{name: name for name in ("status", "type", "index")},
    "finalizedAt": "finalized",
    "transaction.id": "id",
    "transaction.type": "inner type",
}
_PARTS = ("rejected", "deployment", "owner", "execution", "fee", "finalize")
"""The fields of a transaction that are lines, with their labels, and its parts that are trees, in order of interest."""
_KNOWN = {*_FIELDS, *_PARTS, *(f"transaction.{name}" for name in _PARTS)}


def view_of(row: Raw, spec: OutputSpec) -> Iterator[str]:
    """Yield the lines of a row: each column and each unknown field, then trees of what is nested."""
    outer, trees = object_of(row), Trees(spec.abbreviate)
    whole = bool(object_of(outer.get("transaction"))) and not spec.selected
    fields, nodes = _columns(row, spec, trees, whole)
    if bytes(row)[:1] != b"{":
        fields = [("value", cells.unknown_cell(text_of(row)))]
    elif not spec.selected:
        known = _KNOWN if whole else [column.path for column in spec.columns]
        for path, value in unknown(outer, tree_of((path.split("."), {}) for path in known)):
            if count_of(value):
                nodes.append(trees.node(path, value))
            else:
                fields.append((path, NULL if bytes(value) == b"null" else cells.unknown_cell(text_of(value))))
    names = [printable(path) for path, _ in fields]
    indent = min(max(map(width_of, names), default=0), _LABEL if spec.abbreviate else ENDLESS)
    room = max(spec.width, NARROWEST) if spec.abbreviate else ENDLESS
    for name, (_, cell) in zip(names, fields, strict=True):
        yield from Node(name, cell, style=BOLD, indent=indent).lines(room, spec.color)
    for node in nodes:
        yield ""
        yield from node.lines(room, spec.color)


def _columns(row: Raw, spec: OutputSpec, trees: "Trees", whole: bool) -> tuple[list[tuple[str, Cell]], list[Node]]:
    """Return the fields of the catalogue, and trees of their values. `whole`: the row is a transaction."""
    values = zip(spec.columns, Picker([column.path for column in spec.columns])(row), strict=True)
    if whole:
        fee = cells.fee_text(next((call for call in read_transaction(row).transitions if call.fee), None))
        known = [(at, one) for at, one in values if at.path in _FIELDS and one is not None]
        fields = [(_FIELDS[at.path], _field(one, at, spec)) for at, one in known]
        return [*fields, *([("fee", plain(fee))] if fee else [])], trees.parts(object_of(row))
    fields, nodes = [], []
    for column, value in values:
        fields.append((column.path, _field(value, column, spec)))
        certificates = "." in column.path and not spec.selected  # of a full block: their keys are data
        if column.kind is Kind.DATA and value is not None and count_of(value) and not certificates:
            nodes.append(trees.node(column.path, value))
    return fields, nodes


def _field(value: Raw | None, column: Column, spec: OutputSpec) -> Cell:
    """Return a value as it is shown on lines of its own."""
    cell = cells.cell_of(value, column)
    if column.kind is Kind.DATA:
        return plain(cell.short)  # its tree follows
    # A long number loses no digit.
    return cell if spec.abbreviate and column.kind not in (Kind.NUMBER, Kind.HEIGHT) else plain(cell.whole, cell.style)


@dataclass(frozen=True, slots=True)
class Trees:
    """Builds trees from values. `abbreviate`: long values may be abbreviated."""

    abbreviate: bool

    def node(self, name: str, value: Raw, depth: int = 0) -> Node:
        """Return the tree of a value, with everything in it."""
        members, items = object_of(value), array_of(value)
        if object_of(members.get("transaction")):
            return self._transaction(members)
        if "program" in members and "function" in members:
            return self._call(members)
        pairs = [(str(at), item) for at, item in enumerate(items)]
        for key, inner in members.items():
            calls = array_of(inner) if key == "transitions" else []
            pairs += [(key, one) for one in calls or [inner]]
        label, style = printable(name), "" if depth else BOLD
        if not pairs or depth > _DEPTH:
            return Node(label, NULL if bytes(value) == b"null" else self._text(text_of(value)), style=style)
        if depth and members and not any(count_of(item) for _, item in pairs):
            return Node(label, self._flat(members))
        shown = pairs[:_ITEMS] if self.abbreviate and len(pairs) > _ITEMS + 1 else pairs
        nodes = [self.node(inner, item, depth + 1) for inner, item in shown]
        if len(shown) < len(pairs):
            nodes.append(Node("", plain(f"… {len(pairs) - len(shown):,} more", DIM)))
        return Node(label, BLANK if members else plain(f"{len(items):,}"), nodes, style)

    def _transaction(self, members: Mapping[str, Raw]) -> Node:
        inner, state = object_of(members["transaction"]), cells.status_cell(text_of(members.get("status")))
        words = [_shown(members.get("index")), _shown(members.get("type") or inner.get("type"))]
        label = "  ".join([*words, *([state.short] if state.style else [])])
        return Node(label, self._id(inner.get("id")), self.parts(members), state.style)

    def parts(self, members: Mapping[str, Raw]) -> list[Node]:
        """Return the trees of a transaction: what it did or would have done."""
        found = {**object_of(members.get("transaction")), **members}
        return [self.node(name, found[name]) for name in _PARTS if text_of(found.get(name)) not in ("", "[]", "{}")]

    def _call(self, members: Mapping[str, Raw]) -> Node:
        """Return the tree of a transition: its inputs and outputs, then what else it has."""
        sides = {side: array_of(members.get(f"{side}s")) for side in ("input", "output")}
        values = [
            (f"{side:6} {at}  {_shown(object_of(item).get('type'))}", item)
            for side in sides
            for at, item in enumerate(sides[side])
        ]
        indent = max((width_of(label) for label, _ in values), default=0)
        children = [Node(label, self._argument(item), indent=indent) for label, item in values]
        drawn = ("id", "program", "function", *(f"{side}s" for side, items in sides.items() if items))
        rest = {name: item for name, item in members.items() if name not in drawn}
        flat = {name: item for name, item in rest.items() if not count_of(item)}
        children += [self.node(name, item, 1) for name, item in rest.items() if name not in flat]
        if flat:
            children.append(Node("", self._flat(flat)._replace(style=DIM)))
        called = f"{_shown(members['program'])}/{_shown(members['function'])}"
        return Node(called, self._id(members.get("id")), children)

    def _argument(self, value: Raw) -> Cell:
        """Return the value of an input or output, or its ID if it has none."""
        members = object_of(value)
        if text := text_of(members.get("value")):
            return self._text(text)
        shown = self._id(members.get("id") if members else value)
        return Cell(f"id {shown.short}", f"id {shown.whole}", DIM) if members else shown

    def _id(self, value: Raw | None) -> Cell:
        return cells.id_cell(text_of(value), DIM)

    def _text(self, text: str) -> Cell:
        """Return a text on its lines, or on one line with its IDs abbreviated; of a program the name."""
        if not self.abbreviate:
            return plain("\n".join(map(printable, text.splitlines())))
        cell = cells.text_cell(text) if program_of(text) else cells.unknown_cell(text)
        return plain(cell.short) if " " in cell.whole else cell

    def _flat(self, members: Mapping[str, Raw]) -> Cell:
        """Return members on one line, IDs abbreviated."""
        return plain(
            "  ".join(f"{printable(name)}={self._text(text_of(one)).short or '-'}" for name, one in members.items())
        )


def _shown(value: Raw | None) -> str:
    return printable(text_of(value)) or "?"
