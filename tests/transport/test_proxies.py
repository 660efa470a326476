"""Proxies: which one the environment names for a URL, and how a connection is made through each kind."""

import socket
import ssl
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from chainq.config.proxy import proxy_of
from chainq.errors import UsageError
from chainq.transport.base import ExchangeError
from harness.models.readings import readings
from harness.servers.calls import exchange, fails
from harness.servers.certificate import certified
from harness.servers.sockets import accepting, answering, head_of, server

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


AWAY = ("ConnectError", "ReadError", "ProxyError", "RemoteProtocolError", "ProtocolError", "IndexError")


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """An environment that names no proxy yet."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    return monkeypatch


@pytest.fixture
def tls(tmp_path: Path, environment: pytest.MonkeyPatch) -> ssl.SSLContext:
    """What a server or a proxy needs for TLS; its authority is the one that the environment names."""
    context, authority = certified(tmp_path)
    environment.setenv("SSL_CERT_FILE", str(authority))
    return context


@pytest.mark.parametrize("name", ["http_proxy", "ALL_PROXY"])
def test_http_goes_through_the_proxy_of_the_environment(name: str, environment: pytest.MonkeyPatch) -> None:
    """With the proxy's own credentials, and the whole URL as target."""
    with server(answering(b"{}")) as (url, seen):
        environment.setenv(name, url.replace("http://", "http://me:s%40cret@"))
        exchange("http://chainq.invalid:8545/rpc?x=1")
    assert seen[0].startswith(b"POST http://chainq.invalid:8545/rpc?x=1 HTTP/1.1\r\n")
    assert head_of(seen[0])["host"] == "chainq.invalid:8545"
    assert head_of(seen[0])["proxy-authorization"] == "Basic bWU6c0BjcmV0"


def test_https_goes_through_a_tunnel(tls: ssl.SSLContext, environment: pytest.MonkeyPatch) -> None:
    """One for several requests. The proxy sees its own credentials, the server its own, and neither the other's."""
    heads: list[bytes] = []
    with server(answering(b"{}"), tls=tls) as (url, seen), proxy(tunnel(heads)) as (address, connected):
        environment.setenv("https_proxy", f"http://me:secret@{address}")
        place = url.removeprefix("https://")
        response = exchange(f"https://you:hidden@{place}rpc", times=3)
    assert response.status == 200
    assert [f"{host}:{port}/" for host, port in connected] == [place]
    assert heads[0].startswith(f"CONNECT {place[:-1]} HTTP/1.1\r\n".encode())
    assert head_of(heads[0]) == {"host": place[:-1], "accept": "*/*", "proxy-authorization": "Basic bWU6c2VjcmV0"}
    assert [request.split()[1] for request in seen] == [b"/rpc"] * 3
    assert "proxy-authorization" not in head_of(seen[0])


def test_https_goes_through_a_proxy_behind_tls(tls: ssl.SSLContext, environment: pytest.MonkeyPatch) -> None:
    """TLS to the proxy, and inside of it TLS to the server."""
    content = b"x" * 1_000_000
    with server(answering(content), tls=tls) as (url, _), proxy(tunnel([]), tls=tls) as (address, connected):
        environment.setenv("https_proxy", f"https://{address}")
        assert exchange(url, times=2).body == content
    assert len(connected) == 1


@pytest.mark.parametrize("scheme", ["socks5", "socks5h"])
@pytest.mark.parametrize("login", ["", "me:s%40cret@"])
def test_socks_proxies_connect_to_hosts_by_name(scheme: str, login: str, environment: pytest.MonkeyPatch) -> None:
    """The proxy looks the host up, as with curl's socks5h; requests are as without it."""
    wanted = login.replace("%40", "@").rstrip("@").encode()
    with server(answering(b"{}")) as (url, seen), proxy(socks(wanted)) as (address, connected):
        port = int(url[:-1].rpartition(":")[2])
        environment.setenv("all_proxy", f"{scheme}://{login}{address}")
        assert exchange(f"http://chainq.invalid:{port}/", times=2).body == b"{}"
    assert connected == [("chainq.invalid", port)]
    assert seen[0].startswith(b"POST / HTTP/1.1\r\n")


