"""Exit codes 1, 3, 4, 5 and 7, each with one line on stderr that says what happened."""

import json
import socket
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.program import LONGEST, Program, Ran, Servers, finish, one_line
from harness.services import Canned, canned, result
from harness.sockets import answering
from harness.sockets import server as socket_server
from harness.truth import Truth

ADDRESS = Truth().chain.addresses[0]
ID = Truth().transaction_id(640, 1)


def test_1_an_unknown_block_among_others(chainq: Program, server: Servers, truth: Truth) -> None:
    """A block that does not exist is exit 1 and named; those that exist were printed."""
    ran = chainq("block", "5", "9999999", "7", url=server())
    assert "chainq block: block 9999999 not found" in one_line(ran, 1)
    assert ran.rows == [truth.block(5), truth.block(7)]
    assert ": blocks 9999999, 9999998 not found" in one_line(chainq("block", "9999999", "9999998", url="demo:"), 1)


def test_1_an_unknown_transaction_among_others(chainq: Program, server: Servers, truth: Truth) -> None:
    """A transaction that does not exist is exit 1 and named; in every format the others stand whole."""
    unknown = truth.chain.aborted_ids(649)[0]
    words = ("transaction", unknown, ID)
    ran = chainq(*words, url=server())
    assert unknown in one_line(ran, 1)
    assert ran.rows == [truth.transaction(640, 1)]
    ran = chainq(*words, "--json", url=server())
    assert json.loads(ran.out) == [json.loads(truth.transaction(640, 1))]
    assert ID in chainq(*words, "--table", "--no-trunc", url=server()).out.decode()


def test_1_transactions_of_an_unknown_block(chainq: Program, server: Servers) -> None:
    """transactions tells a block that does not exist from one without transactions."""
    assert "9999999" in one_line(chainq("transactions", "9999999", url=server()), 1)
    ran = chainq("transactions", "13", url=server())
    assert ran == (0, b"", "")


def test_1_the_tip_check_of_a_chain_without_one(chainq: Program, server: Servers) -> None:
    """`block latest` and `latest` of an empty chain say the same, and exit 1."""
    url = server("--tip", "-1")
    for words in (("latest",), ("block", "latest"), ("transactions", "latest")):
        assert "no blocks yet" in one_line(chainq(*words, url=url), 1)


def refused(code: Any) -> Callable[[Any], Canned]:
    error = {"code": code, "message": "Invalid \x1b[31mparams\nselect * from block"}
    return lambda request: Canned(json.dumps({"jsonrpc": "2.0", "id": request["id"], "error": error}).encode())


@pytest.mark.parametrize("code", [-32602, "22P02"])
def test_3_an_error_of_the_service(code: int | str, chainq: Program) -> None:
    """A JSON-RPC error is exit 3 with its code and message, also a string code; it is asked for once only."""
    for words in (["block", "5"], ["records", "--start", "0", "--end", "1"], ["rpc", "x"]):
        with canned(refused(code)) as (url, seen):
            said = one_line(chainq(*words, url=url), 3)
        assert str(code) in said
        assert "select * from block" in said
        assert len(seen) == 1


def test_3_an_error_names_command_method_and_heights(chainq: Program) -> None:
    """The line says for which command, method and heights it failed, and how to go on."""
    with canned(refused(-32000)) as (url, _):
        said = one_line(chainq("records", "--start", "40K", "--end", "40_100", url=url), 3)
    assert said.startswith("chainq records: ")
    assert all(word in said for word in ("records/all heights 40000-", "resume with --start 40000 --end 40100"))


@pytest.mark.parametrize("status", [401, 404])
def test_3_http_4xx(status: int, chainq: Program) -> None:
    """HTTP 4xx other than 408 and 429 is exit 3, at the first attempt."""
    with canned(lambda _: Canned(b"<html><h1>No</h1></html>", status, "text/html")) as (url, seen):
        assert str(status) in one_line(chainq("block", "5", url=url), 3)
    assert len(seen) == 1


