"""chainq for Python: the eleven methods of `Client` against the sample chain."""

import gc
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from itertools import chain, islice
from pathlib import Path
from typing import Any

import pytest
from msgspec import Raw

import chainq
from chainq import Client, errors
from chainq.catalog.methods import BY_COMMAND, METHODS
from chainq.client.row_types import BlocksRow
from chainq.client.rows import Rows, decode, decoder
from chainq.demo.faults import Faults
from chainq.demo.planted import VIEW_KEY
from chainq.errors import IncompleteError, NotFoundError, ResponseError, ServiceError, UnreachableError, UsageError
from chainq.process.progress import Bar
from chainq.query import Batch
from harness.program import LONGEST, Program
from harness.services import Moving, serving, witnessed


def test_one_method_for_each_of_the_service() -> None:
    """Every command of the catalogue is a method of Client, and says in words what it gives."""
    for method in METHODS:
        assert getattr(Client, method.command.replace("-", "_")).__doc__


def test_without_a_range_the_newest_blocks() -> None:
    """As the commands have them; of an address, the whole chain."""
    with Client("demo:") as client:
        assert [int(row["height"]) for row in client.blocks()] == [*range(2_999_991, 3_000_001)]
        assert [row["transition_id"] for row in client.records()] == [
            row["transition_id"] for row in client.records(last=10)
        ]


def test_a_range_is_whole_and_in_order() -> None:
    """Records of a range come by height and row id, each once, and the range holds its start and not its end."""
    with Client("demo:") as client:
        rows = list(client.records(770, 780))
        backwards = [row["height"] for row in client.records(770, 780, reverse=True)]
    keys = [(row["height"], row["id"]) for row in rows]
    assert keys == sorted(set(keys))
    assert {height for height, _ in keys} <= set(range(770, 780))
    assert sum(height == 777 for height, _ in keys) == 25_000
    assert backwards == sorted((height for height, _ in keys), reverse=True)


def test_the_latest_block_is_requested_anew() -> None:
    """Under both names, though ranges still end at the tip that the client has read."""
    service = Moving(5)
    with serving(service) as url, Client(url, dialect="chain", typed=True) as client:
        assert client.tip_height() == 5
        service.tip = 7
        assert client.block("latest")["height"] == client.latest()["height"] == 7
        assert client.transactions("latest") == client.transactions(7)
        assert (client.tip_height(), len(list(client.blocks()))) == (5, 6)


def test_an_end_of_none_is_the_tip_check() -> None:
    """Without an end a range goes up to and including the newest block."""
    with Client("demo:") as client:
        newest = client.tip_height()
        assert [int(row["height"]) for row in client.blocks(newest - 2)] == [newest - 2, newest - 1, newest]
        assert int(client.latest()["height"]) == newest


def test_named_things() -> None:
    """Blocks and transactions by name are single rows, and what does not exist is an error of its own."""
    with Client("demo:") as client:
        summaries = client.transactions(672)
        assert [row["index"] for row in summaries] == list(range(len(summaries)))
        name = summaries[0]["transaction_id"]
        assert client.transaction(name)["transaction"]["id"] == name
        assert client.block(5)["height"] == "5"
        with pytest.raises(NotFoundError, match="99999999"):
            client.block(99_999_999)
        with pytest.raises(UsageError, match="checksum"):
            client.transaction(name[:-1] + ("q" if name[-1] != "q" else "p"))


def test_the_other_methods() -> None:
    """Full blocks, ownership, transitions, program and address transactions come as rows too."""
    with Client("demo:") as client:
        assert [row["header"]["metadata"]["height"] for row in client.full_blocks(10, 13)] == [10, 11, 12]
        assert len(list(client.ownership(0, 50))) == len(list(client.records(0, 50)))
        heights = [int(row["height"]) for row in client.transitions(0, 20)]
        assert (min(heights), max(heights)) == (0, 19)
        assert len(list(client.program_transactions("hello_hello.aleo", "hello"))) == 282
        address = "aleo1lfv4jy6y9ahjtc257lugevza7xn0460c94zxdyr3n2fqqmdpm7aq7mntrd"
        assert len(list(client.address_transactions(address, 0, 50_000))) > 600


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


