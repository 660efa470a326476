"""The rows of each method, for editors and type checkers; a test compares them with the catalog.

Fields that only some rows have, such as those of older blocks, are `NotRequired`. All others count as present, or
pyright would reject `row["height"]`. A service may leave out any, and send others.
"""

from typing import Any, NotRequired, TypedDict

Integer = Any
"""A whole number: int or str as it was sent, always int with `Client(typed=True)`. Any: a union would fail each sum."""

Time = Any
"""Seconds since 1970: int or str as it was sent, a datetime in UTC with `Client(typed=True)`."""


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


class FullBlocksHeaderMetadata(TypedDict):
    """`metadata` of `FullBlocksHeader`."""

    network: int
    round: Integer
    height: Integer
    cumulative_weight: Integer
    cumulative_proof_target: Integer
    coinbase_target: Integer
    proof_target: Integer
    last_coinbase_target: Integer
    last_coinbase_timestamp: Time
    timestamp: Time
    total_supply_in_microcredits: NotRequired[Integer]


class FullBlocksHeader(TypedDict):
    """`header` of `FullBlocksRow`."""

    previous_state_root: str
    transactions_root: str
    finalize_root: str
    ratifications_root: str
    solutions_root: str
    subdag_root: str
    metadata: FullBlocksHeaderMetadata
    coinbase_accumulator_point: NotRequired[str]


class FullBlocksAuthoritySubdag(TypedDict):
    """`subdag` of `FullBlocksAuthority`."""

    subdag: dict[str, Any]
    election_certificate_ids: list[str]


class FullBlocksAuthority(TypedDict):
    """`authority` of `FullBlocksRow`."""

    type: str
    signature: str
    subdag: FullBlocksAuthoritySubdag


class FullBlocksRow(TypedDict):
    """A row of `full-blocks`."""

    block_hash: str
    previous_hash: str
    header: FullBlocksHeader
    authority: FullBlocksAuthority
    ratifications: list[dict[str, Any]] | None
    transactions: list[dict[str, Any]]
    aborted_transaction_ids: list[str]
    coinbase: NotRequired[dict[str, Any] | None]
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


class TransactionTransactionExecution(TypedDict):
    """`execution` of `TransactionTransaction`."""

    transitions: list[dict[str, Any]]
    global_state_root: str
    proof: str


class TransactionTransactionFeeTransition(TypedDict):
    """`transition` of `TransactionTransactionFee`."""

    id: str
    program: str
    function: str
    inputs: list[dict[str, Any]]
    outputs: list[dict[str, Any]]
    tpk: str
    tcm: str
    scm: NotRequired[str]


class TransactionTransactionFee(TypedDict):
    """`fee` of `TransactionTransaction`."""

    transition: TransactionTransactionFeeTransition
    global_state_root: str
    proof: str


class TransactionTransaction(TypedDict):
    """`transaction` of `TransactionRow`."""

    type: str
    id: str
    execution: TransactionTransactionExecution
    fee: TransactionTransactionFee
    owner: NotRequired[dict[str, Any]]
    deployment: NotRequired[dict[str, Any]]


class TransactionRow(TypedDict):
    """A row of `transaction`."""

    status: str | None
    type: str
    index: Integer
    transaction: TransactionTransaction
    finalize: list[dict[str, Any]]
    finalizedAt: Time
    rejected: NotRequired[dict[str, Any]]


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
