"""Rows against those that are due: whatever is done to them is named, and what is right is not."""

import ast
import json
import random
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

pa = pytest.importorskip("pyarrow")
pytest.importorskip("numpy")

from chainq.catalog import bech32  # noqa: E402  # they need numpy
from chainq.demo import bodies  # noqa: E402
from chainq.demo.chain import Chain  # noqa: E402
from chainq.demo.ids import BLOCK, RECORD, TRANSITION  # noqa: E402
from chainq.formats.arrow_rows import ArrowRows  # noqa: E402
from chainq.heights.range import HeightRange  # noqa: E402
from chainq.rows.block import IDENTITY  # noqa: E402
from chainq.verify import rules  # noqa: E402
from chainq.verify.check import Check  # noqa: E402
from chainq.verify.explain import explain  # noqa: E402
from chainq.verify.findings import Finding, Window  # noqa: E402
from harness.running.program import ROOT  # noqa: E402

NAMED = {"Finding": 2, "Wrong": 0, "_compare": 0}
"""The place of a check's name among the arguments of what makes a finding."""
CHAIN = Chain(tip=2500)
RICH = [height for height in range(2500) if height != 777 and CHAIN.records.count(height) > 1]
heights = st.sampled_from(RICH)
Row = dict[str, Any]


def table(command: str, rows: list[Row] | list[bytes]) -> Any:
    """Rows as a source has them."""
    made = ArrowRows(rules.method_of(command).columns, pa)
    sent = [Raw(row if isinstance(row, bytes) else json.dumps(row).encode()) for row in rows]
    return pa.Table.from_batches(made.batches(sent), made.schema)


def rows_of(height: int) -> dict[str, list[Row]]:
    """The rows that the chain has of a block, by command."""
    layout = CHAIN.layout.plan(height)
    made = {
        "blocks": [CHAIN.block(height)],
        "full-blocks": [bodies.block(CHAIN, height)],
        "transactions": CHAIN.transaction_rows(height, range(len(layout.transactions))),
        "records": CHAIN.record_rows(height, range(layout.records)),
        "ownership": CHAIN.ownership_rows(height, range(layout.records)),
        "transitions": CHAIN.open_rows(height, range(len(layout.open_calls))),
    }
    return {command: list(rows) for command, rows in made.items()}


def findings(rows: dict[str, list[Row]], height: int, check: Check | None = None) -> list[Finding]:
    tables = {command: table(command, some) for command, some in rows.items()}
    tables["transactions"] = tables["transactions"].set_column(
        0, "height", pa.array([height] * len(rows["transactions"]), pa.int64())
    )
    due = explain(tables["full-blocks"])
    window = Window(HeightRange(height, height + 1), tables, due)
    return list((check or Check()).findings(window))


@given(heights)
def test_the_rows_of_a_block_are_those_that_its_full_block_explains(height: int) -> None:
    """A clean block: each command has just the rows that are due, and the summary agrees."""
    assert findings(rows_of(height), height) == []


@given(heights)
def test_records_with_a_dynamic_id_are_records(height: int) -> None:
    """Since consensus V14: the same rows are due, whether a record has a second ID or not."""
    block = json.dumps(bodies.block(CHAIN, height))
    dynamic = block.replace('"type": "record"', '"type": "record_with_dynamic_id"').encode()
    both = [explain(table("full-blocks", [one]))["records"] for one in (block.encode(), dynamic)]
    assert both[0].equals(both[1]) and both[0].num_rows


@pytest.mark.parametrize("kind", ["record_dynamic", "external_record"])
def test_transitions_that_take_a_foreign_record_may_be_listed(kind: str) -> None:
    """The interface does not say whether such a record is a record input: no finding either way."""
    rows = rows_of(next(height for height in RICH if rows_of(height)["transitions"]))
    height = rows["records"][0]["height"]
    (first, *others), (block,) = rows["transitions"], rows["full-blocks"]
    for confirmed in block["transactions"]:
        inner = confirmed["transaction"]
        for transition in (*inner.get("execution", {}).get("transitions", []), inner.get("fee", {}).get("transition")):
            if transition is not None and transition["id"] == first["transition_id"]:
                transition["inputs"] = [{"type": kind, "id": "1field"}]
    for listed in ([first, *others], others):
        assert findings({**rows, "transitions": listed}, int(height)) == []


