"""What is wrong with a server's TLS: each fault is named, at the first attempt, with what to do."""

import datetime
import ipaddress
import socket
import ssl
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from harness.certificate import certified
from harness.program import Program, one_line
from harness.sockets import accepting, answering, server

NOW = datetime.datetime.now(datetime.UTC)
YEAR = datetime.timedelta(days=365)
HERE, ELSEWHERE = x509.IPAddress(ipaddress.ip_address("127.0.0.1")), x509.DNSName("elsewhere.invalid")
FAULTS = {
    "another host": (ELSEWHERE, NOW - YEAR, "certificate is not valid for"),
    "expired": (HERE, NOW - 2 * YEAR, "certificate has expired"),
    "not yet valid": (HERE, NOW + YEAR, "certificate is not yet valid"),
}


def certificate(folder: Path, name: x509.GeneralName, start: datetime.datetime) -> tuple[ssl.SSLContext, Path]:
    """A server's side of TLS with a certificate that is its own authority, valid for 18 months, and its file."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "chainq tests")])
    made = (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(start + 1.5 * YEAR)
        .add_extension(x509.SubjectAlternativeName([name]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = folder / "pair.pem"
    file.write_bytes(
        made.public_bytes(serialization.Encoding.PEM)
        + key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    return context, file


@pytest.mark.parametrize("fault", FAULTS)
def test_a_certificate_that_does_not_fit(fault: str, chainq: Program, tmp_path: Path) -> None:
    """Of a trusted authority, but for another host, or not valid now."""
    name, start, words = FAULTS[fault]
    context, file = certificate(tmp_path, name, start)
    with server(answering(b"{}"), tls=context) as (url, seen):
        said = one_line(chainq("block", "5", url=url, env={"SSL_CERT_FILE": str(file)}), 4)
    assert words in said
    assert "; check the URL and the clock; to trust" in said
    assert ".;" not in said
    assert "attempts" not in said
    assert seen == []


def test_a_certificate_that_is_self_signed(chainq: Program, tmp_path: Path) -> None:
    """SSL_CERT_FILE is the way to trust it."""
    context, _ = certified(tmp_path)
    with server(answering(b"{}"), tls=context) as (url, _):
        said = one_line(chainq("block", "5", url=url), 4)
    assert "self-signed certificate; check the URL" in said
    assert "SSL_CERT_FILE" in said


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
