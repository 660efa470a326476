"""The completion scripts in the real shells, at a real Tab, in a pseudo-terminal.

The shells find nothing on their PATH but programs that leave a trace, so that a completion that starts anything, and by
that could ask a server, is found out.
"""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chainq._docgen import root
from chainq._docgen.surface import read
from chainq.catalog.methods import BY_COMMAND

pexpect = pytest.importorskip("pexpect", reason="pexpect drives the shells")

LONGEST = 30  # seconds until a shell that does not answer counts as hanging
SHOW = "\x18\x10"  # Ctrl-X Ctrl-P, bound below to show the line as the shell has it
CLEAR = "\x15"
CONFIG = """\
default-profile = "first"
[profiles.first]
url = "http://127.0.0.1:1/"
[profiles.first.headers]
[ profiles . second ] # a comment
[profiles."a third"]
[profiles."$(echo >owned)"]
[other.fourth]
"""
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
        self.name = name
        arguments, setup = START[name]
        environment = {
            "PATH": str(home / "bin"),
            "HOME": str(home),
            "XDG_CONFIG_HOME": str(home / "config"),
            "XDG_DATA_HOME": str(home / "data"),
            "LANG": "C.UTF-8",
            "TERM": "xterm",
            "INPUTRC": "/dev/null",
        }
        self._process: Any = pexpect.spawn(
            path, arguments, env=environment, cwd=str(home), dimensions=(500, 160), timeout=LONGEST, encoding="utf-8"
        )
        script = home / f"setup.{name}"
        script.write_text(setup.format(completions=root() / "completions"))
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


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a configuration file, and programs that leave a trace when they are started."""
    home = tmp_path_factory.mktemp("home")
    (home / "config" / "chainq").mkdir(parents=True)
    (home / "config" / "chainq" / "config.toml").write_text(CONFIG)
    (home / "bin").mkdir()
    for name in ("chainq", "python", "python3", "curl", "cat", "sed", "grep", "awk"):
        program = home / "bin" / name
        program.write_text(f"#!/bin/sh\necho {name} >> {home}/started\n")
        program.chmod(0o755)
    (home / "wanted.csv").touch()
    (home / "exported").mkdir()
    return home


@pytest.fixture(scope="module", params=START)
def shell(request: pytest.FixtureRequest, home: Path) -> Iterator[Shell]:
    """Each of the shells."""
    path = shutil.which(request.param)
    if path is None:
        pytest.skip(f"{request.param} is not installed")
    shell = Shell(request.param, path, home)
    yield shell
    shell.close()


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("chainq rec", "chainq records"),
        ("chainq program-t", "chainq program-transactions"),
        ("chainq --vers", "chainq --version"),
        ("chainq records --rever", "chainq records --reverse"),
        ("chainq records --page-", "chainq records --page-size"),
        ("chainq records --start 5 --end 7 --page-", "chainq records --start 5 --end 7 --page-size"),
        ("chainq records --format cs", "chainq records --format csv"),
        ("chainq records --format=ta", "chainq records --format=table"),
        ("chainq records --columns hei", "chainq records --columns height"),
        ("chainq records --columns height,func", "chainq records --columns height,function_name"),
        ("chainq records --columns=height,func", "chainq records --columns=height,function_name"),
        ("chainq full-blocks --columns header.metadata.hei", "chainq full-blocks --columns header.metadata.height"),
        ("chainq records --profile sec", "chainq records --profile second"),
        ("chainq block 5 --profile=fir", "chainq block 5 --profile=first"),
        ("chainq records --dialect ch", "chainq records --dialect chain"),
        ("chainq serve --dialect al", "chainq serve --dialect aleo"),
        ("chainq records --url dem", "chainq records --url demo:"),
        ("chainq records -o wan", "chainq records -o wanted.csv"),
        ("chainq verify wan", "chainq verify wanted.csv"),
        ("chainq verify lat", "chainq verify latest"),
        ("chainq status wan", "chainq status wanted.csv"),
        ("chainq status wanted.csv exp", "chainq status wanted.csv exported/"),
        ("chainq sql exp", "chainq sql exported/"),
        ("chainq sql ./exp", "chainq sql ./exported/"),
        ("chainq export records --to exp", "chainq export records --to exported/"),
        ("chainq records --lake exp", "chainq records --lake exported/"),
        ("chainq serve --lake exp", "chainq serve --lake exported/"),
        ("chainq records --url exp", "chainq records --url exported/"),
        ("chainq records --url=exp", "chainq records --url=exported/"),
        ("chainq records --url http://127", "chainq records --url http://127.0.0.1:8545"),
        ("chainq export records --engine da", "chainq export records --engine dask"),
        ("chainq export records --repair wan", "chainq export records --repair wanted.csv"),
        ("chainq block lat", "chainq block latest"),
        ("chainq show lat", "chainq show latest"),
        ("chainq block 5 lat", "chainq block 5 latest"),
        ("chainq records lat", "chainq records latest"),
        ("chainq records 0:", "chainq records 0:100"),
        ("chainq rpc records/a", "chainq rpc records/all"),
        ("chainq export reco", "chainq export records"),
        ("chainq export records cha", "chainq export records chain"),
        ("chainq verify --commands re", "chainq verify --commands records"),
        ("chainq verify --commands records,own", "chainq verify --commands records,ownership"),
        ("chainq serve --fault newest", "chainq serve --fault newest-first"),
        ("chainq serve --fault height", "chainq serve --fault height-cap:"),
        ("chainq help exi", "chainq help exit-codes"),
        ("chainq help --sin", "chainq help --since"),
        ("chainq program-transactions cred", "chainq program-transactions credits.aleo"),
        (
            "chainq program-transactions credits.aleo transfer_public_as",
            "chainq program-transactions credits.aleo transfer_public_as_signer",
        ),
        (
            "chainq program-transactions --url http://h:1/ --limit 5 -q credits.aleo transfer_priv",
            "chainq program-transactions --url http://h:1/ --limit 5 -q credits.aleo transfer_private",
        ),
    ],
)
def test_tab_goes_on_from_what_is_typed(shell: Shell, typed: str, completed: str) -> None:
    """Tab writes on to commands, options, and the values of options and arguments."""
    line, _ = shell.tab(typed)
    assert line.rstrip(" =,") == completed


@pytest.mark.parametrize(
    "typed", ["chainq block 5 --no-such", "chainq records height", "chainq records --start wan", "chainq serve wan"]
)
def test_tab_leaves_alone_what_it_does_not_know(shell: Shell, typed: str) -> None:
    """Where nothing fits, Tab adds nothing; no file is offered where none belongs."""
    line, _ = shell.tab(typed)
    assert line.rstrip() == typed


@pytest.mark.parametrize("command", ["records", "block", "verify", "transaction", "show", "sql", "records --url"])
def test_no_argument_is_inserted_before_it_begins(shell: Shell, command: str) -> None:
    """Tab after the command inserts nothing; of a range it shows several forms."""
    line, shown = shell.tab(f"chainq {command} ")
    assert line.rstrip() == f"chainq {command}"
    assert command != "records" or all(f"{word} " in shown for word in ("latest", "-100:", "0:100"))


def test_commands_are_shown_with_their_purposes(shell: Shell) -> None:
    """Tab after the program's name shows each command and what it is for."""
    _, shown = shell.tab("chainq ")
    for command in read().commands:
        assert re.search(rf"^.*\b{command.name} .*{re.escape(command.purpose[:20])}", shown, re.MULTILINE), command.name


