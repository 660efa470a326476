"""Exit code 2: arguments, environment and configuration that cannot be used, told before any call."""

import socket
from functools import partial

import pytest

from harness.program import Program, Ran, Servers, one_line, side_by_side
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
    (["blocks", "5", "8"], "unexpected argument 8; a range is A:B, and ends before B: 5:9\n"),
    (["records", "12_345", "12346"], "unexpected argument 12346; a range is A:B, and ends before B: 12345:12347\n"),
    (["records", "last", "5"], "unexpected argument 5; use --last 5\n"),
    (["blocks", "latest-5"], "or 1.5M; for the last 5 blocks use -5:\n"),
    (["blocks", "8", "5"], "unexpected argument 5; a range is A:B, and ends before B\n"),
    (["blocks", "8-5"], "or 1.5M; a range is A:B, and ends before B\n"),
    (["address-transactions", ADDRESS, "5", "latest"], "a range is one argument, 5:latest"),
    (["verify", "x.csv", "5:6"], "unexpected argument 5:6; use --start 5 --end 6"),
    (["blocks", "5:6", "8:9"], "unexpected argument 8:9; blocks takes one range\n"),
    (["blocks", "5:6", "8"], "unexpected argument 8; blocks takes one range\n"),
    (["records", "5", "6", "7"], "unexpected arguments 6 7; records takes one range, such as 5:8\n"),
    (["records", "12K", "5", "latest"], "unexpected arguments 5 latest; records takes one range\n"),
    (["verify", "5", "6", "7"], "unexpected arguments 6 7; verify takes one range, such as 5:8\n"),
    (["doctor", "http://h:1/"], "unexpected argument http://h:1/; the URL of a service is the value of --url\n"),
    (["records", "demo:"], "invalid height 'demo:'; the URL of a service is the value of --url\n"),
    (["show", "-57"], "invalid height '-57': negative numbers are not allowed here; "),
    (["block", "5", "https://h/x"], "invalid height 'https://h/x'; the URL of a service is the value of --url\n"),
    (["records", "5:6", "demo:"], "unexpected argument demo:; the URL of a service is the value of --url\n"),
    (["records", "demo:", "5:6"], "unexpected argument 5:6; the URL of a service is the value of --url\n"),
    (["program-transactions", "demo:", "a.aleo", "b"], "argument b; the URL of a service is the value of --url\n"),
    (["address-transactions", "demo:", ADDRESS], "; the URL of a service is the value of --url\n"),
    (["rpc", '{"block": 5}', "b"], """; the arguments seem to be swapped; use chainq rpc b '{"block": 5}'\n"""),
    (["blocks", "https://u:secret@h/x"], "invalid height 'https://***@h/x'; the URL"),
    (["blocks", "5", "https://u:secret@h/x"], "unexpected argument https://***@h/x; the URL"),
    (["latest", "5", "6"], "unexpected arguments 5 6; use chainq block 5 6\n"),
    (["serve", "8545"], "unexpected argument 8545; use --port 8545\n"),
    (["blocks", "10,20"], "or 1.5M; a range is A:B, and ends before B: 10:21\n"),
    (["blocks", "12,345"], "or 1.5M; did you mean 12345?\n"),
    (["blocks", "--since", "2024-5-1"], "; did you mean 2024-05-01?\n"),
    (["blocks", "--until", "yesterdya"], "; did you mean yesterday?\n"),
    (["blocks", "--since", "1715577567000"], "; did you mean 1715577567, in seconds?\n"),
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
    (["block", "5", "-j", "100"], "invalid --concurrency / -j: 100 is not from 1 to 64\n"),
    (["blocks", "-o", ""], "invalid --output ''"),
    (["blocks", "--columns", "height,,timestamp"], "a column between two commas is empty"),
    (["block", "five"], "five"),
    (["records", "latets"], "12K or 1.5M; did you mean latest?"),
    (["block", "lastest"], "12K or 1.5M; did you mean latest?"),
    (["records", "--program", "credits"], "invalid program ID 'credits'; did you mean credits.aleo?"),
    (["records", "--program", "a.aleo,b.aleo"], "; repeat the option: --program a.aleo --program b.aleo\n"),
    (["records", "--function", "join, split"], "; repeat the option: --function join --function split\n"),
    (["records", "--function", "transfer_*"], "; for all that match use --where 'function_name ~ ^transfer_'\n"),
    (["transitions", "--program", "*s.aleo"], "; for all that match use --where 'program ~ s\\.aleo$'\n"),
    (["records", "--program", "a/b"], "expected a name such as credits.aleo; --no-check"),
    (["blocks", "--columns", "amount"], "unknown column 'amount'; the columns are id, height"),
    (["blocks", "5:8", "--columns", "height", "round"], "; separate columns with commas: --columns height,round\n"),
    (["blocks", "--columns", "height", "round"], "; separate columns with commas: --columns height,round\n"),
    (["sql", "demo:", "select 1"], "; chainq sql --url demo: 'select 1'\n"),
    (["records", "--max-age", "5m"], "; for the age of the tip alone use chainq latest --max-age 5m\n"),
    (["blocks", "--columns", "hash"], "unknown column 'hash' (did you mean block_hash or previous_hash?)"),
    (["full-blocks", "--where", "transactions.status = x"], "(did you mean transactions[].status?)"),
    (["full-blocks", "--where", "transactions[0].status = x"], "(did you mean transactions[].status?)"),
    (["full-blocks", "--where", "stauts = rejected"], "(did you mean transactions[].status?)"),
    (
        ["full-blocks", "--where", "header.metadata = 1"],
        "header.metadata has header.metadata.network, header.metadata.r",
    ),
    (["full-blocks", "--columns", "header.meta"], "unknown column 'header.meta'"),
    (["block", "-5"], "--last"),
    (["transactions", "-5"], "--last"),
    (["block", "5", "-1K"], "--last"),
    (["transaction", ID[:-1] + ("q" if ID[-1] != "q" else "p")], "checksum"),
    (["transaction", ID[:20] + ID[21] + ID[20] + ID[22:]], "checksum"),
    (["transaction", "ab1fh02nl67hdnfzz5uv5g0n0yxy9ytelnl2uuf74sqrpp4g2z6yvzs6ccl9d"], "a block hash"),
    (["transaction", "rows.txt"], "invalid transaction ID 'rows.txt': expected at1 at its beginning;"),
    (["transaction", "12345"], "this is a height, or a row id; use chainq show 12345 or chainq block 12345"),
    (["transaction", f"{ID[:8]}…{ID[-6:]}"], "shortened by a table; use --no-trunc"),
    (["block", ID], f"this is a transaction ID; use chainq show {ID} or chainq transaction {ID}"),
    (["block", "latest", f"{ID[:8]}…{ID[-6:]}"], "shortened by a table; use --no-trunc"),
    (["records", "--start", ADDRESS], f"this is an address; use chainq show {ADDRESS}"),
    (["address-transactions", ID], f"this is a transaction ID; use chainq show {ID}"),
    (["address-transactions", "credits.aleo"], "this is a program ID; use chainq show credits.aleo"),
    (["program-transactions", ADDRESS, "mint"], f"this is an address; use chainq show {ADDRESS}"),
    (["transaction", ID, "x"], "x"),
    (["address-transactions", ADDRESS[:-1] + ("q" if ADDRESS[-1] != "q" else "p")], "checksum"),
    (["address-transactions", "bob"], "bob"),
    (
        ["address-transactions", "0:5", ADDRESS],
        f"; the arguments seem to be swapped; use chainq address-transactions {ADDRESS} 0:5\n",
    ),
    (["address-transactions", "0:5"], "; a range follows the address: chainq address-transactions ADDRESS 0:5\n"),
    (
        ["program-transactions", "transfer_public", "credits.aleo"],
        "; the arguments seem to be swapped; use chainq program-transactions credits.aleo transfer_public\n",
    ),
    (["blocks", "-o", "s3://b/a.csv"], "expected the name of a file; chainq export --to takes the URL of an object"),
    (
        ["blocks", "-o", "https://u:secret@h/a.csv"],
        "invalid --output 'https://***@h/***': expected the name of a file\n",
    ),
    (["sql", "-- a comment\nselect 1"], "; a query that begins with a comment comes after --: chainq sql -- 'QUERY'\n"),
    (["export", "latest", "--to", "x"], "no command to export, only the range latest; the commands are chain, blocks,"),
    (["export", "blocks", "-o", "x"], "unknown option -o; did you mean --to?\n"),
    (
        ["blocks", "--checkpoint", "s3://b/c"],
        "invalid --checkpoint 's3://b/c': expected the name of a file; chainq ex",
    ),
    (["blocks", "5:8", "--follow"], "--follow cannot be combined with --end; leave out the end of the range: 5:\n"),
    (["blocks", "--columns", "height,", "round"], "; separate columns with commas: --columns height,round\n"),
    (["records", "--col", "x"], "unknown option --col; did you mean --columns or --color?\n"),
    (["records", "--newest"], "unknown option --newest; did you mean --reverse?\n"),
    (["show", "CREDITS.ALEO"], "cannot show 'CREDITS.ALEO'; did you mean credits.aleo?"),
    (["full-blocks", "--columns", "type"], "(did you mean authority.type or ratifications[].type or transactions[]."),
    (["blocks", "--where", "height"], "; a shell takes < and > for itself: quote the condition, --where 'height > "),
    (["blocks", "--where", "height = 1 or 2"], "unexpected '2' at character 15; repeat the field: height = 1 or heigh"),
    (["blocks", "--where", "5 < height <= 7"], "; a field comes first: height > 5 and height <= 7\n"),
    (["records", "--where", "'a' = program_id"], "; a field comes first: program_id = 'a'\n"),
    (["records", "--where", '"program_id" = a'], "; write a field without quotes: program_id = a\n"),
    (["program-transactions", "credits", "mint"], "credits"),
    (["program-transactions", "cre dits.aleo", "mint"], "cre dits.aleo"),
    (["program-transactions", "credits.aleo", "mint-it"], "mint-it"),
    (["program-transactions", "credits.aleo", "mint", "--page-size", "1000"], "999"),
    (["records", "--limit", "-1"], "--limit"),
    (["records", "--limit", "many"], "--limit"),
    (["records", "--page-size", "0"], "--page-size"),
    (["records", "--page", "-1"], "--page"),
    (["records", "--page", "9" * 400], "invalid --page 9999999999999999…"),
    (["records", "--page-size", "9" * 400], "invalid --page-size 9999999999999999…"),
    (["records", "--page-size", "9" * 5000], "--page-size"),
    (["records", "--limit", str(2**53 + 1)], f"invalid --limit {2**53 + 1}: the highest number is {2**53}"),
    (["records", "--retries", "9" * 400], "invalid --retries 9999999999999999…"),
    (["block", "5", "-j", "0"], "-j"),
    (["block", "5", "--retries", "-1"], "--retries"),
    (["block", "5", "--timeout", "0"], "--timeout"),
    (["block", "5", "--timeout", "nan"], "--timeout"),
    (["block", "5", "--rate", "-2"], "--rate"),
    (["block", "5", "--rate", "1e-300"], "--rate"),
    (["blocks", "--follow", "--interval", "inf"], "--interval"),
    (["blocks", "--interval", "5"], "--interval needs --follow"),
    (["blocks", "--checkpoint", "c", "--interval", "5"], "--interval needs --follow"),
    (["block", "5", "--url", "demo://"], "the sample chain is --url demo:"),
    (["block", "5", "--url", "demo:12"], "the sample chain is --url demo:; did you mean http://demo:12?\n"),
    (["block", "5", "--url", "htp://h:1/"], "or URL of an export; did you mean http://h:1/?\n"),
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
    (["block"], "missing argument HEIGHT...; such as 12345, 5:8, latest, or -10: for the last 10 blocks\n"),
    (["transaction"], "missing argument ID...; such as: chainq transaction at1"),
    (["show"], "missing argument OBJECT...; such as: chainq show "),
    (["block", "--", "-5"], "; for the last 5 blocks use -5:, or --last 5 with blocks or records\n"),
    (["export", "records"], "missing option --to; --to is a folder, or the URL of an object store\n"),
    (["records", "--jsonl", "--format", "csv"], "--jsonl and --format csv cannot be combined\n"),
    (["records", "--format", ""], "unknown format ''; the formats are table,"),
    (["records", "--format", "josnl"], "unknown format 'josnl'; did you mean jsonl?\n"),
    (
        ["rpc", "block", "{block: 5}"],
        "invalid parameters: object keys must be strings, at 'block: 5}'; expected a JSON",
    ),
    (["records", "--format", "ndjson"], "unknown format 'ndjson'; did you mean jsonl?\n"),
    (["records", "--columns", "height id"], "unknown column 'height id'; separate columns with commas: height,id\n"),
    (["records", "--columns", "height;no"], "unknown column 'height;no'; separate columns with commas: height,no\n"),
    (["records", "--columns", "ALL"], "unknown column 'ALL' (did you mean all?)"),
    (["records", "--where", "id", "=", "5"], "a value with spaces needs quotes: --where 'id = 5'\n"),
    (["records", "5", "--where", "id", "!=", "5"], "a value with spaces needs quotes: --where 'id != 5'\n"),
    (["blocks", "--since", "2024-05-13", "05:00"], "a value with spaces needs quotes: --since '2024-05-13 05:00'\n"),
    (["blocks", "--until=2024-05-13", "10:30", "--csv"], "needs quotes: --until '2024-05-13 10:30'\n"),
    (["blocks", "--since", "2", "days", "ago"], "a value with spaces needs quotes: --since '2 days ago'\n"),
    (["blocks", "--header", "X-Key: env:NOPE"], "environment variable NOPE is not set (--header X-Key)\n"),
    (["blocks", "--header", "X-Key:", "v"], "blocks: a value with spaces needs quotes: --header 'NAME: VALUE'\n"),
    (["rpc", "block", "{block:", "5}"], "a value with spaces needs quotes: '{block: 5}'\n"),
    (
        ["blocks", "--columns", "/bin", "/etc", "/usr"],
        "the shell replaced * with the names of files; use --columns all\n",
    ),
    (["blocks", "–last", "5"], "'–last' begins with a dash that is not '-'; did you mean --last?\n"),
    (["blocks", "—last=5"], "'—last' begins with a dash that is not '-'; did you mean --last?\n"),
    (["blocks", "–o", "x.csv"], "'–o' begins with a dash that is not '-'; did you mean -o?\n"),
    (["rpc", "block", "--params", "5"], "unknown option --params; see --help\n"),
    (["transaction"], "ID"),
    (["program-transactions", "credits.aleo"], "FUNCTION"),
    (["program-transactions", "credits.aleo/mint"], "missing argument FUNCTION; use a space: credits.aleo mint"),
    (["blocks", "--columns", "heigth,x1,round,timestmp"], "'heigth' (did you mean height?), 'timestmp' (did you mean"),
    (["blocks", "--columns", "heigth,x1,round,timestmp"], "), 'x1'; the columns are id, height, "),
    (["address-transactions"], "ADDRESS"),
    (["latest", "5"], "5"),
    (["rpc"], "METHOD"),
    (["rpc", "block", "{"], "JSON"),
    (["rpc", "block", "5"], "JSON"),
    (["rpc", "block", "--no-check"], "--no-check"),  # it checks nothing
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
        ("SSL_CERT_FILE", "nope.pem", "SSL_CERT_FILE is 'nope.pem', which cannot be read: No such file"),
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


