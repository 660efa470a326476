"""The way of options: what the command line and Python state reaches the connection, and rows are cut in one place."""

import inspect
import pickle
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from msgspec import Raw

from chainq import Client
from chainq.cli import commands, connect
from chainq.cli.options import LakeOptions, ServiceFlags, StrictOptions, option
from chainq.cli.report import Reporter
from chainq.config.profiles import Profile
from chainq.config.server import completed
from chainq.errors import Shortfall
from chainq.heights.range import end_above
from chainq.options import ServiceOptions
from chainq.query import Batch, limited

FLAGS = ServiceFlags(
    url="demo:",
    timeout=9.0,
    retries=3,
    concurrency=4,
    max_memory=2**20,
    rate=20.0,
    header=[("X", "v")],
    dialect="chain",
    strict=True,
)
OPTIONS = ServiceOptions(
    "demo:",
    dialect="chain",
    timeout=9.0,
    retries=3,
    rate=20.0,
    concurrency=4,
    max_memory=2**20,
    headers={"X": "v"},
    strict=True,
)
EVERYWHERE = ("command line", "ServiceOptions", "Client", "profile")
LEFT_OUT = {
    **dict.fromkeys(("profile", "retries", "concurrency", "max_memory", "strict"), EVERYWHERE[:3]),  # of a run
    "deadline": EVERYWHERE[:2],  # Python has its own ways to end
    **dict.fromkeys(("quiet", "verbose", "log_format"), EVERYWHERE[:1]),  # of stderr; Python has logging
    **dict.fromkeys(("proxy", "patient", "until"), EVERYWHERE[1:2]),  # follow from others, or from the environment
    **dict.fromkeys(("typed", "progress"), EVERYWHERE[2:3]),  # of rows, and of what is drawn
}
"""The options that not everything takes; an option that is left out somewhere is a decision, which goes here."""


def test_where_an_option_can_be_given() -> None:
    """The command line, Python and profiles have the options of the connection, by the same names."""
    groups = (ServiceFlags, LakeOptions, StrictOptions)
    flags = {name for group in groups for _, name, _ in group.declared()} - {"header"} | {"headers"}
    python = {*inspect.signature(Client).parameters}
    takes = dict(zip(EVERYWHERE, (flags, {*ServiceOptions._fields}, python, {*Profile.__struct_fields__}), strict=True))
    names = set[str]().union(*takes.values())
    where = {one: tuple(place for place in EVERYWHERE if one in takes[place]) for one in names}
    assert where == dict.fromkeys(names, EVERYWHERE) | LEFT_OUT


def test_options_reach_the_connection_unchanged() -> None:
    """The value is the same in the command line, the service and the connection; who states retries is patient."""
    given = connect.service_options(FLAGS)
    with connect.open_service(given, Reporter()) as service:
        assert given == service.options == OPTIONS._replace(patient=True)
        assert service.connection._options is service.options
    assert pickle.loads(pickle.dumps(given)) == given  # noqa: S301


def test_python_states_the_same() -> None:
    """A client makes the value that the command line makes."""
    headers = {"X": "v"}
    with Client("demo:", dialect="chain", timeout=9, retries=3, rate=20, headers=headers, concurrency=4,
                max_memory=2**20, strict=True) as client:  # fmt: skip
        assert client._service.options == OPTIONS


def test_a_profile_completes_what_is_not_stated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is stated has precedence, and a worker gets by the profile's name what does not travel."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "chainq").mkdir()
    config = (
        'default-profile = "p"\n[profiles.p]\nurl = "http://h/"\nrate = 2\ntimeout = 7\nheaders = { K = "secret" }\n'
    )
    (tmp_path / "chainq" / "config.toml").write_text(config)
    given = ServiceOptions(rate=5.0, headers={"X": "v"})
    complete = completed(given)
    assert (complete.url, complete.profile, complete.rate, complete.timeout) == ("http://h/", "p", 5.0, 7.0)
    assert complete.headers == {"K": "secret", "X": "v"}
    assert "secret" not in repr(complete)
    sent = complete._replace(headers=given.headers)
    assert b"secret" not in pickle.dumps(sent)
    assert completed(sent) == complete
    assert completed(ServiceOptions("http://other/", "p")).headers == {}


def test_a_url_is_masked_where_options_are_shown() -> None:
    """A password and headers are not for a log."""
    shown = repr(ServiceOptions("http://user:secret@h/", headers={"X": "hidden"}))
    assert "secret" not in shown
    assert "hidden" not in shown


@pytest.mark.parametrize(("limit", "sizes", "taken"), [
    (None, [2, 0, 3], 3), (0, [], 0), (1, [1], 1), (2, [2], 1), (4, [2, 0, 2], 3), (9, [2, 0, 3], 3),
])  # fmt: skip
def test_rows_are_cut_at_the_limit(limit: int | None, sizes: list[int], taken: int) -> None:
    """The last batch is cut, and no batch is taken that is not needed: it may cost a request."""
    asked = []

    def batches() -> Iterator[Batch]:
        for size in (2, 0, 3):
            asked.append(size)
            yield Batch([Raw(b"{}")] * size)

    assert [len(batch.rows) for batch in limited(batches(), limit)] == sizes
    assert len(asked) == taken


def test_a_new_option_is_one_field(capsys: pytest.CaptureFixture[str]) -> None:
    """It is parsed, checked and in the help; `service_options` hands over each that has a field of its name."""

    class Tuned(ServiceFlags, heading="Service"):
        depth: int = option("N", "Depth of a look.", 3, least=1, common=True)

    seen: list[Tuned] = []
    command = commands.build("tuned", Tuned, seen.append, commands.parameters(Tuned), "Tune.")
    command.main(["--depth", "5", "--rate", "2"], standalone_mode=False)
    command.main([], standalone_mode=False)
    assert [given.depth for given in seen] == [5, 3]
    assert connect.service_options(seen[0]).rate == 2.0
    with pytest.raises(typer.BadParameter, match="from 1 to"):
        command.main(["--depth", "0"], standalone_mode=False)
    command.main(["--help"], standalone_mode=False)
    assert "--depth N" in capsys.readouterr().out


def test_a_shortfall_stays_one_between_processes() -> None:
    """`--quiet` would silence it otherwise."""
    came = pickle.loads(pickle.dumps(end_above(9, 5)))  # noqa: S301
    assert (type(came), came) == (Shortfall, "the end 9 is not reached: the tip is 5")
