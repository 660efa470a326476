"""The same program against servers of both dialects, over real sockets: rows, `--dialect auto`, `doctor`, and the ways
that lead to a server (compression, IPv6, proxies, a certificate authority of one's own).
"""

import json
import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from test_commands import Case, each_command

from chainq.demo.chain import Chain
from chainq.demo.faults import NO_FAULTS
from chainq.demo.http_server import DemoServer
from chainq.demo.service import Service
from harness.belief import besides_belief
from harness.certificate import certified
from harness.program import Program, Servers, finish, one_line
from harness.services import Canned, canned
from harness.sockets import answering
from harness.sockets import server as raw_server
from harness.truth import Truth, difference

DIALECTS = ("chain", "aleo")
each_dialect = pytest.mark.parametrize("dialect", DIALECTS)


def speaks(server: Servers, dialect: str) -> str:
    """A server of that dialect, its rows shuffled."""
    return server() if dialect == "chain" else server("--dialect", dialect)


@each_command
def test_every_command_gives_the_same_rows(case: Case, chainq: Program, server: Servers, truth: Truth) -> None:
    """The other dialect brings each row once, byte for byte, although the servers shuffle.

    For the first see `test_commands`, for `--dialect auto` see `test_dialect_auto`.
    """
    ran = chainq(case.command, *case.args(truth), "--jsonl", "--dialect", "aleo", url=speaks(server, "aleo"))
    assert (ran.code, besides_belief(ran, case.command).err) == (0, "")
    assert difference(ran.rows, case.due(truth)) == ""


@pytest.mark.parametrize(("method", "command"), [("records/isOwner", "ownership"), ("latest/block", "latest")])
def test_doctor_names_a_method_that_deviates(method: str, command: str, chainq: Program) -> None:
    """One that is missing has a line of its own, and the others stay in one line."""

    def answer(request: Any) -> Canned:
        if request["method"] == method:
            error = f'{{"jsonrpc":"2.0","id":{request["id"]},"error":{{"code":-32601,"message":"Method not found"}}}}'
            return Canned(error.encode())
        return Canned(service.respond(json.dumps(request).encode()).body)

    service = Service(Chain(), NO_FAULTS, "chain")
    with canned(answer) as (url, _):
        ran = chainq("doctor", url=url)
    text = ran.out.decode()
    assert ran.code == 3
    assert "10 of 11" in text
    assert [line.split()[:3] for line in text.splitlines() if command in line and line.startswith("!")] == [
        ["!", command, "no"]
    ]
    assert ran.err.startswith(f"chainq doctor: {method}: the service returned error -32601: Method not found")


def test_the_profile_that_doctor_prints_works(chainq: Program, server: Servers, truth: Truth) -> None:
    """Its lines are TOML, without values of headers and credentials of a URL; nothing is written."""
    url, chainq_config = speaks(server, "aleo"), chainq.config
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


def test_compressed_answers_are_read(chainq: Program, server: Servers, truth: Truth) -> None:
    """A server that compresses gives the same rows."""
    url = server("--fault", "gzip", "--dialect", "aleo")
    words = ("records", "--start", "630", "--end", "650", "--dialect", "aleo", "--header", "Accept-Encoding: gzip")
    ran = chainq(*words, url=url)
    assert (ran.code, difference(ran.rows, truth.groups("records", 630, 650))) == (0, "")


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


def test_a_proxy_of_the_environment_is_used(chainq: Program, server: Servers, nowhere: str, truth: Truth) -> None:
    """HTTP_PROXY takes the calls to a host that only the proxy knows; NO_PROXY keeps them from it."""
    url = "http://service.invalid/"
    assert chainq("block", "640", url=url, env={"HTTP_PROXY": server()}).rows == [truth.block(640)]
    away = {"HTTP_PROXY": nowhere, "NO_PROXY": "127.0.0.1"}
    assert chainq("block", "640", "--retries", "0", url=url, env=away).code == 4
    assert chainq("block", "640", url=server(), env=away).rows == [truth.block(640)]