@given(heights, st.sampled_from(sorted(IDENTITY)), st.randoms(use_true_random=False))
def test_whatever_is_done_to_rows_is_named(height: int, command: str, rng: random.Random) -> None:
    """Any mix of lost, doubled, strange and altered rows: each is named once, by its check and its identity."""
    rows, names = rows_of(height)[command], IDENTITY[command]
    expected: dict[str, set[str]] = {"missing": set(), "doubled": set(), "altered": set(), "unexpected": set()}
    found: list[Row] = []
    for row in rows:
        key = ":".join(str(row[name]) for name in names)
        fate = rng.choice(["kept", *(one for one in expected if one != "altered" or command != "ownership")])
        if fate != "kept":
            expected[fate].add(key)
        if fate == "altered":
            changed = {"index": 999} if command == "transactions" else {"function_name": "other"}
            row = {**row, **changed}
        if fate == "unexpected":
            stranger = {**row, names[0]: f"{row[names[0]]}x"}
            expected["missing"].add(key)
            expected["unexpected"] ^= {key, ":".join(str(stranger[name]) for name in names)}
            found.append(stranger)
        else:
            found += {"missing": [], "doubled": [row, row]}.get(fate, [row])
    rng.shuffle(found)
    seen: dict[str, set[str]] = {check: set() for check in expected}
    due, here = explain(table("full-blocks", [bodies.block(CHAIN, height)]))[command], table(command, found)
    if command == "transactions":
        here = here.drop(["type", "height"])
    if command == "transitions":  # some may be listed or not
        here, own = here.drop(["program"]), [row["transition_id"] for row in rows]
        due = due.filter(pa.array([row["transition_id"] in own for row in due.to_pylist()], pa.bool_()))
    for one in [*rules.doubled(command, here), *rules.compare(command, here, due, explained=True)]:
        words = (one.found if one.check == "unexpected" else one.expected) or ""
        seen[one.check].add(words.split()[1].rstrip(":"))
    assert seen == expected


@pytest.mark.parametrize("start", ["at1", "au1", "record1"])
def test_an_id_inside_a_full_block(start: str) -> None:
    """One character of an ID or a record in the transactions of a block was changed."""
    rows = rows_of(RICH[5])
    text = json.dumps(rows["full-blocks"][0]["transactions"])
    (sent, *_) = re.findall(rf'"({start}[a-z0-9]+)"', text)
    changed = sent[:-1] + ("q" if sent[-1] != "q" else "p")
    rows["full-blocks"][0] |= {"transactions": json.loads(text.replace(sent, changed))}
    found = [one for one in findings(rows, RICH[5]) if one.check == "checksum"]
    assert [(one.height, one.command, changed in (one.found or "")) for one in found] == [
        (RICH[5], "full-blocks", True)
    ]


def test_a_row_of_another_block_is_misplaced() -> None:
    """It is missing at one height, and said to be at the other; both name the other height."""
    one, other = RICH[3], RICH[4]
    rows = [*rows_of(one)["records"], *rows_of(other)["records"]]
    rows[0] = {**rows[0], "height": str(other)}
    full = explain(table("full-blocks", [bodies.block(CHAIN, one), bodies.block(CHAIN, other)]))
    lost, found = rules.compare("records", table("records", rows), full["records"], explained=True)
    assert (lost.height, lost.check, lost.found) == (one, "missing", f"at height {other}")
    assert (found.height, found.check) == (other, "misplaced")
    assert (found.expected or "").endswith(f"at height {one}")


@given(st.binary(max_size=40) | st.recursive(st.none() | st.integers() | st.text(), st.lists).map(json.dumps))
def test_blocks_of_any_shape_are_read(value: bytes | str) -> None:
    """What is not there, or is something else, explains nothing."""
    text = value if isinstance(value, str) else json.dumps(value.hex())
    for block in (f'{{"header":{text},"transactions":{text}}}', f'{{"transactions":[{text},{{"transaction":1}}]}}'):
        due = explain(table("full-blocks", [block.encode()]))
        assert (due["blocks"].num_rows, due["records"].num_rows) == (1, 0)


def test_a_chain_is_followed() -> None:
    """Links between neighbours, times and rounds that never go back; across a gap no link is due."""
    blocks = [CHAIN.block(height) for height in (0, 1, 2, 4)]
    whole, last = table("blocks", blocks), dict[str, Any]()
    assert list(rules.links("blocks", whole, last)) == []
    wrong = table("blocks", [{**CHAIN.block(5), "previous_hash": "ab1", "timestamp": "1", "round": "1"}])
    assert [one.check for one in rules.links("blocks", wrong, last)] == ["link", "time", "round"]
    (gap,) = rules.absent("blocks", whole, HeightRange(0, 5))
    assert (gap.height, gap.expected) == (3, "block 3")


def test_rejected_transactions_made_no_records() -> None:
    """What a rejected transaction wanted to do is not due; its fee is."""
    height = next(
        height
        for height in RICH
        for plan in CHAIN.layout.plan(height).transactions
        if plan.kind == "rejected" and plan.fee and plan.fee.function.records
    )
    block = bodies.block(CHAIN, height)
    (rejected,) = (row for row in block["transactions"] if "rejected" in row)
    due = set(explain(table("full-blocks", [block]))["records"]["transition_id"].to_pylist())
    assert not {transition["id"] for transition in rejected["rejected"]["transitions"]} & due
    assert rejected["transaction"]["fee"]["transition"]["id"] in due


