"""Runs the commands of the pages' ```console blocks and puts their real output below them.

A line that begins with `$ ` is a command; what follows, up to the next one, is what a person sees on a terminal of 80
columns. Pages show only commands whose output depends on nothing but the sample chain.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

COLUMNS = 80
EPOCH = 1_767_225_600  # 2026, from which ages count: pages do not change with the day
_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def replayed(page: str) -> str:
    """Return the text of a page with the output of its sessions as it is now."""
    return _BLOCK.sub(lambda block: f"```console\n{_session(block[1])}```", page)


def _session(lines: str) -> str:
    commands = [line[2:] for line in lines.splitlines() if line.startswith("$ ")]
    return "\n".join(f"$ {command}\n{output(command)}" for command in commands)


def output(command: str, *, color: bool = False) -> str:
    """Return what a command prints, on both streams, in colour or without. Raises CalledProcessError where it fails."""
    with tempfile.TemporaryDirectory() as home:
        done = subprocess.run(  # noqa: S603  # a page of this project
            ["bash", "-c", command],  # noqa: S607  # wherever bash is
            cwd=home,
            env={
                "PATH": f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}",
                "HOME": home,
                "LANG": "C.UTF-8",
                "COLUMNS": str(COLUMNS),
                "CHAINQ_URL": "demo:",
                "CHAINQ_FORMAT": "table",
                "FORCE_COLOR" if color else "NO_COLOR": "1",
                "SOURCE_DATE_EPOCH": str(EPOCH),
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=True,
        )
    return done.stdout
