"""The configuration file: what it may contain, how its mistakes are reported, and what is added to it."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from chainq.config import profiles, values
from chainq.errors import UsageError
from harness.models.readings import readings
from harness.running.program import Program

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
    )


def test_headers(monkeypatch: pytest.MonkeyPatch, golden: Callable[[Path, str], None]) -> None:
    """A name and a value, perhaps of a variable, without the newline at its end; no message repeats a value."""
    monkeypatch.setenv("TOKEN", "Bearer abc\n")
    monkeypatch.setenv("EMPTY", "")
    monkeypatch.delenv("UNSET", raising=False)
    record = Path(__file__).parent / "headers.txt"
    told = readings(record, values.header)
    assert "unter2" not in re.sub("(?m)^.* => ", "", told)
    golden(record, told)


def test_a_mistake_is_reported_with_its_key(write: Write, golden: Callable[[Path, str], None]) -> None:
    """Each kind of mistake names the file and the key, and repeats no value that may be secret.

    In the record, the lines of a file are after `< `, and its error is after `! `.
    """
    record = Path(__file__).parent / "mistakes.txt"
    told = []
    for paragraph in record.read_text().split("\n\n"):
        lines = [line for line in paragraph.splitlines() if line.startswith("<")]
        path = write("".join(f"{line[2:]}\n" for line in lines))
        with pytest.raises(UsageError) as caught:
            profiles.profile(None, profiles.read())
        message = str(caught.value)
        assert SECRET not in message
        message = re.sub("(?<=not valid TOML: ).*(?= \\(at line)", "…", message)  # Python's words
        told.append("".join(f"{line}\n" for line in [*lines, f"! {message.replace(str(path), 'FILE')}"]))
    golden(record, "\n".join(told))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"[profiles.x]\nrate = {10**400}\n", "profiles.x: "),
        (f"a = 1\n[profiles.x]\nrate = {'9' * 5000}\n", "not valid TOML: Exceeds the limit"),
        ("\x00", "not valid TOML: .* \\(at line 1, "),
        ("[profiles.x]\r\n\r\nurll = 1\r\n", "profiles.x: .*urll"),
        ("b = '\xff'\n", "not valid TOML: .utf-8. codec"),
    ],
    ids=len,
)
def test_odd_files(write: Write, text: str, words: str) -> None:
    """Numbers of many digits, control characters, the line ends of Windows, and bytes that are not UTF-8."""
    write("").write_bytes(text.encode("latin-1"))
    with pytest.raises(UsageError, match=words):
        profiles.read()


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_byte_order_mark(write: Write, encoding: str) -> None:
    """As editors on Windows, and PowerShell, write text."""
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
