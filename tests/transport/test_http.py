"""HTTP: what goes over the wire and what comes back, on sockets of the loopback."""

import gzip
import re
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import httpcore
import httpx
import pytest
from pytest_httpx import HTTPXMock, IteratorStream

from chainq.errors import ResponseError, TooHeavyError
from chainq.options import ServiceOptions
from chainq.transport.base import ExchangeError
from chainq.transport.http import HttpTransport
from harness.running.program import LONGEST
from harness.servers.calls import URL, exchange, fails, request
from harness.servers.certificate import certified
from harness.servers.sockets import answering, server

FAR = time.monotonic() + 86_400  # a deadline that never comes


# --- what is sent, and what is returned: in this process


def test_a_request_is_a_post_with_a_body_and_headers(httpx_mock: HTTPXMock) -> None:
    """POST to the URL's path and query, as JSON; the endpoint's own headers stand above ours."""
    httpx_mock.add_response()
    exchange(f"{URL}v1/rpc?network=main", headers={"X-Key": "secret", "user-agent": "mine", "content-type": "x"})
    (sent,) = httpx_mock.get_requests()
    assert (sent.method, str(sent.url), sent.content) == ("POST", f"{URL}v1/rpc?network=main", b'{"id":1}')
    assert sent.headers["content-type"] == "application/json"
    assert (sent.headers["x-key"], sent.headers["user-agent"]) == ("secret", "mine")


def test_a_response_is_plain_values(httpx_mock: HTTPXMock) -> None:
    """Status, body, and headers by lower-case names."""
    httpx_mock.add_response(429, headers={"X-One": "1", "Retry-After": "7"}, content=b"no")
    response = exchange(URL)
    assert (response.status, response.body) == (429, b"no")
    assert (response.headers["x-one"], response.headers["retry-after"]) == ("1", "7")


def test_name_and_password_of_a_url_are_basic_credentials(httpx_mock: HTTPXMock) -> None:
    """RFC 7617; a header that the user gives counts for more. Cookies that a server sets are not kept."""
    httpx_mock.add_response(headers={"Set-Cookie": "session=1; Path=/"}, is_reusable=True)
    url = "http://me:s%40cret@rpc.invalid/"
    exchange(url, times=2)
    exchange(url, headers={"authorization": "Bearer token"})
    sent = httpx_mock.get_requests()
    assert [request.headers["authorization"] for request in sent] == [*["Basic bWU6c0BjcmV0"] * 2, "Bearer token"]
    assert not any("cookie" in request.headers for request in sent)


def test_secrets_stay_out_of_logs(caplog: pytest.LogCaptureFixture) -> None:
    """At any level of logging of the process that uses chainq: httpcore logs steps of an exchange, without URLs."""
    caplog.set_level("DEBUG")
    with server(answering(b"{}")) as (url, _):
        place = url.removeprefix("http://")
        exchange(f"http://me:hunter2@{place}hunter3?key=hunter4", headers={"X-Key": "hunter5"})
    assert not re.search("hunter|SESSION", caplog.text)


def test_a_redirect_is_not_followed_nor_read(httpx_mock: HTTPXMock) -> None:
    """Wherever it points: also to what is no URL."""
    httpx_mock.add_response(302, headers={"Location": "http://xn--a.example/"})
    assert exchange(URL).status == 302
    assert len(httpx_mock.get_requests()) == 1


# --- compression


@pytest.mark.parametrize(
    ("url", "headers", "accepted"),
    [
        ("http://127.0.0.1:8545/", {}, "identity"),
        ("http://localhost/", {}, "identity"),
        ("http://[::1]:8545/", {}, "identity"),
        ("https://example.invalid/", {}, "gzip"),
        ("http://127.0.0.1:8545/", {"accept-encoding": "gzip"}, "gzip"),
    ],
)
def test_compression_is_asked_for_where_it_pays(
    url: str, headers: dict[str, str], accepted: str, httpx_mock: HTTPXMock
) -> None:
    """Responses from another machine shall come compressed, those from this one not, unless a header says so."""
    httpx_mock.add_response()
    exchange(url, headers=headers)
    assert httpx_mock.get_requests()[0].headers["accept-encoding"] == accepted


@pytest.mark.parametrize("coding", ["gzip", "GZIP"])
def test_a_compressed_body_is_decompressed(coding: str, httpx_mock: HTTPXMock) -> None:
    """Also one that expands a thousand times. What is no gzip is broken; one that ends early is shorter JSON, which the
    decoder of the envelope refuses."""
    content, head = b"x" * 5_000_000, {"Content-Encoding": coding}
    httpx_mock.add_response(headers=head, stream=IteratorStream([gzip.compress(content)]))
    httpx_mock.add_response(headers=head, stream=IteratorStream([b"no gzip at all"]))
    assert exchange(URL).body == content
    with fails("DecodingError"):
        exchange(URL)


@pytest.mark.parametrize("coding", ["gzip, gzip", "br", "deflate", "gzip, identity"])
def test_a_coding_that_was_not_asked_for_is_refused(coding: str, httpx_mock: HTTPXMock) -> None:
    """One coding only: two of them unpack five kilobytes to three gigabytes."""
    httpx_mock.add_response(headers={"Content-Encoding": coding}, stream=IteratorStream([b""]))
    with pytest.raises(ResponseError, match=coding):
        exchange(URL)


