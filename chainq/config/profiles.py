"""The profiles of `config.toml`: read and checked, and chosen by name.

Every mistake is reported with its file and key; `tomllib` names the line of what is no TOML. Header values may be
secrets: no message repeats one.
"""

import os
import re
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from shlex import quote
from typing import Annotated, Any, TypeVar, get_args
from urllib.parse import urlsplit

import msgspec

from chainq.catalog import identifiers
from chainq.catalog.dialects import AUTO, DIALECTS, Names
from chainq.catalog.methods import BY_NAME
from chainq.config.paths import config_file
from chainq.config.values import checked_number, from_environment, header
from chainq.errors import UsageError
from chainq.text.encoding import decoded
from chainq.text.sanitize import quoted

_T = TypeVar("_T")
_Name = Annotated[str, msgspec.Meta(min_length=1)]


class Profile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """A server under a name that the user chose: the keys in the file and the types of their values, None if missing.

    `rate` in requests a second, `timeout` in seconds; a header's value may be a secret, or `env:NAME` for that
    environment variable. `cert` and `lake`: as the options of these names.
    """

    url: str | None = None
    dialect: str | None = None
    rate: float | None = None
    timeout: float | None = None
    headers: dict[str, str] = {}
    cert: str | None = None
    lake: str | None = None
    methods: dict[str, _Name] = {}
    parameters: dict[str, dict[str, _Name]] = {}
    transactions_by_row_id: bool | None = None

    @property
    def names(self) -> Names:
        """Return the names that differ from those of the dialect."""
        return Names(self.methods, self.parameters, self.transactions_by_row_id)


@dataclass(frozen=True, slots=True)
class Settings:
    """The configuration file: its path, its profiles in their order, and the name of the default one."""

    path: Path
    profiles: Mapping[str, Profile] = field(default_factory=dict)
    default: str | None = None
    wrong: UsageError | None = None  # of a default profile that does not exist, for those who want the default one


class _ConfigFile(msgspec.Struct, forbid_unknown_fields=True, rename="kebab"):
    """The keys of the configuration file and the types of their values."""

    default_profile: str | None = None
    profiles: dict[str, Any] = {}


_KINDS = {"str": "a string", "float": "a number", "bool": "a boolean", "object": "a table", "dict": "a table"}
"""TOML's words for Python's and msgspec's names of types."""
KEYS = {
    field.encode_name: _KINDS[(get_args(field.type)[0] if type(None) in get_args(field.type) else dict).__name__]
    for field in msgspec.structs.fields(Profile)
}
"""The keys that a profile may have, each with the kind of its value in words."""


def read() -> Settings:
    """Return the configuration file, all of it checked; empty if there is none. Raises UsageError."""
    path = config_file()
    try:
        return parse(decoded(path.read_bytes()), path)
    except FileNotFoundError:
        return Settings(path)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise UsageError(f"{path} line {line}: not UTF-8") from None


def parse(text: str, path: Path) -> Settings:
    """Return the settings in the text of a configuration file. Raises UsageError with `path` and the key."""
    try:
        content = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # the first also for integers of more digits than Python converts
        reason = str(error).partition(";")[0]
        hint = 'text needs straight quotation marks, such as url = "http://127.0.0.1:8545"'
        raise UsageError(f"{path} is not valid TOML: {reason}", hint * reason.startswith("Invalid value")) from None
    try:
        file = _converted(content, _ConfigFile, "")
        profiles = {name: _profile(values, f"profiles.{name}") for name, values in file.profiles.items()}
    except UsageError as error:
        error.message = f"{path}: {error.message}"
        raise
    default, wrong = file.default_profile, None
    if default is not None and default not in profiles:
        wrong = UsageError(f"{path}: default-profile: no profile {quoted(default)}", _there(profiles))
    return Settings(path, profiles, default, wrong)


def profile(name: str | None, settings: Settings) -> Profile:
    """Return the profile of that name, or the default one, with its headers read from the environment; an empty one if
    there is neither. Raises UsageError."""
    if name is None and settings.wrong is not None:
        raise settings.wrong
    name = name or settings.default
    if name is None:
        return Profile()
    if name not in settings.profiles:
        there = _there(settings.profiles) if settings.path.exists() else "that file does not exist"
        raise UsageError(f"no profile {quoted(name)} in {settings.path}", there)
    found = settings.profiles[name]
    resolved = {
        key: header(f"{key}: {from_environment(value, f'header {key} of profile {name!r}')}")[1]
        for key, value in found.headers.items()
    }
    return msgspec.structs.replace(found, headers=resolved)