def test_5_an_object_that_is_no_row(chainq: Program) -> None:
    """Any field of a block or a transaction may be missing, but an object without all of them is none."""

    def respond(request: Any) -> Canned:
        return Canned(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": {"a": 1}}).encode())

    with canned(respond) as (url, _):
        for words in (("latest", "--columns", "height,timestamp", "--csv"), ("transaction", ID)):
            said = one_line(chainq(*words, url=url), 5)
            assert f'result has no field of a {words[0]} row: {{"a":1}}' in said


def test_3_a_page_is_repeated_without_its_tags(chainq: Program) -> None:
    """Its title often begins with the status again, which the message leaves out."""
    page = b"<html><title>404 Not Found</title><body><p>No such path</p></body></html>"
    with canned(lambda _: Canned(page, 404, "text/html")) as (url, _):
        assert ": HTTP 404: Not Found No such path" in one_line(chainq("block", "5", url=url), 3)


def test_3_credentials_that_are_refused(chainq: Program) -> None:
    """They may be missing, wrong or expired: the message says how to pass others."""
    with canned(lambda _: Canned(b"", 401)) as (url, seen):
        said = one_line(chainq("block", "5", "--header", "X-Api-Key: hunter2", url=url), 3)
    assert said.endswith(": HTTP 401; pass valid credentials with --header, or with headers in a profile\n")
    assert len(seen) == 1


def test_4_nothing_listens(chainq: Program, nowhere: str) -> None:
    """Where nothing listens is exit 4, after a few seconds in which a server might start."""
    runs = [["block", "5"], ["blocks", "--last", "5"], ["rpc", "x"], ["records", "--end", "5"]]
    for started in [chainq.start(*words, url=nowhere) for words in runs]:
        said = one_line(finish(started), 4)
        assert "Connection refused (after 6 attempts); is the server running, and is the port in the URL right?" in said
    away = chainq("latest", "--retries", "0", url="http://nowhere.invalid/")
    assert one_line(away, 4).endswith("; check the host in the URL\n")
    through = chainq("latest", "--retries", "0", url="http://nowhere.invalid/", env={"http_proxy": nowhere})
    assert "Connection refused; check the proxy" in one_line(through, 4)
    doctor = chainq("doctor", url=nowhere)
    assert b"refused" not in doctor.out
    assert "is the server running" in one_line(doctor._replace(out=b""), 4)


@pytest.mark.parametrize("words", [("records", "--start", "0", "--end", "500"), ("block", "5", "6")])
def test_nothing_to_resume_if_the_service_never_answered(
    words: tuple[str, ...], chainq: Program, nowhere: str, tmp_path: Path
) -> None:
    """A wrong port, host or path, or no rows from the start: the rest would be the command that just failed."""
    assert "resume with" not in one_line(chainq(*words, url=nowhere), 4)
    assert "resume with" not in one_line(chainq(*words, url="http://chainq.invalid/"), 4)
    with canned(lambda _: Canned(b"no such page", 404, "text/plain")) as (url, _):
        assert "resume with" not in one_line(chainq(*words, url=url), 3)
        assert one_line(chainq(*words, "-o", str(tmp_path / "x.csv"), url=url), 3).endswith("x.csv was not created\n")
    with canned(result("null")) as (url, _):
        assert "resume with" not in one_line(chainq(*words, url=url), 5)


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
        ("null", "result is not an array: null (looked up because latest/block returned null); is the URL right?"),
        ('[{"height":"0"}]', "latest/block returned null, but block 0 exists; run the command again later"),
    ],
)
def test_5_null_for_the_tip_of_a_chain_that_may_not_be_empty(block: str, said: str, chainq: Program) -> None:
    """Each chain with blocks has block 0; a server of something else may send null for everything."""
    with canned(lambda request: result(block if request["method"] == "block" else "null")(request)) as (url, _):
        assert one_line(chainq("latest", url=url), 5).endswith(f"{said}\n")
        assert one_line(chainq("records", url=url), 5).endswith(f"{said}\n")


