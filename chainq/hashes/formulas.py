"""Each hash of a block by its formula. Rows are JSON values; IDs and roots are returned as numbers.

Every docstring names the ProvableHQ/snarkVM file with the formula. Raises NotAnElementError for an invalid ID or root,
and KeyError, TypeError or ValueError for a row of another shape.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from chainq.hashes.trees import (
    Bits,
    bits_of,
    bits_of_bytes,
    element,
    element_bits,
    hashes,
    merkle_root,
    payload,
    root_bits,
    small_bits,
)

Row = Mapping[str, Any]

METADATA = (
    ("network", 16),
    ("round", 64),
    ("height", 32),
    ("cumulative_weight", 128),
    ("cumulative_proof_target", 128),
    ("coinbase_target", 64),
    ("proof_target", 64),
    ("last_coinbase_target", 64),
    ("last_coinbase_timestamp", 64),
    ("timestamp", 64),
)
"""The numbers of a header, with their widths in bits, in the order of their hash."""
ROOTS = (
    "previous_state_root",
    "transactions_root",
    "finalize_root",
    "ratifications_root",
    "solutions_root",
    "subdag_root",
)
"""The roots of a header, in the order of its tree."""
TRANSACTIONS_DEPTH, TESTNET3, TESTNET3_DEPTH = 20, 3, 16
RATIFICATIONS_DEPTH = SUBDAG_DEPTH = 16
TRANSACTION_DEPTH = TRANSITION_DEPTH = 5
HEADER_DEPTH = 3
LEAVES = {
    "constant": (1, 0),
    "public": (1, 1),
    "private": (1, 2),
    "record": (1, 3),
    "external_record": (1, 4),
    "future": (1, 5),
    "record_dynamic": (1, 6),
    "record_with_dynamic_id": (2, 3),
    "external_record_with_dynamic_id": (2, 4),
}
"""Version and variant of the leaf of an input or output, by its type; the last three are of consensus V14."""
REWARDS = {"block_reward": 1, "puzzle_reward": 2}
"""The variants of the ratifications whose IDs are computed."""


def whole(value: object, width: int) -> int:
    """Return a number, or the text of its digits, as a number of at most `width` bits. Raises ValueError for others."""
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 40:
        number = int(value)
        if str(number) != value:
            raise ValueError(f"{value!r} has a leading zero")
    elif type(value) is int:
        number = value
    else:
        raise ValueError(f"{value!r} is not a whole number")
    if not 0 <= number < 1 << width:
        raise ValueError(f"{value} needs more than {width} bits")
    return number


def block_hash(summary: Row) -> int:
    """Return the hash of a block from its summary row alone, without the block's contents.

    `ledger/block/src/lib.rs`, `header/merkle.rs`, `header/metadata/to_bits.rs`
    """
    numbers, size = 0, 8  # the version of the metadata, 0, comes first
    for name, width in METADATA:
        numbers |= whole(summary[name], width) << size
        size += width
    leaves = [*(element_bits(summary[name]) for name in ROOTS), bits_of(0), hashes().hash_bits(bits_of(numbers, size))]
    root = root_bits(([*small_bits(at, 8), *leaf] for at, leaf in enumerate(leaves)), HEADER_DEPTH)
    return hashes().bhp1024([*element_bits(summary["previous_hash"]), *root])


def transactions_root(ids: Iterable[object], network: int) -> int:
    """Return the root over the IDs of a block's transactions, in their order.

    `ledger/block/src/transactions/merkle.rs`; the depth: `console/program/src/state_path/configuration/mod.rs`
    """
    depth = TESTNET3_DEPTH if network == TESTNET3 else TRANSACTIONS_DEPTH
    return merkle_root(map(element_bits, ids), depth)


def ratifications_root(ratifications: Iterable[Row]) -> int:
    """Return the root over a block's ratifications, which are rewards. Raises KeyError for the genesis block's.

    `ledger/block/src/ratifications/merkle.rs`, `ratify/mod.rs`, `ratify/bytes.rs`
    """
    leaves = []
    for one in ratifications:
        data = bytes([1, REWARDS[one["type"]]]) + whole(one["amount"], 64).to_bytes(8, "little")
        leaves.append(hashes().hash_bits(bits_of_bytes(data)))
    return merkle_root(leaves, RATIFICATIONS_DEPTH)


def subdag_root(subdag: Mapping[str, Iterable[Row]]) -> int:
    """Return the root over the certificates of a block, which are named by their batch IDs, round by round.

    `ledger/narwhal/subdag/src/lib.rs`, `batch-certificate/src/lib.rs`. In an older era a certificate has its own ID.
    """
    leaves = []
    for number in sorted(subdag, key=int):
        bits: Bits = []
        for certificate in subdag[number]:
            bits += element_bits(certificate.get("certificate_id") or certificate["batch_header"]["batch_id"])
        leaves.append(bits)
    return merkle_root(leaves, SUBDAG_DEPTH)


def batch_id(header: Row) -> int:
    """Return the ID of a batch of transmissions, from its header; certificates have the same IDs.

    `ledger/narwhal/batch-header/src/to_id.rs`, `transmission-id/src/bytes.rs`. Version 2 of the former testnet3 has IDs
    of election certificates, the main network a committee ID. Raises KeyError for a header without either or a version.
    """
    data = payload("aleo", header["author"])
    data += whole(header["round"], 64).to_bytes(8, "little") + whole(header["timestamp"], 63).to_bytes(8, "little")
    lists = [
        list(map(_transmission, header["transmission_ids"])),
        list(map(_bytes, header["previous_certificate_ids"])),
    ]
    if "committee_id" in header:
        data += _bytes(header["committee_id"])
    elif header["version"] == 2:
        lists.append(list(map(_bytes, header["last_election_certificate_ids"])))
    for parts in lists:
        data += len(parts).to_bytes(4, "little") + b"".join(parts)
    return hashes().bhp1024(bits_of_bytes(data))


def _transmission(text: str) -> bytes:
    """Return a transmission ID as bytes: kind, ID, and the checksum after a dot (missing in older ones)."""
    name, dot, checksum = text.partition(".")
    end = whole(checksum, 128).to_bytes(16, "little") if dot else b""
    return (b"\1" + payload("solution", name) if name.startswith("solution1") else b"\2" + _bytes(name)) + end


def _bytes(value: object) -> bytes:
    return element(value).to_bytes(32, "little")


def transition_id(transition: Row) -> int:
    """Return the ID of a transition, from the IDs and types of its inputs and outputs, and its tcm.

    `ledger/block/src/transition/merkle.rs`, `transition/input/mod.rs`, `transition/output/mod.rs`;
    `console/program/src/state_path/transition_leaf/`
    """
    leaves = []
    for at, part in enumerate([*(transition.get("inputs") or ()), *(transition.get("outputs") or ())]):
        version, variant = LEAVES[part["type"]]
        leaves.append([*small_bits(version | at << 8 | variant << 16, 24), *element_bits(part["id"])])
    root = root_bits(leaves, TRANSITION_DEPTH)
    return hashes().bhp512([*root, *element_bits(transition["tcm"])])


def transitions_of(transaction: Row) -> list[Row]:
    """Return the transitions of a transaction, the fee last."""
    execution, fee = transaction.get("execution") or {}, transaction.get("fee")
    return [*(execution.get("transitions") or ()), *([fee["transition"]] if fee else ())]


def transaction_id(transaction: Row) -> int:
    """Return the ID of a transaction of type execute or fee, from the IDs of its transitions, the fee last.

    `ledger/block/src/transaction/merkle.rs`; `console/program/src/state_path/transaction_leaf/`
    """
    parts = enumerate(transitions_of(transaction))
    leaves = ([*small_bits(1 | at << 8, 24), *element_bits(one["id"])] for at, one in parts)
    return merkle_root(leaves, TRANSACTION_DEPTH)


@lru_cache(maxsize=4096)
def function_id(program: str, function: str, network: int) -> Any:
    """Return the ID of a function, a field element of the SDK. `console/program/src/function_id/mod.rs`

    The length in bits precedes each name, but not on the former testnet3.
    """
    name, domain = program.split(".")
    bits = bits_of(network, 16)
    for part in (name, domain, function):
        data = bits_of_bytes(part.encode("ascii"))
        bits += data if network == TESTNET3 else [*bits_of(len(data), 8), *data]
    return hashes().sdk.Field.from_string(f"{hashes().bhp1024(bits)}field")


def value_id(function: Any, value: str, tcm: str, index: int) -> int:
    """Return the ID of a public input or output, or of a future; an output's index counts after the inputs.

    `function`: from `function_id`. `ledger/block/src/transition/input/mod.rs`, `output/mod.rs` (`verify`)
    """
    sdk = hashes().sdk
    try:
        read_back = sdk.Value.parse(value)
        fields = read_back.to_fields()
    except RuntimeError:
        raise ValueError(f"{value!r} is not a value") from None
    if "".join(str(read_back).split()) != "".join(value.split()):  # a number above FIELD_ORDER, or with underscores
        raise ValueError(f"{value!r} is not written as the network writes values")
    return hashes().poseidon8([function, *fields, _field(element(tcm)), _field(index)])


@lru_cache(maxsize=1024)
def _field(number: int) -> Any:
    return hashes().sdk.Field.from_string(f"{number}field")


def private_id(value: str) -> int:
    """Return the ID of a private input or output, from its ciphertext. The same files as `value_id`."""
    data = payload("ciphertext", value)
    count = int.from_bytes(data[:2], "little")
    if not count or len(data) != 2 + 32 * count:
        raise ValueError(f"{value!r} is not a ciphertext")
    fields = (data[at : at + 32] for at in range(2, len(data), 32))
    try:
        read = list(map(hashes().sdk.Field.from_bytes_le, fields))
    except RuntimeError:  # a number above FIELD_ORDER
        raise ValueError(f"{value!r} is not a ciphertext") from None
    return hashes().poseidon8(read)
