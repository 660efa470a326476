"""A server that repeats the request in its errors: no secret of it is shown, by no command.

`tests/transport/test_echoes.py` has every other way to repeat it.
"""

import json
from typing import Any

import pytest

from harness.running.program import Program
from harness.servers.services import Canned, canned

PROFILE = """
[profiles.mine]
url = "http://some-one:hunter2@HOST/v1/k3y-in-the-path"
dialect = "chain"
headers = { X-Key = "s3cr3t/key+5", X-Token = "Bearer s3cr3t/key+5" }
"""


@pytest.mark.parametrize("words", [("blocks", "0:5"), ("rpc", "x"), ("doctor",)], ids=lambda words: words[0])
def test_what_was_sent_is_not_shown(words: tuple[str, ...], chainq: Program) -> None:
    """Secrets of a profile, in the error, in the log and by doctor."""
    said = json.dumps({"code": -32603, "message": "bad head: /v1/k3y-in-the-path Bearer s3cr3t/key+5 some-one:hunter2"})

    def answer(request: Any) -> Canned:
        return Canned(f'{{"jsonrpc":"2.0","id":{request["id"]},"error":{said}}}'.encode())

    with canned(answer) as (url, seen):
        chainq.config.parent.mkdir(parents=True, exist_ok=True)
        chainq.config.write_text(PROFILE.replace("HOST", url.split("/")[2]))
        ran = chainq(*words, "--profile", "mine", "-v", "--retries", "0")
    assert seen
    shown = ran.err + ran.out.decode()
    assert "bad head: /v1/*** *** ***" in shown
    assert not [piece for piece in ("s3cr3t", "hunter", "k3y-in", "some-one") if piece in shown], shown


@pytest.mark.parametrize(
    "words",
    ["blocks 5 -o URL", "blocks 5 -oURL", "blocks 5 -o URL --checkpoint c", "blocks 5 --checkpoint URL", "owned 5 URL"],
)
def test_a_url_where_a_file_is_expected(words: str, chainq: Program) -> None:
    """The error shows none of its secrets, also where it names the folder of that file; a URL is no output file."""
    said = chainq(*words.replace("URL", "https://some-one:hunter2@h/k3y-1n-path/a.csv").split(), url="demo:").err
    assert "https://***@h/***" in said
    assert not [piece for piece in ("hunter", "k3y", "some-one") if piece in said], said
    assert ("invalid --output" in said) == (" -o" in words)
