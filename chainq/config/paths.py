"""The files of chainq in the user's folders."""

import os
from pathlib import Path


def config_file() -> Path:
    """Return the path of the configuration file, in the user's configuration folder."""
    from typer import get_app_dir

    return Path(get_app_dir("chainq")) / "config.toml"


def dialects_file() -> Path | None:
    """Return the path of the file that remembers dialects, in the user's cache folder; None without such a folder.

    XDG Base Directory Specification: a relative path in XDG_CACHE_HOME is ignored.
    """
    folder = os.environ.get("XDG_CACHE_HOME", "")
    if not Path(folder).is_absolute():
        folder = str(Path("~/.cache").expanduser()) if os.environ.get("HOME") else ""
    return Path(folder, "chainq", "dialects.json") if folder else None
