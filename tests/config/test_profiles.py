"""The configuration file: what it may contain, how its mistakes are reported, and what is added to it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from chainq.config import profiles
from chainq.errors import UsageError
from harness.program import Program

SECRET = "c0ffee-s3cret"  # noqa: S105  # made up, and looked for where it must not be
GOOD = f"""# servers of ours
default-profile = "near"

[profiles.near]
url = "http://127.0.0.1:8545"   # the one at home

[profiles."far away"]
url = "https://user:{SECRET}@far.example/rpc?key={SECRET}"
dialect = "aleo"
rate = 5
timeout = 12.5
headers = {{ Authorization = "env:CHAINQ_TOKEN", X-Plain = "{SECRET}" }}
transactions-by-row-id = false

[profiles."far away".methods]
"records/all" = "recs"

[profiles."far away".parameters."records/all"]
start = "from"
"""
Write = Callable[[str], Path]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Writes a configuration file that `config` reads."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))

    def written(text: str) -> Path:
        path = tmp_path / "chainq" / "config.toml"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(text.encode())
        return path

    return written


def test_no_file_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a file there are no profiles, and an empty one is used."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    settings = profiles.read()
    assert (dict(settings.profiles), settings.default) == ({}, None)
    assert profiles.profile(None, settings) == profiles.Profile()


def test_a_profile_is_read_whole(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every key of a profile arrives, and a header's env:NAME becomes the variable's value."""
    write(GOOD)
    monkeypatch.setenv("CHAINQ_TOKEN", "Bearer 7")
    found = profiles.profile("far away", profiles.read())
    assert found == profiles.Profile(
        f"https://user:{SECRET}@far.example/rpc?key={SECRET}",
        "aleo",
        5,
        12.5,
        {"Authorization": "Bearer 7", "X-Plain": SECRET},
        methods={"records/all": "recs"},
        parameters={"records/all": {"start": "from"}},
        transactions_by_row_id=False,
    )


def test_the_default_profile_is_used(write: Write) -> None:
    """default-profile is taken where no name is given."""
    write(GOOD)
    assert profiles.profile(None, profiles.read()).url == "http://127.0.0.1:8545"


def test_an_unset_variable_is_named(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    """A header that wants a variable which is not set names both; reading the file alone does not mind."""
    write(GOOD)
    monkeypatch.delenv("CHAINQ_TOKEN", raising=False)
    settings = profiles.read()
    with pytest.raises(UsageError, match=r"variable CHAINQ_TOKEN is not set.*Authorization.*'far away'"):
        profiles.profile("far away", settings)
    monkeypatch.setenv("CHAINQ_TOKEN", "")
    with pytest.raises(UsageError, match=r"variable CHAINQ_TOKEN is empty.*Authorization.*'far away'"):
        profiles.profile("far away", settings)


def test_an_unknown_name_lists_the_known(write: Write) -> None:
    """A profile that is not there is answered with those that are."""
    write(GOOD)
    with pytest.raises(UsageError, match=r"no profile 'x'.*far away, near"):
        profiles.profile("x", profiles.read())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a = 1\n[profiles.x\n", "not valid TOML"),
        ('x = "abc\n', "not valid TOML"),
        ("\n\nx = [1,\n", "not valid TOML"),
        ("[profiles.x]\nurl = 1\nurl = 2\n", "not valid TOML"),
        ('[profiles.x]\nurl = "u"\n\n# why\nurll = "v"\n', "profiles.x.urll: unknown key; known keys: url, "),
        ("colour = 1\n", "colour: unknown key; known keys: default-profile, profiles"),
        ("[profiles.x]\nurl = 7\n", "profiles.x.url: expected a string"),
        ("[profiles.x]\n\nrate = '9'\n", "profiles.x.rate: expected a number"),
        ("[profiles.x]\nrate = true\n", "profiles.x.rate: expected a number"),
        (
            "[profiles.x]\ntimeout = 0\n",
            "profiles.x.timeout: invalid timeout 0: expected a number from 0.000001 to 1000000",
        ),
        (f"[profiles.x]\nrate = {10**400}\n", "profiles.x.rate: number out of range"),
        (f"a = 1\n[profiles.x]\nrate = {'9' * 5000}\n", "not valid TOML"),
        (
            "[profiles.x]\ntimeout = nan\n",
            "profiles.x.timeout: invalid timeout nan: expected a number from 0.000001 to 1000000",
        ),
        ("[profiles.x]\ndialect = 'latin'\n", "profiles.x.dialect: unknown dialect; known: chain, aleo, auto"),
        ("[profiles.x]\ntransactions-by-row-id = 1\n", "profiles.x.transactions-by-row-id: expected a boolean"),
        (
            "[profiles.x]\nheaders = 'A: b'\n",
            'expected a table; for example headers = { Authorization = "env:NAME" }',
        ),
        ("[profiles.x.headers]\nA = 'Bearer ${TOKEN}'\n", "$NAME are not replaced; env:NAME reads the whole value"),
        ("[profiles.x]\nurl = http://h\n", "text needs straight quotation marks"),
        ("[profiles.x]\nurl = '127.0.0.1:1'\n", "expected http://127.0.0.1:8545, https://host/path"),
        ("[profiles.x.headers]\nA = 'b'\nC = 7\n", "profiles.x.headers: expected a string"),
        ("[profiles.x.headers]\n'A b' = 'c'\n", "profiles.x.headers.A b: invalid header name or value"),
        (
            f"[profiles.x.headers]\nA = '{SECRET}'\nB = '''{SECRET}\nx'''\n",
            "profiles.x.headers.B: invalid header name or value",
        ),
        ("[profiles.x]\nurl = 'http://[x'\n", "profiles.x.url: "),
        (f"[profiles.x]\nurl = 'http://a:{SECRET}@h:x'\n", "profiles.x.url: "),
        ("\x00", "not valid TOML"),
        ("default-profile = 5\n", "default-profile: expected a string"),
        ("profiles = 3\n", "profiles: expected a table"),
        ("[profiles]\nx = 'http://h'\n", "profiles.x: expected a table"),
        ("default-profile = 'y'\n[profiles.x]\n", "default-profile: no profile 'y'; profiles there: x"),
        (
            "[profiles.x]\nurl='u'\ndefault-profile = 'x'\n",
            "profiles.x.default-profile: unknown key; it belongs at the top of the file, before the first table",
        ),
        (
            "[profiles.x.methods]\n'records/al' = 'r'\n",
            "profiles.x.methods.records/al: unknown key; known keys: ",
        ),
        ("[profiles.x.methods]\nblock = ''\n", "profiles.x.methods: expected a string that is not empty"),
        ("[profiles.x.parameters]\nblock = 'b'\n", "profiles.x.parameters: expected a table"),
        (
            "[profiles.x.parameters.block]\nheight = 'b'\n",
            "profiles.x.parameters.block.height: unknown key; known keys: block",
        ),
        (
            "[profiles.x.parameters.getBlocks]\nstart = 'a'\nend = 'a'\n",
            "getBlocks: two parameters have the same name",
        ),
    ],
)
def test_a_mistake_is_reported_with_its_key(write: Write, text: str, words: str) -> None:
    """Each kind of mistake names the file and the key, and repeats no value that may be secret."""
    path = write(text)
    with pytest.raises(UsageError) as caught:
        profiles.profile(None, profiles.read())
    message = str(caught.value)
    assert str(path) in message
    assert words in message
    assert SECRET not in message


