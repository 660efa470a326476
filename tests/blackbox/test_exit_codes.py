"""Exit codes 3 to 7, each with one line on stderr that says what happened.

`tests/golden/commands/responses.txt` has what servers with one answer to everything end in, `endings.txt` the others.
"""

import socket
import struct
import subprocess
from pathlib import Path
from typing import Any

import pytest

from harness.program import LONGEST, Program, Ran, finish, one_line
from harness.services import Canned, canned, result
from harness.sockets import answering
from harness.sockets import server as socket_server


def test_4_nothing_listens(chainq: Program, nowhere: str) -> None:
    """Where nothing listens is exit 4, after a few seconds in which a server might start."""
    runs = [["records", "--end", "5"], ["rpc", "x"]]
    for started in [chainq.start(*words, url=nowhere) for words in runs]:
        said = one_line(finish(started), 4)
        assert "Connection refused (after 6 attempts); is the server running, and is the port in the URL right?" in said
    assert one_line(chainq("latest", url="http://nowhere.invalid/"), 4).endswith(
        " (after 2 attempts); check the host in the URL\n"  # no such name can exist (RFC 6761)
    )
    through = chainq("latest", "--retries", "0", url="http://nowhere.invalid/", env={"http_proxy": nowhere})
    assert "Connection refused; check the proxy" in one_line(through, 4)
    doctor = chainq("doctor", url=nowhere)
    assert b"refused" not in doctor.out
    assert "is the server running" in one_line(doctor._replace(out=b""), 4)


@pytest.mark.parametrize("command", ["records", "blocks", "full-blocks", "transitions"])
def test_a_tip_of_null_is_an_empty_chain(command: str, chainq: Program) -> None:
    """One warning says so, if there is no block 0 either; no other method is called to detect the dialect."""
    with canned(lambda request: result("[]" if request["method"] == "block" else "null")(request)) as (url, seen):
        ran = chainq(command, url=url)
    assert ran == (0, b"", "chainq: warning: no blocks in that range: the chain has no blocks yet\n")
    assert [call["method"] for call in seen] == ["latest/block", "block"]


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


def test_4_so_many_retries_as_the_user_says(chainq: Program, nowhere: str) -> None:
    """Also where no connection was ever made."""
    for retries in (0, 1, 3):
        ran = chainq("block", "5", "--retries", str(retries), "--quiet", url=nowhere)
        assert (f"(after {retries + 1} attempts)" in one_line(ran, 4)) == (retries > 0)


@pytest.mark.parametrize("words", [("block", "5"), ("records", "0:9")])
def test_4_a_connection_that_is_closed_without_an_answer(words: tuple[str, ...], chainq: Program) -> None:
    """It is retried like a lost connection, and the message says what to check."""
    with socket_server(lambda peer, _: peer.shutdown(socket.SHUT_RDWR)) as (url, seen):
        said = one_line(chainq(*words, "--retries", "1", "-q", url=url), 4)
    assert "closed without a response (after 2 attempts); check the scheme and the port of the URL" in said
    assert "resume" not in said
    assert len(seen) >= 2


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


def _reset(peer: socket.socket, _: bytes) -> None:
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    peer.close()


def test_4_a_connection_that_is_reset_before_any_answer(chainq: Program) -> None:
    """The port may be that of another protocol, as after a connection that is closed."""
    with socket_server(_reset) as (url, _):
        said = one_line(chainq("block", "5", "--retries", "0", url=url), 4)
    assert "Connection reset by peer; check the scheme and the port of the URL" in said


def test_5_a_port_of_another_protocol(chainq: Program) -> None:
    """It is asked once: another attempt says the same."""

    def greet(peer: socket.socket, _: bytes) -> None:
        peer.sendall(b"\x15\x03\x01\x00\x02\x02\x46")  # an alert of TLS
        peer.shutdown(socket.SHUT_RDWR)

    with socket_server(greet) as (url, seen):
        said = one_line(chainq("block", "5", url=url), 5)
    assert "is not HTTP: illegal request line; check the scheme and the port of the URL" in said
    assert len(seen) == 1


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


def test_4_no_answer_in_time(chainq: Program, silent: str) -> None:
    """A call that takes longer than --timeout is exit 4."""
    one_line(chainq("block", "5", "--timeout", "0.05", "--retries", "0", url=silent), 4)


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
