"""The rows of `chainq owned`: those of no method, but picked from `records/isOwner` and joined with `records/all`."""

from collections.abc import Iterable

from chainq.catalog.methods import BY_COMMAND, Column, Kind, Schema

COMMAND = "owned"
OWNER = Column("owner", "string", "address of the view key; in a table if there are several", Kind.ID)
PLAINTEXT = Column("plaintext", "string", "the decrypted record, with --decrypt", Kind.TEXT)
RECORD_NAME = Column("record_name", "null or string", "its name, if its commitment is true, with --decrypt", Kind.TEXT)
SENDER = Column("sender", "null or string", "address that made the record, with --decrypt", Kind.ID)
PLAINTEXT_JSON = Column("plaintext_json", "null or object", "members of the record, with --decrypt", Kind.DATA)
AMOUNT = Column("amount", "null or string", "in the smallest unit; with its unit in a table", Kind.NUMBER)
TOKEN = Column("token_id", "null or string", "token of the record, null without one", Kind.ID)
_SPENDS = ", with --spent or --unspent"
SPENT_HEIGHT = Column("spent_height", "null or number", "height of the block that spends it" + _SPENDS, Kind.HEIGHT)
SPENT_TRANSACTION = Column("spent_transaction", "null or string", "transaction that spends it" + _SPENDS, Kind.ID)
_OWNERSHIP, _RECORD = BY_COMMAND["ownership"], BY_COMMAND["records"]
SHARED = frozenset(column.path for column in _OWNERSHIP.columns)
"""The columns of ownership rows; record rows have some of them too."""
_RECORDS = tuple(
    column._replace(note=column.note + ", " * bool(column.note) + "with --records")
    for column in _RECORD.columns
    if column.path not in SHARED
)
_OPENED, _AMOUNTS = (PLAINTEXT, PLAINTEXT_JSON, RECORD_NAME, SENDER), (AMOUNT, TOKEN)
_SPENT = (SPENT_HEIGHT, SPENT_TRANSACTION)
_READABLE = (
    *("height", AMOUNT.path, SPENT_HEIGHT.path, "program_id", SPENT_TRANSACTION.path, "timestamp", OWNER.path),
    *(RECORD_NAME.path, SENDER.path, PLAINTEXT.path, TOKEN.path),
)
"""The columns of a table for a person, the ones first that are shown on a narrow terminal too."""


def owned_schema(
    *, records: bool, plaintext: bool, spends: bool, several: bool = False, members: Iterable[Column] = ()
) -> Schema:
    """Return the rows with the columns of the record, with its plaintext and what it amounts to, with what spends it,
    and with `members` of the plaintext. `several`: a table needs to say whose a record is."""
    columns = [OWNER, *_OWNERSHIP.columns, *_RECORDS * records, *_OPENED * plaintext, *_SPENT * spends]
    places = {name: place for place, name in enumerate(_READABLE, 1) if several or name != OWNER.path}
    return Schema(
        command=COMMAND,
        columns=tuple(
            column._replace(brief=places.get(column.path, 0)) for column in (*columns, *_AMOUNTS * plaintext, *members)
        ),
        height=_RECORD.height if records else None,
        derived=() if records else _OWNERSHIP.derived,  # the height of its record
    )


def needed(paths: Iterable[str]) -> tuple[bool, bool, bool]:
    """Return what the columns of these paths, or their members, need: records, their plaintext, what spends them."""
    roots = {path.partition(".")[0] for path in paths}
    records, plaintext, spends = (
        not roots.isdisjoint(column.path for column in part) for part in (_RECORDS, _OPENED + _AMOUNTS, _SPENT)
    )
    return records or plaintext, plaintext, spends


_TOTALS = (
    Column("height", "null or number", "block that the balance is as of", Kind.HEIGHT, brief=8),
    Column("block_hash", "null or string", "hash of that block", Kind.ID),
    Column("timestamp", "null or number", "its time, seconds since 1970", Kind.TIME),
    Column("owner", "string", "address of the view key", Kind.ID, brief=2),
    Column("program_id", "string", "program of the records", Kind.TEXT, brief=1),
    Column("token_id", "null or string", "their token, null without one", Kind.ID, brief=7),
    Column("records", "number", "records received", Kind.NUMBER, brief=5),
    Column("received", "null or string", "their sum, in the smallest unit", Kind.NUMBER, brief=5),
    Column("unspent_records", "number", "records that are not spent", Kind.NUMBER, brief=4),
    Column("unspent", "null or string", "their sum, as above", Kind.NUMBER, brief=3),
)
BALANCE_COLUMNS = tuple(column.path for column in _TOTALS)
BALANCE = Schema(command="balance", columns=_TOTALS, height="height")
"""The rows of `chainq balance`: a row per owner, program and token."""