def test_a_wrong_default_stops_only_who_wants_the_default(write: Write) -> None:
    """A profile that is named is used, whatever the default is."""
    write("default-profile = 'y'\n[profiles.x]\nurl = 'http://h/'\n")
    assert profiles.profile("x", profiles.read()).url == "http://h/"
    with pytest.raises(UsageError, match="default-profile: no profile 'y'; profiles there: x"):
        profiles.profile(None, profiles.read())


def test_bytes_that_are_not_utf_8_are_reported_with_their_line(write: Write) -> None:
    """A file that is not UTF-8 is refused with the line."""
    write("").write_bytes(b"a = 1\nb = '\xff'\n")
    with pytest.raises(UsageError, match="line 2: not UTF-8"):
        profiles.read()


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_byte_order_mark(encoding: str, write: Write) -> None:
    """As editors on Windows and PowerShell write text."""
    write("").write_bytes('[profiles.x]\r\nurl = "http://h/"\r\n'.encode(encoding))
    assert profiles.profile("x", profiles.read()).url == "http://h/"


def test_profiles_lists_without_secrets(chainq: Program) -> None:
    """chainq profiles shows names, masked URLs, dialects, names of headers and the default, as lines and as JSON."""
    chainq.config.parent.mkdir(parents=True)
    chainq.config.write_text(GOOD)
    shown, data = chainq("profiles"), chainq("profiles", "--json")
    assert (shown.code, shown.err, data.code, data.err) == (0, "", 0, "")
    assert [line.split()[0] for line in shown.out.decode().splitlines()] == ["name", "near", "far"]
    assert SECRET.encode() not in shown.out + data.out
    assert data.out == (
        b'[{"name":"near","url":"http://127.0.0.1:8545","dialect":"auto","headers":[],"default":true},'
        b'{"name":"far away","url":"https://***@far.example/rpc?key=***","dialect":"aleo",'
        b'"headers":["Authorization","X-Plain"],"default":false}]\n'
    )


def test_profiles_without_a_file_says_where_it_looked(chainq: Program) -> None:
    """Without profiles the list is empty, and stderr names the file."""
    ran = chainq("profiles")
    assert (ran.code, ran.out) == (0, b"")
    assert str(chainq.config) in ran.err
    assert chainq("profiles", "--json").out == b"[]\n"


def test_a_bad_file_is_a_usage_error_of_any_command(chainq: Program) -> None:
    """A mistake in the file is exit 2 with its key; a run that has its --url does not read the file."""
    chainq.config.parent.mkdir(parents=True)
    chainq.config.write_text("[profiles.x]\n\nurll = 1\n")
    ran = chainq("latest")
    assert ran.code == 2
    assert "config.toml: profiles.x.urll: unknown key; known keys: url, " in ran.err
    assert chainq("latest", url="demo:").code == 0
