"""What is nested in full blocks and transactions, as trees.

Servers of other eras send further fields, null, or arrays where objects belong: what is not understood is shown as it
is, and nothing here fails for it.
"""

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from msgspec import Raw

from chainq.formats.cells import (
    BLANK,
    BOLD,
    DIM,
    NULL,
    RED,
    Cell,
    count_of,
    fit,
    gist,
    leaf,
    opaque,
    open_array,
    open_object,
    paint,
    status,
)
from chainq.formats.protocol import Sheet
from chainq.rows.fields import text_of
from chainq.text.humanize import counted
from chainq.text.sanitize import printable
from chainq.text.width import BOTH_ENDS, shorten, width_of, wrap

_SHORT = 15  # of an ID that shares its line with others
_LINES = 4  # that a value of several words may take, while long values may be shortened
_ITEMS = 20  # of an array that nothing is known of, likewise
# Words to shorten among others; not numbers, with their type or without (`{ amount: 1000000000000000000000000u128 }`).
_LONG = re.compile(r"(?!-?[0-9]+(?:[iu][0-9]+)?(?![^\s,]))[^\s,]{25,}")
_DEPTH = 5  # of a value that nothing is known of; what lies deeper stays JSON
_FLAT = 6  # members up to which an object without objects in it stands on one line
_TRANSITION = {"id", "program", "function"}


class Node(NamedTuple):
    """A line of a tree: what it is, its value, and what hangs below it: lines of text, then further nodes."""

    label: str
    value: Cell = BLANK
    children: Sequence["Node"] = ()
    style: str = ""
    lines: Sequence[str] = ()


def draw(node: Node, sheet: Sheet, room: int, first: str = "", others: str = "") -> Iterator[str]:
    """A tree's lines. `first` and `others`: what stands before its own line and before those below it."""
    left = room - width_of(first) if sheet.trunc else sys.maxsize
    label = fit(Cell(node.label), left)
    indent = width_of(label) + (2 if label else 0)
    color, style = sheet.color, node.value.style
    head = paint(first, DIM, color) + paint(label, node.style, color) + " " * (indent - width_of(label))
    rail = paint(others + ("│" if node.children else ""), DIM, color)
    for piece in _pieces(node.value, left - indent):
        yield (head + paint(piece, style, color)).rstrip()
        head = rail + " " * (width_of(first) + indent - len(others) - bool(node.children))
    for line in node.lines:
        yield f"{rail}    {line}"
    for child in node.children:
        branch, below = ("└── ", "    ") if child is node.children[-1] else ("├── ", "│   ")
        yield from draw(child, sheet, room, others + branch, others + below)


def _pieces(value: Cell, room: int) -> list[str]:
    """A value in the lines that it is given: several only where it has several words, and room for a few on each."""
    if value.keep or room < 20 or width_of(value.text) <= room:
        return [fit(value, room) if room > 1 else ""]
    lines = wrap(value.text, room)
    return lines if len(lines) <= _LINES else [*lines[: _LINES - 1], shorten(" ".join(lines[_LINES - 1 :]), room)]


def fee_of(fee: Raw | None) -> Cell | None:
    """What was paid, by the public inputs of the fee's transition: the base fee, then the priority fee if any."""
    transition = open_object(open_object(fee).get("transition"))
    values = [text_of(open_object(given).get("value")) for given in open_array(transition.get("inputs"))]
    amounts = [int(value[:-3]) for value in values if re.fullmatch(r"[0-9]{1,20}u64", value)]
    if not amounts:
        return None
    unit = " microcredits" if text_of(transition.get("program")) == "credits.aleo" else ""
    parts = " + ".join(f"{amount:,}" for amount in amounts)
    return Cell(f"{sum(amounts):,}{unit}", more=f"{parts} priority" if len(amounts) == 2 and amounts[1] else "")


def _name(value: Raw | None) -> str:
    return printable(text_of(value)) or "?"


