"""Exit codes 3 to 7, each with one line on stderr that says what happened.

`tests/golden/commands/responses.txt` has what servers with one answer to everything end in, `endings.txt` the others.
"""

import socket
import struct
import subprocess
from pathlib import Path
from typing import Any

import pytest

from harness.running.program import LONGEST, Program, Ran, finish, one_line
from harness.servers.services import Canned, canned, result
from harness.servers.sockets import Serve as SocketServe
from harness.servers.sockets import answering
from harness.servers.sockets import server as socket_server


def test_4_a_host_that_does_not_exist(chainq: Program, nowhere: str) -> None:
    """No such name can exist (RFC 6761); behind a proxy, that is what cannot be reached."""
    url = "http://nowhere.invalid/"
    said = one_line(chainq("latest", "--retries", "0", url=url), 4)
    assert said.endswith("; check the host in the URL\n")
    through = chainq("latest", "--retries", "0", url=url, env={"http_proxy": nowhere})
    assert "Connection refused; check the proxy" in one_line(through, 4)


@pytest.mark.parametrize(
    ("block", "said"),
    [
        ("null", "result is not an array: null"),
        ('[{"height":"0"}]', "latest/block returned null, but block 0 exists; run the command again later"),
    ],
)
def test_5_null_for_the_tip_of_a_chain_that_may_not_be_empty(block: str, said: str, chainq: Program) -> None:
    """Each chain with blocks has block 0; a server of something else may send null for everything."""
    with canned(lambda request: result(block if request["method"] == "block" else "null")(request)) as (url, _):
        assert one_line(chainq("latest", url=url), 5).endswith(f"{said}\n")
        assert one_line(chainq("records", url=url), 5).endswith(f"{said}\n")


def test_an_error_of_any_response_names_its_url(chainq: Program) -> None:
    """After the method and its heights; secrets are masked."""
    with canned(result("null")) as (url, _):
        said = one_line(chainq("block", "5", url=f"{url.replace('//', '//me:hunter2@')}v1/k3yk3yk3y?key=x"), 5)
    shown = url.replace("//", "//***@") + "v1/***?key=***"
    assert f"chainq block: block height 5: {shown}: result is not an array: null" in said


def test_5_a_web_page_in_between(chainq: Program) -> None:
    """Once the service has sent JSON, a web page is a transient failure, as during a deploy."""

    def answer(request: Any) -> Canned:
        if len(seen) == 2:
            return Canned(b"<html><title>Back soon</title></html>", 200, "text/html")
        return result(f'[{{"height":"{len(seen)}"}}]')(request)

    with canned(answer) as (url, seen):
        ran = chainq("block", "1", "3", "-j", "1", url=url)
    assert (ran.code, len(ran.rows), len(seen)) == (0, 2, 3), ran.err


def _closed(peer: socket.socket, _: bytes) -> None:
    peer.shutdown(socket.SHUT_RDWR)


def _reset(peer: socket.socket, _: bytes) -> None:
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    peer.close()


def _greeting(text: bytes) -> SocketServe:
    def greet(peer: socket.socket, _: bytes) -> None:
        peer.sendall(text)
        peer.shutdown(socket.SHUT_RDWR)

    return greet


@pytest.mark.parametrize(
    ("serve", "calls", "code", "said"),
    [
        (_closed, 2, 4, "closed without a response (after 2 attempts)"),
        (_reset, 2, 4, "Connection reset by peer (after 2 attempts)"),
        (_greeting(b"\x15\x03\x01\x00\x02\x02\x46"), 1, 5, "is not HTTP: illegal request line"),
        (_greeting(b"SSH-2.0-OpenSSH_9.6\r\n"), 2, 4, "closed without a response (after 2 attempts)"),
    ],
)
def test_a_port_of_another_protocol(serve: SocketServe, calls: int, code: int, said: str, chainq: Program) -> None:
    """What to check is said; another attempt is made if a server may have been restarted."""
    with socket_server(serve) as (url, seen):
        line = one_line(chainq("block", "5", "--retries", "1", "-q", url=url), code)
    assert f"{said}; check the scheme and the port of the URL" in line
    assert len(seen) == calls


@pytest.mark.parametrize(
    ("name", "status", "code"),
    [("https_proxy", "501 No", 4), ("https_proxy", "407 Login", 4), ("http_proxy", "407 Login", 4)],
)
def test_an_error_names_the_proxy(name: str, status: str, code: int, chainq: Program) -> None:
    """Once, without its login, and without another attempt, for tunnels and for requests that it passes on."""
    with socket_server(answering(b"", status=status)) as (away, seen):
        environment = {name: away.replace("//", "//me:hunter2@"), "no_proxy": ""}
        url = f"{name.removesuffix('_proxy')}://chainq.invalid/"
        said = one_line(chainq("block", "5", url=url, env=environment), code)
    assert f"{url} (through proxy {away.rstrip('/')})" in said.replace("/)", ")")
    assert said.count("127.0.0.1") == 1
    assert said.endswith("; check the proxy and its login\n")
    assert "hunter2" not in said
    assert len(seen) == 1


@pytest.mark.parametrize(
    "words",
    [["--help"], ["records", "--help"], ["--version"], ["version"], ["completion", "bash"], ["blocks", "0:10"]],
)
def test_7_a_full_device(words: list[str], chainq: Program, full_device: Path) -> None:
    """What takes no more bytes is exit 7, for rows and for help, also where Python keeps no buffer."""
    for env in ({"CHAINQ_URL": "demo:"}, {"CHAINQ_URL": "demo:", "PYTHONUNBUFFERED": "1"}):
        with full_device.open("wb", buffering=0) as full:
            process = chainq.start(*words, stdout=full, env=env)
            _, err = process.communicate(timeout=LONGEST)
        one_line(Ran(process.returncode, b"", err.decode()), 7)


@pytest.mark.parametrize(
    "words", ["records 0:5 -o rows.csv", "records 0:5 --checkpoint kept", "export blocks 0:50 --to lake", "status lake"]
)
def test_7_a_current_folder_that_has_been_deleted(words: str, chainq: Program) -> None:
    """What needs it ends with an error that says so."""
    line = ["sh", "-c", 'mkdir gone && cd gone && rmdir ../gone && exec "$@"', "sh", chainq.path, *words.split()]
    env = chainq.environment({"CHAINQ_URL": "demo:"})
    ran = finish(subprocess.Popen(line, env=env, cwd=chainq.home, stdout=subprocess.PIPE, stderr=subprocess.PIPE))
    assert "the current folder has been deleted; change to another one" in one_line(ran, 7)
