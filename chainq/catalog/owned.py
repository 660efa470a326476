"""The rows of `chainq owned`: those of no method, but picked from `records/isOwner` and joined with `records/all`."""

from collections.abc import Iterable

from chainq.catalog.methods import BY_COMMAND, Column, Kind, Method

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
SHARED = frozenset(column.path for column in BY_COMMAND["ownership"].columns)
"""The columns of ownership rows; record rows have some of them too."""


def owned_method(*, records: bool, plaintext: bool, spends: bool) -> Method:
    """Return what describes the rows as the catalogue does: with the columns of the record, with its plaintext and what
    it amounts to, and with what spends it."""
    ownership, record = BY_COMMAND["ownership"], BY_COMMAND["records"]
    columns = (OWNER, *ownership.columns)
    if records:
        columns += tuple(
            column._replace(note=column.note + ", " * bool(column.note) + "with --records")
            for column in record.columns
            if column.path not in SHARED
        )
    if plaintext:
        columns += (PLAINTEXT, PLAINTEXT_JSON, RECORD_NAME, SENDER)
    if spends:
        columns += (SPENT_HEIGHT, SPENT_TRANSACTION)
    if plaintext:  # last
        columns += (AMOUNT, TOKEN)
    found = ownership._replace(
        command=COMMAND, columns=columns, height=record.height if records else None, condition=""
    )
    return found._replace(derived=()) if records else found  # the height of its record, which it has


READABLE = (
    *("height", AMOUNT.path, SPENT_HEIGHT.path, "program_id", SPENT_TRANSACTION.path, "timestamp", OWNER.path),
    *(RECORD_NAME.path, SENDER.path, PLAINTEXT.path, TOKEN.path),
)
"""The columns of a table for a person, the ones first that are shown on a narrow terminal too."""


def needed(paths: Iterable[str]) -> tuple[bool, bool, bool]:
    """Return what the columns of these paths, or their members, need: records, their plaintext, what spends them."""
    roots = {path.partition(".")[0] for path in paths}
    inside = (PLAINTEXT.path, PLAINTEXT_JSON.path, RECORD_NAME.path, SENDER.path, AMOUNT.path, TOKEN.path)
    plaintext = not roots.isdisjoint(inside)
    records = plaintext or not roots.isdisjoint({column.path for column in BY_COMMAND["records"].columns} - SHARED)
    return records, plaintext, not roots.isdisjoint((SPENT_HEIGHT.path, SPENT_TRANSACTION.path))


def readable(method: Method, *, several: bool) -> Method:
    """Return the method with the columns of a table for a person. `several`: it needs to say whose a record is."""
    names = [name for name in READABLE if several or name != OWNER.path]
    places = {name: place for place, name in enumerate(names, 1)}
    columns = tuple(column._replace(brief=places.get(column.path, 0)) for column in method.columns)
    return method._replace(columns=columns)


def listed() -> Method:
    """Return the method with all columns, and a mark at those of a table of one view key."""
    return readable(owned_method(records=True, plaintext=True, spends=True), several=False)


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
BALANCE = Method("balance", "", "Records", "private balance of your view keys", _TOTALS, height="height")
"""The rows of `chainq balance`: a row per owner, program and token."""
