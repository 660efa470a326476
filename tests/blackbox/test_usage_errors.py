"""Exit code 2: arguments, environment and configuration that cannot be used, told before any call."""

import socket

import pytest

from harness.program import Program, Ran, Servers, one_line
from harness.truth import Truth

ADDRESS = Truth().chain.addresses[0]
ID = Truth().transaction_id(640, 1)

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
    (["blocks", "--last", "5", "--start", "3"], "--last"),
    (["blocks", "--last", "-5"], "invalid --last '-5': expected a number of blocks such as 100 or 10K"),
    (["records", "demo:"], "invalid height 'demo:'\n"),
    (["show", "-57"], "negative numbers are not allowed here; for the last N blocks use --last N\n"),
    (["block", "5", "https://h/x"], "invalid height 'https://h/x'\n"),
    (["blocks", "https://u:secret@h/x"], "invalid height 'https://***@h/x'\n"),
    (["blocks", "5", "https://u:secret@h/x"], "got unexpected extra argument(s) (https://***@h/x)\n"),
    (["records", "--since", "2024-06-31"], "invalid --since '2024-06-31': 2024-06 has 30 days\n"),
    (["records", "--until", "2023-02-29T10:00"], "'2023-02-29T10:00': 2023-02 has 28 days\n"),
    (["records", "--since", "2024-13-01"], "'2024-13-01': a month is 01 to 12, not 13\n"),
    (["blocks", "--since", "2024-06-02T25:00"], "'2024-06-02T25:00': an hour is 00 to 23, not 25\n"),
    (["blocks", "--since", "2024-06-02 11:60"], "a minute is 00 to 59, not 60\n"),
    (
        ["records", "--since", "last week"],
        "invalid --since 'last week': expected a date (2024-06-02), a time (2024-06-02T",
    ),
    (
        ["records", "--until", "monday"],
        "an age (90m, 2h, 7d), '2 days ago', yesterday, today or now, or seconds since 1970\n",
    ),
    (["block", "5", "-j", "100"], "invalid --concurrency '100': expected a whole number from 1 to 64\n"),
    (["blocks", "-o", ""], "invalid --output ''"),
    (["blocks", "--columns", "height,,timestamp"], "a column between two commas is empty"),
    (["block", "five"], "five"),
    (["records", "--program", "a/b"], "expected a name such as credits.aleo"),
    (["blocks", "--columns", "amount"], "unknown column 'amount'; the columns are id, height"),
    (["sql", "demo:", "select 1"], "demo: is a service: expected --url demo:, or the folder"),
    (["records", "--max-age", "5m"], "--max-age needs --checkpoint or --follow\n"),
    (["blocks", "--columns", "hash"], "unknown column 'hash'; the columns are id, height, block_hash, previous_hash"),
    (["full-blocks", "--where", "header.metadata = 1"], "unknown field 'header.metadata' at character 1; the columns"),
    (["full-blocks", "--columns", "header.meta"], "unknown column 'header.meta'"),
    (["block", "-5"], "--last"),
    (["transactions", "-5"], "--last"),
    (["block", "5", "-1K"], "--last"),
    (["transaction", ID[:-1] + ("q" if ID[-1] != "q" else "p")], "checksum"),
    (["transaction", ID[:20] + ID[21] + ID[20] + ID[22:]], "checksum"),
    (["transaction", "ab1fh02nl67hdnfzz5uv5g0n0yxy9ytelnl2uuf74sqrpp4g2z6yvzs6ccl9d"], "a block hash"),
    (["transaction", "rows.txt"], "invalid transaction ID 'rows.txt': expected at1 at its beginning\n"),
    (["transaction", "12345"], "this is a height, or a row id\n"),
    (["transaction", f"{ID[:8]}…{ID[-6:]}"], "this is shortened by a table"),
    (["block", ID], "this is a transaction ID\n"),
    (["block", "latest", f"{ID[:8]}…{ID[-6:]}"], "this is shortened by a table\n"),
    (["records", "--start", ADDRESS], "this is an address\n"),
    (["address-transactions", ID], "this is a transaction ID\n"),
    (["address-transactions", "credits.aleo"], "this is a program ID\n"),
    (["program-transactions", ADDRESS, "mint"], "this is an address\n"),
    (["transaction", ID, "x"], "x"),
    (["address-transactions", ADDRESS[:-1] + ("q" if ADDRESS[-1] != "q" else "p")], "checksum"),
    (["address-transactions", "bob"], "bob"),
    (["blocks", "-o", "s3://b/a.csv"], "invalid --output 's3://b/***': expected the name of a file\n"),
    (
        ["blocks", "-o", "https://u:secret@h/a.csv"],
        "invalid --output 'https://***@h/***': expected the name of a file\n",
    ),
    (["export", "latest", "--to", "x"], "no command to export, only the range latest; the commands are chain, blocks,"),
    (["blocks", "5:8", "--follow"], "--follow cannot be combined with --end\n"),
    (["records", "--col", "x"], "no such option: --col (Possible options: --columns, --follow, --jsonl)\n"),
    (["program-transactions", "credits", "mint"], "credits"),
    (["program-transactions", "cre dits.aleo", "mint"], "cre dits.aleo"),
    (["program-transactions", "credits.aleo", "mint-it"], "mint-it"),
    (["program-transactions", "credits.aleo", "mint", "--page-size", "1000"], "999"),
    (["records", "--limit", "-1"], "--limit"),
    (["records", "--limit", "many"], "--limit"),
    (["records", "--page-size", "0"], "--page-size"),
    (["records", "--page", "-1"], "--page"),
    (["records", "--page", "9" * 400], "invalid --page '9999999999999999…"),
    (["records", "--page-size", "9" * 400], "invalid --page-size '9999999999999999…"),
    (["records", "--page-size", "9" * 5000], "--page-size"),
    (
        ["records", "--limit", str(2**53 + 1)],
        f"invalid --limit '{2**53 + 1}': expected a whole number from 0 to {2**53}\n",
    ),
    (["records", "--retries", "9" * 400], "invalid --retries '9999999999999999…"),
    (["block", "5", "-j", "0"], "--concurrency"),
    (["block", "5", "--retries", "-1"], "--retries"),
    (["block", "5", "--timeout", "0"], "--timeout"),
    (["block", "5", "--timeout", "nan"], "--timeout"),
    (["block", "5", "--rate", "-2"], "--rate"),
    (["block", "5", "--rate", "1e-300"], "--rate"),
    (["blocks", "--follow", "--interval", "inf"], "--interval"),
    (["blocks", "--interval", "5"], "--interval needs --follow"),
    (["blocks", "--checkpoint", "c", "--interval", "5"], "--interval needs --follow"),
    (["block", "5", "--url", "demo://"], "the sample chain is --url demo:"),
    (["block", "5", "--url", "http://h/x y"], "it contains a space\n"),
    (["block", "5", "--url", "http://h/x\\y"], "it contains '\\\\'\n"),
    (["block", "5", "--url", "demo"], "the sample chain is --url demo:"),
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
    (["block"], "missing argument 'HEIGHT...'\n"),
    (
        ["block", "--", "-5"],
        "12_345, 12K or 1.5M; for the last N blocks use --last N\n",
    ),
    (["export", "records"], "missing option '--to'\n"),
    (["records", "--jsonl", "--format", "csv"], "--jsonl and --format csv cannot be combined\n"),
    (["records", "--format", ""], "unknown format '': expected one of table, jsonl, "),
    (
        ["rpc", "block", "{block: 5}"],
        "invalid parameters: object keys must be strings, at 'block: 5}'; expected a JSON",
    ),
    (["blocks", "--header", "X-Key: env:NOPE"], "environment variable NOPE is not set (--header X-Key)\n"),
    (["blocks", "--header", "X-Key:", "v"], "invalid range '***'"),
    (["transaction"], "ID"),
    (["program-transactions", "credits.aleo"], "FUNCTION"),
    (
        ["blocks", "--columns", "heigth,x1,round,timestmp"],
        "unknown columns 'heigth', 'x1', 'timestmp'; the columns are id, height, ",
    ),
    (["address-transactions"], "ADDRESS"),
    (["latest", "5"], "5"),
    (["rpc"], "METHOD"),
    (["rpc", "block", "{"], "JSON"),
    (["rpc", "block", "5"], "JSON"),
    (["rpc", "block", "--no-check"], "--no-check"),
    (["block", "5", "--profile", "nobody"], "nobody"),
]


