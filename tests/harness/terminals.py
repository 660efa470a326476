"""Runs on a terminal."""

import os
import pty
from fcntl import ioctl
from struct import pack
from termios import TIOCSWINSZ

from harness.program import Program, finish


def shown(program: Program, *args: str, columns: int = 100, url: str | None = "demo:", **env: str) -> str:
    """What a run shows on a terminal of that many columns, its stderr left out."""
    ours, theirs = pty.openpty()
    ioctl(theirs, TIOCSWINSZ, pack("HHHH", 40, columns, 0, 0))
    with os.fdopen(theirs, "wb", buffering=0) as terminal:
        process = program.start(*args, url=url, env={"TERM": "xterm", **env}, stdout=terminal)
    text = b""
    with os.fdopen(ours, "rb", buffering=0) as screen:
        while True:
            try:
                piece = screen.read(65536)
            except OSError:  # how Linux says that the other side is closed
                break
            if not piece:
                break
            text += piece
    assert finish(process).code == 0
    return text.decode().replace("\r\n", "\n")
