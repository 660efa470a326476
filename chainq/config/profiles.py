"""The profiles of `config.toml`: read and checked, and chosen by name.

Every mistake is reported with its file, line and key. Header values may be secrets: no message repeats one.
"""

import os
import re
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from shlex import quote
from typing import Annotated, Any, TypeVar, get_args, get_origin
from urllib.parse import urlsplit

import msgspec

from chainq.catalog import identifiers
from chainq.catalog.dialects import AUTO, DIALECTS, Names
from chainq.catalog.methods import BY_NAME
from chainq.config.paths import config_file
from chainq.config.toml_lines import line_of, line_of_long_number
from chainq.config.values import checked_number, from_environment, header
from chainq.errors import UsageError
from chainq.text.encoding import decoded
from chainq.text.sanitize import quoted

_T = TypeVar("_T")


class Profile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """A server under a name that the user chose: the keys in the file and the types of their values, None if missing.

    `rate` in requests a second, `timeout` in seconds; a header's value may be a secret, or `env:NAME` for that
    environment variable. `cert` and `lake`: as the options of these names.
    """

    url: str | None = None
    dialect: str | None = None
    rate: float | None = None
    timeout: float | None = None
    headers: dict[str, Any] = {}
    cert: str | None = None
    lake: str | None = None
    methods: dict[str, Any] = {}
    parameters: dict[str, Any] = {}
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


_QUOTED = 'text needs straight quotation marks, such as url = "http://127.0.0.1:8545"'
_KINDS = {"str": "a string", "float": "a number", "bool": "a boolean", "object": "a table"}
"""TOML's words for Python's and msgspec's names of types."""

KEYS = {
    field.encode_name: _KINDS["object" if get_origin(field.type) is dict else get_args(field.type)[0].__name__]
    for field in msgspec.structs.fields(Profile)
}
"""The keys that a profile may have, each with the kind of its value in words."""


def read() -> Settings:
    """Return the configuration file, all of it checked; empty if there is none. Raises UsageError with the line."""
    path = config_file()
    return parse(file_text(path), path)


def parse(text: str, path: Path) -> Settings:
    """Return the settings in the text of a configuration file. Raises UsageError with `path` and the line."""
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        reason = str(error).replace("at end of document", f"at line {text.count(chr(10)) + 1}, the end of the file")
        raise UsageError(f"{path} is not valid TOML: {reason}", _QUOTED * reason.startswith("Invalid value")) from None
    except ValueError:  # int() refuses more digits than sys.get_int_max_str_digits()
        raise UsageError(f"{path} line {line_of_long_number(text)}: a number has too many digits") from None
    except RecursionError:
        raise UsageError(f"{path} is nested too deeply") from None
    return _Check(path, text).settings(content)


def profile(name: str | None, settings: Settings) -> Profile:
    """Return the profile of that name, or the default one, with its headers read from the environment; an empty one if
    there is neither. Raises UsageError."""
    if name is None and settings.wrong is not None:
        raise settings.wrong
    name = name or settings.default
    if name is None:
        return Profile()
    if name not in settings.profiles:
        known = ", ".join(sorted(settings.profiles)) or "none"
        there = f"profiles there: {known}" if settings.path.exists() else "that file does not exist"
        raise UsageError(f"no profile {quoted(name)} in {settings.path}", there)
    found = settings.profiles[name]
    resolved = {key: _resolved(name, key, value) for key, value in found.headers.items()}
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


def file_text(path: Path) -> str:
    """Return the text of a configuration file, empty if there is none. Raises UsageError."""
    try:
        return decoded(path.read_bytes())
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise UsageError(f"{path} line {line}: not UTF-8") from None


def _resolved(profile_name: str, header_name: str, value: str) -> str:
    """Return a header's value as sent, with `env:NAME` replaced by that environment variable."""
    sent = from_environment(value, f"header {header_name} of profile {profile_name!r}")
    return header(f"{header_name}: {sent}")[1]


@cache
def _names_table(*keys: str) -> type[msgspec.Struct]:
    """Return the type of a table that has a non-empty string for some of these keys."""
    kind = Annotated[str, msgspec.Meta(min_length=1)] | msgspec.UnsetType
    fields = {f"field_{number}": key for number, key in enumerate(keys)}  # "records/all" is not a Python name
    return msgspec.defstruct(
        "NamesTable", [(name, kind, msgspec.UNSET) for name in fields], rename=fields, forbid_unknown_fields=True
    )