@pytest.mark.parametrize(
    "settings",
    [
        {"url": "nonsense"},
        {"url": 5},
        {"url": "http://127.0.0.1:99999/"},
        {"dialect": "french"},
        {"dialect": 5},
        {"typed": "yes"},
        {"strict": "no"},
        {"profile": 5},
        {"timeout": 0},
        {"timeout": float("nan")},
        {"timeout": "30"},
        {"retries": -1},
        {"retries": 1.5},
        {"rate": -1.0},
        {"rate": True},
        {"concurrency": 0},
        {"concurrency": 65},
        {"headers": "X-Key: 5"},
        {"headers": {"X Key": "5"}},
        {"headers": {"X-Key": 5}},
        {"headers": {"X-Key": "a\r\nb"}},
        {"url": "http://127.0.0.1:1/", "cert": "/nope"},
        {"url": "https://127.0.0.1:1/", "cert": "/nope"},
    ],
)
def test_settings_that_cannot_be(settings: dict[str, Any]) -> None:
    """A setting of the wrong type or size is a UsageError, before any request."""
    with pytest.raises(UsageError, match=r"invalid|unknown|header|expected|cert"):
        Client(**{"url": "demo:", **settings})


@pytest.mark.parametrize("height", [-1, 2**53 + 1, 10**5000, 1.5, None, True, float("nan"), [1]], ids=type)
def test_heights_that_cannot_be(height: Any) -> None:
    """A height that is negative, too high or neither int nor str is a UsageError that says what is expected."""
    with Client("demo:") as client:
        calls: list[Callable[[], object]] = [
            lambda: client.block(height),
            lambda: client.transactions(height),
        ]
        if height is not None:
            calls += [lambda: client.blocks(last=height), lambda: client.blocks(0, 9, limit=height)]
        for call in calls:
            with pytest.raises(UsageError, match="expected an int from 0"):
                call()
        if height not in (None, -1):  # a negative bound counts back from the tip
            for call in (lambda: client.records(height, 5), lambda: client.records(0, height)):
                with pytest.raises(UsageError, match=f"expected an int from -{2**53} to {2**53}"):
                    call()


@pytest.mark.parametrize("value", [10**5000, "\ud800", object()], ids=["int", "str", "object"])
def test_parameters_that_no_request_can_carry(value: Any) -> None:
    """Parameters of `call` that cannot be written as JSON are a UsageError, not an error of a library."""
    with Client("demo:") as client, pytest.raises(UsageError, match="invalid params"):
        client.call("block", {"block": value})


def test_arguments_that_cannot_be() -> None:
    """Ranges that end before they start, and IDs that are no text, are UsageErrors too."""
    wrong: Any = 5
    with Client("demo:") as client:
        for call in (
            lambda: client.records(5, 4),
            lambda: client.transaction(wrong),
            lambda: client.address_transactions(wrong),
            lambda: client.program_transactions("credits.aleo", wrong),
            lambda: client.program_transactions("credits", "mint"),
        ):
            with pytest.raises(UsageError):
                call()
        assert list(client.records(5, 5)) == []
        assert client.block(np_like(5))["height"] == "5"


def np_like(value: int) -> Any:
    """An integer of another type, as those of numpy are."""

    class Integer:
        def __index__(self) -> int:
            return value

    return Integer()


def test_rows_are_no_list() -> None:
    """What takes any iterator takes rows, which must not seem to have a length."""
    pandas = pytest.importorskip("pandas")
    with Client("demo:") as client:
        rows: Any = client.blocks(0, 3)
        assert bool(rows)
        assert next(rows)["height"] == "0"
        assert [row["height"] for row in pandas.Series(rows)] == ["1", "2"]
        assert pandas.DataFrame(client.blocks(0, 3)).height.to_list() == ["0", "1", "2"]


@pytest.mark.parametrize("lookup", ["block", "transactions"])
def test_an_id_is_no_height(chainq: Program, lookup: str) -> None:
    """The message about an ID in place of a height is that of the command, and repeats no secret."""
    with Client("demo:") as client:
        texts = [client.block(5)["block_hash"], client.transactions(672)[0]["transaction_id"], "credits.aleo"]
        for text in texts:
            with pytest.raises(UsageError) as raised:
                getattr(client, lookup)(text)
            assert f"chainq {lookup}: {raised.value}\n" == chainq(lookup, text, url="demo:").err
        with pytest.raises(UsageError, match=r"invalid height: this is a secret key"):
            client.block("AViewKey1ccEt8A2Ryva5rxnKcAbn7wgTaTsb79tzkKHFpeKsm9NX")


