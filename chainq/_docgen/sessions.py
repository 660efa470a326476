"""Runs commands for the pages: puts real output into their ```console blocks, and draws the README's pictures.

In a block, a line that begins with `$ ` is a command; what follows, up to the next one, is what a person sees on a
terminal of 80 columns. Pages show only commands whose output depends on nothing but the sample chain.
"""

import io
import os
import pty
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from rich.console import Console
from rich.text import Text

COLUMNS = "80"
IMAGES = {
    "docs/images/show.svg": "chainq show at12ckvvk59m3pzpfedt8ly9wn6d0hy22peqjg8dxeg7mt3g8wgzg0qcmgnw4",
    "docs/images/chart.svg": "chainq records --last 200 --format chart",
}
"""The picture files and the command that each one shows."""

_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_FONTS = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)  # a picture would fetch them from another host


def replayed(page: str) -> str:
    """Return the text of a page with the output of its sessions as it is now."""
    return _BLOCK.sub(lambda block: f"```console\n{_session(block[1])}```", page)


def _session(lines: str) -> str:
    commands = [line[2:] for line in lines.splitlines() if line.startswith("$ ")]
    return "\n".join(f"$ {command}\n{output(command)}" for command in commands)


def output(command: str, *, color: bool = False) -> str:
    """Return what a command prints on a terminal, in color or without, and then its messages, without their progress.

    Raises CalledProcessError if it fails.
    """
    with tempfile.TemporaryDirectory() as home, tempfile.TemporaryFile() as messages:
        ours, its = pty.openpty()
        process = subprocess.Popen(  # noqa: S603  # a page of this project
            ["bash", "-c", command],  # noqa: S607  # wherever bash is
            cwd=home,
            env={
                "PATH": f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}",
                "HOME": home,
                "LANG": "C.UTF-8",
                "COLUMNS": COLUMNS,
                "CHAINQ_URL": "demo:",
                "FORCE_COLOR" if color else "NO_COLOR": "1",
            },
            stdin=subprocess.DEVNULL,
            stdout=its,
            stderr=messages,
        )
        os.close(its)
        shown = b"".join(_chunks(ours))
        os.close(ours)
        messages.seek(0)
        shown += messages.read()
        if process.wait():
            raise subprocess.CalledProcessError(process.returncode, command, shown)
    return shown.decode().replace("\r\n", "\n")


def _chunks(terminal: int) -> Iterator[bytes]:
    """Yield what arrives at a pseudo-terminal until its other end is closed, which Linux reports as an error."""
    with suppress(OSError):
        while chunk := os.read(terminal, 65536):
            yield chunk


def images() -> dict[str, str]:
    """Return the pictures as they are now: path to SVG. Raises CalledProcessError if a command fails."""
    return {name: _picture(command) for name, command in IMAGES.items()}


def _picture(command: str) -> str:
    console = Console(record=True, width=int(COLUMNS), file=io.StringIO(), color_system="truecolor")
    console.print(Text("$ " + command, "bold"), Text.from_ansi(output(command, color=True)), sep="\n", soft_wrap=True)
    return _FONTS.sub("", console.export_svg(title="", unique_id="chainq"))
