"""chainq for Python: the methods of `Client` against the sample chain."""

import gc
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from msgspec import Raw

import chainq
from chainq import Client, errors
from chainq.catalog.methods import BY_COMMAND
from chainq.client.rows import Rows, decode, decoder
from chainq.errors import NotFoundError, ResponseError, ServiceError, UsageError
from chainq.process.progress import Progress
from chainq.query import Batch
from harness.running.program import LONGEST, Program
from harness.servers.services import Moving, serving

TIP = 3_000_000
HOUR = datetime(2023, 6, 2, 10, tzinfo=UTC)
OF_HOUR = range(12_240, 12_600)  # block 12,239 is of 09:59:57, block 12,600 of 11:00:03
HEIGHTS: list[tuple[Callable[[Client], Any], Sequence[int]]] = [
    (lambda client: client.blocks(), range(TIP - 9, TIP + 1)),
    (lambda client: client.blocks(TIP - 2), range(TIP - 2, TIP + 1)),
    (lambda client: client.blocks("2_999.998K", "latest"), range(TIP - 2, TIP + 1)),
    (lambda client: client.blocks("-2"), range(TIP - 1, TIP + 1)),
    (lambda client: client.blocks(-5, -3), range(TIP - 4, TIP - 2)),
    (lambda client: client.blocks(last=3), range(TIP - 2, TIP + 1)),
    (lambda client: client.blocks(last="1K"), range(TIP - 999, TIP + 1)),
    (lambda client: client.blocks(5, 8, reverse=True), (7, 6, 5)),
    (lambda client: client.blocks(integer(5), limit=integer(2)), (5, 6)),
    (lambda client: client.blocks(since=HOUR, until=HOUR + timedelta(hours=1)), OF_HOUR),
    (lambda client: client.blocks(since="2023-06-02T10:00:00", until=HOUR.timestamp() + 3600), OF_HOUR),
    (lambda client: client.blocks(since=date(2023, 6, 2), limit=1), (8_640,)),
    (lambda client: client.blocks(since="2023-06-02T00:00:00Z", limit=1), (8_640,)),
    (lambda client: client.blocks(since=timedelta(days=36_500), limit=1), (0,)),
    (lambda client: client.records(5, 5), ()),
    (lambda client: client.records(reverse=True, limit=2), (TIP, TIP)),
    (lambda client: client.records(777, 778), (777,) * 25_000),
    (lambda client: client.transitions(2, 4), (2, 2, 2, 2, 3, 3)),
    (lambda client: [client.block("12K")], (12_000,)),
    (lambda client: [client.block(" latest "), client.latest()], (TIP, TIP)),
]


def integer(value: int) -> Any:
    """An integer of another type, as those of numpy are."""

    class Integer:
        def __index__(self) -> int:
            return value

    return Integer()


@pytest.mark.parametrize(("read", "heights"), HEIGHTS)
def test_which_heights_are_read(read: Callable[[Client], Any], heights: Sequence[int]) -> None:
    """Bounds and limits are taken as the commands take them, also as objects of Python; the end is excluded."""
    with Client("demo:", typed=True) as client:
        assert [row["height"] for row in read(client)] == list(heights)


CALLED = ("hello_hello.aleo", "hello")
SAME: list[tuple[Callable[[Client], Any], Callable[[Client], Any]]] = [
    (lambda client: client.records(), lambda client: client.records(last=10)),
    (lambda client: client.transactions("latest"), lambda client: client.transactions(TIP)),
    (lambda client: client.transactions(height=672), lambda client: client.transactions(672)),
    (lambda client: client.transactions(672, 675), lambda client: of_blocks(client, 672, 675)),
    (lambda client: client.transactions(start=672, end="675"), lambda client: of_blocks(client, 672, 675)),
    (lambda client: client.transactions(last=3), lambda client: of_blocks(client, TIP - 2, TIP + 1)),
    (
        lambda client: client.transactions(672, 675, where="height = 673", limit=2),
        lambda client: of_blocks(client, 673, 674)[:2],
    ),
    (
        lambda client: client.records(0, 500, where=["output_index > 0", "height > 400"]),
        lambda client: client.records(0, 500, where="output_index > 0 and height > 400"),
    ),
    (
        lambda client: client.records(0, 500, function=["split", "join"]),
        lambda client: [row for row in client.records(0, 500) if row["function_name"] in ("split", "join")],
    ),
    (
        lambda client: client.program_transactions(*CALLED, newest=True, limit=3),
        lambda client: list(client.program_transactions(*CALLED))[:-4:-1],
    ),
    (
        lambda client: client.program_transactions(*CALLED, limit=2),
        lambda client: list(client.program_transactions(*CALLED))[:2],
    ),
]


