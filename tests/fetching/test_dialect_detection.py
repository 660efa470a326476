"""Finding out which dialect a server speaks."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from msgspec import Raw

from chainq.catalog.dialects import DIALECTS
from chainq.demo.chain import Chain
from chainq.demo.service import Service
from chainq.errors import ServiceError, TooHeavyError, UnreachableError
from chainq.fetching import dialect_detection
from chainq.transport.jsonrpc import items_of
from harness.sample import answered

each_dialect = pytest.mark.parametrize("name", DIALECTS)


@pytest.mark.parametrize("tip", [-1, 0, 1, 5000])
@each_dialect
def test_each_dialect_is_detected(name: str, tip: int) -> None:
    """Two calls tell the dialect, on a chain of any length, an empty one included."""
    made: list[str] = []
    call = answered(Service(Chain(tip=tip), dialect=name))

    def counted(method: str, params: Any) -> Sequence[Raw]:
        made.append(method)
        return call(method, params)

    assert dialect_detection.detect(counted) == name
    assert len(made) == 2


def server(**answers: Callable[[Any], str]) -> dialect_detection.Call:
    """Calls a server that has these methods only; each makes JSON of its params."""

    def call(method: str, params: Any) -> list[Raw]:
        if method not in answers:
            raise ServiceError(f"{method}: the service answered error -32601: Method not found", code="-32601")
        return items_of(Raw(answers[method](params).encode()))

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
        pytest.param(server(getBlocks=lambda _: "null", blocks=summary), "aleo", id="null is not rows"),
        pytest.param(server(getBlocks=lambda _: '{"rows": []}', blocks=summary), "aleo", id="nor is an object"),
        pytest.param(server(getBlocks=lambda _: '[{"height": 7}]', blocks=summary), "aleo", id="nor are other heights"),
    ],
)
def test_odd_servers_have_the_dialect_that_fits(call: dialect_detection.Call, name: str) -> None:
    """A method that exists under a name but returns something else does not decide for that dialect."""
    assert dialect_detection.detect(call) == name


def test_a_server_that_fits_nothing_is_an_error_that_says_so() -> None:
    """If the server understands neither dialect, the message has its refusals and what to do."""
    with pytest.raises(
        ServiceError, match=r"fits no known dialect: getBlocks, blocks, .*: .*-32601.*dialect chain or aleo"
    ):
        dialect_detection.detect(server())


def test_a_server_that_fits_both_is_an_error_that_says_so() -> None:
    """If it understands both alike, the message asks for --dialect."""
    call = server(getBlocks=none, blocks=none, getChainBlocks=none, getAleoBlocks=none)
    with pytest.raises(ServiceError, match=r"cannot be detected.*dialect chain or aleo"):
        dialect_detection.detect(call)


@pytest.mark.parametrize(
    "error", [UnreachableError("gone"), TooHeavyError("timeout", code="0"), ServiceError("no", code="HTTP 401")]
)
def test_an_error_that_shows_no_dialect_passes(error: Exception) -> None:
    """A server that is away, overloaded, or wants credentials shows no dialect: the error passes."""

    def call(_method: str, _params: Any) -> list[Raw]:
        raise error

    with pytest.raises(type(error), match=str(error)):
        dialect_detection.detect(call)
