"""How an optional package is added to this installation of chainq: by the installer that made it."""

import json
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from shlex import quote
from urllib.parse import urlsplit
from urllib.request import url2pathname


def install_command(extra: str) -> str:
    """Return the command that adds an extra of chainq: with pipx, uv tool, or pip, for a clone in the clone.

    `extra`: its name in pyproject.toml. Sources: the files that pipx and uv leave in their environments; PEP 610 for
    the origin of an installation.
    """
    wanted = quote(f"chainq[{extra}]")
    prefix = Path(sys.prefix)
    if (prefix / "pipx_metadata.json").exists():
        return f"pipx install --force {wanted}"
    if (prefix / "uv-receipt.toml").exists():
        return f"uv tool install {wanted}"
    if clone := _clone():
        return f"{quote(str(prefix / 'bin' / 'pip'))} install -e {quote(f'{clone}[{extra}]')}"
    return f"pip install {wanted}"


def _clone() -> str:
    """Return the folder of the clone that is installed in editable form; empty for any other installation."""
    try:
        origin = json.loads(distribution("chainq").read_text("direct_url.json") or "{}")
        editable = origin.get("dir_info", {}).get("editable", False)
        return url2pathname(urlsplit(origin["url"]).path) if editable else ""
    except (PackageNotFoundError, ValueError, KeyError, AttributeError):
        return ""
