"""The transport that answers from a data set: no network, and no request leaves the process."""

import msgspec

from chainq.stored.service import StoredService
from chainq.transport.base import Request, Response


class StoredTransport:
    """Passes requests to a data set, as `transport.base.Transport` does to a server. Threads share it."""

    def __init__(self, service: StoredService) -> None:
        self._service = service

    def call(self, request: Request) -> Response:
        """Return the response. Raises TooHeavyError for memory, IncompleteError for what the data set lacks."""
        body = self._service.answer(msgspec.json.decode(request.body)) or b""
        request.memory.grow(len(body))
        return Response(200, body, {"content-type": "application/json"})

    def close(self) -> None:
        """Do nothing: there is no connection."""