def test_a_closed_client_says_so() -> None:
    """After close, calls and iterators that are under way raise UsageError; closing twice is fine."""
    with Client("demo:") as client:
        rows = client.blocks(0, 50_000)
        next(rows)
    client.close()
    assert repr(client) == "<Client of demo:, closed>"
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
        assert next(rows)["height"] == "0"
        assert [row["height"] for row in rows] == ["1", "2", "3", "4"]
        assert next(rows, None) is None
        for again in (lambda: list(rows), rows.to_pandas, lambda: list(rows.chunks(2))):
            with pytest.raises(UsageError, match=r"have been read; call the method again, or keep the rows in a list"):
                again()


def test_rows_that_failed_say_so() -> None:
    """Whatever reads them anew repeats the error: they were not read to their end."""
    with witnessed(300, Faults("missing-height:250")) as (url, _), Client(url) as client:
        rows = client.blocks(0, 300)
        with pytest.raises(IncompleteError) as caught:
            list(rows)
        for again in (lambda: list(rows), rows.to_arrow):
            with pytest.raises(UsageError) as refused:
                again()
            assert str(refused.value) == f"reading these rows failed: {caught.value}; call the method again"


def test_threads_do_not_share_rows() -> None:
    """A thread that finds another one reading gets an error, and so does that one: neither ends as if all was read."""
    begun, go = threading.Event(), threading.Event()

    def batches() -> Iterator[Batch]:
        begun.set()
        go.wait(10)
        yield Batch([Raw(b'{"height":"1"}')])

    rows: Rows[Any] = Rows(BY_COMMAND["blocks"], batches())
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(list[Any], rows)
        assert begun.wait(10)
        with pytest.raises(UsageError, match="failed: several threads read them at the same time; call the method"):
            list(rows)
        go.set()
        with pytest.raises(UsageError, match="several threads"):
            other.result()


def test_chunks_hold_the_rows_before_an_error() -> None:
    """An unfinished part is given, too, as `for row in rows` would."""
    read: tuple[list[Any], list[Any]] = ([], [])
    with witnessed(3000, Faults("missing-height:2500")) as (url, _), Client(url) as client:
        with pytest.raises(IncompleteError):
            for row in client.blocks(0, 3000):
                read[0].append(row)
        with pytest.raises(IncompleteError):
            for part in client.blocks(0, 3000).chunks(999):
                read[1].extend(part)
    assert read[0] == read[1]
    assert len(read[0]) % 999


def test_the_package_shows_its_api() -> None:
    """`dir(chainq)` and `__all__` name the client and every error; each can be imported from the package."""
    exceptions = {
        name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, Exception)
    }
    assert set(chainq.__all__) == {"Client", "__version__", *exceptions}
    assert dir(chainq) == sorted(chainq.__all__)
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


def test_errors_are_exceptions() -> None:
    """What goes wrong is raised as the errors of chainq.errors, with what to do."""
    with pytest.raises(UsageError, match=r"invalid URL 'nonsense': expected"):
        Client("nonsense")
    with (
        Client("http://127.0.0.1:1/", retries=0) as client,
        pytest.raises(UnreachableError, match="could not reach") as caught,
    ):
        next(client.records(0, 5))
    assert repr(caught.value) == f"UnreachableError({str(caught.value)!r})"  # with the method and the URL
    assert IncompleteError.exit_code == 6


def test_the_rows_of_a_function_name_what_limits_them() -> None:
    """The representation of program_transactions has limit and newest, as that of a range has its bounds."""
    with Client("demo:") as client:
        rows = client.program_transactions("credits.aleo", "mint", limit=3, newest=True)
        assert repr(rows) == "<Rows: program-transactions credits.aleo mint limit=3 newest=True of demo:>"


