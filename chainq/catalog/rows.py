"""The fields of rows as data, as the published interface names and types them (docs/protocol.md, "Values").

A note that it lacks says what the chain's own source says.
"""

from enum import Enum, StrEnum
from typing import Any, NamedTuple, dataclass_transform


class Kind(Enum):
    """How a person reads a value; programs get it as it was sent."""

    PLAIN = "plain"  # as it is
    NUMBER = "number"  # right-aligned, digits grouped
    HEIGHT = "height"  # right-aligned, digits as they are: heights are copied into the next command
    TIME = "time"  # seconds since 1970 (UTC)
    ID = "id"  # long and without meaning to a person: abbreviated in the middle
    STATUS = "status"  # of a transaction: all but accepted stand out
    TEXT = "text"  # long text with lines of its own: program source, plaintext values
    DATA = "data"  # arrays, and objects whose keys are data: a count, a tree, or compact JSON


class Column(NamedTuple):
    """A field of a row: its dotted path, its type in the published interface, a note, how a person reads it.

    `brief`: its place among the columns that a table shows by default, from 1, of which the last ones are left out
    if they do not fit; 0: only shown by request. `folds`: rows are lines of fields before it is left out. A
    `computed` one is no field of the service's rows: chainq adds it, except where rows are written as the server sent
    them.
    """

    path: str
    type: str
    note: str = ""
    kind: Kind = Kind.PLAIN
    brief: int = 0
    computed: bool = False
    folds: bool = False


class Shape(StrEnum):
    """What `result` is."""

    ROWS = "array of rows"
    ROW_IN_ARRAY = "array holding one row; empty when it does not exist"
    ROW = "one object"
    ROW_OR_NULL = "one object; null when it does not exist"


@dataclass_transform(frozen_default=True, kw_only_default=True)
class Values:
    """Fields by their names. Rejected: dataclasses, whose import and classes take 5 ms of every start."""

    def __init__(self, **fields: Any) -> None:
        vars(self).update(fields)


class Schema(Values):
    """The rows of a command or a table, whether a method of the service has them or chainq makes them.

    `shape`: one row or a list. `height`: path of a row's height. `single`: each height has exactly one row, so that a
    missing one is noticed. `identity`: the paths that identify a row in every method and full block that has it.
    `text`: the path of a program's text: deployed servers that hold two texts of a program list each row once for each,
    and both are rows. `program`: path of the program that a row is about; `a[].b` has several; empty if rows name none.
    `unlisted`: fields that real services send, and the published interface lacks. csv and tables show them if --columns
    names them. `derived`: columns that chainq reads off a row, or off that of another method, if --columns names them.
    """

    command: str
    columns: tuple[Column, ...]
    purpose: str = ""
    shape: Shape = Shape.ROWS
    height: str | None = None
    single: bool = False
    identity: tuple[str, ...] = ()
    text: str = ""
    program: str = ""
    unlisted: tuple[Column, ...] = ()
    derived: tuple[Column, ...] = ()

    @property
    def sent(self) -> tuple[Column, ...]:
        """Return the columns that rows are known to have, also those that the published interface lacks."""
        return self.columns + self.unlisted

    @property
    def linked(self) -> bool:
        """Return whether each height has one row, which names the hash of the block before."""
        return self.single and any(column.path == "previous_hash" for column in self.columns)

    @property
    def selectable(self) -> tuple[Column, ...]:
        """Return the columns that --columns takes."""
        return self.sent + self.derived


