"""chainq serve --lake: an export as a service for others, and what it does with requests that it cannot answer."""

import json
import resource
import shutil
import socket
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from harness.lake.exports import Exports
from harness.lake.lake import file_of
from harness.lake.mirrors import mirror
from harness.running.jobs import said
from harness.running.program import LONGEST, Program, Servers, one_line
from harness.running.truth import Truth

pytest.importorskip("pyarrow")
START, END = 2400, 2600
COMMANDS = ("blocks", "full-blocks", "records", "transitions", "ownership")
CHAIN = ("--dialect", "chain")  # which a mirror speaks, whatever the service did


@pytest.fixture(scope="module")
def lake(exports: Exports) -> Path:
    """A data set."""
    return exports("served")


@pytest.fixture(scope="module")
def url(program: Program, lake: Path) -> Iterator[str]:
    """The URL of a mirror."""
    with mirror(program, lake) as url:
        yield url


def post(url: str, body: Any) -> tuple[int, Any]:
    """The status and the decoded body of a response."""
    request = urllib.request.Request(url, body if isinstance(body, bytes) else json.dumps(body).encode())  # noqa: S310
    try:
        with urllib.request.urlopen(request, timeout=LONGEST) as response:  # noqa: S310
            text = response.read()
            return response.status, json.loads(text) if text else None
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def get(url: str) -> str:
    with urllib.request.urlopen(url, timeout=LONGEST) as response:  # noqa: S310
        return str(response.read().decode())


def rpc(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("ownership", ()),
        *((command, ("--reverse",)) for command in ("blocks", "records", "transitions")),
        ("full-blocks", ("-j", "1", "--strict")),
    ],
)
def test_ranges_have_the_rows_of_the_service(
    program: Program, url: str, truth: Truth, command: str, words: tuple[str, ...]
) -> None:
    """All rows of a range, proved as of any service."""
    ran = program(command, "2420:2580", *words, "--jsonl", *CHAIN, url=url)
    assert ran.code == 0, ran.err
    assert sorted(ran.rows) == sorted(truth.rows(command, 2420, 2580))


def test_readers_side_by_side(program: Program, url: str, truth: Truth) -> None:
    """They get the same rows."""
    due = truth.rows("records", 2400, 2500)

    def read(_: int) -> list[bytes]:
        return program("records", "2400:2500", "--page-size", "100", "--jsonl", *CHAIN, url=url).rows

    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(read, range(3))) == [due] * 3


def test_the_dialect_of_an_export_without_block_0_is_detected(program: Program, url: str) -> None:
    """Detection calls for block 0; the error of an export that lacks it shows that the method exists."""
    for words in (("blocks", f"{START}:{START + 2}"), ("show", str(START))):
        ran = program(*words, url=url)
        assert ran.code == 0, ran.err


def test_times_are_searched_from_the_first_height_on(program: Program, url: str, truth: Truth) -> None:
    """An error tells where the export begins; blocks of an earlier time may be missing before."""
    first, end = (str(json.loads(truth.block(height))["timestamp"]) for height in (START + 20, START + 40))
    ran = program("blocks", "--since", first, "--until", end, "--jsonl", *CHAIN, url=url)
    assert ran.rows == truth.rows("blocks", START + 20, START + 40), ran.err
    from_first = str(json.loads(truth.block(START))["timestamp"])
    begins = datetime.fromtimestamp(int(from_first), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    error = f"is before the first block of the export: height {START}, {begins.replace('T', ' ')}"
    for words in (("--since", "2023-06-01"), ("--until", "2023-06-01"), ("--since", "2023-05-01", "--until", first)):
        early = program("blocks", *words, *CHAIN, url=url)
        said(early, 6, f"-01 00:00:00Z {error}; the earliest time is {begins}\n")
    ran = program("blocks", "--since", begins, "--until", first, "--jsonl", *CHAIN, url=url)
    assert ran.rows == truth.rows("blocks", START, START + 20), ran.err


def test_single_rows(program: Program, url: str, truth: Truth) -> None:
    """latest, block and what does not exist."""
    assert program("latest", "--jsonl", *CHAIN, url=url).rows == [truth.block(END - 1)]
    assert program("block", "2500", "2400", "--jsonl", *CHAIN, url=url).rows == [truth.block(2500), truth.block(2400)]
    assert program("block", "99999", *CHAIN, url=url).code == 1
    said(program("transaction", "at1" + "q" * 58, "--no-check", *CHAIN, url=url), 6, "has no table transactions")


def test_what_is_missing_is_an_error_with_the_heights(chainq: Program, lake: Path) -> None:
    """A JSON-RPC error, and never a result without these rows."""
    shutil.copytree(lake, chainq.home / "lake")
    file_of(chainq.home / "lake", "records", 2450).unlink()
    with mirror(chainq, chainq.home / "lake") as url:
        no_whole = "no whole partition of records for"
        for start, end, lacks in (
            (2400, 2460, f"{no_whole} heights 2450-2459"),
            (2450, 2451, f"{no_whole} height 2450"),
            (2499, 2600, f"{no_whole} height 2499"),
            (0, 2410, f"{no_whole} heights 0-2399"),
        ):
            status, body = post(url, rpc("records/all", start=start, end=end))
            assert (status, body["error"]["code"]) == (200, -32001)
            assert body["error"]["data"] == {"incomplete": True, "first": 2400}
            assert body["error"]["message"].endswith(lacks)  # the command that writes them is not for clients
        for words in (("records", "2430:2520"), ("blocks", "2390:2410"), ("block", "17")):
            said(chainq(*words, "-q", *CHAIN, url=url), 6, "; have what is missing exported")
        below = one_line(chainq("records", "17:20", *CHAIN, url=url), 6)
        assert below.endswith("have what is missing exported there\n")  # nothing to resume
        assert chainq("records", "2500:2580", *CHAIN, url=url).code == 0


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (rpc("nothing"), -32601),
        (rpc("chainTransaction", id="at1x"), -32002),
        (rpc("getBlocks", start=5, end=4), -32602),
        (rpc("getBlocks", start=2400, end=3401), -32602),
        (rpc("records/all", start="2400", end=2410), -32602),
        (rpc("records/all", start=2400), -32602),
        (rpc("block"), -32602),
        ({"jsonrpc": "2.0", "id": 1, "method": "block", "params": [2400]}, -32602),
        ({"jsonrpc": "1.0", "id": 1, "method": "block"}, -32600),
        ({"jsonrpc": "2.0", "id": [1], "method": "latest/block"}, -32600),
        (rpc("records/all", start=2400, end=2410, page=2**61), -32602),
        (rpc("records/all", start=0, end=10**30), -32602),
        ([], -32600),
        (5, -32600),
        (b'{"a":' * 5000 + b"}" * 5000, -32700),
        (b"{", -32700),
        (b"\xff", -32700),
    ],
    ids=str,
)
def test_requests_that_are_wrong(url: str, request_: Any, code: int) -> None:
    """Each gets its code, and the server goes on."""
    status, body = post(url, request_)
    assert status == 200
    assert body["error"]["code"] == code


