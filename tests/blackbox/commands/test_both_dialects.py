"""The same program against servers of both dialects, over real sockets: rows, `--dialect auto`, `doctor`, and the ways
that lead to a server (compression, IPv6, proxies, a certificate authority of one's own).
"""

import socket
import ssl
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization

from harness.running.program import Program, Servers, finish, one_line
from harness.running.truth import Truth
from harness.servers.certificate import certified
from harness.servers.sockets import answering
from harness.servers.sockets import server as raw_server


def test_the_profile_that_doctor_prints_works(chainq: Program, server: Servers, truth: Truth) -> None:
    """Its lines are TOML, without values of headers and credentials of a URL; nothing is written."""
    url, chainq_config = server("--dialect", "aleo"), chainq.config
    ran = chainq("doctor", "--header", "X-Token: s3cret", "--timeout", "9", url=url)
    assert (ran.code, chainq_config.exists(), "s3cret" in ran.err + ran.out.decode()) == (0, False, False)
    lines = ran.out.decode().partition("\n# a profile, for ")[2].partition("\n")[2]
    assert '# headers = { NAME = "env:VARIABLE" }\n' in lines
    chainq_config.parent.mkdir(parents=True)
    chainq_config.write_text(lines)
    assert chainq("transactions", "640", "--profile", "NAME").rows == truth.transactions(640)
    ran = chainq("doctor", url=url.replace("//", "//me:s3cret@"))
    assert "s3cret" not in ran.err + ran.out.decode()
    assert b"\n# url = " in ran.out
    assert b"[profiles" not in chainq("doctor", "--profile", "NAME").out


def test_ipv6_addresses_are_served_and_asked(chainq: Program, truth: Truth) -> None:
    """chainq serve --host ::1 prints a URL with brackets, and that URL works."""
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        pytest.skip("this machine has no IPv6 loopback")
    process = chainq.start("serve", "--host", "::1", "--port", "0")
    assert process.stdout is not None
    url = process.stdout.readline().decode().strip()
    try:
        assert url.startswith("http://[::1]:")
        assert chainq("block", "640", url=url).rows == [truth.block(640)]
    finally:
        process.terminate()
        finish(process)


def test_a_server_that_wants_to_know_its_clients(tmp_path: Path, chainq: Program, truth: Truth) -> None:
    """--cert and a profile name the certificate, with its key in the same file or in another one; errors name it."""
    context, authority = certified(tmp_path)
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(authority)
    key, both = tmp_path / "key.pem", tmp_path / "both.pem"
    both.write_text(authority.read_text() + key.read_text())
    env = {"SSL_CERT_FILE": str(authority)}
    body = b'{"jsonrpc":"2.0","id":1,"result":[%s]}' % truth.block(640)
    secret = serialization.load_pem_private_key(key.read_bytes(), None)
    form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    locked = tmp_path / "locked.pem"
    locked.write_bytes(secret.private_bytes(*form, serialization.BestAvailableEncryption(b"word")))
    with raw_server(answering(body), tls=context) as (url, _):
        for cert in (str(both), f"{authority}:{key}"):
            ran = chainq("block", "640", "--cert", cert, url=url, env=env)
            assert (ran.code, ran.rows) == (0, [truth.block(640)]), ran.err
        chainq.config.parent.mkdir(parents=True)
        chainq.config.write_text(f'[profiles.known]\nurl = "{url}"\ncert = "{both}"\n')
        assert chainq("block", "640", "--profile", "known", env=env).rows == [truth.block(640)]
        assert chainq("block", "640", "--retries", "0", url=url, env=env).code == 4
        for cert, address, said in (
            (str(key), url, f"--cert {key} cannot be used"),
            ("nothing.pem", url, "No such file"),
            (f"{authority}:{locked}", url, "with a certificate and its key, or FILE:KEY, without a password"),
            (str(both), url.replace("https:", "http:"), "--cert needs an https:// URL"),
        ):
            assert said in one_line(chainq("block", "640", "--cert", cert, url=address, env=env), 2)
    tip = answering(b'{"jsonrpc":"2.0","id":1,"result":%s}' % truth.block(640))
    with raw_server(tip, tls=context) as (url, _), raw_server(tip) as (other, seen):
        words = ("verify", "5:6", "--cert", str(both), "--witness", other, "--retries", "0")
        assert "--cert" not in one_line(chainq(*words, url=url, env=env), 5), "it is for no other server"
        assert seen