@pytest.mark.parametrize("words", [["blocks", "5", "--table"], ["show", "5"]])
def test_2_a_bad_source_date_epoch(words: list[str], chainq: Program) -> None:
    """A time from which no age can be counted is named, by the commands that print ages."""
    ran = chainq(*words, url="demo:", env={"SOURCE_DATE_EPOCH": "junk"})
    assert "invalid SOURCE_DATE_EPOCH 'junk': expected seconds since 1970" in one_line(ran, 2)


def test_2_no_url(chainq: Program) -> None:
    """Without a URL from anywhere the message says the ways out."""
    said = one_line(chainq("block", "5"), 2)
    assert all(way in said for way in ("--url", "CHAINQ_URL", "profile", "demo:"))
    assert "chainq has no variable" not in said


@pytest.mark.parametrize(
    ("profiles", "named"), [(("main",), "--profile main"), (("main", "test"), "--profile NAME (main, test)")]
)
def test_2_no_url_but_what_was_meant_for_one(profiles: tuple[str, ...], named: str, chainq: Program) -> None:
    """Profiles that exist are named, and a variable that is misspelled."""
    folder = chainq.home / "config" / "chainq"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text("".join(f'[profiles.{name}]\nurl = "demo:"\n' for name in profiles))
    said = one_line(chainq("block", "5", env={"CHAINQ_ULR": "demo:", "CHAINQ_OTHERWISE": "1"}), 2)
    assert said == (
        "chainq block: no service URL; chainq has no variable CHAINQ_ULR: did you mean CHAINQ_URL?"
        f" pass --url URL or {named}, or set CHAINQ_URL\n"
    )