BLOCK_SUMMARY = (
    Column("id", "number", "row id of the stored block", Kind.HEIGHT),
    Column("height", "string", "block height", Kind.HEIGHT, brief=1),
    Column("block_hash", "string", "hash of the block", Kind.ID, brief=3),
    Column("previous_hash", "string", "hash of the previous block", Kind.ID, brief=4),
    Column("previous_state_root", "string", "root hash of the previous state", Kind.ID),
    Column("transactions_root", "string", "root hash of the block's transactions", Kind.ID),
    Column("round", "string", "round number", Kind.HEIGHT, brief=5),
    Column("coinbase_target", "string", "difficulty for all solutions together", Kind.NUMBER, brief=6),
    Column("proof_target", "string", "least difficulty of a solution in the next block", Kind.NUMBER),
    Column("last_coinbase_target", "string", "coinbase target at the last coinbase", Kind.NUMBER),
    Column("last_coinbase_timestamp", "string", "seconds since 1970", Kind.TIME),
    Column("timestamp", "string", "time of the block, seconds since 1970", Kind.TIME, brief=2),
    Column("coinbase_reward", "null or string", "in microcredits; may be null", Kind.NUMBER),
    Column("finalize_root", "string", "root hash of the block's changes of mappings", Kind.ID),
    Column("network", "number", "network identifier"),
    Column("ratifications_root", "string", "root hash of the block's ratifications", Kind.ID),
    Column("solutions_root", "string", "root hash of the block's solutions", Kind.ID),
    Column("subdag_root", "string", "root hash of the block's certificates", Kind.ID),
    Column("cumulative_weight", "string", "difficulty of all solutions so far, added up", Kind.NUMBER),
    Column("cumulative_proof_target", "string", "the same since the last coinbase", Kind.NUMBER),
)

_SUPPLY = "in older blocks only, in microcredits"
OLDER_SUMMARY = (Column("total_supply_in_microcredits", "string", _SUPPLY, Kind.NUMBER),)

FULL_BLOCK = (
    Column("block_hash", "string", "hash of the block", Kind.ID, brief=3),
    Column("previous_hash", "string", "hash of the previous block", Kind.ID),
    *(one._replace(path=f"header.{one.path}") for one in BLOCK_SUMMARY if one.path.endswith("_root")),
    Column("header.metadata.network", "number", "network identifier"),
    Column("header.metadata.round", "number", "round number", Kind.HEIGHT),
    Column("header.metadata.height", "number", "block height", Kind.HEIGHT, brief=1),
    Column("header.metadata.cumulative_weight", "string", "sent as a number of any size", Kind.NUMBER),
    Column("header.metadata.cumulative_proof_target", "string", "sent as a number", Kind.NUMBER),
    Column("header.metadata.coinbase_target", "string", "sent as a number", Kind.NUMBER),
    Column("header.metadata.proof_target", "string", "sent as a number", Kind.NUMBER),
    Column("header.metadata.last_coinbase_target", "string", "sent as a number", Kind.NUMBER),
    Column("header.metadata.last_coinbase_timestamp", "string", "seconds since 1970, sent as a number", Kind.TIME),
    Column("header.metadata.timestamp", "string", "seconds since 1970, sent as a number", Kind.TIME, brief=2),
    Column("authority.type", "string", "such as quorum"),
    Column("authority.signature", "string", "of a block of a beacon", Kind.ID),
    Column("authority.subdag.subdag", "object", "certificates by round number", Kind.DATA),
    Column("authority.subdag.election_certificate_ids", "array of string", "", Kind.DATA),
    Column("ratifications", "null or array of object", "type and amount; may be null", Kind.DATA, brief=5),
    Column("transactions", "array of object", "status, type, index and transaction", Kind.DATA, brief=4),
    Column("aborted_transaction_ids", "array of string", "IDs of aborted transactions", Kind.DATA, brief=6),
)

OLDER_BLOCK = (
    Column("header.coinbase_accumulator_point", "string", "in older blocks only", Kind.ID),
    Column("header.metadata.total_supply_in_microcredits", "string", _SUPPLY, Kind.NUMBER),
    Column("coinbase", "null or object", "solutions, in older blocks only", Kind.DATA),
    Column("signature", "string", "of the proposer, in older blocks only", Kind.ID),
)
"""Fields of real blocks from before the published interface."""

_ADDED = "height of the block, added by chainq; in json only if --columns names it, in jsonl also with --flatten"
_BLOCK = "the block: its height in the published interface, its row id on deployed servers"
TRANSACTION_SUMMARY = (
    Column("height", "number", _ADDED, Kind.HEIGHT, brief=1, computed=True),
    Column("id", "number", "row id of the stored transaction", Kind.HEIGHT),
    Column("block_id", "number", _BLOCK, Kind.HEIGHT),
    Column("transaction_id", "string", "bech32, prefix at", Kind.ID, brief=2),
    Column("type", "string", "such as Execute", brief=3),
    Column("index", "number", "index within the block", Kind.HEIGHT, brief=5),
    Column("status", "null or string", "such as accepted; may be null", Kind.STATUS, brief=4),
)

