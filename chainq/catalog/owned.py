"""The rows of `chainq owned`: those of no method, but picked from `records/isOwner` and joined with `records/all`."""

from chainq.catalog.methods import BY_COMMAND, Column, Kind, Method
from chainq.errors import Phrase

COMMAND = "owned"
OWNER = Column("owner", "string", "address of the view key", Kind.ID, brief=True)
PLAINTEXT = Column("plaintext", "string", Phrase("the decrypted record, with {decrypt}"), Kind.TEXT, brief=True)
RECORD_NAME = Column(
    "record_name",
    "null or string",
    Phrase("name of the record, if its commitment was recomputed, with {decrypt}"),
    Kind.TEXT,
)
SENDER = Column("sender", "null or string", Phrase("address that made the record, with {decrypt}"), Kind.ID, brief=True)
SPENT_HEIGHT = Column("spent_height", "null or number", "height of the block that spends it", Kind.HEIGHT, brief=True)
SPENT_TRANSACTION = Column("spent_transaction", "null or string", "transaction that spends it", Kind.ID, brief=True)
SHARED = frozenset(column.path for column in BY_COMMAND["ownership"].columns)
"""The columns of ownership rows; record rows have some of them too."""


def owned_method(*, records: bool, plaintext: bool, spends: bool) -> Method:
    """Return what describes the rows as the catalogue does: with the columns of the record, with its plaintext, and
    with what spends it."""
    ownership, record = BY_COMMAND["ownership"], BY_COMMAND["records"]
    columns = (OWNER, *ownership.columns)
    if records:
        columns += tuple(
            column._replace(note=column.note + ", " * bool(column.note) + Phrase("with {records}"))
            for column in record.columns
            if column.path not in SHARED
        )
    if plaintext:
        columns += (PLAINTEXT, RECORD_NAME, SENDER)
    if spends:
        columns += (SPENT_HEIGHT, SPENT_TRANSACTION)
    return ownership._replace(command=COMMAND, columns=columns, height=record.height if records else None)
