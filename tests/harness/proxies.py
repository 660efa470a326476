"""Proxies on sockets of the loopback: they learn where to connect to, and then pass bytes on."""

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from harness.sockets import accepting

Address = tuple[str, int]
Handshake = Callable[[socket.socket], Address]


@contextmanager
def proxy(handshake: Handshake, tls: ssl.SSLContext | None = None) -> Iterator[tuple[str, list[Address]]]:
    """A proxy that speaks with a client by `handshake`: its address as `host:port`, and where it has connected to."""
    seen: list[Address] = []

    def talk(accepted: socket.socket) -> None:
        with suppress(OSError), tls.wrap_socket(accepted, server_side=True) if tls else accepted as client:
            seen.append(handshake(client))
            with socket.create_connection(("127.0.0.1", seen[-1][1])) as server:
                threading.Thread(target=_pass, args=(server, client), daemon=True).start()
                _pass(client, server)

    with accepting(talk) as address:
        yield address, seen


def _pass(giver: socket.socket, taker: socket.socket) -> None:
    with suppress(OSError):
        while data := giver.recv(65536):
            taker.sendall(data)
        taker.shutdown(socket.SHUT_WR)


def tunnel(heads: list[bytes]) -> Handshake:
    """An HTTP proxy that connects by CONNECT (RFC 9110, section 9.3.6), and keeps the heads of the requests."""

    def handshake(client: socket.socket) -> Address:
        head = b""
        while b"\r\n\r\n" not in head:
            head += client.recv(1)
        heads.append(head)
        client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        host, _, port = head.split()[1].decode().rpartition(":")
        return host, int(port)

    return handshake


def socks(login: bytes = b"", reply: int = 0) -> Handshake:
    """A SOCKS5 proxy (RFC 1928), which wants that login (`name:password`, RFC 1929) if any.

    `reply` is its answer to the request to connect by name.
    """

    def handshake(client: socket.socket) -> Address:
        def read(count: int) -> bytes:
            data = b"".join(client.recv(1) for _ in range(count))
            if len(data) < count:
                raise ConnectionError  # the client has hung up
            return data

        methods = read(read(2)[1])
        method = b"\2" if login else b"\0"
        client.sendall(b"\5" + (method if method in methods else b"\xff"))
        if login:
            name = read(read(2)[1])
            client.sendall(b"\1" + bytes([b":".join([name, read(read(1)[0])]) != login]))
        read(4)
        host = read(read(1)[0]).decode()
        port = int.from_bytes(read(2), "big")
        client.sendall(b"\5" + bytes([reply]) + b"\0\1\0\0\0\0\0\0")
        return host, port

    return handshake
