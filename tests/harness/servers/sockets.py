"""Servers on sockets of the loopback that send whatever a test wants, byte for byte."""

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

Serve = Callable[[socket.socket, bytes], None]


def free_port() -> str:
    """A port of this machine where nothing listened a moment ago."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return str(held.getsockname()[1])


@contextmanager
def server(serve: Serve, tls: ssl.SSLContext | None = None) -> Iterator[tuple[str, list[bytes]]]:
    """A server that hands each request, whole, to `serve` with its socket: its URL, and the requests it has seen."""
    seen: list[bytes] = []

    def talk(accepted: socket.socket) -> None:
        with suppress(OSError), tls.wrap_socket(accepted, server_side=True) if tls else accepted as peer:
            while request := _request(peer):
                seen.append(request)
                serve(peer, request)

    with accepting(talk) as address:
        yield f"{'https' if tls else 'http'}://{address}/", seen


@contextmanager
def accepting(talk: Callable[[socket.socket], None]) -> Iterator[str]:
    """Hand each connection to `talk`, in a thread of its own: the address as `host:port`."""

    def listen() -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=talk, args=(listening.accept()[0],), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=listen, daemon=True).start()
        yield f"127.0.0.1:{listening.getsockname()[1]}"
        listening.shutdown(socket.SHUT_RDWR)


def _request(peer: socket.socket) -> bytes:
    """A whole request; nothing from a client that has gone."""
    data, due = b"", 1
    while len(data) < due:
        piece = peer.recv(65536)
        if not piece:
            return b""
        data += piece
        head, end, _ = data.lower().partition(b"\r\n\r\n")
        length = int(head.partition(b"content-length:")[2].split(b"\r\n")[0] or b"0")
        due = len(head) + 4 + length if end else len(data) + 1
    return data


def answering(content: bytes, *headers: str, status: str = "200 OK") -> Serve:
    """Serves that content to every request."""
    head = "\r\n".join([f"HTTP/1.1 {status}", f"Content-Length: {len(content)}", *headers, "", ""]).encode()
    return lambda peer, _: peer.sendall(head + content)


def head_of(request: bytes) -> dict[str, str]:
    """The request's headers, by lower-case names."""
    lines = request.partition(b"\r\n\r\n")[0].decode().split("\r\n")[1:]
    return {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