def test_0_a_mistyped_variable(chainq: Program) -> None:
    """A variable that is misspelled has no effect: a warning says so, for a user's own one none."""
    ran = chainq("latest", "--text", url="demo:", env={"CHAINQ_FOMAT": "csv", "CHAINQ_TOKEN": "1"})
    assert (ran.code, ran.err) == (
        0,
        "chainq: warning: chainq has no variable CHAINQ_FOMAT: did you mean CHAINQ_FORMAT?\n",
    )


@pytest.mark.parametrize(("url", "hint"), [("foo", "invalid URL 'foo'"), ("demo", "is CHAINQ_URL=demo:\n")])
def test_2_a_bad_url_in_the_environment(url: str, hint: str, chainq: Program) -> None:
    """The message says that the environment names the URL."""
    message = one_line(chainq("blocks", "5", env={"CHAINQ_URL": url}), 2)
    assert message.startswith("chainq blocks: CHAINQ_URL: invalid URL ")
    assert hint in message


def test_2_a_bad_format_in_the_environment(chainq: Program, nowhere: str) -> None:
    """CHAINQ_FORMAT is checked like --format."""
    for name, meant in (("yaml", "the formats are table, "), ("jsn", "did you mean json?\n")):
        message = one_line(chainq("block", "5", url=nowhere, env={"CHAINQ_FORMAT": name}), 2)
        assert f"CHAINQ_FORMAT: unknown format {name!r}; {meant}" in message


