"""Every exit code, each with its one line on stderr; what went to stdout before stays whole."""

import json
import socket
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from harness.program import Program, Ran, Servers, side_by_side
from harness.services import Canned, canned, result
from harness.truth import Truth

ADDRESS = Truth().chain.addresses[0]
ID = Truth().transaction_id(640, 1)


def one_line(ran: Ran, code: int) -> str:
    """The message of a run that ended in `code`: one line, for this program, with nothing of Python in it."""
    assert ran.code == code, (ran.code, ran.err)
    assert ran.err.startswith("chainq")
    assert ran.err.endswith("\n")
    assert ran.err.count("\n") == 1, ran.err
    assert "Traceback" not in ran.err
    assert ran.err[:-1].isprintable(), ran.err
    return ran.err


def test_1_an_unknown_block_among_others(chainq: Program, server: Servers, truth: Truth) -> None:
    """A block that does not exist is exit 1 and named; those that exist were printed."""
    ran = chainq("block", "5", "9999999", "7", url=server())
    assert "9999999" in one_line(ran, 1)
    assert ran.rows == [truth.block(5), truth.block(7)]


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


USAGE: list[tuple[list[str], str]] = [
    (["blocks", "--start", "abc"], "abc"),
    (["blocks", "--start", "1.5"], "1.5"),
    (["blocks", "--start", "1e5"], "1e5"),
    (["blocks", "--start", "12Q"], "12Q"),
    (["blocks", "--start", "1.2345K"], "1.2345K"),
    (["blocks", "--start", "0x10"], "0x10"),
    (["blocks", "--start", ""], "height"),
    (["blocks", "--start", "10", "--end", "5"], "10"),
    (["records", "--start", "12K", "--end", "11_999"], "12000"),
    (["blocks", "--last", "-5"], "-5"),
    (["blocks", "--last", "5", "--start", "3"], "--last"),
    (["block", "five"], "five"),
    (["block", "-5"], "--last"),
    (["transactions", "-5"], "--last"),
    (["block", "5", "-1K"], "--last"),
    (["transaction", ID[:-1] + ("q" if ID[-1] != "q" else "p")], "checksum"),
    (["transaction", ID[:20] + ID[21] + ID[20] + ID[22:]], "checksum"),
    (["transaction", "ab1fh02nl67hdnfzz5uv5g0n0yxy9ytelnl2uuf74sqrpp4g2z6yvzs6ccl9d"], "prefix"),
    (["transaction", ID, "x"], "x"),
    (["address-transactions", ADDRESS[:-1] + ("q" if ADDRESS[-1] != "q" else "p")], "checksum"),
    (["address-transactions", "bob"], "bob"),
    (["program-transactions", "credits", "mint"], "credits"),
    (["program-transactions", "cre dits.aleo", "mint"], "cre dits.aleo"),
    (["program-transactions", "credits.aleo", "mint-it"], "mint-it"),
    (["program-transactions", "credits.aleo", "mint", "--page-size", "1000"], "999"),
    (["records", "--limit", "-1"], "--limit"),
    (["records", "--limit", "many"], "--limit"),
    (["records", "--page-size", "0"], "--page-size"),
    (["records", "--page", "-1"], "--page"),
    (["block", "5", "-j", "0"], "-j"),
    (["block", "5", "--retries", "-1"], "--retries"),
    (["block", "5", "--timeout", "0"], "--timeout"),
    (["block", "5", "--timeout", "nan"], "--timeout"),
    (["block", "5", "--rate", "-2"], "--rate"),
    (["block", "5", "--rate", "1e-300"], "--rate"),
    (["blocks", "--follow", "--interval", "inf"], "--interval"),
    (["blocks", "--follow", "--interval", "0"], "--interval"),
    (["program-transactions", "credits.\udcff", "mint", "--no-check"], "UTF-8"),
    (["transaction", "at1\udcff", "--no-check"], "UTF-8"),
    (["rpc", "block\udcff"], "UTF-8"),
    (["block", "5", "--header", "no colon"], "--header"),
    (["block", "5", "--header", "X: a\nY: b"], "X"),
    (["block", "5", "--dialect", "klingon"], "klingon"),
    (["block", "5", "--format", "yaml"], "jsonl"),
    (["block", "5", "--json", "--csv"], "--csv"),
    (["block", "5", "--colums", "height"], "--columns"),
    (["block", "5", "--columns", "heigth"], "height"),
    (["block", "5", "--columns", "height,round,height"], "twice"),
    (["recods"], "records"),
    (["block5"], "block"),
    (["--colour", "blocks"], "--colour"),
    (["block"], "HEIGHT"),
    (["transaction"], "ID"),
    (["program-transactions", "credits.aleo"], "FUNCTION"),
    (["address-transactions"], "ADDRESS"),
    (["latest", "5"], "5"),
    (["rpc"], "METHOD"),
    (["rpc", "block", "{"], "JSON"),
    (["rpc", "block", "5"], "JSON"),
    (["block", "5", "--profile", "nobody"], "nobody"),
]


