"""Notes of a client to the logger `chainq`: a name may be mistyped. To the service, that looks like no rows."""

from collections.abc import Callable, Iterator

from chainq.query import Batch, matching
from chainq.rows.where import Where


def filtered(batches: Iterator[Batch], where: Where | None) -> Iterator[Batch]:
    """Yield batches with only the rows that meet a condition; all rows for None.

    If there are none, note the similar values that were read. If nothing is similar, the condition may be right: a
    program that reads new blocks every minute must not fill a log.
    """
    if where is None:
        return batches
    return _noted(matching(batches, where), where.meant)


def uncalled(batches: Iterator[Batch], program: str, function: str) -> Iterator[Batch]:
    """Yield batches of the transactions that call a function, and note that there are none."""
    return _noted(batches, lambda: f"no transactions call {program}/{function}: check the names")


def _noted(batches: Iterator[Batch], note: Callable[[], str]) -> Iterator[Batch]:
    found = False
    for batch in batches:
        found = found or bool(batch.rows)
        yield batch
    if not found and (text := note()):
        import logging  # takes time to load

        logging.getLogger("chainq").warning("%s", text)
