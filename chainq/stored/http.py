"""`chainq serve --lake`: a data set as a read-only JSON-RPC service over HTTP, with starlette on uvicorn.

POST to any path handles requests; GET /healthz checks that the data set can be read; GET /metrics counts requests.
"""

import socket
from collections.abc import Callable
from typing import Any

from chainq.errors import ChainqError, needed
from chainq.stored.service import StoredService

MOST_BYTES = 150 * 1024
"""Bytes of a request; larger ones get HTTP 413, as from deployed servers (docs/protocol.md, "Envelope and errors")."""
READERS = 8
"""Requests that read files at the same time; others wait."""
_JSON = "application/json"


def check_packages() -> None:
    """Raise UsageError without the packages that serve."""
    with needed("serving a data set needs the {} package", "serve"):
        import starlette
        import uvicorn
    del starlette, uvicorn


def application(service: StoredService) -> Any:
    """Return the ASGI application."""
    import anyio
    from anyio.to_thread import run_sync
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import PlainTextResponse, Response
    from starlette.routing import Route

    limiter = anyio.CapacityLimiter(READERS)

    async def answer(request: Request) -> Response:
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > MOST_BYTES:
                return PlainTextResponse("request entity too large", 413, {"Connection": "close"})
        response = await run_sync(service.respond, body, limiter=limiter)
        return Response(response, 200, media_type=_JSON) if response else Response(status_code=204)

    async def health(_: Request) -> Response:
        try:
            await run_sync(service.reader.is_stale, limiter=limiter)
        except ChainqError as error:
            return PlainTextResponse(f"{error}\n", 503)
        return PlainTextResponse("ok\n")

    async def metrics(_: Request) -> Response:
        return PlainTextResponse(exposition(service), media_type="text/plain; version=0.0.4")

    return Starlette(
        routes=[
            Route("/healthz", health, methods=["GET"]),
            Route("/metrics", metrics, methods=["GET"]),
            Route("/{path:path}", answer, methods=["POST"]),
        ]
    )


def exposition(service: StoredService) -> str:
    """Return the counts and the tip in the text format of Prometheus."""
    lines = [
        "# HELP chainq_requests_total Requests by method and outcome",
        "# TYPE chainq_requests_total counter",
    ]
    lines += [
        f'chainq_requests_total{{method="{method}",outcome="{outcome}"}} {count}'
        for (method, outcome), count in sorted(service.counts.copy().items())
    ]
    lines += ["# HELP chainq_tip_height Highest block of the data set", "# TYPE chainq_tip_height gauge"]
    return "\n".join([*lines, f"chainq_tip_height {service.reader.tip}", ""])


def serve(service: StoredService, host: str, port: int, ready: Callable[[int], None], *, verbose: bool) -> None:
    """Serve until a signal, then finish the requests in progress. `port` 0 takes a free one; `ready` is called with it.

    Raises OSError if the address is unavailable.
    """
    import uvicorn

    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, port), family=family, backlog=128) as listening:
        ready(listening.getsockname()[1])
        config = uvicorn.Config(
            application(service),
            lifespan="off",
            access_log=verbose,
            log_level="info" if verbose else "error",
            timeout_graceful_shutdown=3,
        )
        uvicorn.Server(config).run([listening])
