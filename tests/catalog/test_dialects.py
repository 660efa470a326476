"""Dialects as data, finding out which one a server speaks, and remembering it."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec import Raw

from chainq.catalog.dialects import DIALECTS, Names, Value
from chainq.catalog.methods import BY_NAME, METHODS, Method, Role
from chainq.config import dialect_cache
from chainq.demo.chain import Chain
from chainq.demo.service import Service
from chainq.demo.wire import DIALECTS as SERVED
from chainq.errors import ServiceError, TooHeavyError, UnreachableError, UsageError
from chainq.fetching import dialect_detection
from chainq.fetching.service import Client

SAMPLES: dict[Role, Value] = {
    Role.START: 5,
    Role.END: 6,
    Role.HEIGHT: 5,
    Role.ID: "at1x",
    Role.PROGRAM: "credits.aleo",
    Role.FUNCTION: "transfer_public",
    Role.ADDRESS: "aleo1x",
    Role.PAGE: 0,
    Role.SIZE: 3,
}
each_method = pytest.mark.parametrize("method", METHODS, ids=lambda method: method.command)
each_dialect = pytest.mark.parametrize("name", DIALECTS)


def answered(service: Service) -> dialect_detection.Call:
    """Calls a sample service without a socket."""

    def call(method: str, params: Any) -> Raw:
        body = {"jsonrpc": "2.0", "id": 1, "method": method} | ({} if params is None else {"params": params})
        answer = json.loads(service.answer(json.dumps(body).encode()).body)
        if "error" in answer:
            raise ServiceError(f"{method}: {answer['error']['message']}", code=str(answer["error"]["code"]))
        return Raw(json.dumps(answer["result"]).encode())

    return call


@each_method
@each_dialect
def test_every_call_is_one_that_the_server_takes(name: str, method: Method) -> None:
    """In each dialect every method has a name and parameters that the sample server of that dialect knows."""
    wire, params = DIALECTS[name].call(method, SAMPLES)
    served = SERVED[name][wire]
    assert all(param in {sent for one in served.params for sent in one.sent} for param in params or {})
    answered(Service(Chain(newest=50), dialect=name))(wire, params)


@each_method
def test_the_contract_is_spoken_as_documented(method: Method) -> None:
    """The dialect chain deviates in nothing: the document's names, its parameters, its order."""
    wire, params = DIALECTS["chain"].call(method, SAMPLES)
    assert wire == method.name
    assert list(params or {}) == [param.name for param in method.params]
    assert (params is None) == (not method.params)


def test_the_table_of_the_deployed_servers_is_kept() -> None:
    """aleo deviates in what docs/protocol.md, "Dialects", lists, and in nothing else."""
    calls = {method.name: DIALECTS["aleo"].call(method, SAMPLES) for method in METHODS}
    same = {method.name: DIALECTS["chain"].call(method, SAMPLES) for method in METHODS}
    assert {name: call for name, call in calls.items() if call != same[name]} == {
        "getBlocks": ("blocks", {"startHeight": 5, "endHeight": 6}),
        "getChainBlocks": ("getAleoBlocks", {"start": 5, "end": 6}),
        "chainTransaction": ("aleoTransaction", {"id": "at1x"}),
        "chainTransactionsForProgram": (
            "aleoTransactionsForProgram",
            {"programId": "credits.aleo", "functionName": "transfer_public", "page": 0, "maxTransactions": 3},
        ),
        "getPublicTransactionsForAddress": (
            "getPublicTransactionsForAddress",
            {"address": "aleo1x", "start": 5, "end": 6, "page": 0, "transactionsPerRequest": 3},
        ),
    }
    program = BY_NAME["chainTransactionsForProgram"]
    assert [DIALECTS[name].page_size_max(program) for name in ("chain", "aleo")] == [999, 1000]
    assert [DIALECTS[name].transactions_by_row_id for name in ("chain", "aleo")] == [False, True]