@pytest.mark.parametrize(
    ("words", "request_named"),
    [
        (("records", "5:6"), "records/all heights 5-36 (to prove height 5 complete)"),
        (("blocks", "5:6"), "getBlocks (to detect the dialect)"),
        (("transaction", "at1", "--no-check"), "getBlocks (to detect the dialect)"),
    ],
)
def test_5_null_for_everything(words: tuple[str, ...], request_named: str, chainq: Program) -> None:
    """Until a call succeeds, the URL may be wrong; a method that nobody asked for has its purpose beside it."""
    with canned(result("null")) as (url, _):
        said = one_line(chainq(*words, "--dialect", "auto", url=url), 5)
    assert said == f"chainq {words[0]}: {request_named}: {url}: result is not an array: null; is the URL right?\n"


def test_4_a_host_without_a_name(chainq: Program) -> None:
    """A host name that cannot exist is exit 4 (RFC 6761: .invalid)."""
    assert "after 2 attempts" in one_line(chainq("block", "5", url="http://chainq.invalid/"), 4)


def test_4_so_many_retries_as_the_user_says(chainq: Program, nowhere: str) -> None:
    """Also where no connection was ever made; what a proxy refuses is asked once."""
    for retries in (0, 1, 3):
        ran = chainq("block", "5", "--retries", str(retries), "--quiet", url=nowhere)
        assert (f"(after {retries + 1} attempts)" in one_line(ran, 4)) == (retries > 0)
    with socket_server(answering(b"", status="407 Proxy Authentication Required")) as (proxy, seen):
        environment = {"https_proxy": proxy, "no_proxy": ""}
        said = one_line(finish(chainq.start("block", "5", url="https://chainq.invalid/", env=environment)), 4)
        assert "the proxy refused to connect: 407" in said
        assert "check the proxy" in said
        assert len(seen) == 1


@pytest.mark.parametrize("status", [429, 503])
def test_4_a_long_retry_after_is_named(status: int, chainq: Program) -> None:
    """A service that asks for an hour is not waited for, and the error says how long it wants."""
    with canned(lambda _: Canned(b"later", status, "text/plain", (("Retry-After", "3600"),))) as (url, seen):
        ran = chainq("block", "5", url=url)
    assert "it asks to wait 3600 s" in one_line(ran, 4)
    assert len(seen) == 1


def test_4_without_retries_a_refusal_is_final(chainq: Program) -> None:
    """`--retries 0` sends each request once, although a service that limits the rate is waited for otherwise."""
    with canned(lambda _: Canned(b"later", 429, "text/plain")) as (url, seen):
        assert "HTTP 429" in one_line(chainq("block", "5", "--retries", "0", url=url), 4)
    assert len(seen) == 1


@pytest.mark.parametrize("status", [408, 504])
def test_4_refused_for_ever(status: int, chainq: Program) -> None:
    """A service that keeps answering 5xx is asked 1 + --retries times, then exit 4."""
    with canned(lambda _: Canned(b"<html><h1>Down</h1></html>", status, "text/html")) as (url, seen):
        ran = chainq("block", "5", "--retries", "1", url=url)
    assert str(status) in one_line(ran, 4)
    assert len(seen) == 2


@pytest.mark.parametrize("words", [("block", "5"), ("records", "0:9")])
def test_4_a_connection_that_is_closed_without_an_answer(words: tuple[str, ...], chainq: Program) -> None:
    """It is retried like a lost connection, and the message says what to check."""
    with socket_server(lambda peer, _: peer.shutdown(socket.SHUT_RDWR)) as (url, seen):
        said = one_line(chainq(*words, "--retries", "1", "-q", url=url), 4)
    assert "closed without a response (after 2 attempts); check the scheme and the port of the URL" in said
    assert "resume" not in said
    assert len(seen) >= 2


def test_5_a_response_that_ends_early_says_what_to_check(chainq: Program, server: Servers) -> None:
    """The program cannot know who cuts it, but the operator can."""
    said = one_line(chainq("block", "5", "--retries", "0", url=server("--fault", "truncate-rate:1")), 5)
    assert said.endswith("; check the log of the server, or of a proxy before it\n")


def _reset(peer: socket.socket, _: bytes) -> None:
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    peer.close()