def test_2_a_bad_name_on_standard_input(chainq: Program, server: Servers, truth: Truth) -> None:
    """A line that is no height is exit 2; what stood before it was printed whole."""
    ran = chainq("block", "-", url=server(), stdin=b"5\nfive\n")
    assert "five" in one_line(ran, 2)
    assert ran.rows in ([], [truth.block(5)])


def test_2_no_check_sends_it_anyway(chainq: Program, server: Servers) -> None:
    """--no-check lets an ID with a wrong checksum through; the service then knows no such transaction."""
    assert chainq("transaction", ID[:-1] + "b", "--no-check", url=server()).code == 1


@pytest.mark.parametrize(
    ("words", "skippable"),
    [
        (["transaction", ID[:-1] + "b"], True),
        (["show", ID[:-1] + "b"], False),
        (["blocks", "--columns", "x"], True),
        (["verify", "--columns", "x"], False),
    ],
)
def test_2_no_check_is_advised_where_there_is_such_an_option(
    words: list[str], skippable: bool, chainq: Program, nowhere: str
) -> None:
    """The hint of a check names --no-check only for a command that has it."""
    assert ("--no-check skips this check" in one_line(chainq(*words, url=nowhere), 2)) == skippable


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
        ["records", "--color", LONG],
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
        (("show", "-1"), "use --last N with blocks or records\n"),
        (("blocks", "5:", "8"), "a range is one argument, 5:8\n"),
        (("blocks", "--columns", ""), "invalid --columns '': expected names of columns\n"),
    ],
)
def test_the_advice_fits_the_command_line(words: tuple[str, ...], advice: str, chainq: Program) -> None:
    """--last is named as an option of the command that runs, or of others; a range is one word; a name is not empty."""
    assert one_line(chainq(*words, url="demo:"), 2).endswith(advice)


