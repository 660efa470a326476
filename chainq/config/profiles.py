"""The profiles of `config.toml`: read and checked, and chosen by name.

Every mistake is reported with its file and key; `tomllib` names the line of invalid TOML. Header values may be
secrets: no message repeats one.
"""

import os
import tomllib
from collections.abc import Collection, Mapping
from pathlib import Path
from shlex import quote
from typing import Annotated, Any, NamedTuple

import msgspec

from chainq.catalog import identifiers
from chainq.catalog.dialects import AUTO, DIALECTS
from chainq.config.values import checked_header, header
from chainq.errors import UsageError
from chainq.text.sanitize import encoding, quoted

_Number = Annotated[float, msgspec.Meta(ge=1e-6, le=1e6)]


class Profile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """A server under a name that the user chose: the keys in the file and the types of their values, None if missing.

    `rate` in requests a second, `timeout` in seconds; a header's value may be a secret, or `env:NAME` for that
    environment variable. `cert` and `lake`: as the options of these names.
    """

    url: str | None = None
    dialect: str | None = None
    rate: _Number | None = None
    timeout: _Number | None = None
    headers: dict[str, str] = {}
    cert: str | None = None
    lake: str | None = None


class Settings(NamedTuple):
    """The configuration file: its path, its profiles in their order, and the name of the default one."""

    path: Path
    profiles: Mapping[str, Profile] = {}
    default: str | None = None


class _ConfigFile(msgspec.Struct, forbid_unknown_fields=True, rename="kebab"):
    """The keys of the configuration file and the types of their values."""

    default_profile: str | None = None
    profiles: dict[str, Any] = {}


def config_file() -> Path:
    """Return the path of the configuration file, in the user's configuration folder."""
    from typer import get_app_dir

    return Path(get_app_dir("chainq")) / "config.toml"


def read() -> Settings:
    """Return the configuration file, all of it checked; empty if there is none. Raises UsageError."""
    path = config_file()
    try:
        return parse(path.read_bytes(), path)
    except FileNotFoundError:
        return Settings(path)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None


def parse(text: bytes, path: Path) -> Settings:
    """Return the settings in the text of a configuration file. Raises UsageError with `path` and the key."""
    try:
        content = tomllib.loads(text.decode(encoding(text)))
    except (ValueError, RecursionError) as error:  # the first also for integers of more digits than Python converts
        raise UsageError(f"{path} is not valid TOML: {str(error).partition(';')[0]}") from None
    at = "top level"
    try:
        file, profiles = msgspec.convert(content, _ConfigFile), dict[str, Profile]()
        for name, values in file.profiles.items():
            at = f"profiles.{name}"
            profiles[name] = one = msgspec.convert(values, Profile)
            if one.url is not None:
                identifiers.url(one.url)
            if one.dialect not in (None, AUTO, *DIALECTS):
                raise UsageError(f"dialect {quoted(str(one.dialect))}: expected {AUTO} or {' or '.join(DIALECTS)}")
            for header_name, value in one.headers.items():
                checked_header(header_name, value)
    except (msgspec.ValidationError, UsageError) as error:  # neither repeats a value that may be a secret
        said = str(error).replace("Object contains unknown field", "unknown key")
        raise UsageError(f"{path}: {at}: {said}") from None
    return Settings(path, profiles, file.default_profile)


def check_default(settings: Settings) -> None:
    """Raise UsageError if there is no profile of the name of the default one."""
    if settings.default is not None and settings.default not in settings.profiles:
        what = f"{settings.path}: default-profile: no profile {quoted(settings.default)}"
        raise UsageError(what, _there(settings.profiles))


def profile(name: str | None, settings: Settings) -> Profile:
    """Return the profile of that name, or the default one, with its headers read from the environment; an empty one if
    there is neither. Raises UsageError."""
    if not name:
        check_default(settings)
        name = settings.default
    if name is None:
        return Profile()
    if name not in settings.profiles:
        there = _there(settings.profiles) if settings.path.exists() else "that file does not exist"
        raise UsageError(f"no profile {quoted(name)} in {settings.path}", there)
    chosen = settings.profiles[name]
    resolved = (header(f"{key}: {value}", f"profile {name!r}, header") for key, value in chosen.headers.items())
    return msgspec.structs.replace(chosen, headers=dict(resolved))


def hidden(settings: Settings) -> str:
    """Return that the environment hides the default profile, and how to use it; empty if commands use it."""
    name = settings.default if settings.default in settings.profiles else None
    for variable in ("CHAINQ_PROFILE", "CHAINQ_URL"):
        value = os.environ.get(variable)
        if name is not None and value and value not in (name, settings.profiles[name].url):
            unused = f"{variable} is set, so commands do not use the default profile {quoted(name)}"
            return f"{unused}; unset {variable}, or pass --profile {quote(name)}"
    return ""


def _there(profiles: Collection[str]) -> str:
    return f"profiles there: {', '.join(sorted(profiles)) or 'none'}"
