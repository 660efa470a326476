"""DemoTransport: the sample service in process. Nothing here knows the methods or their answers."""

import time

from chainq.demo.service import Service
from chainq.transport.base import BrokenResponseError, Request, Response


class DemoTransport:
    """Gives requests to a Service, as `transport.base.Transport` does to a server. Threads share it."""

    def __init__(self, service: Service) -> None:
        """Takes the service that answers."""
        self._service = service

    def call(self, request: Request) -> Response:
        """Return the service's reply. Raises BrokenResponseError where a fault cuts its body."""
        if self._service.faults.latency:
            time.sleep(self._service.faults.latency)
        reply = self._service.answer(request.body)
        if reply.cut:
            raise BrokenResponseError("the connection was closed in the middle of the body")
        headers = {name.lower(): value for name, value in reply.headers.items()}
        if self._service.faults.gzip:  # a response has the headers of its body on the way
            headers["content-encoding"] = "gzip"
        return Response(reply.status, reply.body, {"content-type": reply.content_type, **headers})

    def close(self) -> None:
        """Do nothing: there is no connection."""
