"""How the program ends."""

import pytest

from chainq.cli import log, main
from chainq.process import signals


def test_a_signal_while_an_error_is_printed_ends_the_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By that signal, without a traceback."""
    write, came = log.write, list[str]()

    def interrupted(level: str, text: str) -> None:
        if not came:
            came.append(text)
            raise signals.Interrupted(15)
        write(level, text)

    monkeypatch.setattr(log, "write", interrupted)
    assert main.run(["records", "--nonsense"]) == -15
    assert capsys.readouterr().err == "chainq records: stopped by SIGTERM\n"
