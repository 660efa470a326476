"""Full transactions and full blocks of a Chain.

Every ID, ciphertext and time in them equals the one in the rows of `chain.py`. Order, limits and bytes are elsewhere.
"""

from chainq.demo import ids
from chainq.demo.chain import BEACON_ERA, NETWORK, Chain, Row, outer_type
from chainq.demo.ids import WORD
from chainq.demo.layout import ADDRESSES, Call, Function, TransactionPlan, address_of

SCM_ERA = 700
"""From this height on transitions carry a field that the interface does not list: `scm`."""

_METADATA = (
    *("cumulative_weight", "cumulative_proof_target", "coinbase_target", "proof_target", "last_coinbase_target"),
    *("last_coinbase_timestamp", "timestamp", "total_supply_in_microcredits"),
)
_BITS = {"u32": 20, "u64": 40, "u128": 52}  # of the amounts


# --- transactions


def transaction(chain: Chain, height: int, index: int) -> Row:
    """Return a transaction, with `status`, `type`, `index`, `transaction`, `finalize` and `finalizedAt`.

    A rejected one has `rejected` (its failed calls) instead of `finalize`, and only its fee as `transaction`.
    """
    row = {**_confirmed(chain, height, index), "finalizedAt": str(chain.timestamp(height))}
    return chain.sealed(row)


def _confirmed(chain: Chain, height: int, index: int) -> Row:
    plan = chain.layout.plan(height).transactions[index]
    word = chain.word(height, 4, chain.transactions.before(height) + index)
    inner: Row = {
        "type": "fee" if plan.kind == "rejected" else plan.kind,
        "id": chain.transaction_id(height, index),
    }
    made = [_transition(chain, height, index, number, call) for number, call in enumerate(plan.transitions)]
    fee = made.pop() if plan.fee else None
    proven = {"global_state_root": chain.state_root(height), "proof": ids.PROOF.text(word)}
    if plan.kind == "execute":
        inner["execution"] = {"transitions": made, **proven}
    elif plan.kind == "deploy":
        inner |= _deployment(chain, word)
    if fee:
        inner["fee"] = {"transition": fee, **proven, "proof": ids.PROOF.text(word >> 16)}
    row: Row = {"status": plan.status, "type": outer_type(plan), "index": index, "transaction": inner}
    if plan.kind == "rejected":
        row["rejected"] = _rejected(chain, height, index, plan)
    else:
        row["finalize"] = _finalize(plan, word)
    return row


def _rejected(chain: Chain, height: int, index: int, plan: TransactionPlan) -> Row:
    wanted = (_transition(chain, height, index, 32 + number, call) for number, call in enumerate(plan.calls))
    without = [{**transition, "outputs": []} for transition in wanted]  # whose records must not be found
    return {"transitions": without, "global_state_root": chain.state_root(height)}


def _deployment(chain: Chain, word: int) -> Row:
    name = f"deployed_{word >> 44}.aleo"
    text = f"program {name};\n\nfunction main:\n    input r0 as u32.private;\n    output r0 as u32.private;\n"
    keys = [["main", [ids.KEY.text(word), ids.PROOF.text(word >> 8)]]]
    return {
        "owner": {"address": chain.addresses[word % ADDRESSES], "signature": ids.SIGNATURE.text(word)},
        "deployment": {"edition": 0, "program": text, "verifying_keys": keys},
    }


def _finalize(plan: TransactionPlan, word: int) -> list[Row]:
    first: list[Row] = [{"type": "initialize_mapping", "mapping_id": ids.field(word ^ 9)}]
    return first * (plan.kind == "deploy") + [
        {
            "type": "update_key_value",
            "mapping_id": ids.field(0xACC0 + len(call.function.program)),
            "index": number,
            "key_id": ids.field((word + number * 16 & WORD) ^ 1),
            "value_id": ids.field((word + number * 16 & WORD) ^ 2),
        }
        for number, call in enumerate(plan.transitions)
        if "future" in call.function.outputs
    ]


def _transition(chain: Chain, height: int, index: int, number: int, call: Call) -> Row:
    function = call.function
    word = chain.transition_word(height, index, number)
    inputs = []
    for position, kind in enumerate(function.inputs):
        value = None
        if kind == "address":
            value = chain.addresses[address_of(chain.layout, height, index, number, call)]
        elif kind == "u64" and function.name.startswith("fee_"):
            value = _fee(word, priority="u64" in function.inputs[:position])
        inputs.append(_input(kind, word, position, value))
        if kind == "record" and (tag := chain.tags.get((height, index, number, position))):
            inputs[-1]["tag"] = tag
    future = _future(function, [one["value"] for one in inputs if one["type"] == "public"])
    outputs = [
        _record(chain, height, index, number, position, word)
        if kind == "record"
        else _output(kind, word, position, future if kind == "future" else None)
        for position, kind in enumerate(function.outputs)
    ]
    if height >= chain.dynamic_from:
        _make_dynamic([*inputs, *outputs], word)
    row = {
        "id": ids.TRANSITION.text(word),
        "program": function.program,
        "function": function.name,
        "inputs": inputs,
        "outputs": outputs,
        "tpk": ids.group(word ^ 1),
        "tcm": ids.field(word ^ 2),
    }
    if height >= SCM_ERA:
        row["scm"] = ids.field(word ^ 3)
    return row


