"""Draws what is nested in full blocks and transactions as trees.

Older blocks and other servers have unknown fields, null, or arrays where objects are expected: what has another shape
is shown as it is, and nothing here fails for it.
"""

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from msgspec import Raw

from chainq.formats.cells import BLANK, NULL, Cell, fit, id_cell, status_cell, text_cell, unknown_cell
from chainq.formats.protocol import OutputSpec
from chainq.rows.fields import array_of, count_of, object_of, text_of
from chainq.text.humanize import counted
from chainq.text.sanitize import printable
from chainq.text.style import BOLD, DIM, RED, paint
from chainq.text.width import BOTH_ENDS, truncate, width_of, wrap

_SHORT = 15  # cells of an ID that shares its line with others
_LINES = 4  # lines of a value of several words, where long values may be abbreviated
_ITEMS = 20  # items of an array of unknown meaning, likewise
# Long words, to be abbreviated; no numbers, with or without their type (`{ amount: 1000000000000000000000000u128 }`).
_LONG = re.compile(r"(?!-?[0-9]+(?:[iu][0-9]+)?(?![^\s,]))[^\s,]{25,}")
_DEPTH = 5  # levels of a value of unknown meaning; what is deeper stays JSON
_FLAT = 6  # members up to which an object without objects in it is shown on one line
_TRANSITION = {"id", "program", "function"}


class Node(NamedTuple):
    """A line of a tree: its label, its value, and what is below it: lines of text, then more nodes."""

    label: str
    value: Cell = BLANK
    children: Sequence["Node"] = ()
    style: str = ""
    lines: Sequence[str] = ()


def draw(node: Node, spec: OutputSpec, room: int, first: str = "", others: str = "") -> Iterator[str]:
    """Yield the lines of a tree. `first` and `others`: what precedes its own line and those below it."""
    left = room - width_of(first) if spec.abbreviate else sys.maxsize
    label = fit(Cell(node.label), left)
    indent = width_of(label) + (2 if label else 0)
    color, style = spec.color, node.value.style
    head = paint(first, DIM, color) + paint(label, node.style, color) + " " * (indent - width_of(label))
    rail = paint(others + ("│" if node.children else ""), DIM, color)
    for line in _lines_of(node.value, left - indent):
        yield (head + paint(line, style, color)).rstrip()
        head = rail + " " * (width_of(first) + indent - len(others) - bool(node.children))
    for line in node.lines:
        yield f"{rail}    {line}"
    for child in node.children:
        branch, below = ("└── ", "    ") if child is node.children[-1] else ("├── ", "│   ")
        yield from draw(child, spec, room, others + branch, others + below)


def _lines_of(value: Cell, room: int) -> list[str]:
    """Return the lines of a value: several only where it has several words, and room for a few on each."""
    if value.keep or room < 20 or width_of(value.text) <= room:
        return [fit(value, room) if room > 1 else ""]
    lines = wrap(value.text, room)
    return lines if len(lines) <= _LINES else [*lines[: _LINES - 1], truncate(" ".join(lines[_LINES - 1 :]), room)]


def fee_of(fee: Raw | None) -> Cell | None:
    """Return the fee, read from the public inputs of its transition: the base fee, then the priority fee if any."""
    transition = object_of(object_of(fee).get("transition"))
    values = [text_of(object_of(given).get("value")) for given in array_of(transition.get("inputs"))]
    amounts = [int(value[:-3]) for value in values if re.fullmatch(r"[0-9]{1,20}u64", value)]
    if not amounts:
        return None
    unit = " microcredits" if text_of(transition.get("program")) == "credits.aleo" else ""
    parts = " + ".join(f"{amount:,}" for amount in amounts)
    return Cell(f"{sum(amounts):,}{unit}", more=f"{parts} priority" if len(amounts) == 2 and amounts[1] else "")


def _name(value: Raw | None) -> str:
    return printable(text_of(value)) or "?"


