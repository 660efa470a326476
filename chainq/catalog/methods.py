"""The catalogue: the methods of the service as data (docs/protocol.md, "Methods").

Names, types and notes are those of the published interface; a note that it lacks says what the chain's own source
says. Commands, help, columns, checks, the sample chain's conformance and the tests follow from here; another method
is one more entry. How deployed servers differ is in `dialects`.
"""

from enum import Enum
from typing import NamedTuple

from chainq.catalog import rows
from chainq.catalog.rows import PROGRAM_ID as PROGRAM_ID
from chainq.catalog.rows import Column as Column
from chainq.catalog.rows import Kind as Kind
from chainq.catalog.rows import Schema as Schema
from chainq.catalog.rows import Shape as Shape


class Role(Enum):
    """What a parameter is for. The code uses roles; names in requests come from the catalogue or a dialect."""

    START = "start"
    END = "end"
    HEIGHT = "height"
    ID = "id"
    PROGRAM = "program"
    FUNCTION = "function"
    ADDRESS = "address"
    PAGE = "page"
    SIZE = "size"


class Param(NamedTuple):
    """A parameter: its name and type in the published interface, its role, and a note."""

    name: str
    type: str
    role: Role
    note: str = ""


class Method(Schema):
    """One method of the service, and the rows that it sends to the command that calls it.

    `name`: in requests. `max_heights`: documented limit of heights in a request; `first_heights`: heights of the first
    request where there is none. `page_size`: initial page size, None if it takes none; `page_size_max`: documented
    limit of it. `order`: path of the value that orders rows within a height. `repeats`: equal rows may occur in one
    response, so that a row has no identity. `function`: path of the function that a row is about, for --function, as
    `program` for --program. `fee`: path of the calls that pay fees, if these are elsewhere. `condition`: an example for
    --where, which some rows of heights 2400 to 2499 of the sample chain pass; empty if the command cannot leave rows
    out.
    """

    name: str
    group: str
    params: tuple[Param, ...] = ()
    example: str = ""
    max_heights: int | None = None
    first_heights: int = 0
    page_size: int | None = None
    page_size_max: int | None = None
    order: str | None = None
    repeats: bool = False
    function: str = ""
    fee: str = ""
    condition: str = ""

    def param(self, role: Role) -> Param | None:
        """Return the parameter with that role, or None."""
        return next((p for p in self.params if p.role is role), None)

    @property
    def ranged(self) -> bool:
        """Return whether the method takes a height range."""
        return self.param(Role.START) is not None

    @property
    def listed(self) -> bool:
        """Return whether the method gives a list of rows for one height."""
        return self.param(Role.HEIGHT) is not None and self.shape is Shape.ROWS

    @property
    def stored(self) -> bool:
        """Return whether a data set holds its rows as the service sends them: of exported ranges, and single blocks."""
        return (self.ranged and self.param(Role.ADDRESS) is None) or self.command == "block"

    @property
    def called(self) -> tuple[tuple[str, str], ...]:
        """Return the paths of the program and the function of each kind of call that rows have."""
        return (self.program, self.function), *([(f"{self.fee}.program", f"{self.fee}.function")] if self.fee else [])

    @property
    def limits(self) -> str:
        """Return the documented limits in words, for help."""
        most = ((self.max_heights, "heights"), (self.page_size_max, "rows"))
        return ", ".join(f"{number} {what} per request" for number, what in most if number) or "none documented"


def height_of(schema: Schema) -> str | None:
    """Return the path of the height in rows as they are written, which is a column of looked-up rows, too."""
    return schema.height or next((column.path for column in schema.columns if column.path == "height"), None)


START = Param("start", "number", Role.START, "start of range, included")
END = Param("end", "number", Role.END, "end of range, excluded")
PAGE = Param("page", "number", Role.PAGE, "page number, from 0")
_RECORD_PAGES = (START, END, PAGE, Param("recordsPerRequest", "number", Role.SIZE, "page size, 10000 by default"))

_OF_RECORD = "height of its record, which chainq reads in records; only with --columns, and null in an export"
_CALLS = "transactions[].transaction.execution.transitions"
"""The calls in a full block that were signed, and those that these made, but for those that pay fees."""