@pytest.mark.parametrize(
    ("wanted", "login", "reply", "words"),
    [
        (b"me:secret", "", 0, "NO ACCEPTABLE METHODS"),
        (b"me:secret", "me:wrong@", 0, "Invalid username/password"),
        (b"", "", 5, "could not connect: Connection refused"),
    ],
    ids=["login wanted", "login wrong", "refused"],
)
def test_what_a_socks_proxy_refuses_is_no_connection(
    wanted: bytes, login: str, reply: int, words: str, environment: pytest.MonkeyPatch
) -> None:
    """Named without the login."""
    with proxy(socks(wanted, reply)) as (address, _):
        environment.setenv("http_proxy", f"socks5://{login}{address}")
        with fails(*AWAY, match=words) as caught:
            exchange("http://chainq.invalid/")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("scheme", ["http", "socks5"])
@pytest.mark.parametrize("sent", [b"", b"\5", b"SSH-2.0-OpenSSH\r\n", b"HTTP/1.1 200 OK\r\nX"])
def test_what_is_no_proxy_is_no_connection(scheme: str, sent: bytes, environment: pytest.MonkeyPatch) -> None:
    """Whatever speaks there, and wherever it hangs up."""

    def handshake(client: socket.socket) -> tuple[str, int]:
        client.recv(1)
        client.sendall(sent)
        raise ConnectionError

    with proxy(handshake) as (address, _):
        environment.setenv("https_proxy", f"{scheme}://{address}")
        with fails(*AWAY):
            exchange("https://chainq.invalid/")


def test_a_tunnel_that_is_refused_is_no_connection(environment: pytest.MonkeyPatch) -> None:
    """With the status of the proxy, and what is unsafe in its words taken out."""
    with server(answering(b"", status="403 Forbidden \x1b[2J")) as (away, seen):
        environment.setenv("https_proxy", away)
        with fails(*AWAY, match="403 Forbidden") as caught:
            exchange("https://chainq.invalid/")
    assert "\x1b" not in str(caught.value)
    assert seen[0].startswith(b"CONNECT chainq.invalid:443 HTTP/1.1\r\n")


def test_a_proxy_that_cannot_be_reached_is_named(environment: pytest.MonkeyPatch, nowhere: str) -> None:
    """It is not the server that is away."""
    address = nowhere.removeprefix("http://").rstrip("/")
    environment.setenv("all_proxy", f"http://someone:SECRET@{address}")
    with fails(*AWAY, match=r"proxy: .*refused") as caught:
        exchange("http://chainq.invalid/")
    assert "SECRET" not in str(caught.value)


def test_a_socks_proxy_without_its_package_is_a_usage_error(environment: pytest.MonkeyPatch) -> None:
    """It comes with an extra, and no request goes past the proxy."""
    environment.setenv("all_proxy", "socks5://127.0.0.1:1")
    environment.setitem(sys.modules, "socksio", None)
    with pytest.raises(UsageError, match=r"socksio.*chainq\[socks\]"):
        exchange("http://chainq.invalid/")


def test_no_proxy_has_the_rules_of_curl(environment: pytest.MonkeyPatch, golden: Callable[[Path, str], None]) -> None:
    """Ranges of addresses, bare IPv6 addresses, spaces, and dots at either end (curl's manual page)."""
    environment.setenv("all_proxy", "http://127.0.0.1:3128")

    def read(given: list[str]) -> str:
        url, names = given
        environment.setenv("no_proxy", names)
        return "proxy" if proxy_of(url) else "direct"

    file = Path(__file__).parent / "no_proxy.txt"
    golden(file, readings(file, read))


@pytest.mark.parametrize(
    "proxy",
    [
        "http://someone:SEC/RET@127.0.0.1:1",
        "http://someone:SEC@RET:x@127.0.0.1:1",
        "ftp://someone:SECRET@127.0.0.1:1",
        "someone:SEC RET@127.0.0.1:1",
        "socks5://someone:SECRET@127.0.0.1:1",
        f"socks5://someone:{'SECRET' * 50}@127.0.0.1:1",
    ],
)
def test_a_proxy_that_cannot_be_used_is_named_without_its_password(proxy: str, environment: pytest.MonkeyPatch) -> None:
    """Whatever part of it the HTTP library takes for a port or a host."""
    environment.setenv("http_proxy", proxy)
    with pytest.raises((UsageError, ExchangeError)) as caught:
        exchange("http://chainq.invalid/")
    assert not [piece for piece in ("SEC", "RET", "someone") if piece in str(caught.value)]