@dataclass(frozen=True, slots=True)
class Planter:
    """Makes trees of what rows hold.

    `trunc`: long values may be shortened; `brief`: leave out what is for the page of one transaction.
    """

    trunc: bool
    brief: bool = False

    def transactions(self, value: Raw) -> Node:
        """The transactions of a full block."""
        found = open_array(value)
        nodes = []
        for item in found:
            outer = open_object(item)
            inner = open_object(outer.get("transaction"))
            state = status(text_of(outer.get("status")))
            label = f"{_name(outer.get('index'))}  {_name(outer.get('type') or inner.get('type'))}"
            if state.style:
                label = f"{label}  {state.text}"
            children = Planter(self.trunc, brief=True).branches(outer)
            nodes.append(Node(label, opaque(text_of(inner.get("id"))), children, state.style))
        return Node("transactions", Cell(str(len(found))), nodes, BOLD)

    def branches(self, outer: Mapping[str, Raw]) -> list[Node]:
        """What a transaction did or would have done: what stands in it, in the order that a person asks."""
        inner = open_object(outer.get("transaction"))
        places = {**inner, **{name: outer[name] for name in ("rejected", "finalize") if name in outer}}
        nodes = []
        for name in ("rejected", "deployment", "owner", "execution", "fee", "finalize"):
            value = places.get(name)
            if value is None or bytes(value) in (b"null", b"[]", b"{}"):
                continue
            if name == "rejected":
                nodes.append(self._rejected(value))
            elif name == "deployment" and open_object(value):
                nodes.append(self._deployment(name, value))
            elif name in ("execution", "fee") and open_object(value):
                nodes.append(self._execution(name, value))
            elif name == "finalize" and open_array(value):
                count = Cell(counted(len(open_array(value)), "entry", "entries"))
                nodes.append(Node(name, count, () if self.brief else self._entries(value), BOLD))
            elif not self.brief:
                nodes.append(self.generic(name, value))
        return nodes

    def _rejected(self, value: Raw) -> Node:
        """What a rejected transaction wanted: an execution or a deployment, bare or wrapped with its kind."""
        members = open_object(value)
        wanted = members.get("deployment") or members.get("execution") or value
        inner = open_object(wanted)
        if "program" in inner:
            node = self._deployment("rejected deployment", wanted)
        elif "transitions" in inner:
            node = self._execution("rejected execution", wanted)
        else:
            return self.generic("rejected", value)._replace(style=RED)
        around = self._rest(members, {"type", "deployment", "execution"}) if wanted is not value else []
        return node._replace(style=RED, children=[*node.children, *around])

    def _deployment(self, name: str, value: Raw) -> Node:
        members = open_object(value)
        source = text_of(members.get("program"))
        programs = re.findall(r"^program ([^;\s]+);", source, re.MULTILINE)
        functions = re.findall(r"^function ([^:\s]+):", source, re.MULTILINE)
        count = len(functions) or len(open_array(members.get("verifying_keys")))
        words = [*programs[:1], f"edition {_name(members.get('edition'))}", counted(count, "function")]
        children = [Node("functions", Cell(printable(", ".join(functions))))] if functions else []
        if not self.brief:
            code = self._text("program", source)
            children.append(code if code.lines else Node("program", gist(source)))
            children += self._rest(members, {"edition", "program", "verifying_keys"})
        return Node(name, Cell(printable(", ".join(words))), children, BOLD)

    def _execution(self, name: str, value: Raw) -> Node:
        """An execution with its transitions, or a fee with its one."""
        members = open_object(value)
        given = members.get("transition")
        several = open_array(members.get("transitions"))
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
        members = open_object(value)
        if not members:
            return Node("?", leaf(text_of(value)))
        label = f"{_name(members.get('program'))}/{_name(members.get('function'))}"
        children = [
            self._argument(f"{way:6} {at}", argument)
            for way in ("input", "output")
            for at, argument in enumerate(open_array(members.get(f"{way}s")))
        ]
        size = max((width_of(child.label) for child in children), default=0)
        children = [child._replace(label=child.label + " " * (size - width_of(child.label))) for child in children]
        if not self.brief:
            drawn = _TRANSITION | {f"{way}s" for way in ("input", "output") if open_array(members.get(f"{way}s"))}
            rest = {name: item for name, item in members.items() if name not in drawn}
            nested = {name: item for name, item in rest.items() if count_of(item)}
            children += self._rest(nested, set())
            if flat := self._flat({name: item for name, item in rest.items() if name not in nested}):
                children.append(Node("", Cell(flat, DIM)))
        return Node(label, opaque(text_of(members.get("id")))._replace(style=DIM), children)

    def _argument(self, name: str, value: Raw) -> Node:
        """An input or output: its value, or the ID of what has none."""
        members = open_object(value)
        label = f"{name}  {_name(members.get('type'))}"
        text = text_of(members.get("value"))
        if not text:
            shown = f"id {text_of(members.get('id'))}" if members else text_of(value)
            return Node(label, opaque(shown)._replace(style=DIM))
        return self._text(label, text)

    def _text(self, label: str, text: str) -> Node:
        """A text in its own lines, or all of it on one where long values may be shortened."""
        if self.trunc or "\n" not in text:
            shown = leaf(text)
            return Node(label, shown if shown.keep else Cell(self._short(shown.text)))
        return Node(label, lines=[printable(line) for line in text.splitlines()])

    def _entries(self, value: Raw) -> list[Node]:
        """The entries of `finalize`, one line each."""
        nodes = []
        for item in open_array(value):
            members = open_object(item)
            rest = {name: inner for name, inner in members.items() if name != "type"}
            nodes.append(Node(_name(members.get("type")), Cell(self._flat(rest)) if members else leaf(text_of(item))))
        return nodes

    def _flat(self, members: Mapping[str, Raw]) -> str:
        """Members on one line, IDs short."""
        pairs = []
        for name, value in members.items():
            pairs.append(f"{printable(name)}={self._short(leaf(text_of(value)).text) or '-'}")
        return "  ".join(pairs)

    def _short(self, text: str) -> str:
        """A text with its long words shortened, but for numbers."""
        if not self.trunc:
            return text
        return _LONG.sub(lambda word: shorten(word[0], _SHORT, keep=BOTH_ENDS), text)

    def _rest(self, members: Mapping[str, Raw], shown: set[str]) -> list[Node]:
        if self.brief:
            return []
        return [self.generic(name, value, 1) for name, value in members.items() if name not in shown]

    def generic(self, name: str, value: Raw, depth: int = 0) -> Node:
        """A value that nothing is known of, with all that is in it."""
        label = printable(name)
        style = "" if depth else BOLD
        pairs = list(open_object(value).items()) or [(str(at), item) for at, item in enumerate(open_array(value))]
        if not pairs or depth > _DEPTH:
            node = Node(label, NULL) if bytes(value) == b"null" else self._text(label, text_of(value))
            return node._replace(style=style)
        if depth and len(pairs) <= _FLAT and not any(count_of(item) for _, item in pairs) and open_object(value):
            return Node(label, Cell(self._flat(open_object(value))))
        shown = pairs[:_ITEMS] if self.trunc and len(pairs) > _ITEMS + 1 else pairs
        nodes = [self.generic(inner, item, depth + 1) for inner, item in shown]
        if len(shown) < len(pairs):
            nodes.append(Node("", Cell(f"… {len(pairs) - len(shown):,} more", DIM)))
        return Node(label, BLANK, nodes, style)
