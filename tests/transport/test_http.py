"""HTTP: what goes over the wire and what comes back, on sockets of the loopback."""

import gzip
import hashlib
import itertools
import ssl
import time

import pytest

from chainq.errors import ResponseError, TooHeavyError
from chainq.transport import body
from chainq.transport.base import (
    BrokenResponseError,
    NoConnectionError,
    Response,
    ServiceOptions,
    UnusableRequestError,
)
from chainq.transport.http import HttpTransport
from harness.calls import request
from harness.sockets import answering, head_of, server

FAR = time.monotonic() + 86_400  # a deadline that never comes


def exchange(url: str, deadline: float = FAR, max_memory: int = 2**30, **options: object) -> Response:
    """Send one request and return its response."""
    transport = HttpTransport(ServiceOptions(url, **options))  # type: ignore[arg-type]
    try:
        return transport.call(request(b'{"id":1}', deadline, max_memory))
    finally:
        transport.close()


# --- what is sent, and what is returned


def test_a_request_is_a_post_with_a_body_and_headers() -> None:
    """POST to the URL's path and query, as JSON; the endpoint's own headers stand above ours."""
    with server(answering(b"{}")) as (url, seen):
        exchange(f"{url}v1/rpc?network=main", headers={"X-Key": "secret", "user-agent": "mine", "content-type": "x"})
    assert seen[0].startswith(b"POST /v1/rpc?network=main HTTP/1.1\r\n")
    assert seen[0].endswith(b'\r\n\r\n{"id":1}')
    sent = head_of(seen[0])
    assert sent["content-type"] == "application/json"
    assert (sent["x-key"], sent["user-agent"]) == ("secret", "mine")


def test_a_response_is_plain_values() -> None:
    """Status, body, headers by lower-case names, the version of HTTP, and no TLS where there is none."""
    with server(answering(b"no", "X-One: 1", "Retry-After: 7", status="429 Slow")) as (url, _):
        response = exchange(url)
    assert (response.status, response.body, response.http_version, response.tls) == (429, b"no", "HTTP/1.1", "")
    assert (response.headers["x-one"], response.headers["retry-after"]) == ("1", "7")


def test_name_and_password_of_a_url_are_basic_credentials() -> None:
    """RFC 7617; a header that the user gives counts for more."""
    with server(answering(b"{}")) as (url, seen):
        place = url.removeprefix("http://")
        exchange(f"http://me:s%40cret@{place}")
        exchange(f"http://me:s%40cret@{place}", headers={"authorization": "Bearer token"})
    assert [head_of(request)["authorization"] for request in seen] == ["Basic bWU6c0BjcmV0", "Bearer token"]


def test_cookies_are_not_kept() -> None:
    """What a server wants to be reminded of by the next call, it is not."""
    with server(answering(b"{}", "Set-Cookie: session=1; Path=/")) as (url, seen):
        transport = HttpTransport(ServiceOptions(url))
        for _ in range(2):
            transport.call(request(b"{}", FAR))
        transport.close()
    assert not any("cookie" in head_of(request) for request in seen)


def test_secrets_stay_out_of_logs(caplog: pytest.LogCaptureFixture) -> None:
    """Whatever level of logging the process has that uses chainq: nothing is logged."""
    caplog.set_level("DEBUG")
    with server(answering(b"{}")) as (url, _):
        place = url.removeprefix("http://")
        exchange(f"http://me:hunter2@{place}hunter3?key=hunter4", headers={"X-Key": "hunter5"})
    assert caplog.text == ""


def test_a_redirect_is_not_followed_nor_read() -> None:
    """Wherever it points: also to what is no URL."""
    with server(answering(b"", "Location: http://xn--a.example/", status="302 Found")) as (url, seen):
        assert exchange(url).status == 302
    assert len(seen) == 1


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
def test_compression_is_asked_for_where_it_pays(url: str, headers: dict[str, str], accepted: str) -> None:
    """Responses from another machine shall come compressed, those from this one not, unless a header says so."""
    assert HttpTransport(ServiceOptions(url, headers=headers))._headers["Accept-Encoding"] == accepted


@pytest.mark.parametrize("coding", ["gzip", "x-gzip", "GZIP"])
def test_a_compressed_body_is_unpacked(coding: str) -> None:
    """Also one of several members, and one that expands a thousand times."""
    content = b"x" * 5_000_000
    packed = gzip.compress(content[:1000]) + gzip.compress(content[1000:])
    with server(answering(packed, f"Content-Encoding: {coding}")) as (url, _):
        assert exchange(url).body == content


