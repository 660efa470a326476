"""What proves a response complete."""

from dataclasses import dataclass, field
from enum import Enum, auto


class Verdict(Enum):
    """What the number of rows in an answer says."""

    WHOLE = auto()
    FULL = auto()  # more rows exist, or may: a smaller range or a larger page is needed
    DOUBT = auto()  # as long as any answer so far: only an empty page 1 would prove it


@dataclass(slots=True)
class Evidence:
    """What the answers of one method have shown of the server's caps on rows.

    An answer shorter than its page is whole, unless the server has a cap that it does not tell. Any answer of m rows
    shows that such a cap is at least m, so an answer shorter than one seen before was not cut. That leaves those as
    long as the longest. `counts` are pairs (rows, distinct rows): a server may page by something other than rows
    where rows repeat, and both measures must be shorter.
    """

    longest: tuple[int, int] = (0, 0)
    cuts: set[int] = field(default_factory=set)

    def see(self, counts: tuple[int, int]) -> None:
        """Take in an answer."""
        self.longest = (max(self.longest[0], counts[0]), max(self.longest[1], counts[1]))

    def cut_at(self, rows: int) -> None:
        """Take in that an answer of so many rows was followed by more."""
        self.cuts.add(rows)

    def judge(self, counts: tuple[int, int], page_size: int) -> Verdict:
        """What an answer to a call for `page_size` rows is worth."""
        rows, distinct = counts
        if rows == 0:
            return Verdict.WHOLE
        if rows == page_size or rows in self.cuts:
            return Verdict.FULL
        if rows < page_size and rows < self.longest[0] and distinct < self.longest[1]:
            return Verdict.WHOLE
        return Verdict.DOUBT
