"""The completion scripts in the real shells, at a real Tab, in a pseudo-terminal."""

import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chainq.cli.commands import COMMANDS
from harness.running.program import ROOT, Program

pexpect = pytest.importorskip("pexpect", reason="pexpect drives the shells")

LONGEST = 30  # seconds until a shell that does not answer counts as hanging
SHOW = "\x18\x10"  # Ctrl-X Ctrl-P, bound below to show the line as the shell has it
CLEAR = "\x15"
START = {
    "bash": (
        ["--norc", "--noprofile", "-i"],
        r"""
        bind 'set show-all-if-ambiguous on'; bind 'set page-completions off'; bind 'set completion-query-items 0'
        bind 'set enable-bracketed-paste off'; bind 'set bell-style none'
        bind -x '"\C-x\C-p": printf "\n<<%s>>\n" "$READLINE_LINE"'
        source {completions}/chainq.bash
        """,
    ),
    "zsh": (
        ["-f", "-i"],
        r"""
        fpath=({completions} $fpath); autoload -Uz compinit; compinit -D -u
        LISTMAX=10000; unsetopt beep
        show() {{ zle -I; print -r -- $'\n'"<<$BUFFER>>" }}
        zle -N show; bindkey -e; bindkey '^X^P' show
        """,
    ),
    "fish": (
        ["--no-config", "--private", "-i"],
        r"""
        set -g fish_autosuggestion_enabled 0; set -g fish_greeting
        bind \cx\cp 'echo; echo "<<"(commandline)">>"'
        source {completions}/chainq.fish
        """,
    ),
}


class Shell:
    """A shell on a pseudo-terminal, with the completions loaded."""

    def __init__(self, name: str, path: str, home: Path) -> None:
        arguments, setup = START[name]
        environment = {
            "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
            "HOME": str(home),
            "XDG_CONFIG_HOME": str(home / "config"),
            "LANG": "C.UTF-8",
            "TERM": "xterm",
            "INPUTRC": "/dev/null",
        }
        self._process: Any = pexpect.spawn(
            path, arguments, env=environment, cwd=str(home), dimensions=(500, 160), timeout=LONGEST, encoding="utf-8"
        )
        script = home / f"setup.{name}"
        script.write_text(setup.format(completions=ROOT / "completions"))
        self._process.sendline(f"source {script}; echo rea''dy")
        self._process.expect("ready\r?\n")

    def tab(self, typed: str) -> tuple[str, str]:
        """Type, press Tab: the line as it stands then, and what was shown meanwhile."""
        self._process.send(f"{typed}\t{SHOW}")
        self._process.expect(r"<<(.*?)>>")
        line, shown = self._process.match[1], self._process.before
        self._process.send(CLEAR + SHOW)
        self._process.expect("<<>>")  # so that nothing of this line is taken for the next one's
        return line, re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>()][B0]?|\r", "", shown)

    def close(self) -> None:
        """End the shell."""
        self._process.close(force=True)


@pytest.fixture(scope="module", params=START)
def shell(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    """Each of the shells."""
    path = shutil.which(request.param)
    if path is None:
        pytest.skip(f"{request.param} is not installed")
    home = tmp_path_factory.mktemp("home")
    (home / "wanted.csv").touch()
    shell = Shell(request.param, path, home)
    yield shell
    shell.close()


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("chainq rec", "chainq records"),
        ("chainq records --rever", "chainq records --reverse"),
        ("chainq records --dialect al", "chainq records --dialect aleo"),
        ("chainq completion fi", "chainq completion fish"),
        ("chainq verify wan", "chainq verify wanted.csv"),
    ],
)
def test_tab_goes_on_from_what_is_typed(shell: Shell, typed: str, completed: str) -> None:
    """Tab writes on to commands, options, and the values of options and arguments."""
    line, _ = shell.tab(typed)
    assert line.rstrip(" =,") == completed


def test_commands_are_shown(shell: Shell) -> None:
    """Tab after the program's name shows each command."""
    _, shown = shell.tab("chainq ")
    assert COMMANDS.keys() <= {*shown.split()}


SCRIPTS = {"bash": "chainq.bash", "zsh": "_chainq", "fish": "chainq.fish"}


@pytest.mark.parametrize("shell", SCRIPTS)
def test_completion_prints_the_script(shell: str, chainq: Program) -> None:
    """It is the file that is written from the commands themselves."""
    ran = chainq("completion", shell)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == (ROOT / "completions" / SCRIPTS[shell]).read_bytes()