def _record(chain: Chain, height: int, index: int, number: int, position: int, word: int) -> Row:
    """Return an output that is a record; a planted record has its own commitment and sender."""
    # A rejected transaction makes no record of the chain; what stands for it is not shown.
    rank = chain.layout.plan(height).ranks.get((index, number, position), 0)
    record = chain.records.before(height) + rank
    output = _output("record", word, position, chain.record_text(height, record))
    owned = chain.planted.get(record)
    if owned and owned.output_id:
        output["id"] = owned.output_id
        if owned.sender_ciphertext:
            output["sender_ciphertext"] = owned.sender_ciphertext
    return output


# --- blocks


def block(chain: Chain, height: int) -> Row:
    """Return a full block with the fields of its era; older blocks have others (docs/protocol.md, "Values")."""
    summary = chain.block(height)
    count = chain.transactions.count(height)
    row: Row = {
        "block_hash": summary["block_hash"],
        "previous_hash": summary["previous_hash"],
        "header": _header(height, summary),
        "authority": _authority(chain, height, count),
        "ratifications": _ratifications(chain, height),
        "transactions": [_confirmed(chain, height, index) for index in range(count)],
        "aborted_transaction_ids": chain.aborted_ids(height),
    }
    if height in chain.bare_era:
        del row["authority"], row["aborted_transaction_ids"]
        row |= {"coinbase": None, "signature": ids.SIGNATURE.text(chain.word(height, 6))}
    return chain.sealed(row)


def _header(height: int, summary: Row) -> Row:
    metadata: Row = {"network": NETWORK, "round": int(summary["round"]), "height": height}
    metadata |= {name: int(summary[name]) for name in _METADATA if name in summary}
    return {**{name: text for name, text in summary.items() if name.endswith("_root")}, "metadata": metadata}


def _ratifications(chain: Chain, height: int) -> list[Row] | None:
    if height in chain.bare_era:
        return None
    if height % 50 == 49:
        return []
    reward = chain.word(height, 7)
    return [
        {"type": "block_reward", "amount": 23_000_000 + reward % 1_000_000},
        {"type": "puzzle_reward", "amount": reward % 500_000 if height % 32 == 0 else 0},
    ]


def _authority(chain: Chain, height: int, transactions: int) -> Row:
    word = chain.word(height, 8)
    if height == 0 or height in BEACON_ERA:
        return {"type": "beacon", "signature": ids.SIGNATURE.text(word)}
    sent = [chain.transaction_id(height, index) for index in range(transactions)]
    last = height * 2
    first = [_certificate(chain, height, word ^ i * 16, last - 1, sent[i::2]) for i in range(2)]
    rounds = {str(last - 1): first, str(last): [_certificate(chain, height, word ^ 64, last, [])]}
    elected = [ids.field(word ^ 200), ids.field(word ^ 201)]
    return {"type": "quorum", "subdag": {"subdag": rounds, "election_certificate_ids": elected}}


def _certificate(chain: Chain, height: int, word: int, number: int, sent: list[str]) -> Row:
    time = chain.timestamp(height)
    header: Row = {
        "version": 2,
        "batch_id": ids.field(word),
        "author": chain.addresses[word % 4],
        "round": number,
        "timestamp": time,
        "transmission_ids": sent,
        "previous_certificate_ids": [ids.field(word ^ 1), ids.field(word ^ 2), ids.field(word ^ 3)],
        "last_election_certificate_ids": [ids.field(word ^ 4)],
        "signature": ids.SIGNATURE.text(word),
    }
    signatures = [ids.SIGNATURE.text(word >> 16), ids.SIGNATURE.text(word >> 32)]
    if height in chain.object_era:
        del header["version"]
        given: Row = {signature: time + i for i, signature in enumerate(signatures)}
        return {"certificate_id": ids.field(word ^ 5), "batch_header": header, "signatures": given}
    return {"batch_header": header, "signatures": signatures}


def _fee(word: int, *, priority: bool) -> str:
    """Return a part of a fee, in microcredits: a few hundredths of a credit, and mostly no priority fee."""
    if priority:
        return f"{0 if word % 4 else word % 9_000 + 1_000}u64"
    return f"{word % 58_000 + 1_300}u64"


def _input(kind: str, word: int, position: int, value: str | None) -> Row:
    row: Row = {"type": kind, "id": ids.field(word ^ 16 + position * 4)}
    if kind == "record":
        row["tag"] = ids.field(word ^ 17 + position * 4)
    elif kind == "private":
        row["value"] = ids.CIPHERTEXT.text(word ^ position)
    elif kind != "external_record":
        row["type"] = "public"
        if kind == "field":
            value = ids.field(word ^ 18 + position * 4)
        row["value"] = value or f"{(word >> position) % (1 << _BITS[kind])}{kind}"
    return row


def _output(kind: str, word: int, position: int, value: str | None) -> Row:
    row: Row = {"type": kind, "id": ids.field(word ^ 64 + position * 4)}
    if kind == "record":
        row["checksum"] = ids.field(word ^ 65 + position * 4)
    if kind != "external_record":
        row["value"] = value or ids.CIPHERTEXT.text(word ^ 64 + position)
    return row


def _make_dynamic(parts: list[Row], word: int) -> None:
    """Turn the records of every fourth transition into records of a dynamically dispatched call."""
    for part in () if word % 4 else parts:
        if part["type"] == "external_record" and not word % 8:
            part["type"] = "record_dynamic"
        elif part["type"] in ("record", "external_record"):
            part["type"] += "_with_dynamic_id"
            part["dynamic_id"] = ids.field(word ^ int(part["id"][-12:-5]))


def _future(function: Function, public: list[str]) -> str:
    lines = ",\n".join(f"    {value}" for value in public)
    head = f"  program_id: {function.program},\n  function_name: {function.name},\n"
    return f"{{\n{head}  arguments: [\n{lines}\n  ]\n}}"