@pytest.mark.parametrize(
    ("command", "name", "meant"),
    [
        ("full-blocks", "heigth", "header.metadata.height"),
        ("full-blocks", "TIMESTAMP", "header.metadata.timestamp"),
        ("full-blocks", "timestmp", "header.metadata.timestamp"),
        ("records", "Program_ID", "program_id"),
    ],
)
def test_a_column_is_found_by_its_last_part_and_without_case(
    command: str, name: str, meant: str, chainq: Program
) -> None:
    """A nested column by what people call it."""
    said = one_line(chainq(command, "--columns", name, url="http://127.0.0.1:9/"), 2)
    assert f"unknown column {name!r} (did you mean {meant}?)" in said


def test_4_a_refused_connection_is_in_plain_words(chainq: Program) -> None:
    """Without the number or the source file that Python adds."""
    said = one_line(chainq("block", "5", "--retries", "0", url="http://127.0.0.1:1"), 4)
    assert ": http://127.0.0.1:1: could not reach the server: Connection refused; is the server running" in said


def test_a_file_with_the_name_of_a_format_is_noted(chainq: Program) -> None:
    """-o json is a file, as the user of another program may not expect; --format is not."""
    ran = chainq("block", "5", "-o", "csv", url="demo:")
    assert (ran.code, ran.out) == (0, b"")
    assert ran.err == "chainq: warning: the file csv contains jsonl; for the format use --format csv\n"
    assert chainq("block", "5", "-o", "json", "--format", "json", url="demo:").err == ""