TRANSACTION = (
    Column("status", "null or string", "such as accepted; may be null", Kind.STATUS, brief=4),
    Column("type", "string", "such as execute", brief=3),
    Column("index", "number", "index within the block", Kind.HEIGHT, brief=6),
    Column("transaction.type", "string", "such as execute"),
    Column("transaction.id", "string", "transaction ID", Kind.ID, brief=2),
    Column("transaction.execution.transitions", "array of Transition", "", Kind.DATA, brief=5),
    Column("transaction.execution.global_state_root", "string", "state root that the proof refers to", Kind.ID),
    Column("transaction.execution.proof", "string", "zero-knowledge proof", Kind.ID),
    Column("transaction.fee.transition.id", "string", "transition ID", Kind.ID),
    Column("transaction.fee.transition.program", "string", "program ID"),
    Column("transaction.fee.transition.function", "string", "function name"),
    Column("transaction.fee.transition.inputs", "array of object", "type, id, value, tag", Kind.DATA),
    Column("transaction.fee.transition.outputs", "array of object", "type, id, checksum, value", Kind.DATA),
    Column("transaction.fee.transition.tpk", "string", "transition public key (group element)", Kind.ID),
    Column("transaction.fee.transition.tcm", "string", "transition commitment (field element)", Kind.ID),
    Column("transaction.fee.global_state_root", "string", "state root that the proof refers to", Kind.ID),
    Column("transaction.fee.proof", "string", "zero-knowledge proof", Kind.ID),
    Column("finalize", "array of object", "type, mapping_id, index, key_id, value_id", Kind.DATA),
    Column("finalizedAt", "string", "seconds since 1970", Kind.TIME, brief=1),
)

UNLISTED_TRANSACTION = (
    Column("transaction.fee.transition.scm", "string", "signer commitment (field element)", Kind.ID),
    Column("transaction.owner", "object", "of a deployment", Kind.DATA),
    Column("transaction.deployment", "object", "program that is deployed", Kind.DATA),
    Column("rejected", "object", "what a rejected transaction would have done", Kind.DATA),
)

RECORD = (
    Column("record_ciphertext", "string", "ciphertext of the record", Kind.ID),
    Column("program_id", "string", "program that generated the record", brief=2),
    Column("block_id", "number", "the block's row id on deployed servers, not its height", Kind.HEIGHT),
    Column("height", "number", "block height where the record was produced", Kind.HEIGHT, brief=1),
    Column("id", "number", "row id of the record", Kind.HEIGHT, brief=7),
    Column("timestamp", "string", "time of creation, seconds since 1970", Kind.TIME, brief=5),
    Column("block_hash", "string", "hash of the block", Kind.ID),
    Column("transition_id", "string", "transition ID", Kind.ID),
    Column("transaction_id", "string", "transaction ID", Kind.ID, brief=4),
    Column("function_name", "string", "function executed in the transition", brief=3),
    Column("output_index", "number", "index of the output within the transition", Kind.HEIGHT, brief=6),
)

OWNERSHIP = (
    Column("nonce_x", "string", "x-coordinate of the record's nonce", Kind.ID, brief=1),
    Column("nonce_y", "string", "y-coordinate of the nonce", Kind.ID),
    Column("owner_x", "string", "x-coordinate that only the owner's view key explains", Kind.ID, brief=2),
    Column("transition_id", "string", "transition that generated the record", Kind.ID, brief=3),
    Column("output_index", "number", "index of the output within the transition", Kind.HEIGHT, brief=4),
)

PROGRAM_ID = "program_id"
"""The column of records that names a program, and that of transitions, which chainq reads in the program's source."""

TRANSITION = (
    Column("transition_id", "string", "transition ID", Kind.ID, brief=5),
    Column("transaction_id", "string", "containing transaction", Kind.ID, brief=4),
    Column("program", "string", "source text of the program; tables and conditions have its ID", Kind.TEXT, brief=2),
    Column("function_name", "string", "function executed in the transition", brief=3),
    Column("height", "string", "block height", Kind.HEIGHT, brief=1),
    Column("tpk", "string", "transition public key (group element)", Kind.ID),
    Column("tcm", "string", "transition commitment (field element)", Kind.ID),
    Column("timestamp", "string", "seconds since 1970", Kind.TIME, brief=6),
)

REFERENCE = (Column("transaction_id", "string", "bech32, prefix at", Kind.ID, brief=1),)
