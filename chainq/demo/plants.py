"""Plants: faults of what the server holds, the same in every response: rows that it does not list, rows that are wrong.

`lost-record:672` is a record of block 672 that no call returns. A seed decides which row or field it hits. Only a
comparison with the full blocks shows it. Those are right, except for the faults of whole blocks.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from chainq.demo.exchange import Ask, Item, edited, field
from chainq.demo.ids import mix
from chainq.demo.registry import FAULTS, ROWS, Fault, fault

ALTERED = {
    "record": ("program_id", "timestamp", "block_hash", "transaction_id", "function_name", "record_ciphertext"),
    "ownership": ("output_index", "transition_id"),
    "transition": ("transaction_id", "function_name", "tpk", "tcm", "timestamp"),
    "transaction": ("type", "status", "index"),
    "block": ("transactions_root", "finalize_root", "coinbase_target", "proof_target", "last_coinbase_timestamp"),
}
"""What of a row `altered-…` may change: never its identity, but for ownership, which has nothing else to compare."""

UNLISTED = "tile_gallery.aleo"
"""The program that the table of programs of a deployed server lacks."""

_HANDLERS = {
    "record": ("records",),
    "ownership": ("ownership",),
    "transition": ("transitions",),
    "transaction": ("transactions",),
    "block": ("blocks", "block"),
}
_BOTH = ("blocks", "block", "full_blocks")
_SECONDS = 20  # more than two blocks are apart


@fault(ROWS, of=("transitions", "transactions"))
def deployed_lists(rows: list[Item], ask: Ask, _: int) -> list[Item]:
    """Leave out of lists what deployed servers do not list."""
    if ask.handler == "transactions":  # a rejected one has the type of its inner one
        rejected = b'"status":"rejected"'
        return [
            item._replace(row=edited(item.row, "type", lambda _: "Fee")) if rejected in item.row else item
            for item in rows
        ]
    unlisted = (b'"function_name":"fee_', b'"program":"program %s;' % UNLISTED.encode())
    return [item for item in rows if not any(text in item.row for text in unlisted)]


def _word(ask: Ask, kind: str, height: int) -> int:
    return mix(height << 8 | KINDS.index(kind), mix(ask.faults.get("seed", 0), 0x91A7))


def _planted(kind: str, rows: list[Item], ask: Ask, height: int) -> list[Item]:
    """Return the rows of a range with one row of a block wrong."""
    action, _, name = kind.partition("-")
    word = _word(ask, kind, height)
    near = rows
    if action == "misplaced" and height not in ask.heights:
        near = ask.book.rows(ask.whole()._replace(start=height, end=height + 1))
    own = sorted((item for item in near if item.height == height), key=lambda item: item.position)
    if not own:
        return rows
    hit = own[word % len(own)]
    if action == "doubled":
        again = hit._replace(position=own[-1].position + 1)
        if word >> 32 & 1 and name != "block":  # with another row id, like a row that was stored twice
            again = again._replace(row=edited(hit.row, "id", lambda number: number + 500_000_000))
        return [one for item in rows for one in ((item, again) if item is hit else (item,))]
    if action == "altered":
        fields = [one for one in ALTERED[name] if f'"{one}":'.encode() in hit.row]
        change = partial(_changed, word >> 24)
        altered = hit._replace(row=edited(hit.row, fields[(word >> 16) % len(fields)], change))
        return [altered if item is hit else item for item in rows]
    rest = [item for item in rows if item is not hit]
    if action == "misplaced" and height + 1 in ask.heights:
        moved = edited(hit.row, "height", lambda old: type(old)(height + 1))
        rest.append(Item(height + 1, len(rows), moved))
        rest.sort(key=lambda item: item.height)
    return rest


def _changed(word: int, value: Any) -> Any:
    """Return another value of the same kind: a number plus one, a text with one other character."""
    if isinstance(value, int):
        return value + 1
    if not value:
        return "another"
    if value.isdecimal():
        return str(int(value) + 1)
    at = word % len(value)
    if value[:at].count("1") == 0:  # not in the prefix, which names the kind of ID
        at = len(value) - 1 - word % min(20, len(value))
    other = "q" if value[at] != "q" else "p"
    return value[:at] + other + value[at + 1 :]


_WORDS = {
    "lost": "Never return one {} of a block.",
    "doubled": "Return one {} of a block twice.",
    "altered": "Return one {} of a block with another value in a field.",
    "misplaced": "Return one {} of a block among those of the next block.",
}
_ROWS = {"ownership": "ownership row", "block": "summary"}
_PLANTED = {
    kind: Fault(words.format(_ROWS.get(row, row)), "HEIGHT", ROWS, partial(_planted, kind), of)
    for row, of in _HANDLERS.items()
    for action, words in _WORDS.items()
    if (kind := f"{action}-{row}") not in ("misplaced-ownership", "misplaced-block")  # these name no other block
}
FAULTS.update(_PLANTED)

KINDS = (*_PLANTED, "link", "time", "round", "checksum", "count")
"""Every kind of plant, in the order that decides which row a seed hits."""

# --- faults that the summary of a block and the full block share


def _all(rows: list[Item], height: int, name: str, change: Callable[[Any], Any]) -> list[Item]:
    return [item._replace(row=edited(item.row, name, change)) if item.height == height else item for item in rows]


@fault(ROWS, "N", of=_BOTH)
def link(rows: list[Item], _: Ask, height: int) -> list[Item]:
    """Give block N a wrong previous_hash: its own hash."""
    return [
        item._replace(row=edited(item.row, "previous_hash", lambda _, row=item.row: field(row, "block_hash")))  # type: ignore[misc]
        if item.height == height
        else item
        for item in rows
    ]


@fault(ROWS, "N", of=_BOTH)
def time(rows: list[Item], _: Ask, height: int) -> list[Item]:
    """Give block N a time before that of the block before it."""
    return _all(rows, height, "timestamp", lambda old: type(old)(int(old) - _SECONDS))


@fault(ROWS, "N", of=_BOTH)
def round(rows: list[Item], _: Ask, height: int) -> list[Item]:  # noqa: A001  # the name of the field
    """Give block N a lower round than that of the block before it."""
    return _all(rows, height, "round", lambda old: type(old)(int(old) - 3))


@fault(ROWS, "HEIGHT", of=_BOTH)
def checksum(rows: list[Item], ask: Ask, height: int) -> list[Item]:
    """Put a wrong character into the previous_state_root of a block."""
    return _all(rows, height, "previous_state_root", partial(_changed, _word(ask, "checksum", height)))


@fault(ROWS, "HEIGHT", of=("transactions", "full_blocks"))
def count(rows: list[Item], ask: Ask, height: int) -> list[Item]:
    """Leave a gap in the numbers of the transactions of a block."""
    own = [item for item in rows if item.height == height]
    if not own:
        return rows
    hit = max(own, key=lambda item: item.position)
    last = hit.row.rindex(b'"index":', 0, hit.row.rindex(b'"transaction":')) if ask.handler == "full_blocks" else 0
    gap = hit.row[:last] + edited(hit.row[last:], "index", lambda index: index + 1)
    return [hit._replace(row=gap) if item is hit else item for item in rows]