@each_dialect
def test_names_of_a_profile_come_on_top(name: str) -> None:
    """A server's own names replace those they name, and leave the dialect's others as they are."""
    names = Names({"records/all": "recs"}, {"records/all": {"start": "from"}, "getBlocks": {"end": "to"}}, True)
    mine = DIALECTS[name].with_names(names)
    wire, params = mine.call(BY_NAME["records/all"], SAMPLES)
    assert (wire, list(params or {})) == ("recs", ["from", "end", "page", "recordsPerRequest"])
    wire, params = mine.call(BY_NAME["getBlocks"], SAMPLES)
    usual, given = DIALECTS[name].call(BY_NAME["getBlocks"], SAMPLES)
    assert (wire, list(params or {})) == (usual, [next(iter(given or {})), "to"])
    assert mine.transactions_by_row_id
    assert mine.page_size_max(BY_NAME["chainTransactionsForProgram"]) == DIALECTS[name].page_size_max(
        BY_NAME["chainTransactionsForProgram"]
    )


@pytest.mark.parametrize("newest", [-1, 0, 1, 5000])
@each_dialect
def test_each_dialect_is_told(name: str, newest: int) -> None:
    """Two calls tell the dialect, on a chain of any length, an empty one included."""
    made: list[str] = []
    call = answered(Service(Chain(newest=newest), dialect=name))

    def counted(method: str, params: Any) -> Raw:
        made.append(method)
        return call(method, params)

    assert dialect_detection.decide(counted) == name
    assert len(made) == 2


def server(**answers: Callable[[Any], str]) -> dialect_detection.Call:
    """Calls a server that has these methods only; each makes JSON of its params."""

    def call(method: str, params: Any) -> Raw:
        if method not in answers:
            raise ServiceError(f"{method}: the service answered error -32601: Method not found", code="-32601")
        return Raw(answers[method](params).encode())

    return call


def full(_: Any) -> str:
    return '[{"header": {"metadata": {"height": 0}}}]'


def summary(_: Any) -> str:
    return '[{"height": "0"}]'


def none(_: Any) -> str:
    return "[]"


@pytest.mark.parametrize(
    ("call", "name"),
    [
        pytest.param(server(getBlocks=summary, blocks=full), "chain", id="full blocks under the sample's name"),
        pytest.param(server(getBlocks=summary, blocks=summary, getChainBlocks=none), "chain", id="both summaries"),
        pytest.param(server(getBlocks=none, blocks=none, getAleoBlocks=none), "aleo", id="both, and empty"),
        pytest.param(server(getChainBlocks=none), "chain", id="no summaries at all"),
        pytest.param(server(getBlocks=lambda _: "null", blocks=summary), "aleo", id="null is no answer"),
        pytest.param(server(getBlocks=lambda _: '{"rows": []}', blocks=summary), "aleo", id="nor is an object"),
        pytest.param(server(getBlocks=lambda _: '[{"height": 7}]', blocks=summary), "aleo", id="nor are other heights"),
    ],
)
def test_odd_servers_are_told_by_what_fits(call: dialect_detection.Call, name: str) -> None:
    """A method that exists under a name but answers something else does not decide for that dialect."""
    assert dialect_detection.decide(call) == name


def test_a_server_that_fits_nothing_is_an_error_that_says_so() -> None:
    """Where neither dialect is understood the refusals are told, and the way out."""
    with pytest.raises(ServiceError, match=r"fits no dialect: getBlocks: .*-32601.*blocks: .*--dialect chain or aleo"):
        dialect_detection.decide(server())


def test_a_server_that_fits_both_is_an_error_that_says_so() -> None:
    """Where both dialects are understood alike the user is asked to say."""
    call = server(getBlocks=none, blocks=none, getChainBlocks=none, getAleoBlocks=none)
    with pytest.raises(UsageError, match=r"cannot be told.*--dialect chain or aleo"):
        dialect_detection.decide(call)