def test_ranges_by_number_time_and_limit() -> None:
    """`last`, `since`, `until` and `limit` choose the rows that the options of the commands choose."""
    with Client("demo:", typed=True) as client:
        tip = client.tip_height()
        assert [row["height"] for row in client.blocks(last=3)] == [tip - 2, tip - 1, tip]
        hour = datetime(2023, 6, 2, 10, tzinfo=UTC)
        found = list(client.blocks(since=hour, until=hour + timedelta(hours=1)))
        assert found[0]["timestamp"] >= hour > client.block(found[0]["height"] - 1)["timestamp"]
        assert found[-1]["timestamp"] < hour + timedelta(hours=1) <= client.block(found[-1]["height"] + 1)["timestamp"]
        day = client.blocks(since=date(2023, 6, 2), limit=1)
        assert next(day) == next(client.blocks(since="2023-06-02T00:00:00Z", limit=1))
        aged = client.blocks(since=timedelta(days=36_500), limit=1)
        assert next(aged)["height"] == 0
        in_text = client.blocks(since="2023-06-02T10:00:00", until=hour.timestamp() + 3600)
        assert [row["height"] for row in in_text] == [row["height"] for row in found]
        assert [row["height"] for row in client.records(reverse=True, limit=2)] == [tip, tip]
        for contradiction in (
            {"last": 5, "since": 5.0},
            {"start": 5, "since": 5.0},
            {"since": "soon"},
            {"until": True},
        ):
            options: Any = contradiction
            with pytest.raises(UsageError):
                client.blocks(**options)
        with pytest.raises(TypeError, match="lasst"):
            client.blocks(lasst=5)  # type: ignore[call-arg]  # what a user may type


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
    """Chunks hold every row once, in order, and are cut at the size asked for; rows already read are not repeated."""
    with Client("demo:") as client:
        rows = client.blocks(0, 25)
        first = next(rows)
        parts = [[row["height"] for row in part] for part in rows.chunks(10)]
        assert [len(part) for part in parts] == [10, 10, 4]
        assert [first["height"], *chain.from_iterable(parts)] == [str(height) for height in range(25)]
        with pytest.raises(UsageError, match="expected an int from 1"):
            next(client.blocks(0, 5).chunks(0))


def test_any_method_can_be_called() -> None:
    """`call` sends a method under the server's own names and decodes its result; errors of the service are raised."""
    with Client("demo:") as client:
        assert client.call("latest/block")["height"] == client.latest()["height"]
        with pytest.raises(ServiceError):
            client.call("no/such/method", {})


def test_the_environment_and_profiles_name_the_service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a URL: CHAINQ_URL, then a profile by argument, CHAINQ_PROFILE or as the default; else an error."""
    for name in ("CHAINQ_URL", "CHAINQ_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setattr("chainq.config.profiles.config_file", lambda: tmp_path / "config.toml")
    with pytest.raises(UsageError, match="no service URL"):
        Client()
    (tmp_path / "config.toml").write_text(
        'default-profile = "near"\n[profiles.near]\nurl = "demo:"\n'
        '[profiles.far]\nurl = "http://127.0.0.1:9/"\nrate = 5\n'
    )
    with Client() as client:
        assert client.block(5)["height"] == "5"
    with Client(profile="far", retries=0) as client, pytest.raises(UnreachableError, match=r"127\.0\.0\.1:9"):
        client.block(5)
    monkeypatch.setenv("CHAINQ_PROFILE", "far")
    with Client(retries=0) as client, pytest.raises(UnreachableError, match=r"127\.0\.0\.1:9"):
        client.block(5)
    monkeypatch.setenv("CHAINQ_URL", "demo:")
    with Client() as client:
        assert client.block(5)["height"] == "5"
    with pytest.raises(UsageError, match="'nowhere'"):
        Client(profile="nowhere")


def test_a_key_in_the_url_or_a_header_is_not_sent() -> None:
    """The error says where it is, and does not repeat it."""
    for url, headers, place in (
        (f"http://127.0.0.1:9/{VIEW_KEY}", {}, "--url"),
        ("demo:", {"X": VIEW_KEY}, "--header"),
    ):
        with pytest.raises(UsageError, match=rf"contains a private or view key; .* from {place}\b") as refused:
            Client(url, headers=headers)
        assert VIEW_KEY[9:] not in str(refused.value)


def test_progress_is_drawn_while_rows_are_read(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With `progress` a bar on stderr counts heights and rows; without it nothing is printed."""
    monkeypatch.setattr("chainq.process.progress.DELAY", 0.0)
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    drawn, draw = threading.Event(), Bar._draw

    def draw_and_tell(bar: Bar) -> None:
        draw(bar)
        drawn.set()

    monkeypatch.setattr(Bar, "_draw", draw_and_tell)
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
    row = Rows[BlocksRow](BY_COMMAND["blocks"], [Batch([odd])]).to_arrow().to_pylist()[0]
    assert (row["height"], row["coinbase_target"]) == (5, None)
    assert row["extra"] == '{"coinbase_target":"340282366920938463463374607431768211455","new":1.10}'


