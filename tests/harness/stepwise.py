"""Drives one proof step by step, without a plan around it: guards that a model server seldom needs, each by itself."""

from collections.abc import Callable
from typing import Any

from msgspec import Raw

from chainq.planning.server import ServerFacts
from chainq.planning.steps import Asking, Page, Request, Steps

Answer = Callable[[Request], Page]
"""Gives the response to a request, or raises its failure."""


def drive(asking: Asking[Any] | Steps, answer: Answer, facts: ServerFacts | None = None) -> tuple[Any, list[Request]]:
    """Run to the end: what is returned, and the requests. `facts` learn from the responses."""
    requests: list[Request] = []
    page: Page | None = None
    failure: Exception | None = None
    while True:
        try:
            request = asking.throw(failure) if failure is not None else asking.send(page)
        except StopIteration as stop:
            return stop.value, requests
        assert isinstance(request, Request)
        requests.append(request)
        page = failure = None
        try:
            page = answer(request)
        except Exception as error:
            failure = error
        else:
            if facts is not None:
                facts.see(request, page)


def honest(request: Request, heights: list[int]) -> Page:
    """A response of a server with a row for each of these heights, in their order; rows of one height differ."""
    rows = [(height, heights[:place].count(height)) for place, height in enumerate(heights)]
    due = [row for row in rows if request.heights.start <= row[0] < request.heights.end]
    size = request.page_size or len(due)
    due = due[request.page * size :][:size]
    return Page([Raw(b"%d" % height + b"'" * number) for height, number in due], [height for height, _ in due])
