"""The fixtures that all tests share."""

import gc
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

# So that a failed assertion in there shows its values, as one in a test does. Not in the package itself: worker
# processes load it, too, and need no pytest.
pytest.register_assert_rewrite("harness")

from chainq.demo.service import SampleService  # noqa: E402
from harness.lake.exports import Exports, shared_folder  # noqa: E402
from harness.running import kept  # noqa: E402
from harness.running.program import Program, Servers, serving  # noqa: E402
from harness.running.truth import Truth  # noqa: E402

if TYPE_CHECKING:
    from harness.lake.lake import Lake
    from harness.servers.services import Serve

# No test fails for being slow: other people use the machine too. Each run tries other examples.
settings.register_profile(
    "no clock",
    max_examples=int(os.environ.get("CHAINQ_EXAMPLES", "30")),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("no clock")

pytest_plugins = ["harness.servers.calls", "harness.lake.tables"]  # their fixtures

kept.keep()

# Each process of pytest rewrites the assertions of all files, which takes four seconds, unless it may keep the result.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# What starts pytest may have its children ignore signals that these tests send: a shell's `&` SIGINT and SIGQUIT, nohup
# SIGHUP. A child inherits that a signal is ignored, but no handler; and with this one pytest itself outlives a hang-up.
HANDLERS: dict[signal.Signals, Any] = {
    signal.SIGINT: signal.default_int_handler,
    signal.SIGQUIT: signal.SIG_DFL,
    signal.SIGHUP: lambda *_: None,
}
for number, handler in HANDLERS.items():
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collect without looking for garbage, and leave what was collected out of every later search for it."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(50_000, 20, 100)  # as the program has it
        gc.enable()


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--update-golden` writes the golden records anew."""
    parser.addoption("--update-golden", action="store_true", help="write the golden records of tests/golden/ anew")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[Path, str], None]:
    """Compares a text with a file of golden records, or writes it there."""

    def compare(file: Path, text: str) -> None:
        if request.config.getoption("--update-golden"):
            file.write_text(text)
        assert text == file.read_text(), f"{file.name}: pytest --update-golden writes it anew"

    return compare


@pytest.fixture(scope="session", autouse=True)
def nobodys_settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What runs in this process finds no profile, remembered dialect or variable of the person who runs the tests.

    `Program` gives each run of the program an environment of its own.
    """
    folder = tmp_path_factory.mktemp("nobody")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("CONFIG", "CACHE", "STATE", "DATA"):
            patch.setenv(f"XDG_{name}_HOME", str(folder / name.lower()))
        for name in ("URL", "PROFILE", "FORMAT", "DEBUG", "VIEW_KEY"):
            patch.delenv(f"CHAINQ_{name}", raising=False)
        yield


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    """The URL of a sample server: `server("--fault", "row-cap:700")`; or one to be killed: `with server.own(...)`."""
    servers = Servers(Program(tmp_path_factory.mktemp("servers")))
    yield servers
    servers.stop()


@pytest.fixture
def chainq(tmp_path: Path) -> Program:
    """Runs the installed program: `chainq("block", "5", url=...)`."""
    return Program(tmp_path)


@pytest.fixture
def serve() -> "Iterator[Serve]":
    """The URL of a service, which answers until the end of the test: `serve(Moving(5))`."""
    urls: dict[SampleService, str] = {}
    with ExitStack() as stack:

        def url(service: SampleService, *released: threading.Event) -> str:
            if service not in urls:
                urls[service] = stack.enter_context(serving(service, *released))
            return urls[service]

        yield url


@pytest.fixture
def lake(chainq: Program) -> "Lake":
    """The data set that `chainq export --to lake` writes in its home."""
    from harness.lake.lake import Lake

    return Lake(chainq.home / "lake")


@pytest.fixture(scope="session")
def exports(tmp_path_factory: pytest.TempPathFactory, server: Servers) -> Exports:
    """The data sets that tests share: `exports("lists")`; or to be changed: `exports.copy("lists", to)`."""
    return Exports(shared_folder(tmp_path_factory.getbasetemp()), server)


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Program:
    """The same for tests that run it again and again (hypothesis)."""
    return Program(tmp_path_factory.mktemp("program"))


@pytest.fixture(scope="session")
def truth() -> Truth:
    """The rows of the sample chain as `chainq serve` and `demo:` have it."""
    return Truth()


@pytest.fixture
def full_device() -> Path:
    """A device that takes no byte."""
    device = Path("/dev/full")
    if not device.exists():
        pytest.skip("this system has no /dev/full")
    return device


@pytest.fixture
def nowhere() -> Iterator[str]:
    """A URL where nothing listens, and nothing can begin to."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{held.getsockname()[1]}/"