METHODS = (
    Method(
        command="blocks",
        name="getBlocks",
        group="Blocks",
        purpose="block summaries for a height range",
        params=(START, END),
        columns=rows.BLOCK_SUMMARY,
        example="chainq blocks --start 12000 --end 12010",
        max_heights=1000,
        height="height",
        single=True,
        condition="coinbase_reward != null and height ~ 0$",
        unlisted=rows.OLDER_SUMMARY,
    ),
    Method(
        command="block",
        name="block",
        group="Blocks",
        purpose="block summaries by height",
        params=(Param("block", "number", Role.HEIGHT, "block height"),),
        shape=Shape.ROW_IN_ARRAY,
        columns=rows.BLOCK_SUMMARY,
        example="chainq block 12345",
        unlisted=rows.OLDER_SUMMARY,
    ),
    Method(
        command="latest",
        name="latest/block",
        group="Blocks",
        purpose="block summary of the latest block",
        shape=Shape.ROW,
        columns=rows.BLOCK_SUMMARY,
        example="chainq latest --columns height,timestamp --csv",
    ),
    Method(
        command="full-blocks",
        name="getChainBlocks",
        group="Blocks",
        purpose="full blocks of a height range, with transactions",
        params=(START, END),
        columns=rows.FULL_BLOCK,
        example="chainq full-blocks --start 12345 --end 12346 --json",
        first_heights=20,
        height="header.metadata.height",
        single=True,
        program=f"{_CALLS}[].program",
        function=f"{_CALLS}[].function",
        fee="transactions[].transaction.fee.transition",
        condition="transactions[].type = deploy",
        unlisted=rows.OLDER_BLOCK,
    ),
    Method(
        command="transactions",
        name="transactions",
        group="Transactions",
        purpose="transaction summaries of blocks",
        params=(Param("blockId", "number", Role.HEIGHT, "block height"),),
        columns=rows.TRANSACTION_SUMMARY,
        example="chainq transactions 12345",
        order="index",
        condition="index > 0 and status = rejected",
    ),
    Method(
        command="transaction",
        name="chainTransaction",
        group="Transactions",
        purpose="full details of transactions by ID",
        params=(Param("id", "string", Role.ID, "transaction ID, bech32 with prefix at"),),
        shape=Shape.ROW_OR_NULL,
        columns=rows.TRANSACTION,
        unlisted=rows.UNLISTED_TRANSACTION,
        example="chainq transaction at1tkjagejw78alyv7pph55h584fs8lsgv6dcslps3rl2ec2t2jl8fq695ac3",
    ),
    Method(
        command="program-transactions",
        name="chainTransactionsForProgram",
        group="Transactions",
        purpose="transactions that call a function of a program",
        params=(
            Param("programId", "string", Role.PROGRAM, "program ID"),
            Param("functionName", "string", Role.FUNCTION, "function name"),
            PAGE,
            Param("maxTransactions", "number", Role.SIZE, "page size, below 1000"),
        ),
        columns=rows.TRANSACTION,
        example="chainq program-transactions hello_hello.aleo hello --limit 20",
        page_size=500,
        page_size_max=999,
        order="index",
        repeats=True,
    ),
    Method(
        command="records",
        name="records/all",
        group="Records",
        purpose="records produced in a height range",
        params=_RECORD_PAGES,
        columns=rows.RECORD,
        example="chainq records --start 0 --end 500 --jsonl",
        first_heights=500,
        page_size=10_000,
        height="height",
        order="id",
        identity=("transition_id", "output_index"),
        program="program_id",
        function="function_name",
        condition="output_index > 0 and program_id ~ token",
    ),
    Method(
        command="ownership",
        name="records/isOwner",
        group="Records",
        purpose="minimal ownership data of records in a height range",
        params=_RECORD_PAGES,
        columns=rows.OWNERSHIP,
        example="chainq ownership --last 100",
        first_heights=500,
        page_size=10_000,
        identity=("transition_id", "output_index"),
        condition="output_index > 0",
        derived=(Column("height", "number", _OF_RECORD, Kind.HEIGHT, computed=True),),
    ),
    Method(
        command="transitions",
        name="transitionsWithoutRecordInputs",
        group="Records",
        purpose="transitions without record inputs in a height range",
        params=(START, END, PAGE, Param("transitionsPerRequest", "number", Role.SIZE, "page size")),
        columns=rows.TRANSITION,
        example="chainq transitions --last 50 --columns height,function_name,transaction_id",
        first_heights=100,
        page_size=1000,
        height="height",
        order="transition_id",
        identity=("transition_id",),
        text="program",
        program="program",
        function="function_name",
        condition="program ~ token and function_name != join",
        derived=(Column(PROGRAM_ID, "string", "program ID, which chainq reads in program; only with --columns"),),
    ),
    Method(
        command="address-transactions",
        name="getPublicTransactionsForAddress",
        group="Transactions",
        purpose="IDs of the public transactions of an address",
        params=(
            Param("address", "string", Role.ADDRESS, "bech32, with the network's address prefix"),
            START,
            END,
            PAGE,
            Param("transitionsPerRequest", "number", Role.SIZE, "page size"),
        ),
        columns=rows.REFERENCE,
        example="chainq address-transactions --end 10K aleo1lfv4jy6y9ahjtc257lugevza7xn0460c94zxdyr3n2fqqmdpm7aq7mntrd",
        max_heights=50_000,
        page_size=10_000,
        repeats=True,
    ),
)

BY_COMMAND = {method.command: method for method in METHODS}
BY_NAME = {method.name: method for method in METHODS}
