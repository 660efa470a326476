"""How an optional package is added to this installation of chainq: by the installer that made it."""

import json
import re
import sys
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from shlex import quote
from urllib.parse import urlsplit
from urllib.request import url2pathname

_TOOLS = {
    "pipx_metadata.json": ("pipx install --force", r'"package_or_url": "[^"]*\[([^]"]*)\]"'),
    "uv-receipt.toml": ("uv tool install", r'name = "chainq", extras = \[([^]]*)\]'),
}
"""The file that an installer leaves in its environment, its command, and where the file has the installed extras."""


def install_command(extra: str) -> str:
    """Return the command that adds an extra of chainq: with pipx, uv or pip, from the folder of its clone.

    `extra`: its name in pyproject.toml. pipx and `uv tool` make the environment anew, so their commands name the extras
    that it has, too. Sources: the files that they leave in it; PEP 610 for the origin of an installation. Without a
    folder the name has to do, which an index may not know.
    """
    folder, editable = _folder()
    prefix = Path(sys.prefix)

    def wanted(extras: str) -> str:
        return ("-e " if editable else "") + quote(f"{folder or 'chainq'}[{extras}]")

    for name, (command, pattern) in _TOOLS.items():
        if (file := prefix / name).exists():
            had = re.search(pattern, file.read_text())
            extras = dict.fromkeys([*re.findall(r"[\w-]+", had[1] if had else ""), extra])
            return f"{command} {wanted(','.join(extras))}"
    if not find_spec("pip"):  # as in an environment that `uv venv` made
        return f"uv pip install --python {quote(str(prefix))} {wanted(extra)}"
    pip = quote(str(prefix / "bin" / "pip")) if folder else "pip"
    return f"{pip} install {wanted(extra)}"


def _folder() -> tuple[str, bool]:
    """Return the folder of the clone that chainq was installed from, and if editable; empty if there is none."""
    try:
        origin = json.loads(distribution("chainq").read_text("direct_url.json") or "{}")
        folder = url2pathname(urlsplit(origin["url"]).path)
        editable = origin["dir_info"].get("editable", False)
    except (PackageNotFoundError, ValueError, KeyError, AttributeError):
        return "", False
    return (folder, editable) if Path(folder).is_dir() else ("", False)  # a build may remove it
