"""How an optional package is added to this installation of chainq: by the installer that made it."""

import json
import sys
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from shlex import quote
from urllib.parse import urlsplit
from urllib.request import url2pathname


def install_command(extra: str) -> str:
    """Return the command that adds an extra of chainq: with pipx, uv or pip, from the folder of its clone.

    `extra`: its name in pyproject.toml. Sources: the files that pipx and uv leave in their environments; PEP 610 for
    the origin of an installation. Without a folder the name has to do, which an index may not know.
    """
    folder, editable = _folder()
    wanted = ("-e " if editable else "") + quote(f"{folder or 'chainq'}[{extra}]")
    prefix = Path(sys.prefix)
    if (prefix / "pipx_metadata.json").exists():
        return f"pipx install --force {wanted}"
    if (prefix / "uv-receipt.toml").exists():
        return f"uv tool install {wanted}"
    if not find_spec("pip"):  # as in an environment that `uv venv` made
        return f"uv pip install --python {quote(str(prefix))} {wanted}"
    pip = quote(str(prefix / "bin" / "pip")) if folder else "pip"
    return f"{pip} install {wanted}"


def _folder() -> tuple[str, bool]:
    """Return the folder of the clone that chainq was installed from, and if editable; empty if there is none."""
    try:
        origin = json.loads(distribution("chainq").read_text("direct_url.json") or "{}")
        folder = url2pathname(urlsplit(origin["url"]).path)
        editable = origin["dir_info"].get("editable", False)
    except (PackageNotFoundError, ValueError, KeyError, AttributeError):
        return "", False
    return (folder, editable) if Path(folder).is_dir() else ("", False)  # a build may remove it