@pytest.mark.parametrize("coding", ["gzip, gzip", "br", "deflate", "gzip, identity"])
def test_a_coding_that_was_not_asked_for_is_refused(coding: str) -> None:
    """One coding only: two of them unpack five kilobytes to three gigabytes."""
    with server(answering(b"", f"Content-Encoding: {coding}")) as (url, _), pytest.raises(ResponseError, match=coding):
        exchange(url)


@pytest.mark.parametrize(
    "packed",
    [gzip.compress(b"x" * 100)[:-3], b"no gzip at all", gzip.compress(b"x") + b"more"],
    ids=["ends early", "no gzip", "more after it"],
)
def test_a_damaged_compressed_body_is_broken(packed: bytes) -> None:
    """One that ends early, is no gzip, or is followed by something else."""
    with server(answering(packed, "Content-Encoding: gzip")) as (url, _), pytest.raises(BrokenResponseError):
        exchange(url)


@pytest.mark.parametrize("content", [b"", b"x", b"x" * 2**20, b"x" * (2**20 + 1), b"x" * (3 * 2**20)])
def test_bodies_of_any_length_come_whole(content: bytes) -> None:
    """Also those that end where a piece of the decompressed body ends."""
    for piece in (1, 7, 4096):
        packed = gzip.compress(content)
        pieces = [packed[at : at + piece] for at in range(0, len(packed), piece)]
        unpacked = list(body.decompress(pieces))
        assert b"".join(unpacked) == content
        assert max(map(len, unpacked)) <= body.PIECE_BYTES


@pytest.mark.parametrize("level", [0, 9])
def test_a_response_has_a_bound(level: int) -> None:
    """A body that does not fit into memory is given up while it is read, and a narrower range may be asked for."""
    content = b" " * (1 << 22) + b"{}"
    packed = gzip.compress(content, level)
    for sent, headers in ((content, ()), (packed, ("Content-Encoding: gzip",))):
        with server(answering(sent, *headers)) as (url, _), pytest.raises(TooHeavyError, match="1 MiB of max_memory"):
            exchange(url, max_memory=1 << 20)


def test_a_body_that_inflates_without_end_is_refused() -> None:
    """It is no response of rows, of which a narrower range would have fewer; and it is not inflated any further."""
    member = gzip.compress(b" " * 2**20, 9)
    inflated = body.decompress(itertools.repeat(member))
    with pytest.raises(ResponseError, match="inflates to more than 500 times its size"):
        list(itertools.islice(inflated, 100))


def test_rows_that_repeat_a_long_text_are_no_such_body() -> None:
    """Rows that carry the same program of 30 KB, and each an ID of its own."""
    ids = [hashlib.sha256(str(number).encode()).hexdigest() for number in range(1500)]
    program = "".join(ids[:470])
    rows = "".join(f"{program}{name}" for name in ids).encode()
    assert len(rows) > 2 * body.FREE_BYTES
    packed = gzip.compress(rows, 9)
    assert sum(map(len, body.decompress([packed]))) == len(rows)
    assert len(rows) / len(packed) > 100


def test_a_response_that_says_its_length_is_not_read_where_it_cannot_fit() -> None:
    """Nothing of it has to come for that."""
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000000\r\n\r\n"
    with server(lambda peer, _: peer.sendall(head)) as (url, _), pytest.raises(TooHeavyError):
        exchange(url)


# --- failures


def test_where_nothing_listens_is_no_connection(nowhere: str) -> None:
    """A refused connection, and a host that has no address."""
    for url in (nowhere, "http://chainq.invalid/"):
        with pytest.raises(NoConnectionError):
            exchange(url)


def test_a_header_that_cannot_be_sent_is_an_unusable_request() -> None:
    """What gets past all checks before is refused by the HTTP library."""
    with server(answering(b"{}")) as (url, _), pytest.raises(UnusableRequestError):
        exchange(url, headers={"X-Key": "a\r\nb"})


# --- certificates


def test_certificates_are_loaded_for_https_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loading them takes a fifth of a short run."""
    loaded: list[str] = []

    def context() -> ssl.SSLContext:
        loaded.append("certificates")
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

    monkeypatch.setattr("httpx.create_ssl_context", context)
    HttpTransport(ServiceOptions("http://127.0.0.1/"))
    assert loaded == []
    HttpTransport(ServiceOptions("https://127.0.0.1/"))
    assert loaded == ["certificates"]