@pytest.fixture(scope="module")
def refusals(program: Program) -> list[Ran]:
    """A run for each bad argument, pointed at a port where nothing listens."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        env = {"CHAINQ_URL": f"http://127.0.0.1:{held.getsockname()[1]}/"}
        return [program(*words, env=env) for words, _ in USAGE]


@pytest.mark.parametrize("place", range(len(USAGE)), ids=[" ".join(words)[:50] for words, _ in USAGE])
def test_2_bad_arguments_are_told_before_any_call(place: int, refusals: list[Ran]) -> None:
    """A bad argument is exit 2 and named, and no call was made: where nothing listens, it would have been exit 4."""
    ran = refusals[place]
    assert USAGE[place][1] in one_line(ran, 2)
    assert ran.out == b""


@pytest.mark.parametrize("url", ["http://127.0.0.1/\x1b[31m", "http://127.0.0.1/\udcff"])
def test_2_a_bad_url(url: str, chainq: Program) -> None:
    """What is no http or https URL, nor demo:, is exit 2."""
    assert "URL" in one_line(chainq("block", "5", url=url), 2)


KEY = "APrivateKey1zkp8CZNn3yeCseEtxuVPbDCwSyhGW6yZKUYKfgXmcpoGPWH"
VIEW_KEY = "AViewKey1mSnpFFC8Mj4fXbK5YiWgZ3mjiV8CxA79bYNa8ymUpTrw"


@pytest.mark.parametrize(
    "words",
    [
        [KEY],
        ["blocks", KEY],
        ["blocks", f"--{KEY}"],
        ["blocks", "5", KEY],
        ["blocks", "--limit", KEY],
        ["blocks", "--since", KEY],
        ["blocks", "--columns", VIEW_KEY],
        ["block", KEY, "--no-check"],
        ["transaction", VIEW_KEY, "--no-check"],
        ["address-transactions", KEY],
        ["address-transactions", KEY, "--no-check"],
        ["program-transactions", "credits.aleo", KEY],
        ["program-transactions", "credits.aleo", VIEW_KEY, "--no-check"],
        ["program-transactions", KEY, "mint"],
        ["rpc", KEY],
        ["rpc", "latest/block", f'{{"owner": "{VIEW_KEY}"}}'],
        ["show", KEY],
        ["show", f"credits.aleo/{KEY}"],
        ["owned", KEY],
        ["owned", VIEW_KEY[:-1], "0:5"],
        ["owned", "--view-key", VIEW_KEY],
        ["balance", f"--view-key={VIEW_KEY}"],
        ["balance", "--view-key-file", VIEW_KEY],
        ["balance", "--checkpoint", VIEW_KEY],
        ["records", "--where", f"program_id = '{VIEW_KEY}'"],
        ["blocks", "--header", "X:", VIEW_KEY],
        ["blocks", "--header", f"X: {VIEW_KEY}", "--dry-run"],
        ["blocks", "--url", f"http://127.0.0.1:9/?k={KEY}"],
        ["blocks", "-o", f"{VIEW_KEY}.csv"],
    ],
    ids=lambda words: " ".join(words).replace(KEY, "KEY").replace(VIEW_KEY, "VIEW_KEY"),
)
def test_2_a_secret_key_is_neither_sent_nor_repeated(words: list[str], chainq: Program, nowhere: str) -> None:
    """A private or view key anywhere on the command line is exit 2 before anything else, and in no message, which is
    logged."""
    said = one_line(chainq(*words, url=nowhere) if len(words) > 1 else chainq(*words), 2)
    private = any(KEY in word for word in words)
    assert f"a {'private' if private else 'view'} key is on the command line" in said
    assert said.count("exposed") == 1
    assert KEY[12:] not in said
    assert VIEW_KEY[9:30] not in said


@pytest.mark.parametrize(
    ("words", "env", "said"),
    [
        ((), {"CHAINQ_URL": f"http://127.0.0.1:9/{VIEW_KEY}"}, "the URL contains a private or view key; it would be"),
        (("--header", "X: env:TOKEN"), {"CHAINQ_URL": "http://127.0.0.1:9/", "TOKEN": KEY}, "a header contains"),
        (("--profile", "url"), {}, "remove it from --url, CHAINQ_URL or the profile"),
        (("--profile", "header"), {}, "remove it from --header or the profile"),
    ],
    ids=["variable", "header", "profile", "header of a profile"],
)
def test_2_a_secret_key_in_the_settings_is_not_sent(
    words: tuple[str, ...], env: dict[str, str], said: str, chainq: Program
) -> None:
    """Wherever the URL and the headers come from."""
    chainq.config.parent.mkdir(parents=True, exist_ok=True)
    chainq.config.write_text(
        f'[profiles.url]\nurl = "http://127.0.0.1:9/?key={VIEW_KEY}"\n'
        f'[profiles.header]\nurl = "http://127.0.0.1:9/"\nheaders = {{ X = "{KEY}" }}\n'
    )
    for command in (("latest",), ("blocks", "5", "--dry-run")):
        message = one_line(chainq(*command, *words, env=env), 2)
        assert said in message
        assert not [key for key in (KEY[12:], VIEW_KEY[9:]) if key in message]


@pytest.mark.parametrize("option", ["--timeout", "--rate"])
def test_numbers_are_taken_up_to_the_bounds_that_the_message_names(option: str, chainq: Program) -> None:
    """From 0.000001 to 1000000: both ends count, and what is beyond them is exit 2."""
    for value in ("0.000001", "1000000"):
        assert chainq("block", "5", option, value, "--dry-run", url="demo:").code == 0
    for value in ("0.0000009", "1000000.5"):
        expected = f"invalid {option} {float(value)}: expected a number from 0.000001 to 1000000"
        assert expected in one_line(chainq("block", "5", option, value, "--dry-run", url="demo:"), 2)


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
        ("SSL_CERT_FILE", "nope.pem", "SSL_CERT_FILE is 'nope.pem': No such file"),
        ("SSL_CERT_FILE", "/etc/passwd", "SSL_CERT_FILE"),
        ("ALL_PROXY", "socks4://someone:hunter2@127.0.0.1:1", "ALL_PROXY"),
        ("HTTPS_PROXY", "ftp://someone:hunter2@127.0.0.1:1", "HTTPS_PROXY"),
    ],
)
def test_2_an_environment_that_cannot_be_used(name: str, value: str, said: str, chainq: Program) -> None:
    """Certificates and proxies that the environment names wrongly are exit 2; a password in them is not repeated."""
    message = one_line(chainq("block", "5", url="https://127.0.0.1:1/", env={name: value}), 2)
    assert said in message
    assert "hunter2" not in message


def test_2_no_url(chainq: Program) -> None:
    """Without a URL from anywhere the message says the ways out."""
    said = one_line(chainq("block", "5"), 2)
    assert all(way in said for way in ("--url", "CHAINQ_URL", "profile", "demo:"))


@pytest.mark.parametrize(("url", "hint"), [("foo", "invalid URL 'foo'"), ("demo", "is CHAINQ_URL=demo:\n")])
def test_2_a_bad_url_in_the_environment(url: str, hint: str, chainq: Program) -> None:
    """The message says that the environment names the URL."""
    message = one_line(chainq("blocks", "5", env={"CHAINQ_URL": url}), 2)
    assert message.startswith("chainq blocks: CHAINQ_URL: invalid URL ")
    assert hint in message


def test_2_a_bad_format_in_the_environment(chainq: Program, nowhere: str) -> None:
    """CHAINQ_FORMAT is checked like --format."""
    message = one_line(chainq("block", "5", url=nowhere, env={"CHAINQ_FORMAT": "yaml"}), 2)
    assert "CHAINQ_FORMAT: unknown format 'yaml': expected one of table, " in message


def test_2_a_bad_name_on_standard_input(chainq: Program, server: Servers, truth: Truth) -> None:
    """A line that is no height is exit 2; what stood before it was printed whole."""
    ran = chainq("block", "-", url=server(), stdin=b"5\nfive\n")
    assert "five" in one_line(ran, 2)
    assert ran.rows in ([], [truth.block(5)])


def test_2_no_check_sends_it_anyway(chainq: Program, server: Servers) -> None:
    """--no-check lets an ID with a wrong checksum through; the service then knows no such transaction."""
    assert chainq("transaction", ID[:-1] + "b", "--no-check", url=server()).code == 1


LONG = "x" * 100_000


@pytest.mark.parametrize(
    "words",
    [
        [LONG],
        [f"--{LONG}"],
        ["transaction", LONG],
        ["block", LONG],
        ["block", f"5{LONG}:6"],
        ["block", "1" * 100_000],
        ["address-transactions", LONG],
        ["program-transactions", LONG, "f"],
        ["program-transactions", "credits.aleo", f"-{LONG}"],
        ["latest", LONG],
        ["latest", f"--{LONG}"],
        ["records", "--since", LONG],
        ["records", "--limit", LONG],
        ["records", "--columns", LONG],
        ["records", "--format", LONG],
        ["records", "--profile", LONG],
        ["records", "--dialect", LONG],
        ["records", "--max-age", LONG, "--follow"],
        ["records", "-o", LONG],
        ["show", LONG],
        ["completion", LONG],
    ],
)
def test_a_message_repeats_an_excerpt_of_a_long_argument(words: list[str], chainq: Program, nowhere: str) -> None:
    """Its beginning and its end are enough to know it by."""
    ran = chainq(*words, env={"CHAINQ_URL": nowhere})
    assert ran.code in (2, 7)
    assert len(one_line(ran, ran.code)) < (6000 if "-o" in words else 600)


@pytest.mark.parametrize("command", ["transaction", "block"])
def test_2_a_message_repeats_an_excerpt_of_a_line(command: str, chainq: Program, nowhere: str) -> None:
    """As of an argument; bytes that are not text do not reach a terminal."""
    for line in (b"x" * 300_000, bytes(range(256)).replace(b"\n", b"") * 100):
        assert len(one_line(chainq(command, "-", url=nowhere, stdin=line), 2)) < 500


def test_2_the_excerpt_of_an_argument_shows_nothing_of_a_key(chainq: Program, nowhere: str) -> None:
    """Wherever it is cut."""
    ran = chainq("show", "x" * 60 + "APrivateKey1" + "secret" * 9, url=nowhere)
    assert "secretsecret" not in one_line(ran, 2)


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        (("blocks", "-10"), "use --last N\n"),
        (("export", "blocks", "--to", "lake", "-10"), "use --last N\n"),
        (("show", "-1"), "use --last N\n"),
        (("blocks", "--columns", ""), "invalid --columns '': expected names of columns\n"),
    ],
)
def test_the_advice_fits_the_command_line(words: tuple[str, ...], advice: str, chainq: Program) -> None:
    """--last takes the place of a negative height; a name is not empty."""
    assert one_line(chainq(*words, url="demo:"), 2).endswith(advice)


def test_4_a_refused_connection_is_in_plain_words(chainq: Program) -> None:
    """Without the number or the source file that Python adds."""
    said = one_line(chainq("block", "5", "--retries", "0", url="http://127.0.0.1:1"), 4)
    assert ": http://127.0.0.1:1: could not reach the server: Connection refused; is the server running" in said
