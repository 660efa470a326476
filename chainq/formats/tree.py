"""One row for a person: its fields as lines, and what is nested in it as trees (`view_of`).

Older blocks and other servers have unknown fields, null, or arrays where objects are expected: what has another shape
is shown as it is, and nothing here fails for it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec import Raw

from chainq.catalog.methods import Kind
from chainq.formats import cells
from chainq.formats.cells import BLANK, NULL, Cell, plain
from chainq.formats.drawing import ENDLESS, Node
from chainq.formats.protocol import OutputSpec
from chainq.rows.fields import Picker, array_of, count_of, object_of, text_of
from chainq.rows.transaction import fee_of, functions_of, program_of
from chainq.text.humanize import counted
from chainq.text.sanitize import printable
from chainq.text.style import BOLD, DIM, RED, paint
from chainq.text.width import BOTH_ENDS, NARROWEST, truncate, width_of

_ITEMS = 20  # items of an array of unknown meaning, where long values may be abbreviated
_LABEL = 40  # character cells of a name
_DEPTH = 5  # levels of a value of unknown meaning; what is deeper stays JSON
_FLAT = 6  # members up to which an object without objects in it is shown on one line
_MARK = " *"  # after the name of an unknown field
# The fields of a row, and of its `transaction`, that the view of a transaction shows.
_OUTER = {"status", "type", "index", "transaction", "finalize", "finalizedAt", "rejected"}
_INNER = {"type", "id", "execution", "fee", "deployment", "owner", "finalize", "rejected"}

Field = tuple[str, Cell]


def view_of(row: Raw, spec: OutputSpec, words: Mapping[str, str] | None = None) -> Iterator[str]:
    """Yield the lines of a row: each column and each unknown field, then trees of what is nested.

    `words`: what to call fields in place of their names, which are what `--columns` and JSON have.
    """
    outer = object_of(row)
    inner = object_of(outer.get("transaction"))
    words = words or {}
    builder = TreeBuilder(spec.abbreviate, words=words)
    unknown: list[tuple[str, Raw]] = []
    trees: list[Node] = []
    if bytes(row)[:1] != b"{":
        fields = [("value", cells.unknown_cell(text_of(row)))]
    elif inner and not spec.selected:
        fields, trees = _summary(outer, inner, spec), builder.branches(outer)
        unknown = [(name, value) for name, value in outer.items() if name not in _OUTER]
        unknown += [(f"transaction.{name}", value) for name, value in inner.items() if name not in _INNER]
    else:
        fields, trees = _columns(row, spec, builder)
        if not spec.selected:
            unknown = list(_unknown(outer, {column.path for column in spec.columns}))
    for path, value in unknown:
        if count_of(value):
            trees.append(builder.generic(path + _MARK, value))
        else:
            fields.append((path + _MARK, NULL if bytes(value) == b"null" else cells.unknown_cell(text_of(value))))
    room = max(spec.width, NARROWEST) if spec.abbreviate else ENDLESS
    for node in aligned([(words.get(path, path), cell) for path, cell in fields], spec.abbreviate):
        yield from node.lines(room, spec.color)
    for tree in trees:
        yield ""
        yield from tree.lines(room, spec.color)
    if unknown:
        yield ""
        yield paint(f"{_MARK.strip()} not in the published interface", DIM, spec.color)


def _columns(row: Raw, spec: OutputSpec, builder: "TreeBuilder") -> tuple[list[Field], list[Node]]:
    """Return the fields of the catalogue, and trees of their values; of a full block without its certificates."""
    fields: list[Field] = []
    trees: list[Node] = []
    for column, value in zip(spec.columns, Picker([column.path for column in spec.columns])(row), strict=True):
        cell = cells.cell_of(value, column)
        if column.kind in (Kind.NUMBER, Kind.HEIGHT):
            cell = plain(cell.whole)  # a long number loses no digit
        elif column.kind is Kind.DATA:
            cell = plain(cell.short)  # its tree follows
        elif column.kind is Kind.TEXT and "\n" in text_of(value) and not program_of(text_of(value)):
            cell = cells.block_cell(text_of(value))
        fields.append((column.path, cell))
        if column.kind is Kind.DATA and value is not None and count_of(value):
            if column.path == "transactions" and (spec.abbreviate or not spec.selected):
                trees.append(builder.transactions(value))
            elif spec.selected or "." not in column.path:
                trees.append(builder.generic(column.path, value))
    return fields, trees


def aligned(fields: Sequence[Field], abbreviate: bool) -> Iterator[Node]:
    """Yield names with their values, aligned. Long names are abbreviated, but not if two would read alike."""
    names = [printable(name) for name, _ in fields]
    short = [truncate(name, _LABEL, BOTH_ENDS) for name in names] if abbreviate else names
    shown = [one if short.count(one) == 1 else name for one, name in zip(short, names, strict=True)]
    indent = max(map(width_of, short), default=0)
    for name, (_, value) in zip(shown, fields, strict=True):
        yield Node(name, value, style=BOLD, indent=indent)


def _summary(outer: Mapping[str, Raw], inner: Mapping[str, Raw], spec: OutputSpec) -> list[Field]:
    """Return the main fields of a transaction; the rest of it is in its trees."""
    values = {**outer, "transaction.id": inner.get("id"), "transaction.type": inner.get("type")}
    same = text_of(inner.get("type")) == text_of(outer.get("type"))
    left_out = {"finalize", "transaction.type" if same else ""}
    fields = [
        (column.path, cells.cell_of(values[column.path], column))
        for column in spec.columns
        if column.path in values and column.path not in left_out
    ]
    fee = cells.fee_cell(fee_of(inner.get("fee")))
    return [*fields, ("fee", fee)] if fee else fields


def _unknown(members: Mapping[str, Raw], known: set[str], prefix: str = "") -> Iterator[tuple[str, Raw]]:
    """Yield the fields of an object, with their paths, that no known path leads to."""
    for name, value in members.items():
        path = prefix + name
        inner = object_of(value) if any(other.startswith(f"{path}.") for other in known) else {}
        if inner:
            yield from _unknown(inner, known, f"{path}.")
        elif path not in known:
            yield path, value


def _name(value: Raw | None) -> str:
    return printable(text_of(value)) or "?"


@dataclass(frozen=True, slots=True)
class TreeBuilder:
    """Builds trees from values of rows.

    `abbreviate`: long values may be abbreviated; `brief`: leave out what only the view of one transaction shows;
    `words`: as in `view_of`.
    """

    abbreviate: bool
    brief: bool = False
    words: Mapping[str, str] = field(default_factory=dict)

    def transactions(self, value: Raw) -> Node:
        """Return the tree of the transactions of a full block."""
        found = array_of(value)
        nodes = []
        for item in found:
            outer = object_of(item)
            inner = object_of(outer.get("transaction"))
            state = cells.status_cell(text_of(outer.get("status")))
            label = f"{_name(outer.get('index'))}  {_name(outer.get('type') or inner.get('type'))}"
            if state.style:
                label = f"{label}  {state.short}"
            children = TreeBuilder(self.abbreviate, brief=True, words=self.words).branches(outer)
            nodes.append(Node(label, self._id(inner.get("id")), children, state.style))
        return Node("transactions", plain(str(len(found))), nodes, BOLD)

    def branches(self, outer: Mapping[str, Raw]) -> list[Node]:
        """Return the trees of a transaction: what it did or would have done, the most interesting first."""
        parts = {**object_of(outer.get("transaction"))}
        parts |= {name: outer[name] for name in ("rejected", "finalize") if name in outer}
        nodes = []
        for name in ("rejected", "deployment", "owner", "execution", "fee", "finalize"):
            value = parts.get(name)
            if value is None or bytes(value) in (b"null", b"[]", b"{}"):
                continue
            if name == "rejected":
                nodes.append(self._rejected(value))
            elif name == "deployment" and object_of(value):
                nodes.append(self._deployment(name, value))
            elif name in ("execution", "fee") and object_of(value):
                nodes.append(self._execution(name, value))
            elif name == "finalize" and (entries := array_of(value)):
                count = plain(counted(len(entries), "entry", "entries"))
                nodes.append(Node(name, count, [] if self.brief else list(map(self._entry, entries)), BOLD))
            elif not self.brief:
                nodes.append(self.generic(name, value))
        return nodes

    def _rejected(self, value: Raw) -> Node:
        """Return the tree of a rejected execution or deployment, which may be wrapped in an object with its type."""
        members = object_of(value)
        wanted = members.get("deployment") or members.get("execution") or value
        inner = object_of(wanted)
        if "program" in inner:
            tree = self._deployment("rejected deployment", wanted, f"{BOLD};{RED}")
        elif "transitions" in inner:
            tree = self._execution("rejected execution", wanted, f"{BOLD};{RED}")
        else:
            return self.generic("rejected", value)
        tree.children += self._rest(members, {"type", "deployment", "execution"}) if wanted is not value else []
        return tree

    def _deployment(self, name: str, value: Raw, style: str = BOLD) -> Node:
        members = object_of(value)
        source = text_of(members.get("program"))
        program, functions = program_of(source), functions_of(source)
        count = len(functions) or len(array_of(members.get("verifying_keys")))
        words = [*filter(None, [program]), f"edition {_name(members.get('edition'))}", counted(count, "function")]
        children = [Node("functions", cells.unknown_cell(", ".join(functions)))] if functions else []
        if not self.brief:
            children.append(Node("program", cells.text_cell(source) if self.abbreviate else cells.block_cell(source)))
            children += self._rest(members, {"edition", "program", "verifying_keys"})
        return Node(name, cells.unknown_cell(", ".join(words)), children, style)

    def _execution(self, name: str, value: Raw, style: str = BOLD) -> Node:
        """Return the tree of an execution with its transitions, or of a fee with its one transition."""
        members = object_of(value)
        transitions = [*array_of(members.get("transitions")), *filter(None, [members.get("transition")])]
        total = (
            (cells.fee_cell(fee_of(value)) or BLANK)
            if name == "fee"
            else plain(counted(len(transitions), "transition"))
        )
        if name == "fee" and self.brief:
            return Node(name, total, style=style)
        shown = {"transition", "transitions" if array_of(members.get("transitions")) else ""}
        return Node(name, total, [*map(self._transition, transitions), *self._rest(members, shown)], style)

    def _transition(self, value: Raw) -> Node:
        members = object_of(value)
        if not members:
            return Node("?", cells.unknown_cell(text_of(value)))
        sides = [
            (f"{side}s", at, item)
            for side in ("input", "output")
            for at, item in enumerate(array_of(members.get(f"{side}s")))
        ]
        values = [(f"{side[:-1]:6} {at}  {_name(object_of(item).get('type'))}", item) for side, at, item in sides]
        indent = max((width_of(label) for label, _ in values), default=0)
        children = [Node(label, self._argument(item), indent=indent) for label, item in values]
        if not self.brief:
            drawn = {"id", "program", "function", *(side for side, _, _ in sides)}
            rest = {name: item for name, item in members.items() if name not in drawn}
            nested = {name: item for name, item in rest.items() if count_of(item)}
            children += self._rest(nested, set())
            if flat := {name: item for name, item in rest.items() if name not in nested}:
                children.append(Node("", self._flat(flat)._replace(style=DIM)))
        label = f"{_name(members.get('program'))}/{_name(members.get('function'))}"
        return Node(label, self._id(members.get("id")), children)

    def _word(self, name: str) -> str:
        return printable(self.words.get(name, name))

    def _id(self, value: Raw | None) -> Cell:
        return cells.id_cell(text_of(value), DIM)

    def _argument(self, value: Raw) -> Cell:
        """Return the value of an input or output, or its ID if it has none."""
        members = object_of(value)
        if text := text_of(members.get("value")):
            return self._text(text)
        shown = self._id(members.get("id") if members else value)
        return Cell(f"id {shown.short}", f"id {shown.whole}", DIM) if members else shown

    def _text(self, text: str) -> Cell:
        """Return a text on its lines, or on one line with its IDs abbreviated."""
        if not self.abbreviate:
            return plain("\n".join(map(printable, text.splitlines())))
        cell = cells.unknown_cell(text)
        return plain(cell.short) if " " in cell.whole else cell

    def _entry(self, value: Raw) -> Node:
        """Return the node of an entry of `finalize`."""
        members = object_of(value)
        rest = {name: inner for name, inner in members.items() if name != "type"}
        return Node(_name(members.get("type")), self._flat(rest) if members else cells.unknown_cell(text_of(value)))

    def _flat(self, members: Mapping[str, Raw]) -> Cell:
        """Return members on one line, IDs abbreviated if they do not fit."""
        texts = [f"{self._word(name)}={printable(text_of(one)) or '-'}" for name, one in members.items()]
        pairs = [(cells.short_ids(text) if self.abbreviate else text, text) for text in texts]
        return cells.Pieces(
            "  ".join(short for short, _ in pairs),
            "  ".join(texts),
            items=tuple(text for pair in pairs for text in pair),
        )

    def _rest(self, members: Mapping[str, Raw], shown: set[str]) -> list[Node]:
        if self.brief:
            return []
        return [self.generic(name, value, 1) for name, value in members.items() if name not in shown]

    def generic(self, name: str, value: Raw, depth: int = 0) -> Node:
        """Return the tree of a value of unknown meaning, with everything in it."""
        label, style = self._word(name), "" if depth else BOLD
        members = object_of(value)
        pairs = list(members.items()) or [(str(at), item) for at, item in enumerate(array_of(value))]
        if not pairs or depth > _DEPTH:
            return Node(label, NULL if bytes(value) == b"null" else self._text(text_of(value)), style=style)
        if depth and members and len(pairs) <= _FLAT and not any(count_of(item) for _, item in pairs):
            return Node(label, self._flat(members))
        shown = pairs[:_ITEMS] if self.abbreviate and len(pairs) > _ITEMS + 1 else pairs
        nodes = [self.generic(inner, item, depth + 1) for inner, item in shown]
        if len(shown) < len(pairs):
            nodes.append(Node("", plain(f"… {len(pairs) - len(shown):,} more", DIM)))
        return Node(label, BLANK, nodes, style)