def test_a_value_that_does_not_fit_its_column_is_noted(caplog: pytest.LogCaptureFixture) -> None:
    """The weight of block 4242 has 39 digits: pandas has it, and a warning says that Arrow has it in `extra`.

    A field that the catalogue has, but no column, as the supply of older blocks, is in `extra` without a warning.
    """
    with Client("demo:") as client:
        assert "total_supply_in_microcredits" in client.blocks(100, 101).to_pandas()["extra"][0]
        (row,) = client.blocks(4242, 4243)
        weights = client.blocks(4240, 4245).to_pandas()["cumulative_weight"]
        assert [str(weight) for weight in weights][2] == row["cumulative_weight"]
        assert caplog.records == []
        for part in client.blocks(4242, 4244).chunks(1):
            part.to_arrow()
        (record,) = caplog.records
        assert record.getMessage().startswith("blocks: a value of 'cumulative_weight' does not fit decimal128(38, 0)")
        assert record.getMessage().endswith(" goes to the column extra")


def test_rows_become_data_frames() -> None:
    """A join of blocks and records by pandas counts what the service has; integers stay integers beside nulls."""
    with Client("demo:") as client:
        blocks, records = client.blocks(0, 50).to_pandas(), client.records(0, 50).to_pandas()
        joined = blocks.merge(records, on="height")
        assert len(joined) == len(records) == sum(1 for _ in client.records(0, 50))
        assert str(blocks["round"].dtype) == "Int64"
        polars = pytest.importorskip("polars")
        assert isinstance(client.blocks(0, 5).to_polars(), polars.DataFrame)


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without pandas: UsageError with what to install."""
    monkeypatch.setitem(sys.modules, "pandas", None)
    with Client("demo:") as client, pytest.raises(UsageError, match="pandas"):
        client.blocks(0, 5).to_pandas()


def test_heights_are_words_too() -> None:
    """Heights are taken as the commands take them, and an invalid one has the error of the commands."""
    with Client("demo:", typed=True) as client:
        assert [row["height"] for row in client.blocks("2_999.998K", "latest")] == [2_999_998, 2_999_999, 3_000_000]
        assert [row["height"] for row in client.blocks("-2")] == [2_999_999, 3_000_000]
        assert len(list(client.blocks(last="1K"))) == 1000
        assert client.block("12K")["height"] == 12_000
        with pytest.raises(UsageError, match="invalid height '100X': expected a whole number such as"):
            client.records(end="100X")
        with pytest.raises(TypeError, match=r"unexpected keyword argument 'columns'$"):
            client.records(columns=["height"])  # type: ignore[call-arg]  # what is tested


def test_parts_of_one_iterator_end() -> None:
    """`islice` of `iter(rows)` is empty at the end."""
    with Client("demo:") as client:
        rows = client.blocks(0, 25)
        iterator = iter(rows)
        first = next(iterator)
        parts = [[first]]
        while part := list(islice(iterator, 10)):
            parts.append(part)
        assert list(map(len, parts)) == [1, 10, 10, 4]
        assert [int(row["height"]) for part in parts for row in part] == list(range(25))
        with pytest.raises(UsageError, match="for parts, read one iterator"):
            list(islice(rows, 10))


def test_the_newest_transactions_of_a_function() -> None:
    """As many as `limit`, which `newest` needs; they are the last ones of the list, the last first."""
    with Client("demo:") as client:
        every = list(client.program_transactions("hello_hello.aleo", "hello"))
        found = client.program_transactions("hello_hello.aleo", "hello", newest=True, limit=3)
        assert list(found) == every[:-4:-1]
        assert list(client.program_transactions("hello_hello.aleo", "hello", limit=2)) == every[:2]
        with pytest.raises(UsageError, match="newest needs limit"):
            client.program_transactions("hello_hello.aleo", "hello", newest=True)


def test_arguments_as_the_commands_take_them() -> None:
    """`latest`, negative heights, options that can be repeated, and the name of a method as a command."""
    with Client("demo:") as client:
        assert client.block("latest") == client.latest()
        assert [row["height"] for row in client.blocks(-5, -3)] == ["2999996", "2999997"]
        assert client.transactions(" latest ") == client.transactions(3_000_000)
        both = client.records(0, 500, function=["split", "join"])
        assert {row["function_name"] for row in both} == {"split", "join"}
        some = list(client.records(0, 500, where=["output_index > 0", "height > 400"]))
        assert some == list(client.records(0, 500, where="output_index > 0 and height > 400"))
        assert some
        assert next(client.batches("full_blocks", 5, 7)).heights == (5, 7)


def test_modules_of_the_package() -> None:
    """What help names is there without an import of its own."""
    code = (
        "import chainq; print(chainq.client.Client, chainq.errors.UsageError, chainq.client.row_types.BlocksRow);"
        "print(hasattr(chainq.client, 'nothing')); chainq.nothing"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "chainq.client.client.Client" in ran.stdout
    assert ran.stdout.endswith(".BlocksRow'>\nFalse\n")
    assert "module 'chainq' has no attribute 'nothing'" in ran.stderr


def test_what_rows_say_of_themselves() -> None:
    """The representation of rows names all that decides which ones they are."""
    with Client("demo:") as client:
        rows = client.records(last=100, where="id > 5", limit=3, reverse=True)
        assert repr(rows) == "<Rows: records last=100 reverse=True limit=3 where='id > 5' of demo:>"


@pytest.mark.parametrize(
    ("height", "words"),
    [
        (5.0, "invalid height 5.0: expected an int from 0 to"),
        (-1, "invalid height -1: expected an int from 0 to"),
        ("-1", "invalid height '-1': expected a whole number"),
        ([5, 6], "invalid height [5, 6]: expected an int from 0 to"),
        (range(5, 7), "invalid height range(5, 7): expected an int from 0 to"),
    ],
)
def test_what_is_no_height_of_one_block(height: Any, words: str) -> None:
    """The message shows the value as it was given."""
    with Client("demo:") as client:
        for method in (client.block, client.transactions):
            with pytest.raises(UsageError) as raised:
                method(height)
            assert words in str(raised.value)
        assert [row["height"] for row in client.blocks(-5)][-1] == client.block("latest")["height"]


def test_transactions_of_a_range() -> None:
    """Two heights, a keyword or none are a range, whose rows have their heights; one height alone is one block."""
    with Client("demo:") as client:
        due = [{"height": height, **row} for height in range(672, 675) for row in client.transactions(height)]
        assert list(client.transactions(672, 675)) == list(client.transactions(start=672, end="675")) == due
        assert client.transactions(height=672) == client.transactions(672)
        newest = [row for height in range(2999998, 3000001) for row in client.transactions(height)]
        assert [row["transaction_id"] for row in client.transactions(last=3)] == [
            row["transaction_id"] for row in newest
        ]
        down = [row["height"] for row in client.transactions(672, 675, reverse=True)]
        assert down == sorted(down, reverse=True)
        assert len(down) == len(due)
        assert (
            list(client.transactions(672, 675, where="height = 673", limit=2))
            == [row for row in due if row["height"] == 673][:2]
        )
        rows = client.transactions(672, 675)
        assert repr(rows) == "<Rows: transactions 672:675 of demo:>"
        options: Any
        for options in ({"limit": 3}, {"last": 3}, {"reverse": True}):
            with pytest.raises(
                UsageError, match=r"^transactions\(height\) reads one block, without (limit|last|reverse)=$"
            ):
                client.transactions(672, **options)
        with pytest.raises(TypeError, match="unexpected keyword argument 'wher'"):
            client.transactions(672, wher="id > 5")  # type: ignore[call-overload]