def of_blocks(client: Client, start: int, end: int) -> list[Any]:
    """The transactions of blocks, each with its height."""
    return [{"height": height, **row} for height in range(start, end) for row in client.transactions(height)]


@pytest.mark.parametrize(("read", "same"), SAME)
def test_the_same_rows_in_other_words(read: Callable[[Client], Any], same: Callable[[Client], Any]) -> None:
    """Two heights, a keyword or none are a range of transactions; options that can be repeated take a list."""
    with Client("demo:") as client:
        found = list(read(client))
        assert found
        assert found == list(same(client))


def test_the_latest_block_is_requested_anew() -> None:
    """Under both names, though ranges still end at the tip that the client has read."""
    service = Moving(5)
    with serving(service) as url, Client(url, dialect="chain", typed=True) as client:
        assert client.tip_height() == 5
        service.tip = 7
        assert client.block("latest")["height"] == client.latest()["height"] == 7
        assert client.transactions("latest") == client.transactions(7)
        assert (client.tip_height(), len(list(client.blocks()))) == (5, 6)


def test_named_things(chainq: Program) -> None:
    """Blocks and transactions by name are single rows, and what does not exist is an error of its own.

    An ID in place of a height is a usage error, as on the command line.
    """
    with Client("demo:") as client:
        summaries = client.transactions(672)
        assert [row["index"] for row in summaries] == list(range(len(summaries)))
        name = summaries[0]["transaction_id"]
        assert client.transaction(name)["transaction"]["id"] == name
        with pytest.raises(NotFoundError, match="99999999"):
            client.block(99_999_999)
        for text in (client.block(5)["block_hash"], name, "credits.aleo"):
            for lookup in ("block", "transactions"):
                with pytest.raises(UsageError, match=f"invalid height '{text}'"):
                    getattr(client, lookup)(text)
                assert f"chainq {lookup}: invalid height '{text}'" in chainq(lookup, text, url="demo:").err


@pytest.mark.parametrize(
    ("sent", "value"),
    [
        (b"340282366920938463463374607431768211455", 340282366920938463463374607431768211455),
        (b"1.10", Decimal("1.10")),
        (b"1e400", Decimal("1e400")),
        (b'"\\ud800"', "\ud800"),
    ],
)
def test_no_digit_is_lost(sent: bytes, value: object) -> None:
    """Integers of any size, numbers with a fraction and lone surrogates are decoded as they were sent."""
    row = decode(Raw(b'{"a":' + sent + b"}"))
    assert row == {"a": value}
    assert str(row["a"]) == str(value)


@pytest.mark.parametrize("sent", [b"1" * 5000, b"1e999999999999999999999", b"[" * 100_000 + b"]" * 100_000])
def test_what_python_cannot_hold_is_an_error_of_chainq(sent: bytes) -> None:
    """More digits, exponents or levels than Python takes: ResponseError, as promised."""
    with pytest.raises(ResponseError):
        decode(Raw(b'{"a":' + sent + b"}"))


def test_threads_end_with_the_iterator() -> None:
    """A loop that is left early leaves no thread behind once its iterator is gone."""
    with Client("demo:") as client:
        before = set(threading.enumerate())
        rows = client.blocks(0, 50_000)
        next(rows)
        workers = set(threading.enumerate()) - before
        assert workers
        del rows
        for worker in workers:
            worker.join(10)
        assert not any(worker.is_alive() for worker in workers)


def test_a_closed_client_says_so() -> None:
    """After close, calls and iterators that are under way raise UsageError; closing twice is fine."""
    with Client("demo:") as client:
        rows = client.blocks(0, 50_000)
        next(rows)
    client.close()
    for call in (
        lambda: list(rows),
        client.latest,
        client.tip_height,
        lambda: client.block(5),
        lambda: client.blocks(7),
    ):
        with pytest.raises(UsageError, match="the client is closed"):
            call()