class _Check:
    """Converts the parsed file to Settings. Raises UsageError with the line of the first mistake."""

    def __init__(self, path: Path, text: str) -> None:
        self._path, self._text = path, text

    def settings(self, content: dict[str, Any]) -> Settings:
        """Convert the file."""
        file = self._convert(content, _ConfigFile, ())
        profiles = {name: self._profile(values, ("profiles", name)) for name, values in file.profiles.items()}
        default, wrong = file.default_profile, None
        if default is not None and default not in profiles:
            there = f"profiles there: {', '.join(profiles) or 'none'}"
            wrong = self._error(("default-profile",), f"no profile {quoted(default)}", there)
        return Settings(self._path, profiles, default, wrong)

    def _profile(self, values: object, at: tuple[str, ...]) -> Profile:
        table = self._convert(values, Profile, at)
        key = "url"
        try:
            if table.url is not None:
                table = msgspec.structs.replace(table, url=identifiers.url(table.url))
            for key, value in (("rate", table.rate), ("timeout", table.timeout)):
                if value is not None:
                    checked_number(key, value)
        except UsageError as error:
            raise self._error((*at, key), error.message, error.hint) from None
        if table.dialect not in (None, AUTO, *DIALECTS):
            raise self._error((*at, "dialect"), "unknown dialect", f"known: {', '.join(DIALECTS)}, {AUTO}")
        for name, value in table.headers.items():
            self._check_header(name, value, (*at, "headers", name))
        self._convert(table.methods, _names_table(*BY_NAME), (*at, "methods"))
        self._check_parameters(table.parameters, (*at, "parameters"))
        return table

    def _check_header(self, name: str, value: object, at: tuple[str, ...]) -> None:
        checked = self._convert(value, str, at)
        if re.fullmatch(r"(\w+ )?\$\{?[A-Z_][A-Z0-9_]*\}?", checked):
            whole = "env:NAME reads the whole value from an environment variable"
            raise self._error(at, "variables such as $NAME are not replaced", whole)
        try:
            valid = header(f"{name}: {checked}")[0] == name
        except UsageError:
            valid = False
        if not valid:
            raise self._error(at, "invalid header name or value")

    def _check_parameters(self, tables: dict[str, Any], at: tuple[str, ...]) -> None:
        self._check_known(tables, BY_NAME, at)
        for method, names in tables.items():
            self._convert(names, _names_table(*(param.name for param in BY_NAME[method].params)), (*at, method))
            if twice := next((key for key in names if [*names.values()].count(names[key]) > 1), None):
                raise self._error((*at, method, twice), "another parameter of the method has the same name")

    def _convert(self, value: object, kind: type[_T], at: tuple[str, ...]) -> _T:
        """Return the value at these keys as that type; of a table, report the key that is unknown or wrong.

        Tables with keys of the user's choice (profiles, headers) are converted entry by entry, since msgspec shows
        such keys as `[...]`.
        """
        try:
            return msgspec.convert(value, kind)
        except msgspec.ValidationError as error:
            message, _, key = str(error).partition(" - at `$.")
        if isinstance(value, dict) and issubclass(kind, msgspec.Struct):
            self._check_known(value, kind.__struct_encode_fields__, at)
        expected = re.match(r"Expected `(\w+)[^`]*`( of length)?", message)
        reason = f"expected {_KINDS[expected[1]]}" if expected else "number out of range"
        if expected and expected[2]:
            reason = "expected a string that is not empty"
        hint = 'for example headers = { Authorization = "env:NAME" }' if key == "headers`" else ""
        raise self._error((*at, key.rstrip("`")) if key else at, reason, hint)

    def _check_known(self, table: Mapping[str, object], known: Collection[str], at: tuple[str, ...]) -> None:
        for key in table:
            if key not in known:
                hint = f"known keys: {', '.join(known) or 'none'}"
                if key in _ConfigFile.__struct_encode_fields__:
                    hint = "it belongs at the top of the file, before the first table"
                raise self._error((*at, key), "unknown key", hint)

    def _error(self, at: tuple[str, ...], reason: str, hint: str = "") -> UsageError:
        return UsageError(f"{self._path} line {line_of(self._text, at)}: {'.'.join(at)}: " + reason, hint)
