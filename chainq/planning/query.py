"""What passes between the layers: a question about a range of heights, and batches of rows that answer one."""

from typing import TYPE_CHECKING, NamedTuple

from msgspec import Raw

from chainq.catalog.dialects import Value
from chainq.catalog.methods import Method, Role

if TYPE_CHECKING:
    from chainq.heights.range import HeightRange


class Batch(NamedTuple):
    """Rows in order, and the heights that they make whole; no heights where the method has no range."""

    rows: list[Raw]
    span: "HeightRange | None" = None


class Question(NamedTuple):
    """What is asked of a ranged method. `limit`: rows after which no further call is made."""

    method: Method
    span: "HeightRange"
    arguments: dict[Role, Value]
    reverse: bool = False
    page_size: int | None = None
    limit: int | None = None
    verify: bool = True
