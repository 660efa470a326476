"""Reports a row once that both the files alone and the comparison with a service show."""

from collections.abc import Iterator

from chainq.errors import ChainqError
from chainq.process.signals import Interrupted
from chainq.verify.findings import Finding, Step

_ROWS = frozenset(("missing", "unexpected"))  # checks that name a row by its identity


class Once:
    """Passes on the findings of two passes: over files by themselves, then over the same files and a service.

    A missing row whose height the files do not show is kept until the second pass, which may find it with its height.
    """

    def __init__(self) -> None:
        self._written: set[Finding] = set()
        self._held: list[Step] = []

    def of_files(self, steps: Iterator[Step]) -> Iterator[Step]:
        """Yield the steps of the files, without rows at unknown heights."""
        for step in steps:
            own: list[Finding] = []
            held: list[Finding] = []
            for one in step.findings:
                (held if _is_row(one) and one.end is not None else own).append(one)
            if held:
                self._held.append(Step(step.heights, held, {}))
            self._written.update(filter(_is_row, own))
            yield step._replace(findings=own)

    def of_service(self, steps: Iterator[Step]) -> Iterator[Step]:
        """Yield the steps of the comparison, without the rows that were reported; then the rest of the others."""
        shown: set[Finding] = set()
        try:
            for step in steps:
                new = [one for one in step.findings if one not in self._written]
                shown.update(_unplaced(one) for one in new if _is_row(one))
                yield step._replace(findings=new)
        except (ChainqError, Interrupted):
            yield from self._rest(shown)
            raise
        yield from self._rest(shown)

    def _rest(self, shown: set[Finding]) -> Iterator[Step]:
        for step in self._held:
            yield step._replace(findings=[one for one in step.findings if _unplaced(one) not in shown])


def _is_row(finding: Finding) -> bool:
    """Return whether a finding is about a row, which it names by its identity, or about missing heights."""
    return finding.check in _ROWS


def _unplaced(finding: Finding) -> Finding:
    """Return a finding without its height, by which both passes can be compared."""
    return finding._replace(height=None, end=None, repair=None)