@dataclass(frozen=True, slots=True)
class TreeBuilder:
    """Builds trees from values of rows.

    `abbreviate`: long values may be abbreviated; `brief`: leave out what only the view of one transaction shows.
    """

    abbreviate: bool
    brief: bool = False

    def transactions(self, value: Raw) -> Node:
        """Return the tree of the transactions of a full block."""
        found = array_of(value)
        nodes = []
        for item in found:
            outer = object_of(item)
            inner = object_of(outer.get("transaction"))
            state = status_cell(text_of(outer.get("status")))
            label = f"{_name(outer.get('index'))}  {_name(outer.get('type') or inner.get('type'))}"
            if state.style:
                label = f"{label}  {state.text}"
            children = TreeBuilder(self.abbreviate, brief=True).branches(outer)
            nodes.append(Node(label, id_cell(text_of(inner.get("id"))), children, state.style))
        return Node("transactions", Cell(str(len(found))), nodes, BOLD)

    def branches(self, outer: Mapping[str, Raw]) -> list[Node]:
        """Return the trees of a transaction: what it did or would have done, the most interesting first."""
        inner = object_of(outer.get("transaction"))
        parts = {**inner, **{name: outer[name] for name in ("rejected", "finalize") if name in outer}}
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
            elif name == "finalize" and array_of(value):
                count = Cell(counted(len(array_of(value)), "entry", "entries"))
                nodes.append(Node(name, count, () if self.brief else self._entries(value), BOLD))
            elif not self.brief:
                nodes.append(self.generic(name, value))
        return nodes

    def _rejected(self, value: Raw) -> Node:
        """Return the tree of a rejected execution or deployment, which may be wrapped in an object with its type."""
        members = object_of(value)
        wanted = members.get("deployment") or members.get("execution") or value
        inner = object_of(wanted)
        if "program" in inner:
            node = self._deployment("rejected deployment", wanted)
        elif "transitions" in inner:
            node = self._execution("rejected execution", wanted)
        else:
            return self.generic("rejected", value)._replace(style=RED)
        around = self._rest(members, {"type", "deployment", "execution"}) if wanted is not value else []
        return node._replace(style=RED, children=[*node.children, *around])

    def _deployment(self, name: str, value: Raw) -> Node:
        members = object_of(value)
        source = text_of(members.get("program"))
        programs = re.findall(r"^program ([^;\s]+);", source, re.MULTILINE)
        functions = re.findall(r"^function ([^:\s]+):", source, re.MULTILINE)
        count = len(functions) or len(array_of(members.get("verifying_keys")))
        words = [*programs[:1], f"edition {_name(members.get('edition'))}", counted(count, "function")]
        children = [Node("functions", Cell(printable(", ".join(functions))))] if functions else []
        if not self.brief:
            code = self._text("program", source)
            children.append(code if code.lines else Node("program", text_cell(source)))
            children += self._rest(members, {"edition", "program", "verifying_keys"})
        return Node(name, Cell(printable(", ".join(words))), children, BOLD)

    def _execution(self, name: str, value: Raw) -> Node:
        """Return the tree of an execution with its transitions, or of a fee with its one transition."""
        members = object_of(value)
        given = members.get("transition")
        several = array_of(members.get("transitions"))
        transitions = [*several, given] if given is not None else several
        if name == "fee":
            total = fee_of(value) or BLANK
            if self.brief:
                return Node(name, total, (), BOLD)
        else:
            total = Cell(counted(len(transitions), "transition"))
        children = [self._transition(transition) for transition in transitions]
        return Node(
            name, total, [*children, *self._rest(members, {"transition", "transitions" if several else ""})], BOLD
        )

    def _transition(self, value: Raw) -> Node:
        members = object_of(value)
        if not members:
            return Node("?", unknown_cell(text_of(value)))
        label = f"{_name(members.get('program'))}/{_name(members.get('function'))}"
        children = [
            self._argument(f"{way:6} {at}", argument)
            for way in ("input", "output")
            for at, argument in enumerate(array_of(members.get(f"{way}s")))
        ]
        size = max((width_of(child.label) for child in children), default=0)
        children = [child._replace(label=child.label + " " * (size - width_of(child.label))) for child in children]
        if not self.brief:
            drawn = _TRANSITION | {f"{way}s" for way in ("input", "output") if array_of(members.get(f"{way}s"))}
            rest = {name: item for name, item in members.items() if name not in drawn}
            nested = {name: item for name, item in rest.items() if count_of(item)}
            children += self._rest(nested, set())
            if flat := self._flat({name: item for name, item in rest.items() if name not in nested}):
                children.append(Node("", Cell(flat, DIM)))
        return Node(label, id_cell(text_of(members.get("id")))._replace(style=DIM), children)

    def _argument(self, name: str, value: Raw) -> Node:
        """Return the node of an input or output: its value, or its ID where it has none."""
        members = object_of(value)
        label = f"{name}  {_name(members.get('type'))}"
        text = text_of(members.get("value"))
        if not text:
            shown = f"id {text_of(members.get('id'))}" if members else text_of(value)
            return Node(label, id_cell(shown)._replace(style=DIM))
        return self._text(label, text)

    def _text(self, label: str, text: str) -> Node:
        """Return the node of a text: on lines of its own, or on one line where long values may be abbreviated."""
        if self.abbreviate or "\n" not in text:
            shown = unknown_cell(text)
            return Node(label, shown if shown.keep else Cell(self._short(shown.text)))
        return Node(label, lines=[printable(line) for line in text.splitlines()])

    def _entries(self, value: Raw) -> list[Node]:
        """Return the nodes of the entries of `finalize`, one line each."""
        nodes = []
        for item in array_of(value):
            members = object_of(item)
            rest = {name: inner for name, inner in members.items() if name != "type"}
            nodes.append(
                Node(_name(members.get("type")), Cell(self._flat(rest)) if members else unknown_cell(text_of(item)))
            )
        return nodes

    def _flat(self, members: Mapping[str, Raw]) -> str:
        """Return members on one line, IDs abbreviated."""
        pairs = []
        for name, value in members.items():
            pairs.append(f"{printable(name)}={self._short(unknown_cell(text_of(value)).text) or '-'}")
        return "  ".join(pairs)

    def _short(self, text: str) -> str:
        """Return a text with long words abbreviated, numbers excepted."""
        if not self.abbreviate:
            return text
        return _LONG.sub(lambda word: truncate(word[0], _SHORT, keep=BOTH_ENDS), text)

    def _rest(self, members: Mapping[str, Raw], shown: set[str]) -> list[Node]:
        if self.brief:
            return []
        return [self.generic(name, value, 1) for name, value in members.items() if name not in shown]

    def generic(self, name: str, value: Raw, depth: int = 0) -> Node:
        """Return the tree of a value of unknown meaning, with everything in it."""
        label = printable(name)
        style = "" if depth else BOLD
        pairs = list(object_of(value).items()) or [(str(at), item) for at, item in enumerate(array_of(value))]
        if not pairs or depth > _DEPTH:
            node = Node(label, NULL) if bytes(value) == b"null" else self._text(label, text_of(value))
            return node._replace(style=style)
        if depth and len(pairs) <= _FLAT and not any(count_of(item) for _, item in pairs) and object_of(value):
            return Node(label, Cell(self._flat(object_of(value))))
        shown = pairs[:_ITEMS] if self.abbreviate and len(pairs) > _ITEMS + 1 else pairs
        nodes = [self.generic(inner, item, depth + 1) for inner, item in shown]
        if len(shown) < len(pairs):
            nodes.append(Node("", Cell(f"… {len(pairs) - len(shown):,} more", DIM)))
        return Node(label, BLANK, nodes, style)
