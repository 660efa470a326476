"""Servers that repeat the request in what they say: no secret of it is shown, by no command."""

import base64
import html
import json
import re
import socket
from collections.abc import Callable
from urllib.parse import quote

import pytest

from harness.program import Program
from harness.search import some
from harness.sockets import server

KEY, USER, PASSWORD, PATH = "s3cr3t/key+5", "some-one", "hunter:2&more", "k3y-in-the-path"
SECRETS = (KEY, USER, PASSWORD, PATH, f"{USER}:{PASSWORD}", f"Bearer {KEY}")
PROFILE = f"""
[profiles.mine]
url = "http://{quote(USER)}:{quote(PASSWORD)}@HOST/v1/{PATH}"
dialect = "chain"
headers = {{ X-Key = "{KEY}", X-Token = "Bearer {KEY}" }}
"""
Say = Callable[[str], str]
REPEATS: tuple[Say, ...] = (str, quote, html.escape, lambda _: f"{KEY} {PATH}", lambda _: f"{USER}:{PASSWORD}")
"""What a server repeats of the head of a request, or of what it made of it."""
SAYINGS: dict[str, Callable[[str], bytes]] = {
    "HTTP 500": lambda said: reply(said.encode(), status="500 Oops"),
    "HTTP 500 as HTML": lambda said: reply(f"<p>{html.escape(said)}</p>".encode(), status="500 Oops"),
    "HTTP 403": lambda said: reply(json.dumps({"headers": said}).encode(), status="403 No"),
    "HTTP 404": lambda said: reply(f"{'.' * 1990}{said}".encode(), status="404 No"),
    "redirect": lambda said: reply(b"", f"Location: http://127.0.0.1/?was={quote(said)}", status="302 There"),
    "no HTTP": lambda said: said.encode() + b"\r\n",
    "coding": lambda said: reply(b"{}", f"Content-Encoding: {said}"),
    "error": lambda said: rpc(json.dumps({"code": -32603, "message": f"bad headers: {said}"})),
    "error code": lambda said: rpc(json.dumps({"code": said, "message": "no"})),
    "error with SQL": lambda said: rpc(json.dumps({"code": 0, "message": f"select {said} from x - {said}"})),  # noqa: S608  # not run
    "odd error": lambda said: rpc(json.dumps(said)),
    "no JSON": lambda said: reply(f"{'.' * 190}{said}".encode()),
    "odd result": lambda said: reply(f'{{"jsonrpc":"2.0","id":1,"result":{json.dumps(said)}}}'.encode()),
    "odd rows": lambda said: reply(f'{{"jsonrpc":"2.0","id":1,"result":[{json.dumps(said)}]}}'.encode()),
    "odd version": lambda said: reply(f'{{"jsonrpc":{json.dumps(said)},"id":1,"result":[]}}'.encode()),
    "odd id": lambda said: reply(f'{{"jsonrpc":"2.0","id":{json.dumps(said)},"result":[]}}'.encode()),
}


def reply(content: bytes, *headers: str, status: str = "200 OK") -> bytes:
    """A whole response."""
    head = "\r\n".join([f"HTTP/1.1 {status}", f"Content-Length: {len(content)}", *headers, "", ""])
    return head.encode() + content


def rpc(error: str) -> bytes:
    """A response with a JSON-RPC error, that fits any request."""
    return reply(f'{{"jsonrpc":"2.0","id":null,"error":{error}}}'.encode())


def forms(secret: str) -> set[str]:
    """A secret as it may be shown."""
    packed = base64.b64encode(secret.encode()).decode().rstrip("=")
    return {secret, quote(secret), quote(secret, safe=""), html.escape(secret), json.dumps(secret)[1:-1], packed}


COMMANDS = {"blocks": ("blocks", "0:5"), "rpc": ("rpc", "x"), "doctor": ("doctor",)}
BY_ALL = ("error", "odd result", "odd rows")
"""What each command repeats in plain `pytest`, too; of the last two `rpc` says nothing."""
CASES = [
    *((name, "blocks rpc doctor") for name in BY_ALL),
    *((name, commands) for name in SAYINGS if name not in BY_ALL for commands in ("rpc", "blocks doctor")),
]


@pytest.mark.parametrize(("name", "commands"), some(CASES, *(case for case in CASES if "rpc" in case[1]), several=True))
def test_what_was_sent_is_not_shown(name: str, commands: str, chainq: Program) -> None:
    """Headers, name and password, and a key in the path, also abbreviated: in errors, in the log and by doctor."""
    shown = ""
    for command in map(COMMANDS.__getitem__, commands.split()):
        for repeat in REPEATS:

            def serve(peer: socket.socket, request: bytes, repeat: Say = repeat) -> None:
                peer.sendall(SAYINGS[name](repeat(" ".join(request.partition(b"\r\n\r\n")[0].decode().split("\r\n")))))
                peer.shutdown(socket.SHUT_RDWR)

            with server(serve) as (url, seen):
                chainq.config.parent.mkdir(parents=True, exist_ok=True)
                chainq.config.write_text(PROFILE.replace("HOST", url.split("/")[2]))
                ran = chainq(*command, "--profile", "mine", "-v", "--retries", "0")
            assert seen
            shown += ran.err + ("" if command == ("rpc", "x") else ran.out.decode())
    assert "***" in re.sub(r"http://\*\*\*@\S+", "", shown), "nothing was repeated"
    for secret in SECRETS:
        assert not [form for form in forms(secret) if form in shown], shown
    assert not [piece for piece in ("s3cr3t", "hunter", "k3y-in") if piece in shown], shown
