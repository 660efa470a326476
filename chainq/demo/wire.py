"""The methods as data: their names in each dialect, their parameters, and their limits.

The `chain` dialect follows docs/protocol.md, "Methods", row by row; `aleo` follows its table in "Dialects". A third
dialect would be a third table. `service.py` checks arguments against it; `results.py` has the handlers. The client does
not share these tables, so that an error cannot be on both sides.
"""

from typing import Literal, NamedTuple


class Param(NamedTuple):
    """One parameter.

    `name`: its name in `results.py`. `sent`: the names under which a caller may send it. `kind`: a whole number from
    0 on, or text. `default`: None if it must be sent. `most`: the greatest value allowed. `unread`: for page sizes,
    what a server uses that does not read the parameter (faults.py, ignore_page_size).
    """

    name: str
    sent: tuple[str, ...]
    kind: Literal["number", "text"] = "number"
    default: int | None = None
    most: int | None = None
    unread: int | None = None


class Method(NamedTuple):
    """One method: its handler in `results.Results`, its parameters, and the most heights in a call's range (None: no
    limit). `positional`: parameters are an array, and named ones cause an error with code 0."""

    handler: str
    params: tuple[Param, ...] = ()
    span: int | None = None
    positional: bool = False


_START, _END = Param("start", ("start", "startHeight")), Param("end", ("end", "endHeight"))
_RANGE = (Param("start", ("start",)), Param("end", ("end",)))
_PAGE = Param("page", ("page",), default=0)
_ADDRESS = Param("address", ("address",), "text")


def _size(sent: str, default: int | None = 10_000, most: int | None = None, unread: int | None = None) -> Param:
    return Param("size", (sent,), default=default, most=most, unread=unread or default)


# If the published interface states no default, the default of records/all applies. It states no limit for
# getChainBlocks either, so the limit of deployed servers applies: 1,000 blocks.
_CHAIN = {
    "getBlocks": Method("blocks", (_START, _END), span=1_000),
    "block": Method("block", (Param("block", ("block",)),)),
    "latest/block": Method("latest"),
    "getChainBlocks": Method("full_blocks", _RANGE, span=1_000),
    "transactions": Method("transactions", (Param("block", ("blockId",)),)),
    "chainTransaction": Method("transaction", (Param("id", ("id",), "text"),)),
    "chainTransactionsForProgram": Method(
        "program_transactions",
        (
            Param("program", ("programId",), "text"),
            Param("function", ("functionName",), "text"),
            Param("page", ("page",)),
            _size("maxTransactions", None, most=999, unread=999),
        ),
    ),
    "records/all": Method("records", (*_RANGE, _PAGE, _size("recordsPerRequest"))),
    "records/isOwner": Method("ownership", (*_RANGE, _PAGE, _size("recordsPerRequest"))),
    "transitionsWithoutRecordInputs": Method("transitions", (*_RANGE, _PAGE, _size("transitionsPerRequest"))),
    "getPublicTransactionsForAddress": Method(
        "address_transactions",
        (_ADDRESS, *_RANGE, _PAGE, _size("transitionsPerRequest", unread=100_000)),
        span=50_000,
    ),
}

_ALEO = {
    "blocks": Method("blocks", (Param("start", ("startHeight",)), Param("end", ("endHeight",))), span=1_000),
    "getBlocks": Method("blocks", _RANGE, span=1_000, positional=True),
    "block": _CHAIN["block"],
    "latest/block": _CHAIN["latest/block"],
    "getAleoBlocks": _CHAIN["getChainBlocks"],
    "transactions": _CHAIN["transactions"]._replace(handler="transactions_of_row"),
    "aleoTransaction": _CHAIN["chainTransaction"],
    "aleoTransactionsForProgram": _CHAIN["chainTransactionsForProgram"]._replace(
        params=(*_CHAIN["chainTransactionsForProgram"].params[:-1], _size("maxTransactions", None, 1_000, 1_000)),
    ),
    "records/all": _CHAIN["records/all"],
    "records/isOwner": Method("ownership", (*_RANGE, _PAGE, _size("recordsPerRequest", 100_000))),
    "transitionsWithoutRecordInputs": _CHAIN["transitionsWithoutRecordInputs"],
    "getPublicTransactionsForAddress": Method(
        "address_transactions",
        (_ADDRESS, *_RANGE, _PAGE, _size("transactionsPerRequest", 100_000)),
        span=50_000,
    ),
}

DIALECTS: dict[str, dict[str, Method]] = {"chain": _CHAIN, "aleo": _ALEO}
"""Dialect -> method name on the wire -> Method."""