@pytest.mark.parametrize(
    "error", [UnreachableError("gone"), TooHeavyError("timeout", code="0"), ServiceError("no", code="HTTP 401")]
)
def test_an_answer_that_says_nothing_of_methods_decides_nothing(error: Exception) -> None:
    """A server that is away, overloaded, or wants credentials is no sign of any dialect: the error passes."""

    def call(_method: str, _params: Any) -> Raw:
        raise error

    with pytest.raises(type(error), match=str(error)):
        dialect_detection.decide(call)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that remembers, in a folder of the test's own; not there yet."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "chainq" / "dialects.json"


def refuse(method: str, _params: Any) -> Raw:
    raise AssertionError(f"{method} was asked")


def test_a_dialect_is_asked_for_once_for_each_url(cache: Path) -> None:
    """What was found is remembered, URL by URL, and nothing of a URL stands in the file."""
    urls = ["https://u:geheim@h.example/t0ken?key=s3cret", "https://h.example/other"]
    for url, name in zip(urls, DIALECTS, strict=True):
        assert dialect_detection.dialect_of(url, answered(Service(Chain(newest=5), dialect=name))).name == name
    assert [dialect_detection.dialect_of(url, refuse).name for url in urls] == list(DIALECTS)
    text = cache.read_text()
    assert not any(part in text for part in ("geheim", "example", "t0ken", "s3cret", "http"))
    assert sorted(json.loads(text).values()) == ["aleo", "chain"]
    assert os.listdir(cache.parent) == [cache.name]  # noqa: PTH208  # names are enough


def test_the_password_of_a_url_changes_nothing(cache: Path) -> None:
    """A password is not hashed: the same server with another one is known."""
    dialect_cache.remember("http://a:b@h/x", "aleo")
    assert dialect_cache.remembered("http://c:d@h/x") == "aleo"
    assert dialect_cache.remembered("http://h/y") is None
    assert cache.exists()


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"null", b'{"k": 7}', b"\xff", b"[" * 100_000, b'{"KEY": "latin"}']
)
def test_a_corrupt_memory_is_ignored_and_mended(cache: Path, content: bytes) -> None:
    """A file that makes no sense costs the calls again, and is whole afterwards."""
    url = "http://h/"
    dialect_cache.remember(url, "aleo")
    key = next(iter(json.loads(cache.read_text())))
    cache.write_bytes(content.replace(b"KEY", key.encode()))
    assert dialect_cache.remembered(url) is None
    dialect_cache.remember(url, "chain")
    assert dialect_cache.remembered(url) == "chain"


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing can be remembered the dialect is found all the same."""
    (tmp_path / "file").write_text("")
    for folder in (str(tmp_path / "file"), "relative", ""):
        monkeypatch.setenv("XDG_CACHE_HOME", folder)
        monkeypatch.delenv("HOME", raising=False)
        call = answered(Service(Chain(newest=5), dialect="aleo"))
        assert dialect_detection.dialect_of("http://h/", call).name == "aleo"
        assert dialect_cache.remembered("http://h/") is None


def test_without_the_variable_the_usual_folder_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The memory is in ~/.cache where XDG_CACHE_HOME does not say otherwise."""
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    dialect_cache.remember("http://h/", "aleo")
    assert (tmp_path / ".cache" / "chainq" / "dialects.json").exists()


def test_the_sample_chain_is_never_remembered(cache: Path) -> None:
    """demo: is asked each time and leaves no file."""
    with Client("demo:", dialect="auto") as client:
        assert client.dialect.name == "chain"
        assert client.tip_height() > 0
    dialect_cache.remember("demo:", "aleo")
    assert dialect_cache.remembered("demo:") is None
    assert not cache.exists()


def test_the_dialect_is_found_when_it_is_first_needed(cache: Path) -> None:
    """A client that is not asked for anything asks nothing, and one raw call is one call."""
    dialect_cache.remember("http://h.invalid/", "aleo")
    with Client("http://h.invalid/", dialect="auto", names=Names({"block": "b"})) as client:
        assert client.dialect.call(BY_NAME["block"], SAMPLES)[0] == "b"
        assert client.dialect.name == "aleo"
    assert cache.exists()