@pytest.fixture
def secured(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """The sample service behind TLS: its URL, and the file of the authority that vouches for it."""
    context, authority = certified(tmp_path)
    server = DemoServer(Service(Chain()), "127.0.0.1", 0)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield f"https://127.0.0.1:{server.port}/", authority
    server.shutdown()
    thread.join()
    server.server_close()


def test_an_authority_of_the_environment_is_trusted(secured: tuple[str, Path], chainq: Program, truth: Truth) -> None:
    """SSL_CERT_FILE vouches for a server that is refused without it."""
    url, authority = secured
    env = {"SSL_CERT_FILE": str(authority)}
    assert chainq("block", "640", url=url, env=env).rows == [truth.block(640)]
    refused = chainq("block", "640", url=url)
    assert (refused.code, refused.out) == (4, b"")
    assert "self-signed certificate" in refused.err
    assert chainq("doctor", url=url, env=env).code == 0
    assert chainq("doctor", url=url).code == 4


def test_a_server_that_wants_to_know_its_clients(tmp_path: Path, chainq: Program, truth: Truth) -> None:
    """--cert and a profile name the certificate, with its key in the same file or in another one; errors name it."""
    context, authority = certified(tmp_path)
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(authority)
    key, both = tmp_path / "key.pem", tmp_path / "both.pem"
    both.write_text(authority.read_text() + key.read_text())
    env = {"SSL_CERT_FILE": str(authority)}
    body = b'{"jsonrpc":"2.0","id":1,"result":[%s]}' % truth.block(640)
    with raw_server(answering(body), tls=context) as (url, _):
        for cert in (str(both), f"{authority}:{key}"):
            ran = chainq("block", "640", "--cert", cert, url=url, env=env)
            assert (ran.code, ran.rows) == (0, [truth.block(640)]), ran.err
        (chainq.home / "both.pem").write_bytes(both.read_bytes())
        config = f'[profiles.known]\nurl = "{url}"\ncert = "~/both.pem"\n'
        chainq.config.parent.mkdir(parents=True)
        chainq.config.write_text(config)
        assert chainq("block", "640", "--profile", "known", env=env).rows == [truth.block(640)]
        assert chainq("block", "640", "--retries", "0", url=url, env=env).code == 4
        wrong = one_line(chainq("block", "640", "--cert", str(key), url=url, env=env), 2)
        assert f"--cert {key} cannot be used" in wrong
        assert "expected a PEM file" in wrong
        assert "No such file" in one_line(chainq("block", "640", "--cert", "nothing.pem", url=url, env=env), 2)
        secret = serialization.load_pem_private_key(key.read_bytes(), None)
        form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
        key.write_bytes(secret.private_bytes(*form, serialization.BestAvailableEncryption(b"word")))
        locked = one_line(chainq("block", "640", "--cert", f"{authority}:{key}", url=url, env=env), 2)
        assert locked.endswith("with a certificate and its key, or FILE:KEY, without a password\n")
        plain = chainq("block", "640", "--cert", str(both), url=url.replace("https:", "http:"), env=env)
        assert "--cert needs an https:// URL" in one_line(plain, 2)
    tip = answering(b'{"jsonrpc":"2.0","id":1,"result":%s}' % truth.block(640))
    with raw_server(tip, tls=context) as (url, _), raw_server(tip) as (other, seen):
        words = ("verify", "5:6", "--cert", str(both), "--witness", other, "--retries", "0")
        assert "--cert" not in one_line(chainq(*words, url=url, env=env), 5), "it is for no other server"
        assert seen


def test_commands_do_not_load_what_they_do_not_need(chainq: Program) -> None:
    """A run with a URL and a dialect loads neither profiles, nor doctor, nor what finds a dialect out."""
    ran = chainq("block", "640", "--dialect", "chain", url="demo:", env={"PYTHONPROFILEIMPORTTIME": "1"})
    loaded = {line.rpartition("|")[2].strip() for line in ran.err.splitlines()}
    assert ran.code == 0
    assert "chainq.fetching.service" in loaded
    assert not loaded & {f"chainq.{name}" for name in ("config.profiles", "config.dialect_cache", "doctor")}