@pytest.fixture(scope="module")
def refusals(program: Program) -> list[Ran]:
    """A run for each bad argument, pointed at a port where nothing listens."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        env = {"CHAINQ_URL": f"http://127.0.0.1:{held.getsockname()[1]}/"}
        return side_by_side(partial(program, *words, env=env) for words, _ in USAGE)


@pytest.mark.parametrize("place", range(len(USAGE)), ids=[" ".join(words)[:50] for words, _ in USAGE])
def test_2_bad_arguments_are_told_before_any_call(place: int, refusals: list[Ran]) -> None:
    """A bad argument is exit 2 and named, and no call was made: where nothing listens, it would have been exit 4."""
    ran = refusals[place]
    assert USAGE[place][1] in one_line(ran, 2)
    assert ran.out == b""


@pytest.mark.parametrize(
    "url",
    [
        "ftp://127.0.0.1/",
        "http://",
        "127.0.0.1:8545",
        "http://a b/",
        "http://127.0.0.1:99999/",
        "http:/x",
        "http://127.0.0.1/\x1b[31m",
        "http://127.0.0.1/\udcff",
        "demo:x",
    ],
)
def test_2_a_bad_url(url: str, chainq: Program) -> None:
    """What is no http or https URL, nor demo:, is exit 2."""
    assert "URL" in one_line(chainq("block", "5", url=url), 2)


def test_2_a_bad_url_keeps_its_password(chainq: Program) -> None:
    """A URL whose scheme was forgotten does not show the password in it."""
    said = one_line(chainq("block", "5", url="bob:hunter2@example.invalid/x"), 2)
    assert "hunter2" not in said
    assert "example.invalid" in said


def test_2_serve_is_for_the_loopback(chainq: Program) -> None:
    """The sample service is not opened to other machines."""
    for host in ("192.0.2.1", "127.example.invalid", ""):
        assert "loopback" in one_line(chainq("serve", "--host", host, url=None), 2)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("SSL_CERT_FILE", "/nonexistent", "SSL_CERT_FILE"),
        ("SSL_CERT_FILE", "/etc/passwd", "SSL_CERT_FILE"),
        ("ALL_PROXY", "socks5h://someone:hunter2@127.0.0.1:1", "SOCKS"),
        ("HTTPS_PROXY", "ftp://someone:hunter2@127.0.0.1:1", "HTTPS_PROXY"),
    ],
)
def test_2_an_environment_that_cannot_be_used(name: str, value: str, said: str, chainq: Program) -> None:
    """Certificates and proxies that the environment names wrongly are exit 2; a password in them is not repeated."""
    message = one_line(chainq("block", "5", url="https://127.0.0.1:1/", env={name: value}), 2)
    assert said in message
    assert "hunter2" not in message


def test_1_the_newest_block_of_a_chain_without_one(chainq: Program, server: Servers) -> None:
    """`block latest` and `latest` of an empty chain say the same, and exit 1."""
    url = server("--newest", "-1")
    for words in (("latest",), ("block", "latest"), ("transactions", "latest")):
        assert "no block yet" in one_line(chainq(*words, url=url), 1)


def test_2_no_url(chainq: Program) -> None:
    """Without a URL from anywhere the message says the ways out."""
    said = one_line(chainq("block", "5"), 2)
    assert all(way in said for way in ("--url", "CHAINQ_URL", "profile", "demo:"))


def test_2_a_bad_format_in_the_environment(chainq: Program, nowhere: str) -> None:
    """CHAINQ_FORMAT is checked like --format."""
    assert "yaml" in one_line(chainq("block", "5", url=nowhere, env={"CHAINQ_FORMAT": "yaml"}), 2)


@pytest.mark.parametrize(
    "text",
    [
        "default-profile = ",
        'default-profile = "absent"',
        'default-profile = "a"\n[profiles.a]\nurll = "http://127.0.0.1/"',
        'default-profile = "a"\n[profiles.a]\nurl = 5',
        'default-profile = "a"\n[profiles.a]\nurl = "nonsense"',
        'default-profile = "a"\n[profiles]\na = 5',
        "profiles = 5\ndefault-profile = 'a'",
        'default-profile = 5\n[profiles.a]\nurl = "http://127.0.0.1/"',
        'default-profile = "a"\n[profiles.a]\nurl = "http://127.0.0.1/"\nheaders = {"X" = 5}',
        'default-profile = "a"\n[profiles.a]\nurl = "http://127.0.0.1/"\nrate = "fast"',
        "\x00",
    ],
)
def test_2_a_bad_configuration_file(text: str, chainq: Program) -> None:
    """A configuration file that is no TOML, or says something else than documented, is exit 2."""
    chainq.config.parent.mkdir(parents=True)
    chainq.config.write_text(text)
    one_line(chainq("block", "5"), 2)


def test_2_a_bad_name_on_standard_input(chainq: Program, server: Servers, truth: Truth) -> None:
    """A line that is no height is exit 2; what stood before it was printed whole."""
    ran = chainq("block", "-", url=server(), stdin=b"5\nfive\n")
    assert "five" in one_line(ran, 2)
    assert ran.rows in ([], [truth.block(5)])


def test_2_no_check_sends_it_anyway(chainq: Program, server: Servers) -> None:
    """--no-check lets an ID with a wrong checksum through; the service then knows no such transaction."""
    assert chainq("transaction", ID[:-1] + "b", "--no-check", url=server()).code == 1


def refused(code: Any) -> Callable[[Any], Canned]:
    error = {"code": code, "message": "Invalid \x1b[31mparams\nselect * from block"}
    return lambda request: Canned(json.dumps({"jsonrpc": "2.0", "id": request["id"], "error": error}).encode())


@pytest.mark.parametrize("code", [-32602, -32601, 0, "22P02"])
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
    assert all(word in said for word in ("records/all", "40000", "40099", "resume with --start 40000 --end 40100"))


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405])
def test_3_http_4xx(status: int, chainq: Program) -> None:
    """HTTP 4xx other than 408 and 429 is exit 3, at the first attempt."""
    with canned(lambda _: Canned(b"<html><h1>No</h1></html>", status, "text/html")) as (url, seen):
        assert str(status) in one_line(chainq("block", "5", url=url), 3)
    assert len(seen) == 1


def test_4_nothing_listens(chainq: Program, nowhere: str) -> None:
    """Where nothing listens is exit 4."""
    for words in (["block", "5"], ["blocks", "--last", "5"], ["rpc", "x"], ["records", "--end", "5"]):
        one_line(chainq(*words, "--retries", "0", url=nowhere), 4)


def test_4_a_host_without_a_name(chainq: Program) -> None:
    """A host name that cannot exist is exit 4 (RFC 6761: .invalid)."""
    one_line(chainq("block", "5", "--retries", "0", url="http://chainq.invalid/"), 4)


@pytest.mark.parametrize("status", [408, 500, 502, 503, 504])
def test_4_refused_for_ever(status: int, chainq: Program) -> None:
    """A service that keeps answering 5xx is asked 1 + --retries times, then exit 4."""
    with canned(lambda _: Canned(b"<html><h1>Down</h1></html>", status, "text/html")) as (url, seen):
        ran = chainq("block", "5", "--retries", "1", url=url)
    assert str(status) in one_line(ran, 4)
    assert len(seen) == 2


def test_4_no_answer_in_time(chainq: Program, server: Servers) -> None:
    """A call that takes longer than --timeout is exit 4."""
    one_line(chainq("block", "5", "--timeout", "0.05", "--retries", "0", url=server("--latency", "5")), 4)


def body(text: str) -> Callable[[Any], Canned]:
    return lambda request: Canned(text.replace("ID", str(request["id"])).encode())


BROKEN: dict[str, Callable[[Any], Canned]] = {
    "html": lambda _: Canned(b"<html><h1>Welcome</h1></html>", 200, "text/html"),
    "empty": body(""),
    "white space": body(" \n"),
    "no content": lambda _: Canned(b"", 204),
    "cut JSON": body('{"jsonrpc":"2.0","id":ID,"result":[{"heig'),
    "more after": body('{"jsonrpc":"2.0","id":ID,"result":[]}{}'),
    "wrong id": body('{"jsonrpc":"2.0","id":9ID,"result":[]}'),
    "id as a string": body('{"jsonrpc":"2.0","id":"ID","result":[]}'),
    "id missing": body('{"jsonrpc":"2.0","result":[]}'),
    "id null": body('{"jsonrpc":"2.0","id":null,"result":[]}'),
    "version 1.0": body('{"jsonrpc":"1.0","id":ID,"result":[]}'),
    "version as a number": body('{"jsonrpc":2.0,"id":ID,"result":[]}'),
    "version missing": body('{"id":ID,"result":[]}'),
    "neither": body('{"jsonrpc":"2.0","id":ID}'),
    "both": body('{"jsonrpc":"2.0","id":ID,"result":[],"error":{"code":1,"message":"x"}}'),
    "array": body('[{"jsonrpc":"2.0","id":ID,"result":[]}]'),
    "number": body("5"),
    "null": body("null"),
    "not UTF-8": lambda _: Canned(b'{"jsonrpc":"2.0","id":1,"result":["\xff"]}'),
    "redirect": lambda _: Canned(b"", 302, headers=(("Location", "http://127.0.0.1:1/"),)),
}
ROWS: dict[str, Callable[[Any], Canned]] = {
    "result null": result("null"),
    "result object": result("{}"),
    "result string": result('"rows"'),
    "rows are numbers": result("[1,2]"),
    "rows are null": result("[null]"),
}


@pytest.mark.parametrize("answer", BROKEN.values(), ids=BROKEN)
def test_5_no_valid_answer(answer: Callable[[Any], Canned], chainq: Program) -> None:
    """What is not a JSON-RPC 2.0 answer to the question is exit 5, and nothing of it reaches stdout."""
    with canned(answer) as (url, _):
        ran = chainq("records", "--end", "5", "--start", "0", "--retries", "0", url=url)
    one_line(ran, 5)
    assert ran.out == b""


@pytest.mark.parametrize("name", ["result null", "rows are numbers"])
@pytest.mark.parametrize(
    "words",
    [
        ["blocks", "--start", "0", "--end", "5"],
        ["block", "5"],
        ["transactions", "5"],
        ["records", "--start", "0", "--end", "5"],
        ["ownership", "--start", "0", "--end", "5"],
        ["address-transactions", ADDRESS, "--start", "0", "--end", "5"],
        ["program-transactions", "credits.aleo", "mint"],
    ],
    ids=lambda words: words[0],
)
def test_5_no_rows(name: str, words: list[str], chainq: Program) -> None:
    """Where an array of objects is due, neither null nor an array of something else will do, whatever the command."""
    with canned(ROWS[name]) as (url, _):
        ran = chainq(*words, "--retries", "0", url=url)
    one_line(ran, 5)
    assert ran.out == b""


@pytest.mark.parametrize("answer", ROWS.values(), ids=ROWS)
def test_5_rows_of_another_shape(answer: Callable[[Any], Canned], chainq: Program) -> None:
    """Where an array of objects is due, anything else is exit 5."""
    with canned(answer) as (url, _):
        ran = chainq("block", "5", "--retries", "0", url=url)
    one_line(ran, 5)
    assert ran.out == b""


@pytest.mark.parametrize("value", ["[]", "5", '"x"', "true"])
def test_5_no_object(value: str, chainq: Program) -> None:
    """latest and transaction want one object."""
    for words in (["latest"], ["transaction", ID]):
        with canned(result(value)) as (url, _):
            one_line(chainq(*words, url=url), 5)


def test_7_an_unwritable_file_is_told_before_the_first_call(chainq: Program, nowhere: str, tmp_path: Path) -> None:
    """-o into a folder that is not there, or onto a folder, is exit 7 before any call."""
    for path in (tmp_path / "absent" / "file", tmp_path):
        ran = chainq("block", "5", "-o", str(path), "--retries", "0", url=nowhere)
        assert str(path) in one_line(ran, 7)


def test_7_a_full_device(chainq: Program, server: Servers) -> None:
    """A device that takes no more bytes is exit 7, as stdout and as -o."""
    one_line(chainq("block", "5", "-o", "/dev/full", url=server()), 7)
    with Path("/dev/full").open("wb", buffering=0) as full:
        process = chainq.start("blocks", "--end", "10", url=server(), stdout=full)
        _, err = process.communicate(timeout=60)
    one_line(Ran(process.returncode, b"", err.decode()), 7)
