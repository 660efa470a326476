"""Servers that repeat the request in what they say: no secret of it is shown, neither by errors nor by reports."""

import base64
import html
import json
import re
import socket
from collections.abc import Callable
from urllib.parse import quote

import httpx
import pytest
from pytest_httpx import HTTPXMock

from chainq import Client
from chainq.catalog.dialects import DIALECTS
from chainq.doctor.diagnosis import diagnose
from chainq.doctor.prober import Prober
from chainq.errors import ChainqError
from chainq.options import ServiceOptions
from chainq.transport.base import Report
from chainq.transport.connection import Connection
from chainq.transport.jsonrpc import decode_result, decode_rows
from harness.servers.sockets import server

KEY, USER, PASSWORD, PATH = "s3cr3t/key+5", "some-one", "hunter:2&more", "k3y-in-the-path"
SECRETS = (KEY, USER, PASSWORD, PATH, f"{USER}:{PASSWORD}", f"Bearer {KEY}")
URL = f"http://{quote(USER)}:{quote(PASSWORD)}@HOST/v1/{PATH}"
HEADERS = {"X-Key": KEY, "X-Token": f"Bearer {KEY}"}
Say = Callable[[str], str]
REPEATS: tuple[Say, ...] = (str, quote, html.escape, lambda _: f"{KEY} {PATH}", lambda _: f"{USER}:{PASSWORD}")
"""What a server repeats of the head of a request, or of what it made of it."""


def rpc(error: str) -> httpx.Response:
    """A response with a JSON-RPC error, that fits any request."""
    return httpx.Response(200, text=f'{{"jsonrpc":"2.0","id":null,"error":{error}}}')


SAYINGS: dict[str, Callable[[str], httpx.Response]] = {
    "HTTP 500": lambda said: httpx.Response(500, text=said),
    "HTTP 500 as HTML": lambda said: httpx.Response(500, html=f"<p>{html.escape(said)}</p>"),
    "HTTP 403": lambda said: httpx.Response(403, json={"headers": said}),
    "HTTP 404": lambda said: httpx.Response(404, text=f"{'.' * 1990}{said}"),
    "redirect": lambda said: httpx.Response(302, headers={"Location": f"/?was={quote(said)}"}),
    "coding": lambda said: httpx.Response(200, headers={"Content-Encoding": said}),
    "error": lambda said: rpc(json.dumps({"code": -32603, "message": f"bad headers: {said}"})),
    "error code": lambda said: rpc(json.dumps({"code": said, "message": "no"})),
    "error with SQL": lambda said: rpc(json.dumps({"code": 0, "message": f"select {said} from x - {said}"})),  # noqa: S608  # not run
    "odd error": lambda said: rpc(json.dumps(said)),
    "no JSON": lambda said: httpx.Response(200, text=f"{'.' * 1990}{said}"),
    "cut JSON": lambda said: httpx.Response(200, text=f'{{"{"." * 1990}{said}'),
    "odd result": lambda said: httpx.Response(200, text=f'{{"jsonrpc":"2.0","id":1,"result":{json.dumps(said)}}}'),
    "odd rows": lambda said: httpx.Response(200, text=f'{{"jsonrpc":"2.0","id":1,"result":[{json.dumps(said)}]}}'),
    "odd version": lambda said: httpx.Response(200, text=f'{{"jsonrpc":{json.dumps(said)},"id":1,"result":[]}}'),
    "odd id": lambda said: httpx.Response(200, text=f'{{"jsonrpc":"2.0","id":{json.dumps(said)},"result":[]}}'),
}


def all_said(url: str) -> str:
    """What calls, a client and doctor say of a service: errors, reports and findings."""
    options, reports = ServiceOptions(url, headers=HEADERS, retries=0), list[Report]()
    said = list[str]()
    with Connection(options, reports.append) as connection:
        for decode in (decode_result, decode_rows):
            try:
                connection.call("x", None, decode)
            except ChainqError as error:
                said += [str(error), repr(error)]
    with Client(url, dialect="chain", headers=HEADERS, retries=0) as client:
        try:
            list(client.blocks(0, 5))
        except ChainqError as error:
            said.append(str(error))
    with Prober(options, reports.append) as prober:
        for check in diagnose(prober, url, DIALECTS["chain"], 0).checks:
            said += [check.finding, check.meaning, str(check.fault)]
    return "\n".join([*said, *(report.outcome for report in reports)])


def check(shown: str) -> None:
    """Fail if a secret is shown, in any form or in part, or if nothing was repeated."""
    assert "***" in re.sub(r"http://\*\*\*@\S+", "", shown), "nothing was repeated"
    for secret in SECRETS:
        packed = base64.b64encode(secret.encode()).decode().rstrip("=")
        forms = {secret, quote(secret), quote(secret, safe=""), html.escape(secret), json.dumps(secret)[1:-1], packed}
        assert not [form for form in forms if form in shown], shown
    assert not [piece for piece in ("s3cr3t", "hunter", "k3y-in") if piece in shown], shown


@pytest.mark.parametrize("name", SAYINGS)
def test_what_was_sent_is_not_shown(name: str, httpx_mock: HTTPXMock, caplog: pytest.LogCaptureFixture) -> None:
    """Headers, name and password, and a key in the path, also abbreviated."""
    caplog.set_level("DEBUG", "chainq")
    shown = ""
    for repeat in REPEATS:

        def answer(request: httpx.Request, repeat: Say = repeat) -> httpx.Response:
            head = [f"{name}: {value}" for name, value in request.headers.items()]
            return SAYINGS[name](repeat(" ".join(["POST", request.url.path, *head])))

        httpx_mock.add_callback(answer, is_reusable=True)
        shown += all_said(URL.replace("HOST", "rpc.invalid"))
        httpx_mock.reset()
    check(shown + caplog.text)


def test_what_was_sent_is_not_shown_of_another_protocol() -> None:
    """Nor what a server says that speaks no HTTP."""

    def serve(peer: socket.socket, request: bytes) -> None:
        peer.sendall(request.partition(b"\r\n\r\n")[0].replace(b"\r\n", b" ") + b"\r\n\r\n")
        peer.shutdown(socket.SHUT_RDWR)

    with server(serve) as (url, _):
        check(all_said(URL.replace("HOST", url.split("/")[2])))