def test_the_envelope(url: str, truth: Truth) -> None:
    """Pages, several requests in one body, one without an id, and one that is too large."""
    rows = truth.rows("records", 2400, 2410)
    pages = [post(url, rpc("records/all", start=2400, end=2410, page=page, recordsPerRequest=7)) for page in range(3)]
    assert [row for _, body in pages for row in body["result"]] == [json.loads(row) for row in rows[:21]]
    assert post(url, rpc("getBlocks", startHeight=2400, endHeight=2402))[1]["result"][1]["height"] == "2401"
    status, body = post(url, [rpc("latest/block"), 5, {"jsonrpc": "2.0", "method": "latest/block"}])
    assert (status, len(body), body[1]["error"]["code"]) == (200, 2, -32600)
    assert post(url, {"jsonrpc": "2.0", "method": "latest/block"}) == (204, None)
    assert post(url, b" " * 200_000)[0] == 413
    assert post(url, rpc("block", block=2400))[0] == 200


@pytest.mark.search
def test_the_results_of_a_body_have_a_bound(chainq: Program, server: Servers) -> None:
    """A small request must not become a response of gigabytes, nor read what it will not send."""
    words = ("export", "full-blocks", "770:780", "--partition", "10", "--to", "lake", "-q")
    assert chainq(*words, url=server("--tip", "779")).code == 0
    one = rpc("getChainBlocks", start=770, end=780)
    with mirror(chainq, chainq.home / "lake") as url:
        size = len(json.dumps(post(url, one)[1], separators=(",", ":")))
        whole = 64 * 2**20 // size
        body = post(url, [one] * (whole + 3) + [rpc("nothing")])[1]
        assert [one["error"]["code"] for one in body[whole:]] == ["57014"] * 3 + [-32601]
        assert all(one["result"] for one in body[:whole])


@pytest.mark.parametrize(
    ("host", "status"),
    [
        (b"localhost:8545", 200),
        (b"10.0.0.7", 200),
        (b"[::1]:8545", 200),
        (b"rebound.example", 400),
        (b"127.0.0.1.rebound.example:80", 400),
        (b"localhost\r\nTransfer-Encoding: chunked", 400),
    ],
    ids=str,
)
def test_requests_that_somebody_was_tricked_into(url: str, host: bytes, status: int) -> None:
    """DNS rebinding, by which a web page reads a server on the loopback, and a body with two lengths."""
    with connection(url) as peer:
        peer.sendall(b"GET /healthz HTTP/1.1\r\nContent-Length: 5\r\nHost: " + host + b"\r\n\r\n0\r\n\r\n")
        assert peer.recv(100).startswith(b"HTTP/1.1 %d " % status)


def connection(url: str) -> socket.socket:
    """A connection to a server."""
    address = urllib.parse.urlsplit(url)
    return socket.create_connection((address.hostname, address.port), timeout=LONGEST)


