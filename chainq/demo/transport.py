"""DemoTransport: the sample service in process, independent of its methods."""

import time

from chainq.demo.service import Service
from chainq.transport.base import ExchangeError, Request, Response, check_size


class DemoTransport:
    """Passes requests to a Service, as `transport.base.Transport` does to a server. Threads share it."""

    def __init__(self, service: Service) -> None:
        """Takes the service that responds."""
        self._service = service

    def call(self, request: Request) -> Response:
        """Return the service's response.

        Raises ExchangeError if a fault truncates its body, or if the faults `latency` and `drip` delay it beyond the
        deadline, TooHeavyError if it is larger than the request allows.
        """
        with self._service.under_way():
            response = self._service.respond(request.body)
            _wait(response.latency, request.deadline)
        _wait(response.drip * len(response.sent), request.deadline)
        if response.cut:
            raise ExchangeError("RemoteProtocolError", "the connection was closed in the middle of the body")
        check_size(len(response.body), request.most)
        headers = {name.lower(): value for name, value in response.headers.items()}
        if response.gzip:  # the headers are those of the body as sent
            headers["content-encoding"] = "gzip"
        return Response(response.status, response.body, {"content-type": response.content_type, **headers})

    def close(self) -> None:
        """Do nothing: there is no connection."""


def _wait(seconds: float, deadline: float) -> None:
    """Sleep, but not beyond the deadline, a point of `time.monotonic`. Raises ExchangeError."""
    if not seconds:
        return
    left = deadline - time.monotonic()
    time.sleep(max(0.0, min(seconds, left)))
    if seconds > left:
        raise ExchangeError("ReadTimeout")