def hidden(settings: Settings) -> str:
    """Return that the environment hides the default profile, and how to use it; empty if commands use it."""
    default = settings.profiles.get(settings.default or "")
    for variable in ("CHAINQ_PROFILE", "CHAINQ_URL") if default is not None else ():
        value = os.environ.get(variable)
        if value and value not in (settings.default, default and default.url):
            name = settings.default or ""
            return (
                f"{variable} is set, so commands do not use the default profile {quoted(name)}; unset {variable}, or "
                f"pass --profile {quote(name)}"
            )
    return ""


def same_host(one: str, other: str) -> bool:
    """Return whether two URLs have the same scheme, host and port, so that one's secrets may be sent to the other."""
    return urlsplit(one)[:2] == urlsplit(other)[:2]


def _there(profiles: Collection[str]) -> str:
    return f"profiles there: {', '.join(sorted(profiles)) or 'none'}"


def _profile(values: object, at: str) -> Profile:
    table = _converted(values, Profile, at)
    try:
        key = "url"
        if table.url is not None:
            table = msgspec.structs.replace(table, url=identifiers.url(table.url))
        for key, value in (("rate", table.rate), ("timeout", table.timeout)):
            if value is not None:
                checked_number(key, value)
    except UsageError as error:
        raise UsageError(f"{at}.{key}: {error.message}", error.hint) from None
    if table.dialect not in (None, AUTO, *DIALECTS):
        raise UsageError(f"{at}.dialect: unknown dialect", f"known: {', '.join(DIALECTS)}, {AUTO}")
    for name, text in table.headers.items():
        _check_header(name, text, f"{at}.headers.{name}")
    _check_known(table.methods, BY_NAME, f"{at}.methods")
    _check_known(table.parameters, BY_NAME, f"{at}.parameters")
    for method, names in table.parameters.items():
        _check_known(names, [param.name for param in BY_NAME[method].params], f"{at}.parameters.{method}")
        if len({*names.values()}) < len(names):
            raise UsageError(f"{at}.parameters.{method}: two parameters have the same name")
    return table


def _check_header(name: str, text: str, at: str) -> None:
    if re.fullmatch(r"(\w+ )?\$\{?[A-Z_][A-Z0-9_]*\}?", text):
        whole = "env:NAME reads the whole value from an environment variable"
        raise UsageError(f"{at}: variables such as $NAME are not replaced", whole)
    try:
        valid = header(f"{name}: {text}")[0] == name
    except UsageError:
        valid = False
    if not valid:
        raise UsageError(f"{at}: invalid header name or value")


def _converted(value: object, kind: type[_T], at: str) -> _T:
    """Return the value of a key as that type. Raises UsageError for a key that is unknown or whose value is wrong."""
    if isinstance(value, dict) and issubclass(kind, msgspec.Struct):
        _check_known(value, kind.__struct_encode_fields__, at)
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        message, _, key = str(error).partition(" - at `$")
    expected = re.match(r"Expected `(\w+)[^`]*`( of length)?", message)
    reason = f"expected {_KINDS[expected[1]]}" if expected else "number out of range"
    if expected and expected[2]:
        reason = "expected a string that is not empty"
    hint = 'for example headers = { Authorization = "env:NAME" }' if key == ".headers`" else ""
    key = key.replace("[...]", "").rstrip("`")  # msgspec names no key of the user's choice
    raise UsageError(f"{(at + key).lstrip('.')}: {reason}", hint)


def _check_known(table: Mapping[str, object], known: Collection[str], at: str) -> None:
    for key in table:
        if key not in known:
            hint = f"known keys: {', '.join(known) or 'none'}"
            if key in _ConfigFile.__struct_encode_fields__:
                hint = "it belongs at the top of the file, before the first table"
            raise UsageError(f"{at}.{key}: unknown key".lstrip("."), hint)