def test_requests_half_sent_lock_out_nobody(chainq: Program, lake: Path) -> None:
    """More of them than the server may open files: the oldest is ended for the next one."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    with ExitStack() as stack:
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, limits[1]))  # which the server takes over
        try:
            url = stack.enter_context(mirror(chainq, lake))
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        peers = [stack.enter_context(connection(url)) for _ in range(130)]
        for peer in peers[-100:]:
            peer.sendall(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n[")
            assert post(url, rpc("latest/block"))[0] == 200
        peers[0].settimeout(5)  # half of the time that a connection may be silent
        assert peers[0].recv(100) == b""  # ended


def test_health(url: str) -> None:
    """/healthz says that files can be read."""
    assert get(f"{url}healthz") == "ok\n"


def test_a_data_set_that_grows(chainq: Program, server: Servers, lake: Path) -> None:
    """An export that ends meanwhile is seen by the next request of the tip."""
    shutil.copytree(lake, chainq.home / "lake")
    with mirror(chainq, chainq.home / "lake") as url:
        assert chainq("latest", "--columns", "height", "--text", *CHAIN, url=url).out == b"2599\n"
        words = (*COMMANDS, "2600:2620", "--to", "lake", "-w", "1", "-q")
        assert chainq("export", *words, url=server()).code == 0
        assert chainq("latest", "--columns", "height", "--text", *CHAIN, url=url).out == b"2619\n"
        assert chainq("blocks", "2590:2610", *CHAIN, url=url).code == 0


def test_an_export_of_what_is_served(program: Program, url: str) -> None:
    """Block 0 need not be there: the first block of the export says which chain it is of."""
    words = ("export", "blocks", "2400:2450", "--partition", "50", "--to", "of served", "-q", *CHAIN)
    assert program(*words, url=url).code == 0
    assert program("blocks", "2400:2450", "--url", "of served").rows == program("blocks", "2400:2450", url=url).rows


def test_show_of_an_export_without_records(chainq: Program, exports: Exports) -> None:
    """`show` has what there is, as from the folder itself; `records` fails."""
    exports.copy("chain", chainq.home / "lake")
    shown = chainq("show", "2440", "--json", "--url", "lake")
    assert shown.code == 0, shown.err
    with mirror(chainq, chainq.home / "lake") as url:
        assert chainq("show", "2440", "--json", *CHAIN, url=url).out == shown.out
        assert "has no table records" in one_line(chainq("records", "2440", *CHAIN, url=url), 6)
        named = chainq("verify", "2440:2442", "--commands", "ownership", *CHAIN, url=url)
        said(named, 6, "has no table ownership")
        below = chainq("verify", "2390:2402", "--commands", "blocks", *CHAIN, url=url)
        said(below, 6, "-32001")
        assert chainq("verify", "2440:2442", "--commands", "blocks", *CHAIN, url=url).code == 0
        block_hash = json.loads(shown.out)["summary"]["block_hash"]
        said(chainq("show", "17", *CHAIN, url=url), 6, "; have what is missing exported there")
        said(chainq("show", "credits.aleo", *CHAIN, url=url), 6, "has no table records")
        said(chainq("show", "credits.aleo/transfer_public", *CHAIN, url=url), 6, "no whole partition of calls for ")
        # Not from the newest 1,000 blocks on, but from the first height, which an error tells.
        assert chainq("show", block_hash, "--json", *CHAIN, url=url).out == shown.out


def test_columns_that_full_blocks_lack(chainq: Program, exports: Exports) -> None:
    """A field that no row has is named if a filter asks for it: its null would look like a value of the chain."""
    chain = exports("chain")
    with mirror(chainq, chain) as mirrored:
        for url, sign in product((str(chain), mirrored), ("=", "!=")):
            named = ("--columns", "height,id", "--where", f"coinbase_reward {sign} null")
            ran = chainq("blocks", "2400:2402", *named, *CHAIN, url=url)
            lines = [line for line in ran.err.splitlines() if " warning: " in line]
            assert lines == ["chainq: warning: no row has the column 'coinbase_reward'"]
            assert (ran.code, len(ran.rows)) == (0, 2 * (sign == "="))
        for row in chainq("blocks", "2400:2402", "--jsonl", *CHAIN, url=mirrored).rows:
            assert not {"id", "coinbase_reward"} & {*json.loads(row)}
        ran = chainq("blocks", "2400:2402", "--columns", "all", "--csv", "-q", *CHAIN, url=mirrored)
        assert (ran.code, ran.err) == (0, "")


def test_usage_errors(chainq: Program, lake: Path, url: str) -> None:
    """A folder without a data set, and a port that is taken."""
    (chainq.home / "empty").mkdir()
    assert "no data set in empty" in one_line(chainq("serve", "--lake", "empty"), 2)
    port = url.rstrip("/").rpartition(":")[2]
    assert "cannot listen" in one_line(chainq("serve", "--lake", str(lake), "--port", port), 2)
