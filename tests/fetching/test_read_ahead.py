"""Pages that are requested ahead: a failure narrows all of them at once."""

import time
from threading import Barrier, Event

from msgspec import Raw

from chainq.errors import GatewayError
from chainq.fetching.pages import _ReadAhead
from chainq.planning.page_requests import PageRequest


def test_no_page_follows_a_failure_while_others_are_in_progress() -> None:
    """Smaller pages beside the larger ones would fail for their sake, and be sent again and again."""
    begun, failed, ended = Barrier(4), Event(), list[int]()

    def send(number: int, _: int) -> list[Raw]:
        begun.wait(20)
        if not number:
            failed.set()
            raise GatewayError("Timeout acquiring a connection")
        failed.wait(20)
        time.sleep(0.05)  # long enough that a caller who does not wait for it would be back before
        ended.append(number)
        raise GatewayError("Timeout acquiring a connection")

    pages = _ReadAhead(send, 4)
    try:
        assert isinstance(pages.get(PageRequest(0, 500, 3)), GatewayError)
        assert sorted(ended) == [1, 2, 3]
    finally:
        pages.close()
