"""The rows of each method, for editors and type checkers; a test compares them with the catalog.

Fields that only some rows have, such as those of older blocks, are `NotRequired`. All others count as present, or
pyright would reject `row["height"]`. A service may leave out any, and send others.
"""

from typing import Any, NotRequired, TypedDict

Integer = Any
"""A whole number: int or str as it was sent, always int with `Client(typed=True)`. Any: a union would fail each sum."""

Time = Any
"""Seconds since 1970: int or str as it was sent, a datetime in UTC with `Client(typed=True)`."""


Object = dict[str, Any]


class BlocksRow(TypedDict):
    """A row of `blocks`."""

    id: Integer
    height: Integer
    block_hash: str
    previous_hash: str
    previous_state_root: str
    transactions_root: str
    round: Integer
    coinbase_target: Integer
    proof_target: Integer
    last_coinbase_target: Integer
    last_coinbase_timestamp: Time
    timestamp: Time
    coinbase_reward: Integer | None
    finalize_root: str
    network: int
    ratifications_root: str
    solutions_root: str
    subdag_root: str
    cumulative_weight: Integer
    cumulative_proof_target: Integer
    total_supply_in_microcredits: NotRequired[Integer]


class FullBlocksRow(TypedDict):
    """A row of `full-blocks`."""

    block_hash: str
    previous_hash: str
    header: Object
    authority: Object
    ratifications: list[Object] | None
    transactions: list[Object]
    aborted_transaction_ids: list[str]
    coinbase: NotRequired[Object | None]
    signature: NotRequired[str]


class TransactionsRow(TypedDict):
    """A row of `transactions`."""

    height: Integer
    id: Integer
    block_id: Integer
    transaction_id: str
    type: str
    index: Integer
    status: str | None


class TransactionRow(TypedDict):
    """A row of `transaction`."""

    status: str | None
    type: str
    index: Integer
    transaction: Object
    finalize: list[Object]
    finalizedAt: Time
    rejected: NotRequired[Object]


class RecordsRow(TypedDict):
    """A row of `records`."""

    record_ciphertext: str
    program_id: str
    block_id: Integer
    height: Integer
    id: Integer
    timestamp: Time
    block_hash: str
    transition_id: str
    transaction_id: str
    function_name: str
    output_index: Integer


class OwnershipRow(TypedDict):
    """A row of `ownership`."""

    nonce_x: str
    nonce_y: str
    owner_x: str
    transition_id: str
    output_index: Integer


class TransitionsRow(TypedDict):
    """A row of `transitions`."""

    transition_id: str
    transaction_id: str
    program: str
    function_name: str
    height: Integer
    tpk: str
    tcm: str
    timestamp: Time


class AddressTransactionsRow(TypedDict):
    """A row of `address-transactions`."""

    transaction_id: str


BlockRow = BlocksRow
LatestRow = BlocksRow
ProgramTransactionsRow = TransactionRow
