"""A response that is none of a chain data service ends with one line that says what came."""

from collections.abc import Callable
from typing import Any

import pytest

from harness.program import Program, one_line
from harness.services import Canned, canned, result
from harness.truth import Truth

ADDRESS = Truth().chain.addresses[0]
ID = Truth().transaction_id(640, 1)


def body(text: str) -> Callable[[Any], Canned]:
    return lambda request: Canned(text.replace("ID", str(request["id"])).encode())


BROKEN: dict[str, Callable[[Any], Canned]] = {
    "html": lambda _: Canned(b"<html><h1>Welcome</h1></html>", 200, "text/html"),
    "empty": body(""),
    "no content": lambda _: Canned(b"", 204),
    "cut JSON": body('{"jsonrpc":"2.0","id":ID,"result":[{"heig'),
    "wrong id": body('{"jsonrpc":"2.0","id":9ID,"result":[]}'),
    "array": body('[{"jsonrpc":"2.0","id":ID,"result":[]}]'),
    "not UTF-8": lambda _: Canned(b'{"jsonrpc":"2.0","id":1,"result":["\xff"]}'),
    "redirect": lambda _: Canned(b"", 302, headers=(("Location", "http://127.0.0.1:1/"),)),
}


ROWS: dict[str, Callable[[Any], Canned]] = {
    "result null": result("null"),
    "result object": result("{}"),
    "rows are numbers": result("[1,2]"),
}


@pytest.mark.parametrize("answer", BROKEN.values(), ids=BROKEN)
def test_5_no_valid_answer(answer: Callable[[Any], Canned], chainq: Program) -> None:
    """What is not a JSON-RPC 2.0 answer to the question is exit 5, and nothing of it reaches stdout.

    `tests/transport/test_jsonrpc.py` has every other way.
    """
    with canned(answer) as (url, _):
        ran = chainq("records", "--end", "5", "--start", "0", "--retries", "0", url=url)
    one_line(ran, 5)
    assert ran.out == b""


@pytest.mark.parametrize(
    "words", [["block", "5"], ["records", "0:5"], ["records", "--last", "5"], ["rpc", "x"], ["show", "5"]]
)
@pytest.mark.parametrize("status", [200, 501])
def test_5_a_web_page(status: int, words: list[str], chainq: Program) -> None:
    """A web page in place of JSON is one line at once: its status, content type, title, and what to check."""
    page = b"\n<!DOCTYPE html><html><head><title>Welcome &amp; more\n to \x1b[1mnginx!</title></head></html>"
    with canned(lambda _: Canned(page, status, "text/html; charset=utf-8")) as (url, seen):
        said = one_line(chainq(*words, url=url), 5)
    assert f"HTTP {status}, text/html, page title 'Welcome & more to " in said
    assert "this looks like a web page: is the URL right?" in said
    assert "attempts" not in said
    assert len(seen) <= 3


@pytest.mark.parametrize(
    ("body", "what", "most"),
    [
        (b"OK\n", "response is not JSON: HTTP 200, text/plain, OK", 1),
        (b"", "response is empty (after 2 attempts)", 4),
        (b'{"status":"up"}', 'response is not JSON-RPC 2.0, jsonrpc is absent: {"status":"up"}', 1),
        (b"12345\n", "response is not a JSON object: 12345", 1),
        (b'"some text"', 'response is not a JSON object: "some text"', 1),
        (b"[1]", "response is not a JSON object: [1]", 1),
    ],
)
def test_5_another_service(body: bytes, what: str, most: int, chainq: Program) -> None:
    """If the first response is of another service, the range is not divided: one line says to check the URL."""
    with canned(lambda _: Canned(body, 200, "text/plain")) as (url, seen):
        ran = chainq("records", "0:5", "--retries", "1", "-j", "1", "-q", url=url)
    said = one_line(ran, 5)
    assert f": {url}: {what}" in said
    assert "is the URL right?" in said
    assert len(seen) <= most


@pytest.mark.parametrize(
    ("answer", "code", "what"),
    [
        ('"id":9ID,"result":[]', 5, "response id 91 does not match request id 1; a cache or proxy"),
        ('"id":ID,"result":null', 5, "result is not an array: null"),
        ('"id":null,"error":{"code":-32700,"message":"Parse error"}', 3, "the service returned error -32700"),
        ('"id":ID,"error":{"code":-32601,"message":"No method"}', 3, "the service returned error -32601"),
    ],
)
def test_an_error_of_any_response_names_its_url(answer: str, code: int, what: str, chainq: Program) -> None:
    """After the method and its heights; secrets are masked."""
    with canned(body(f'{{"jsonrpc":"2.0",{answer}}}')) as (url, _):
        said = one_line(chainq("block", "5", url=f"{url.replace('//', '//me:hunter2@')}v1/k3yk3yk3y?key=x"), code)
    shown = url.replace("//", "//***@") + "v1/***?key=***"
    assert f"chainq block: block height 5: {shown}: {what}" in said


@pytest.mark.parametrize(
    ("target", "what"),
    [
        ("", "HTTP 302, a redirect to the same URL; check the URL and its path"),
        ("login?next=%2F", "a redirect to <>login?next=***, which is not followed"),
        ("rpc", "a redirect to <>rpc, which is not followed"),
    ],
)
def test_5_a_redirect_is_not_followed(target: str, what: str, chainq: Program) -> None:
    """The message says where it leads, without secrets."""
    with canned(lambda _: Canned(b"", 302, headers=(("Location", f"/{target}"),))) as (url, _):
        assert what.replace("<>", url) in one_line(chainq("block", "5", url=url), 5)


def test_5_a_web_page_in_between(chainq: Program) -> None:
    """Once the service has sent JSON, a web page is a transient failure, as during a deploy."""

    def answer(request: Any) -> Canned:
        if len(seen) == 2:
            return Canned(b"<html><title>Back soon</title></html>", 200, "text/html")
        return result(f'[{{"height":"{len(seen)}"}}]')(request)

    with canned(answer) as (url, seen):
        ran = chainq("block", "1", "3", "-j", "1", url=url)
    assert (ran.code, len(ran.rows), len(seen)) == (0, 2, 3), ran.err


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
def test_5_no_rows(words: list[str], chainq: Program) -> None:
    """Where an array of objects is due, an array of something else will not do, whatever the command."""
    with canned(ROWS["rows are numbers"]) as (url, _):
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