def test_rows_are_read_once() -> None:
    """Reading goes on where it was; once at the end, or after an error, whatever starts anew is refused, not empty."""
    with Client("demo:") as client:
        rows = client.blocks(0, 5)
        assert repr(rows) == "<Rows of blocks>"
        assert next(rows)["height"] == "0"
        assert [row["height"] for row in rows] == ["1", "2", "3", "4"]
        assert next(rows, None) is None
        for again in (lambda: list(rows), rows.to_pandas, lambda: list(rows.chunks(2))):
            with pytest.raises(UsageError, match=r"have been read, .*; call the method again, or keep the rows"):
                again()


def test_the_package_shows_its_api() -> None:
    """`dir(chainq)` and `__all__` name the client, which has each command, and every error; each can be imported from
    the package."""
    exceptions = {
        name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, Exception)
    }
    assert set(chainq.__all__) == {"Client", "__version__", *exceptions}
    assert dir(chainq) == sorted(chainq.__all__)
    assert {command.replace("-", "_") for command in BY_COMMAND} <= {*dir(Client)}
    for name in exceptions:
        assert getattr(chainq, name) is getattr(errors, name)
    with pytest.raises(AttributeError, match="newest"):
        _ = chainq.newest


def test_the_process_is_left_alone() -> None:
    """A client changes no setting of the garbage collector and handles no signal."""
    before = gc.isenabled(), gc.get_threshold(), signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with Client("demo:") as client:
        assert len(list(client.records(0, 50))) > 0
        after = gc.isenabled(), gc.get_threshold(), signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    assert after == before


def test_a_typed_client_reads_numbers_and_times() -> None:
    """Heights and other numbers are ints and times datetimes in UTC, in nested objects too, whatever they were."""
    with Client("demo:", typed=True) as client:
        block = client.block(12345)
        assert block["height"] == 12345
        assert type(block["coinbase_target"]) is int
        assert block["timestamp"] == datetime(2023, 6, 2, 10, 17, 34, tzinfo=UTC)
        full = next(client.full_blocks(12345, 12346))
        assert full["header"]["metadata"]["timestamp"] == block["timestamp"]
    read = decoder(BY_COMMAND["blocks"], typed=True)
    odd = b'{"height":"12x","timestamp":"99999999999999999","round":null,"coinbase_reward":true,"proof_target":1.50}'
    assert read(Raw(odd)) == {
        "height": "12x",
        "timestamp": "99999999999999999",
        "round": None,
        "coinbase_reward": True,
        "proof_target": Decimal("1.50"),
    }
    assert decoder(BY_COMMAND["full-blocks"], typed=True)(Raw(b'{"header":[1]}')) == {"header": [1]}


def test_rows_come_in_chunks_of_a_size() -> None:
    """Chunks hold every row once, in order, and are cut at the size asked for; rows already read are not repeated.

    `islice` of one iterator does the same, and is empty at the end; of rows it would not end.
    """
    with Client("demo:", typed=True) as client:
        rows, others = client.blocks(0, 25), client.blocks(0, 25)
        iterator = iter(others)
        assert next(rows) == next(iterator)
        parts = [list(part) for part in rows.chunks(10)]
        assert [part[0]["height"] for part in parts] == [1, 11, 21]
        assert [row["height"] for part in parts for row in part] == list(range(1, 25))
        assert [list(islice(iterator, 10)) for _ in range(4)] == [*parts, []]
        with pytest.raises(UsageError, match="for parts, read one iterator"):
            list(islice(others, 10))


def test_any_method_can_be_called() -> None:
    """`call` sends a method under the server's own names and decodes its result; errors of the service are raised."""
    with Client("demo:") as client:
        assert client.call("latest/block")["height"] == client.latest()["height"]
        with pytest.raises(ServiceError):
            client.call("no/such/method", {})


