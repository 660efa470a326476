"""What passes between the layers: a question about a range of heights, and batches of rows that answer one."""

from dataclasses import dataclass, field

from msgspec import Raw

from chainq.dialects import Value
from chainq.methods import Method, Role
from chainq.span import Span


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows in order, and the heights that they make whole; no heights where the method has no range."""

    rows: list[Raw]
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of a ranged method. `limit`: rows after which no further call is made."""

    method: Method
    span: Span
    arguments: dict[Role, Value] = field(default_factory=dict)
    reverse: bool = False
    page_size: int | None = None
    limit: int | None = None
    verify: bool = True
