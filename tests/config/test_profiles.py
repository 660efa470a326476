"""The configuration file: what it may say, how its mistakes are told, and what is added to it."""

import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from chainq.catalog.dialects import Names
from chainq.config import profiles
from chainq.errors import OutputError, UsageError
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
        place = tmp_path / "chainq" / "config.toml"
        place.parent.mkdir(exist_ok=True)
        place.write_bytes(text.encode())
        return place

    return written


def test_no_file_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a file there are no profiles, and an empty one stands in."""
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
        Names({"records/all": "recs"}, {"records/all": {"start": "from"}}, False),
    )


def test_the_default_profile_stands_in(write: Write) -> None:
    """default-profile is taken where no name is given."""
    write(GOOD)
    assert profiles.profile(None, profiles.read()).url == "http://127.0.0.1:8545"


def test_an_unset_variable_is_named(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    """A header that wants a variable which is not set names both; reading the file alone does not mind."""
    write(GOOD)
    monkeypatch.delenv("CHAINQ_TOKEN", raising=False)
    settings = profiles.read()
    with pytest.raises(UsageError, match=r"variable CHAINQ_TOKEN is not set.*'far away'.*Authorization"):
        profiles.profile("far away", settings)


def test_an_unknown_name_lists_the_known(write: Write) -> None:
    """A profile that is not there is answered with those that are."""
    write(GOOD)
    with pytest.raises(UsageError, match=r"no profile 'x'.*far away, near"):
        profiles.profile("x", profiles.read())


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("a = 1\n[profiles.x\n", 2, "no TOML"),
        ('x = "abc\n', 1, "no TOML"),
        ("\n\nx = [1,\n", 4, "no TOML"),
        ("[profiles.x]\nurl = 1\nurl = 2\n", 3, "no TOML"),
        ('[profiles.x]\nurl = "u"\n\n# why\nurll = "v"\n', 5, "profiles.x.urll is unknown; did you mean url?"),
        ("colour = 1\n", 1, "colour is unknown; known are default-profile, profiles"),
        ("[profiles.x]\nurl = 7\n", 2, "profiles.x.url is not a string"),
        ("[profiles.x]\n\nrate = '9'\n", 3, "profiles.x.rate is not a number"),
        ("[profiles.x]\nrate = true\n", 2, "profiles.x.rate is not a number"),
        ("[profiles.x]\ntimeout = 0\n", 2, "profiles.x.timeout is not between a millionth and a million"),
        ("[profiles.x]\ntimeout = nan\n", 2, "profiles.x.timeout is not between a millionth and a million"),
        ("[profiles.x]\ndialect = 'latin'\n", 2, "profiles.x.dialect is none of chain, aleo, auto"),
        ("[profiles.x]\ntransactions-by-row-id = 1\n", 2, "is not true or false"),
        ("[profiles.x]\nheaders = 'A: b'\n", 2, "profiles.x.headers is not a table"),
        ("[profiles.x.headers]\nA = 'b'\nC = 7\n", 3, "profiles.x.headers.C is not a string"),
        ("[profiles.x.headers]\n'A b' = 'c'\n", 2, "is no header"),
        (f"[profiles.x.headers]\nA = '{SECRET}'\nB = '''{SECRET}\nx'''\n", 3, "is no header"),
        ("[profiles.x]\nurl = 'http://[x'\n", 2, "profiles.x.url is wrong"),
        (f"[profiles.x]\nurl = 'http://a:{SECRET}@h:x'\n", 2, "profiles.x.url is wrong"),
        ("profiles = 3\n", 1, "profiles is not a table"),
        ("[profiles]\nx = 'http://h'\n", 2, "profiles.x is not a table"),
        ("default-profile = 'y'\n[profiles.x]\n", 1, "default-profile is none of the profiles: x"),
        ("[profiles.x]\nurl='u'\ndefault-profile = 'x'\n", 3, "profiles.x.default-profile is unknown"),
        ("[profiles.x.methods]\n'records/al' = 'r'\n", 2, "is unknown; did you mean records/all?"),
        ("[profiles.x.methods]\nblock = ''\n", 2, "profiles.x.methods.block is not a string"),
        ("[profiles.x.parameters]\nblock = 'b'\n", 2, "profiles.x.parameters.block is not a table"),
        ("[profiles.x.parameters.block]\nheight = 'b'\n", 2, "height is unknown; known are block"),
        ("[profiles.x.parameters.getBlocks]\nstart = 'a'\nend = 'a'\n", 2, "name of another parameter"),
    ],
)
def test_a_mistake_is_told_with_its_line(write: Write, text: str, line: int, words: str) -> None:
    """Each kind of mistake names the file, the line, the key, and repeats no value that may be secret."""
    place = write(text)
    with pytest.raises(UsageError) as caught:
        profiles.read()
    said = str(caught.value)
    assert str(place) in said
    assert f"line {line}" in said
    assert words in said
    assert SECRET not in said


def test_bytes_that_are_no_text_are_told_with_their_line(write: Write) -> None:
    """A file that is not UTF-8 is refused with the line."""
    write("").write_bytes(b"a = 1\nb = '\xff'\n")
    with pytest.raises(UsageError, match="line 2 is not UTF-8"):
        profiles.read()


def test_windows_line_ends_count_as_lines(write: Write) -> None:
    """Lines are counted alike with CRLF."""
    write("[profiles.x]\r\n\r\nurll = 1\r\n")
    with pytest.raises(UsageError, match="line 3: "):
        profiles.read()


@pytest.mark.parametrize("before", ["", GOOD, GOOD.rstrip("\n"), GOOD.replace("\n", "\r\n")])
def test_an_added_profile_leaves_the_rest_alone(write: Write, before: str) -> None:
    """Adding appends a table that reads back the same, and changes no byte before it; headers stay out."""
    place = write(before)
    names = Names({"records/all": "r\u00e9\x7f\U0001f600"}, {"getBlocks": {"start": 'fr"om'}}, True)
    new = profiles.Profile("https://h/\\x", "aleo", 2.5, 10, {"Authorization": SECRET}, names)
    assert profiles.add("new-1", new) == place
    text = place.read_bytes().decode()
    assert text.startswith(before)
    read = profiles.read().profiles["new-1"]
    assert read == profiles.Profile("https://h/\\x", "aleo", 2.5, 10, {}, names)
    assert SECRET not in text.removeprefix(before)
    assert tomllib.loads(text)["profiles"].keys() == tomllib.loads(before).get("profiles", {}).keys() | {"new-1"}


def test_a_first_profile_makes_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Adding to nothing makes the folder and the file."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "new"))
    profiles.add("x", profiles.Profile("http://h", "chain"))
    assert profiles.read().profiles["x"].url == "http://h"


@pytest.mark.parametrize(("name", "words"), [("near", "already"), ("a b", "no name"), ("", "no name"), ("a.b", "no n")])
def test_a_name_that_cannot_be_added_is_refused(write: Write, name: str, words: str) -> None:
    """A name that is taken, or that is no plain key, is refused and the file stays as it was."""
    place = write(GOOD)
    with pytest.raises(UsageError, match=words):
        profiles.add(name, profiles.Profile("http://h"))
    assert place.read_text() == GOOD


def test_profiles_on_one_line_cannot_be_continued(write: Write) -> None:
    """An inline table, which TOML does not let grow, is said to be the reason, and the file stays as it was."""
    text = 'profiles = { x = { url = "http://h" } }\n'
    place = write(text)
    with pytest.raises(UsageError, match="on one line"):
        profiles.add("y", profiles.Profile("http://h"))
    assert place.read_text() == text


def test_a_folder_that_cannot_be_made_is_an_output_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A profile that cannot be written is exit 7."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "new"))
    (tmp_path / "new").write_text("")
    with pytest.raises((OutputError, UsageError)):
        profiles.add("x", profiles.Profile("http://h"))


def test_profiles_lists_without_secrets(chainq: Program) -> None:
    """chainq profiles shows names, masked URLs, dialects, names of headers and the default, as lines and as JSON."""
    chainq.config.parent.mkdir(parents=True)
    chainq.config.write_text(GOOD)
    shown, data = chainq("profiles"), chainq("profiles", "--json")
    assert (shown.code, shown.err, data.code, data.err) == (0, "", 0, "")
    assert [line.split()[0] for line in shown.out.decode().splitlines()] == ["name", "near", "far"]
    assert SECRET.encode() not in shown.out + data.out
    assert data.out == (
        b'[{"name":"near","url":"http://127.0.0.1:8545","dialect":"chain","headers":[],"default":true},'
        b'{"name":"far away","url":"https://***@far.example/rpc?key=***","dialect":"aleo",'
        b'"headers":["Authorization","X-Plain"],"default":false}]\n'
    )


def test_profiles_without_a_file_says_where_it_looked(chainq: Program) -> None:
    """Without profiles the list is empty, and stderr names the place."""
    ran = chainq("profiles")
    assert (ran.code, ran.out) == (0, b"")
    assert str(chainq.config) in ran.err
    assert chainq("profiles", "--json").out == b"[]\n"


def test_a_bad_file_is_a_usage_error_of_any_command(chainq: Program) -> None:
    """A mistake in the file is exit 2 with its line; a run that has its --url does not read the file."""
    chainq.config.parent.mkdir(parents=True)
    chainq.config.write_text("[profiles.x]\n\nurll = 1\n")
    ran = chainq("latest")
    assert ran.code == 2
    assert "config.toml line 3: profiles.x.urll is unknown; did you mean url?" in ran.err
    assert chainq("latest", url="demo:").code == 0