def test_4_a_connection_that_is_reset_before_any_answer(chainq: Program) -> None:
    """The port may be that of another protocol, as after a connection that is closed."""
    with socket_server(_reset) as (url, _):
        said = one_line(chainq("block", "5", "--retries", "0", url=url), 4)
    assert "Connection reset by peer; check the scheme and the port of the URL" in said


@pytest.mark.parametrize(
    ("greeting", "shown"),
    [
        (b"\x15\x03\x01\x00\x02\x02\x46", "\\x15\\x03\\x01\\x00\\x02\\x02F"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", "SSH-2.0-OpenSSH_9.6"),
    ],
)
def test_5_a_port_of_another_protocol(greeting: bytes, shown: str, chainq: Program) -> None:
    """It is asked once: another attempt says the same."""

    def greet(peer: socket.socket, _: bytes) -> None:
        peer.sendall(greeting)
        peer.shutdown(socket.SHUT_RDWR)

    with socket_server(greet) as (url, seen):
        said = one_line(chainq("block", "5", url=url), 5)
    assert said.endswith(f"is not HTTP: {shown}; check the scheme and the port of the URL\n")
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


def test_profiles_are_listed_if_the_default_one_is_wrong(chainq: Program) -> None:
    """A warning names the line; a command that needs the default profile ends with a usage error."""
    chainq.config.parent.mkdir(parents=True, exist_ok=True)
    chainq.config.write_text('default-profile = "y"\n[profiles.x]\nurl = "demo:"\n')
    ran = chainq("profiles")
    assert (ran.code, ran.out.splitlines()[1].split()) == (0, [b"x", b"demo:", b"auto", b"-"])
    assert ran.err == f"chainq: warning: {chainq.config}: default-profile: no profile 'y'\n"
    assert "no profile 'y'; profiles there: x" in one_line(chainq("latest"), 2)


def test_4_no_answer_in_time(chainq: Program, silent: str) -> None:
    """A call that takes longer than --timeout is exit 4."""
    one_line(chainq("block", "5", "--timeout", "0.05", "--retries", "0", url=silent), 4)


def test_7_an_unwritable_file_is_told_before_the_first_call(chainq: Program, nowhere: str, tmp_path: Path) -> None:
    """-o into a folder that is not there, or onto a folder, is exit 7 before any call."""
    for path in (str(tmp_path / "absent" / "file"), str(tmp_path), f"{tmp_path}/file/", ".", "/"):
        ran = chainq("block", "5", "-o", path, "--retries", "0", url=nowhere)
        assert f"cannot write {path}: " in one_line(ran, 7)


@pytest.mark.parametrize(
    "words", [["--help"], ["records", "--help"], ["--version"], ["version"], ["completion", "bash"]]
)
def test_7_a_full_device_for_help(words: list[str], chainq: Program, full_device: Path) -> None:
    """Help that cannot be written is exit 7 too, also where Python keeps no buffer."""
    for env in ({}, {"PYTHONUNBUFFERED": "1"}):
        with full_device.open("wb", buffering=0) as full:
            process = chainq.start(*words, stdout=full, env=env)
            _, err = process.communicate(timeout=LONGEST)
        one_line(Ran(process.returncode, b"", err.decode()), 7)


def test_2_parameters_that_are_not_utf_8(chainq: Program) -> None:
    """Bytes on standard input that are no text are a usage error before any call, and no bug."""
    assert "not valid UTF-8" in one_line(chainq("rpc", "latest/block", "-", url="demo:", stdin=b'{"a": "\xff"}'), 2)


def test_7_a_full_device(chainq: Program, server: Servers, full_device: Path) -> None:
    """A device that takes no more bytes is exit 7, as stdout and as -o."""
    one_line(chainq("block", "5", "-o", str(full_device), url=server()), 7)
    with full_device.open("wb", buffering=0) as full:
        process = chainq.start("blocks", "--end", "10", url=server(), stdout=full)
        _, err = process.communicate(timeout=LONGEST)
    one_line(Ran(process.returncode, b"", err.decode()), 7)