@pytest.mark.parametrize("level", [None, 0, 9])
def test_a_response_has_a_bound(level: int | None, httpx_mock: HTTPXMock) -> None:
    """A body that is too large is given up while it is read, and a narrower range may be asked for."""
    content = b" " * (1 << 22) + b"{}"
    sent = content if level is None else gzip.compress(content, level)
    httpx_mock.add_response(
        headers={} if level is None else {"Content-Encoding": "gzip"},
        stream=IteratorStream([sent[at : at + 65536] for at in range(0, len(sent), 65536)]),
    )
    with pytest.raises(TooHeavyError, match="larger than 1 MiB"):
        exchange(URL, most=1 << 20)


def test_a_response_that_says_its_length_is_not_read_where_it_cannot_fit(httpx_mock: HTTPXMock) -> None:
    """Nothing of it has to come for that."""

    def unread() -> Iterator[bytes]:
        pytest.fail("the body was read")
        yield b""

    httpx_mock.add_response(headers={"Content-Length": "1000000000000"}, stream=IteratorStream(unread()))
    with pytest.raises(TooHeavyError):
        exchange(URL)


# --- failures


def test_a_header_that_cannot_be_sent_is_an_unusable_request() -> None:
    """What gets past all checks before is refused by the HTTP library."""
    with server(answering(b"{}")) as (url, _), fails("LocalProtocolError"):
        exchange(url, headers={"X-Key": "a\r\nb"})


# --- certificates


def test_certificates_are_loaded_for_https_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loading them takes a fifth of a short run."""
    monkeypatch.setattr("httpx.create_ssl_context", lambda: pytest.fail("certificates were loaded"))
    HttpTransport(ServiceOptions("http://127.0.0.1/"))


# --- connections


@pytest.mark.parametrize(
    ("sent", "connections"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", 1),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}", 3),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\nContent-Encoding: br\r\n\r\n", 3),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2097153\r\n\r\n{}", 3),
    ],
    ids=["kept", "last", "refused", "too large"],
)
def test_a_connection_is_kept_unless_its_next_response_would_be_in_doubt(sent: bytes, connections: int) -> None:
    """One whose body is still to come is not, nor one on which the server expects no other request."""
    peers: set[int] = set()

    def serve(peer: socket.socket, _: bytes) -> None:
        peers.add(peer.getpeername()[1])
        peer.sendall(sent)

    with server(serve) as (url, _), closing(HttpTransport(ServiceOptions(url))) as transport:
        for _ in range(3):
            with suppress(ResponseError, TooHeavyError):
                assert transport.call(request(b"{}", FAR, 2**20)).body == b"{}"
    assert len(peers) == connections


@pytest.mark.parametrize("sent", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"], ids=["head", "body"])
def test_closing_ends_exchanges_in_progress(sent: bytes) -> None:
    """Of all threads, at once, whatever they wait for; and nothing is sent afterwards."""
    waiting = threading.Event()

    def serve(peer: socket.socket, _: bytes) -> None:
        peer.sendall(sent)
        waiting.set()

    with server(serve) as (url, _), ThreadPoolExecutor(1) as pool:
        transport = HttpTransport(ServiceOptions(url))
        call = pool.submit(transport.call, request(b"{}", FAR))
        assert waiting.wait(LONGEST)
        transport.close()
        with pytest.raises(ExchangeError):
            call.result(LONGEST)
        with pytest.raises(ExchangeError, match="closed"):
            transport.call(request(b"{}", FAR))


# --- deadlines, other protocols, TLS


def test_a_connection_made_while_the_transport_closes_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Closing cannot know of it yet; nothing is sent on it."""
    connect = httpcore.SyncBackend.connect_tcp
    with server(answering(b"{}")) as (url, seen):
        transport, made = HttpTransport(ServiceOptions(url)), list[httpcore.NetworkStream]()

        def late(*args: Any, **kwargs: Any) -> httpcore.NetworkStream:
            made.append(connect(*args, **kwargs))
            transport.close()
            return made[0]

        monkeypatch.setattr(httpcore.SyncBackend, "connect_tcp", late)
        with pytest.raises(ExchangeError, match="closed"):
            transport.call(request(b"{}", FAR))
        assert made[0].get_extra_info("socket").fileno() == -1
    assert seen == []


def test_the_backend_of_httpx_is_where_this_code_expects_it() -> None:
    """`HttpTransport` replaces this private attribute of httpx's pools, of each kind."""
    for proxy in (None, "http://127.0.0.1:1", "socks5://127.0.0.1:1"):
        backend = httpx.HTTPTransport(proxy=proxy)._pool._network_backend
        assert hasattr(backend, "connect_tcp"), proxy


def test_a_handshake_has_until_the_deadline() -> None:
    """A server that accepts the connection and then sends nothing is no connection."""
    with socket.create_server(("127.0.0.1", 0)) as silent, fails("ConnectTimeout"):
        exchange(f"https://127.0.0.1:{silent.getsockname()[1]}/", seconds=0.05)


def test_a_response_over_tls_has_until_the_deadline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As one without TLS."""
    context, authority = certified(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(authority))
    with server(lambda _, __: None, tls=context) as (url, seen), fails("ReadTimeout"):
        exchange(url, seconds=1)
    assert len(seen) == 1


def test_a_deadline_that_has_passed_sends_nothing() -> None:
    """Neither on a new connection nor on one that is kept."""
    with server(answering(b"{}")) as (url, seen), closing(HttpTransport(ServiceOptions(url))) as transport:
        for _ in range(2):
            with fails("ReadTimeout"):
                transport.call(request(b"{}", time.monotonic() - 1))
            transport.call(request(b"{}", FAR))
    assert len(seen) == 2