def test_what_a_block_says_of_a_transition_and_of_a_rejected_transaction() -> None:
    """Kinds that servers may leave out, types that they may give, and what a rejected execution did not make."""
    made = {"type": "record", "value": "record1a"}
    call = {"id": "au1a", "program": "a.aleo", "function": "f", "inputs": [], "outputs": [made]}
    fee = {"id": "au1b", "program": "credits.aleo", "function": "fee_public", "inputs": [{"type": "public"}]}
    paid = {"transition": {**fee, "outputs": []}}
    wanted = {"type": "execution", "execution": {"transitions": [{**call, "id": "au1c"}]}}
    block = {
        "block_hash": "ab1",
        "header": {"metadata": {"height": 5, "timestamp": 1}},
        "transactions": [
            {"type": "execute", "transaction": {"id": "at1a", "type": "execute", "execution": {"transitions": [call]}}},
            {
                "type": "deploy",
                "status": "rejected",
                "transaction": {"id": "at1b", "type": "fee", "fee": paid},
                "rejected": wanted,
            },
        ],
    }
    due = explain(table("full-blocks", [block]))
    listed = due["transitions"].select(["transition_id", "fee", "empty"]).to_pylist()
    assert [tuple(row.values()) for row in listed] == [("au1a", False, True), ("au1b", True, False)]
    assert due["transactions"]["type"].to_pylist() == ["Execute", "Deploy or fee"]
    assert due["records"]["transition_id"].to_pylist() == ["au1a"]


def other(text: str, rng: random.Random) -> str:
    """A text with one other character, or one fewer."""
    at = rng.randrange(len(text))
    return text[:at] + str(rng.choice(["", *bech32.ALPHABET, "b", "1", "é"])) + text[at + 1 :]


words = st.integers(0, 2**64 - 1)


@given(st.lists(st.tuples(st.sampled_from([BLOCK, TRANSITION, RECORD]), words), max_size=20), st.randoms())
def test_checksums_of_many_are_those_of_each(drawn: list[Any], rng: random.Random) -> None:
    """Texts of several prefixes and lengths, some with a wrong character: found are those that `bech32.fault` finds."""
    texts = [coder.text(word) for coder, word in drawn]
    texts = [other(text, rng) if rng.random() < 0.3 else text for text in texts]
    ids = pa.table({"transition_id": pa.array([*texts, None], pa.string())})
    found = [one.found or "" for one in rules.checksums("records", ids, set())]
    head = [text for text in dict.fromkeys(texts) if text.rpartition("1")[0].isalpha() and bech32.fault(text)]
    named = {one.split("=", 1)[1].split(": ")[0] for one in found}
    assert named >= {text for text in head if text[:3] in ("ab1", "au1") or text.startswith("record1")}
    assert all(bech32.fault(text) for text in named)


@pytest.mark.parametrize(
    ("one", "two", "differs"),
    [
        (b'{"id":1,"block_id":7,"height":5}', b'{"height":5,"block_id":8,"id":2}', False),
        (b'{"height":"5","a":{"n":5,"m":[null,"x"]}}', b'{"a":{"m":[null,"x"],"n":"5"},"height":5}', False),
        (b'{"a":{"id":1}}', b'{"a":{"id":2}}', True),
        (b'{"a":1,"b":2}', b'{"a":12}', True),
    ],
)
def test_values_that_mean_the_same_are_the_same(one: bytes, two: bytes, differs: bool) -> None:
    """A number and its digits, objects with their keys in another order, row ids of two databases; not other values."""
    here, there = (table("records", [side]) for side in (one, two))
    found = list(rules.compare("records", here, there, explained=False))
    assert bool(found) == differs


def checks(tree: ast.AST) -> set[str]:
    """The names of the checks that a module can report: all are literals where findings are made, or beside `for`."""
    found = set[str]()
    for node in ast.walk(tree):
        match node:
            case ast.For(target=ast.Tuple(elts=[ast.Name("check"), _]), iter=ast.Tuple(elts=pairs)):
                found.update(ast.literal_eval(pair)[0] for pair in pairs)
            case ast.Call(func=ast.Name(name) | ast.Attribute(attr=name), args=args) if name in NAMED:
                given = args[min(NAMED[name], len(args) - 1)]  # what is made of a `Wrong` is starred
                if not isinstance(given, ast.Starred) and ast.unparse(given) != "check":
                    found.add(ast.literal_eval(given))
            case ast.keyword(arg="check", value=value):
                found.add(ast.literal_eval(value))
    return found


def test_every_check_is_documented() -> None:
    """The page that says what verify checks has the name of each check that a finding can have."""
    files = [*ROOT.glob("chainq/verify/*.py"), ROOT / "chainq/hashes/check.py"]
    reported = {name for path in files for name in checks(ast.parse(path.read_text()))}
    page = (ROOT / "docs/completeness.md").read_text().split("## What `chainq verify` checks\n")[1].split("\n## ")[0]
    assert reported >= {"missing", "time", "differs", "hash", "anchor", "foreign"}
    assert reported <= set(re.findall(r"`(\w+)`", page))
