"""What is wrong with a server's TLS: each fault is named, at the first attempt, with what to do."""

import socket
from pathlib import Path

import pytest

from harness.running.program import Program, one_line
from harness.servers.certificate import certified
from harness.servers.sockets import accepting, answering, server


@pytest.mark.parametrize(
    ("host", "trusted", "words"),
    [
        ("127.0.0.1", False, "self-signed certificate"),
        ("localhost", True, "Hostname mismatch, certificate is not valid for 'localhost'"),
    ],
)
def test_a_certificate_that_does_not_fit(host: str, trusted: bool, words: str, chainq: Program, tmp_path: Path) -> None:
    """Of an unknown authority, or for another host; SSL_CERT_FILE is the way to trust one."""
    context, authority = certified(tmp_path)
    with server(answering(b"{}"), tls=context) as (url, seen):
        env = {"SSL_CERT_FILE": str(authority)} if trusted else {}
        said = one_line(chainq("block", "5", url=url.replace("127.0.0.1", host), env=env), 4)
    assert f"{words}; check the URL and the clock; to trust the certificate, set SSL_CERT_FILE" in said
    assert seen == []


def test_a_port_without_tls(chainq: Program) -> None:
    """A server that speaks plain HTTP behind an https URL."""

    def talk(peer: socket.socket) -> None:
        with peer:
            peer.recv(65536)
            peer.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")

    with accepting(talk) as address:
        said = one_line(chainq("block", "5", url=f"https://{address}/"), 4)
    assert "the server does not speak TLS on this port" in said
    assert "http://" in said
