"""Where the data comes from: flags, then environment, then a profile of the configuration file (cli.md)."""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from chainq import checks
from chainq.errors import UsageError

KEYS: dict[str, tuple[type, ...]] = {
    "url": (str,),
    "dialect": (str,),
    "rate": (int, float),
    "timeout": (int, float),
    "headers": (dict,),
}


@dataclass(frozen=True, slots=True)
class Profile:
    """A server under a name of the user's. What is None was not said. Header values may be secrets."""

    url: str | None = None
    dialect: str | None = None
    rate: float | None = None
    timeout: float | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


def path() -> Path:
    """The configuration file, in the user's configuration folder."""
    from typer import get_app_dir

    return Path(get_app_dir("chainq")) / "config.toml"


def read() -> dict[str, Any]:
    """The configuration file as it stands; empty where there is none. Raises UsageError where it is no TOML."""
    place = path()
    try:
        return tomllib.loads(place.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{place} cannot be read: {error}") from None
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{place} is no TOML: {error}") from None


def profile(name: str | None, content: dict[str, Any]) -> Profile:
    """The profile of that name, or the default one; an empty one where there is neither. Raises UsageError."""
    name = name or content.get("default-profile")
    if name is None:
        return Profile()
    profiles = content.get("profiles", {})
    if name not in profiles:
        known = ", ".join(sorted(profiles)) or "none"
        raise UsageError(f"there is no profile {name!r} in {path()}", f"profiles there: {known}")
    values = profiles[name]
    for key, value in values.items():
        if key not in KEYS:
            raise UsageError(f"{path()}: profiles.{name}.{key} is unknown", f"known are {', '.join(KEYS)}")
        if not isinstance(value, KEYS[key]) or isinstance(value, bool):
            raise UsageError(f"{path()}: profiles.{name}.{key} is no {KEYS[key][-1].__name__}")
    headers = dict(checks.header(f"{key}: {_secret(value)}") for key, value in values.get("headers", {}).items())
    return Profile(**{**values, "headers": headers})


def _secret(value: str) -> str:
    """A header's value: `env:NAME` stands for that environment variable."""
    if not value.startswith("env:"):
        return value
    name = value.removeprefix("env:")
    if name not in os.environ:
        raise UsageError(f"the environment variable {name}, which a header of the profile wants, is not set")
    return os.environ[name]


def same_host(one: str, other: str) -> bool:
    """Whether two URLs lead to the same scheme, host and port, so that one's secrets may go to the other."""
    return urlsplit(one)[:2] == urlsplit(other)[:2]