def test_options_are_shown_with_their_help(shell: Shell) -> None:
    """Tab after two hyphens shows the options of that command, and only those."""
    _, shown = shell.tab("chainq block 5 --")
    assert re.search(r"--csv.*RFC 4180", shown)
    assert "--url" in shown
    assert "--start" not in shown


@pytest.mark.parametrize("command", ["records", "full-blocks"])
def test_columns_are_those_of_the_command(shell: Shell, command: str) -> None:
    """Tab after --columns shows every column of that command; the table with those of all is compared by docgen."""
    _, shown = shell.tab(f"chainq {command} --columns ")
    words = set(re.findall(r"[\w.]+", shown))
    assert {column.path for column in BY_COMMAND[command].columns} - words == set()


def test_chosen_columns_are_not_offered_again(shell: Shell) -> None:
    """Behind a comma stand the columns that are not in the list yet."""
    line, _ = shell.tab("chainq address-transactions --columns transaction_id,trans")
    assert line.rstrip(" =,") == "chainq address-transactions --columns transaction_id,trans"


def test_profiles_come_from_the_configuration_file(shell: Shell, home: Path) -> None:
    """Every profile is offered once, by its name as text, and what is no profile is not."""
    _, shown = shell.tab("chainq latest --profile ")
    listed = shown.split("--profile", 1)[1]
    assert listed.count("first") == listed.count("second") == 1
    assert re.search(r"a(\\)? third", listed)
    assert "fourth" not in listed
    assert not (home / "owned").exists()


def test_no_program_is_started(shell: Shell, home: Path) -> None:
    """Tab starts neither chainq nor anything else, so nothing can be asked of a server."""
    for typed in (
        "chainq ",
        "chainq records --",
        "chainq records --columns ",
        "chainq records --profile ",
        "chainq blo",
    ):
        shell.tab(typed)
    assert not (home / "started").exists()
