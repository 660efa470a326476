"""What is gathered for a screen, and by which threads."""

import threading

import pytest

from chainq.catalog.dialects import DIALECTS, Dialect
from chainq.demo.chain import Chain
from chainq.demo.service import Service as DemoService
from chainq.fetching import dialect_detection
from chainq.fetching.service import Service
from chainq.show.parts import gather
from chainq.transport.base import ServiceOptions
from harness.services import serving


@pytest.mark.parametrize("name", ["5", "latest"])
def test_the_dialect_is_known_before_threads_need_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is detected once, by the thread that the service belongs to."""
    threads: list[threading.Thread] = []

    def detected(*_: object) -> Dialect:
        threads.append(threading.current_thread())
        return DIALECTS["chain"]

    monkeypatch.setattr(dialect_detection, "dialect_of", detected)
    with serving(DemoService(Chain(tip=20))) as url, Service(ServiceOptions(url)) as service:
        gather(service, name, None)
    assert threads == [threading.current_thread()]
