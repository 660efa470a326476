"""Pages that are requested ahead: a failure narrows all of them at once."""

from threading import Barrier, Event

import pytest
from msgspec import Raw

from chainq.errors import GatewayError
from chainq.fetching.pages import _ReadAhead
from chainq.planning.page_plan import PageRequest


def test_no_page_follows_a_failure_while_others_are_in_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    """Smaller pages beside the larger ones would fail for their sake, and be sent again and again."""
    begun, released, ended = Barrier(4), Event(), list[int]()

    def send(number: int, _: int) -> list[Raw]:
        begun.wait(20)
        if number:
            released.wait(20)
            ended.append(number)
        raise GatewayError("Timeout acquiring a connection")

    pages = _ReadAhead(send, 4)
    wait, waits = pages.pool.wait, list[None]()

    def watched() -> tuple[tuple[int, int], object]:
        if waits:  # for more than the page that failed
            released.set()
        waits.append(None)
        return wait()

    monkeypatch.setattr(pages.pool, "wait", watched)
    try:
        with pytest.raises(GatewayError):
            pages.get(PageRequest(0, 500, 3))
        assert sorted(ended) == [1, 2, 3]
    finally:
        released.set()
        pages.pool.close()