@pytest.mark.parametrize(
    ("profile", "variables", "url"),
    [
        (None, {}, "http://near/"),
        ("far", {}, "http://far/"),
        (None, {"CHAINQ_PROFILE": "far"}, "http://far/"),
        (None, {"CHAINQ_PROFILE": "far", "CHAINQ_URL": "demo:"}, "demo:"),
    ],
)
def test_the_environment_and_profiles_name_the_service(
    profile: str | None, variables: dict[str, str], url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a URL: CHAINQ_URL, then a profile by argument, CHAINQ_PROFILE or as the default; else an error."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    with pytest.raises(UsageError, match="no service URL"):
        Client()
    (tmp_path / "chainq").mkdir()
    profiles = "".join(f'[profiles.{name}]\nurl = "http://{name}/"\n' for name in ("near", "far"))
    (tmp_path / "chainq" / "config.toml").write_text(f'default-profile = "near"\n{profiles}')
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with Client(profile=profile) as client:
        assert repr(client) == f"<Client of {url}>"
    with pytest.raises(UsageError, match="'nowhere'"):
        Client(profile="nowhere")


def test_progress_is_drawn_while_rows_are_read(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With `progress` a bar on stderr counts heights and rows; without it nothing is printed."""
    monkeypatch.setattr("chainq.process.progress.DELAY", 0.0)
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    drawn, draw = threading.Event(), Progress._draw

    def draw_and_tell(bar: Progress) -> None:
        draw(bar)
        drawn.set()

    monkeypatch.setattr(Progress, "_draw", draw_and_tell)
    with Client("demo:", progress=True) as client:
        rows = client.blocks(0, 500)
        next(rows)
        assert drawn.wait(LONGEST)
        assert sum(1 for _ in rows) == 499
    assert "500" in capsys.readouterr().err
    with Client("demo:") as client:
        assert sum(1 for _ in client.blocks(0, 500)) == 500
    assert capsys.readouterr() == ("", "")


def test_rows_become_tables_with_types_and_every_digit() -> None:
    """Arrow has integers, times in UTC and decimals; what does not fit its column is in `extra`, as it was sent."""
    with Client("demo:") as client:
        rows = client.blocks(0, 25)
        next(rows)
        table = rows.to_arrow()
        assert table["height"].to_pylist() == list(range(1, 25))
        assert table["timestamp"].to_pylist()[0] == datetime.fromtimestamp(int(client.block(1)["timestamp"]), UTC)
        assert client.records(5, 5).to_arrow().num_rows == 0
        whole = client.records(770, 780).to_arrow()
        assert whole.num_rows == sum(part.to_arrow().num_rows for part in client.records(770, 780).chunks(7000))
    odd = Raw(b'{"height":"5","coinbase_target":"340282366920938463463374607431768211455","new":1.10}')
    row = Rows(BY_COMMAND["blocks"], [Batch([odd])]).to_arrow().to_pylist()[0]
    assert (row["height"], row["coinbase_target"]) == (5, None)
    assert row["extra"] == '{"new":1.10,"coinbase_target":"340282366920938463463374607431768211455"}'


def test_a_value_that_does_not_fit_its_column_is_noted(caplog: pytest.LogCaptureFixture) -> None:
    """The weight of block 4242 has 39 digits: a warning says that it is in `extra`.

    A field that the catalogue has, but no column, as the supply of older blocks, is in `extra` without a warning.
    """
    with Client("demo:") as client:
        assert "total_supply_in_microcredits" in client.blocks(100, 101).to_pandas()["extra"][0]
        (row,) = client.blocks(4242, 4243)
        assert caplog.records == []
        extra = client.blocks(4240, 4245).to_pandas()["extra"][2]
        assert f'"cumulative_weight":"{row["cumulative_weight"]}"' in extra
        caplog.clear()
        for part in client.blocks(4242, 4244).chunks(1):
            part.to_arrow()
        (record,) = caplog.records
        assert record.getMessage().startswith("blocks: a value of 'cumulative_weight' does not fit decimal128(38, 0)")
        assert record.getMessage().endswith(" goes to the column extra")


def test_rows_become_data_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    """A join by pandas counts what the service has; integers stay integers beside nulls; a missing package is named."""
    with Client("demo:") as client:
        blocks, records = client.blocks(0, 50).to_pandas(), client.records(0, 50).to_pandas()
        assert len(blocks.merge(records, on="height")) == len(records) == sum(1 for _ in client.records(0, 50))
        assert str(blocks["round"].dtype) == "Int64"
        monkeypatch.setitem(sys.modules, "pandas", None)
        with pytest.raises(UsageError, match="pandas"):
            client.blocks(0, 5).to_pandas()
        polars = pytest.importorskip("polars")
        assert isinstance(client.blocks(0, 5).to_polars(), polars.DataFrame)


def test_modules_of_the_package() -> None:
    """What help names is there without an import of its own."""
    code = "import chainq; print(chainq.client.Client, chainq.errors.UsageError)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
