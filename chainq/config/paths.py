"""Where the configuration file is."""

from pathlib import Path


def path() -> Path:
    """The configuration file, in the user's configuration folder."""
    from typer import get_app_dir

    return Path(get_app_dir("chainq")) / "config.toml"
