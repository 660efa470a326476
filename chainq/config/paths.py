"""The files of chainq in the user's folders."""

import os
from pathlib import Path


def config_file() -> Path:
    """Return the path of the configuration file, in the user's configuration folder."""
    from typer import get_app_dir

    return Path(get_app_dir("chainq")) / "config.toml"


def dialects_file() -> Path | None:
    """Return the path of the file with detected dialects, in the user's cache folder; None without such a folder."""
    folder = _folder("XDG_CACHE_HOME", "~/.cache")
    return folder / "dialects.json" if folder else None


def _folder(variable: str, default: str) -> Path | None:
    """Return a folder by the XDG Base Directory Specification, which ignores relative paths in variables."""
    folder = os.environ.get(variable, "")
    if not Path(folder).is_absolute():
        folder = str(Path(default).expanduser()) if os.environ.get("HOME") else ""
    return Path(folder, "chainq") if folder else None
