"""The tables of a data set: those of range commands, and those that are read off full blocks (docs/tables.md).

A full block holds its transactions, these their transitions, and these their inputs and outputs. One read of full
blocks therefore fills all tables of `CHAIN`, and their rows are complete because each height is there once and linked
by its hash. A table of a command has its columns; null is what a full block does not say.
"""

from chainq.catalog.methods import BY_COMMAND, METHODS, Column, Kind, Schema

COMMANDS = tuple(method.command for method in METHODS if method.ranged and method.stored)
"""The commands that are divided into partitions: range commands that need no further argument."""
FETCHED = (*COMMANDS, "transactions")
"""The tables that `sql` fetches from a service."""
SOURCE = BY_COMMAND["full-blocks"]
"""The method whose rows fill the tables of `CHAIN`."""
_HEIGHT = Column("height", "number", "block height", Kind.HEIGHT)
_TRANSACTION = Column("transaction_id", "string", "transaction ID", Kind.ID)
_TRANSITION = (
    _HEIGHT,
    _TRANSACTION,
    Column("transition_id", "string", "transition ID", Kind.ID),
    Column("program", "string", "program ID"),
    Column("function", "string", "function name"),
)
_VALUE = (
    Column("value", "string", "the value as sent", Kind.TEXT),
    Column("value_type", "string", "type that a public literal names, such as u64, field or address"),
    Column("value_number", "string", "number in a literal, if it has at most 38 digits", Kind.NUMBER),
)
_DYNAMIC = Column("dynamic_id", "string", "ID of a record that is passed as a dynamic one", Kind.ID)


def _table(name: str, purpose: str, identity: tuple[str, ...], *columns: Column) -> Schema:
    return Schema(command=name, purpose=purpose, columns=columns, height="height", identity=identity)


_DERIVED = (
    _table(
        "transactions",
        "one row for each transaction",
        ("transaction_id",),
        _HEIGHT,
        *BY_COMMAND["transactions"].columns[1:],  # all but the height, which chainq adds to its rows
    ),
    _table(
        "calls",
        "one row for each transition",
        ("transition_id",),
        *_TRANSITION,
        Column("transaction_index", "number", "index of the transaction within the block", Kind.HEIGHT),
        Column("index", "number", "index of the transition within the transaction, fee last", Kind.HEIGHT),
        Column("kind", "string", "execution or fee"),
        Column("status", "string", "status of the transaction", Kind.STATUS),
        Column("record_inputs", "number", "number of inputs that are records", Kind.HEIGHT),
        Column("tpk", "string", "transition public key (group element)", Kind.ID),
        Column("tcm", "string", "transition commitment (field element)", Kind.ID),
        Column("scm", "string", "signer commitment (field element)", Kind.ID),
    ),
    _table(
        "inputs",
        "one row for each input of a transition",
        ("transition_id", "index"),
        *_TRANSITION,
        Column("index", "number", "index of the input within the transition", Kind.HEIGHT),
        Column("type", "string", "such as public, private or record"),
        Column("id", "string", "input ID; of a record its serial number", Kind.ID),
        *_VALUE,
        Column("tag", "string", "tag of the record that is spent", Kind.ID),
        _DYNAMIC,
    ),
    _table(
        "outputs",
        "one row for each output of a transition",
        ("transition_id", "index"),
        *_TRANSITION,
        Column("index", "number", "index of the output within the transition", Kind.HEIGHT),
        Column("type", "string", "such as public, private, record or future"),
        Column("id", "string", "output ID; of a record its commitment", Kind.ID),
        *_VALUE,
        Column("checksum", "string", "hash of the ciphertext of a record", Kind.ID),
        _DYNAMIC,
        Column("sender_ciphertext", "string", "encrypted sender of a record", Kind.ID),
    ),
    _table(
        "finalize",
        "one row for each change of a mapping, if the service sends them",
        ("transaction_id", "position"),
        _HEIGHT,
        _TRANSACTION,
        Column("position", "number", "position within the transaction", Kind.HEIGHT),
        Column("type", "string", "such as update_key_value"),
        Column("mapping_id", "string", "hash that stands for the mapping", Kind.ID),
        Column("index", "number", "index within the mapping", Kind.HEIGHT),
        Column("key_id", "string", "hash of the key that is changed", Kind.ID),
        Column("value_id", "string", "hash of the new value", Kind.ID),
    ),
    _table(
        "ratifications",
        "one row for each reward or other ratification",
        ("height", "index"),
        _HEIGHT,
        Column("index", "number", "index within the block", Kind.HEIGHT),
        Column("type", "string", "such as block_reward or puzzle_reward"),
        Column("amount", "string", "microcredits", Kind.NUMBER),
        Column("address", "string", "recipient, in blocks of older eras", Kind.ID),
    ),
)

TABLES: dict[str, Schema] = {
    **{command: BY_COMMAND[command] for command in COMMANDS},
    **{table.command: table for table in _DERIVED},
}
"""Every table of a data set by its name."""
DERIVED = frozenset(table.command for table in _DERIVED)
"""The tables that only full blocks fill."""
CHAIN = ("blocks", "full-blocks", *(table.command for table in _DERIVED))
"""The tables of `chainq export chain`."""
