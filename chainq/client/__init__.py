"""chainq for Python: the methods of the service as iterators of decoded rows, as complete as the commands.

    >>> from chainq import Client
    >>> with Client("demo:") as client:
    ...     heights = [int(row["height"]) for row in client.blocks(12000, 12005)]
    >>> heights
    [12000, 12001, 12002, 12003, 12004]

A range includes `start` and excludes `end`; without an `end` it reaches through the tip. Without any bound it is the
newest ten blocks, as for the commands (of an address the whole chain, `start=0`). Instead of `start`: `last`, a
number of blocks, or `since`, a time; instead of `end`: `until`, a time. Heights are int, or texts as the commands take
them ("12K", "-100", "latest"). Times are datetimes, dates (their midnight in UTC), timedeltas (ages), seconds since
1970, or texts as `--since` takes them (docs/reference.md, "Ranges"). `reverse` gives the highest heights first;
`limit` stops after so many rows, without a request more than that needs. `where` leaves out the rows that do not meet a
condition, `program` and `function` those of others, as the options of the commands do (docs/cookbook.md, "Filter
rows"); then `limit` counts the rows that are left.

Rows arrive in height order, each exactly once, while later requests are under way. A row is a dict with every field
that the service sent: integers as int (of up to 4,300 digits), numbers with a fraction or an exponent as Decimal, so no
digit is lost; strings stay strings, unless the client is `typed`. Rows can be read once, as they are not kept. All at
once: `to_arrow`, `to_pandas`, `to_polars` of `Rows`.

Every error of chainq is a `chainq.ChainqError`: UsageError for an invalid argument, IncompleteError if completeness
cannot be proved. That nothing calls a function is not an error: the name may be mistyped, so the logger `chainq`
(`logging.getLogger("chainq")`) gets a warning. So it does at the end of rows whose completeness is not proved
(docs/completeness.md, "Belief"); with `strict` they are an error. Unless `logging` is configured, Python prints
warnings on stderr. Nothing else outside of the client changes: no settings of the process, no other output, no signal
handlers.
"""

from chainq.client.client import Client
from chainq.client.rows import Balance, ProvedRows, Row, Rows, TokenBalance

__all__ = ["Balance", "Client", "ProvedRows", "Row", "Rows", "TokenBalance"]
