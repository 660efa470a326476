"""Where the data comes from: flags, then environment, then a profile of the configuration file.

Here: reading that file, with every mistake told by its line, and adding a profile to it. Header values may be secrets:
no message repeats one, and none is ever written.
"""

import json
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from chainq.catalog import identifiers
from chainq.catalog.dialects import AUTO, DIALECTS, Names
from chainq.catalog.methods import BY_NAME
from chainq.config.paths import path
from chainq.config.values import fits, header
from chainq.errors import OutputError, UsageError
from chainq.sinks.atomic_file import AtomicFileSink

KEYS: dict[str, tuple[type, ...]] = {
    "url": (str,),
    "dialect": (str,),
    "rate": (int, float),
    "timeout": (int, float),
    "headers": (dict,),
    "methods": (dict,),
    "parameters": (dict,),
    "transactions-by-row-id": (bool,),
}
"""What a profile may say, each key with the types of its value."""
_WORDS = {str: "a string", float: "a number", dict: "a table", bool: "true or false"}


@dataclass(frozen=True, slots=True)
class Profile:
    """A server under a name of the user's. What is None was not said. `rate` in requests a second, `timeout` in
    seconds; a header's value may be a secret, or `env:NAME` for that environment variable."""

    url: str | None = None
    dialect: str | None = None
    rate: float | None = None
    timeout: float | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    names: Names = field(default_factory=Names)


@dataclass(frozen=True, slots=True)
class Settings:
    """The configuration file: where it is, its profiles in their order, and the one that stands in for none."""

    place: Path
    profiles: Mapping[str, Profile] = field(default_factory=dict)
    default: str | None = None


def read() -> Settings:
    """The configuration file, checked whole; empty where there is none. Raises UsageError that names the line."""
    place = path()
    return parse(_text(place), place)


def parse(text: str, place: Path) -> Settings:
    """What a configuration file with that text says. Raises UsageError that names `place` and the line."""
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        said = str(error).replace("at end of document", f"at line {text.count(chr(10)) + 1}, the end of the file")
        raise UsageError(f"{place} is no TOML: {said}") from None
    except RecursionError:
        raise UsageError(f"{place} is nested too deeply") from None
    return _Check(place, text).settings(content)


def profile(name: str | None, settings: Settings) -> Profile:
    """The profile of that name, or the default one, its headers read from the environment; an empty one where there is
    neither. Raises UsageError."""
    name = name or settings.default
    if name is None:
        return Profile()
    if name not in settings.profiles:
        known = ", ".join(sorted(settings.profiles)) or "none"
        raise UsageError(f"there is no profile {name!r} in {settings.place}", f"profiles there: {known}")
    found = settings.profiles[name]
    return replace(found, headers={key: _sent(name, key, value) for key, value in found.headers.items()})


def same_host(one: str, other: str) -> bool:
    """Whether two URLs lead to the same scheme, host and port, so that one's secrets may go to the other."""
    return urlsplit(one)[:2] == urlsplit(other)[:2]


def check_new(name: str, settings: Settings) -> None:
    """Raise UsageError where no profile of that name can be added."""
    if not re.fullmatch(r"[A-Za-z0-9_-]+", name):
        raise UsageError(f"{name!r} is no name for a profile: letters, digits, - and _ make one")
    if name in settings.profiles:
        raise UsageError(f"there is a profile {name!r} in {settings.place} already", "choose another name")


def add(name: str, new: Profile) -> Path:
    """Append a profile to the configuration file, what stands there untouched; its place. Headers are left out.

    Raises UsageError where the name is taken or the file cannot be continued, OutputError where it cannot be written.
    """
    settings = read()
    check_new(name, settings)
    before = _text(settings.place)
    gap = "" if not before else "\n" if before.endswith("\n") else "\n\n"
    text = f"{before}{gap}{_table(name, new)}"
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise UsageError(
            f"{settings.place} cannot be continued: it has its profiles on one line", "write it as [profiles.NAME]"
        ) from None
    try:
        settings.place.parent.mkdir(parents=True, exist_ok=True)
        with AtomicFileSink(settings.place) as sink:
            sink.write(text.encode())
    except OSError as error:
        raise OutputError(f"{settings.place.parent} cannot be made: {error.strerror}") from None
    except OutputError as error:
        raise OutputError(error.message) from None
    return settings.place


def _text(place: Path) -> str:
    try:
        return place.read_bytes().decode()
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise UsageError(f"{place} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise UsageError(f"{place} line {line} is not UTF-8") from None


def _sent(profile_name: str, header_name: str, value: str) -> str:
    """A header's value as it is sent: `env:NAME` stands for that environment variable."""
    if not value.startswith("env:"):
        return value
    name = value.removeprefix("env:")
    if name not in os.environ:
        raise UsageError(
            f"the environment variable {name} is not set; profile {profile_name!r} takes its header {header_name} from"
        )
    return header(f"{header_name}: {os.environ[name]}")[1]


def _table(name: str, new: Profile) -> str:
    """A profile as TOML."""
    values: dict[str, object] = {"url": new.url, "dialect": new.dialect, "rate": new.rate, "timeout": new.timeout}
    if new.names.transactions_by_row_id is not None:
        values["transactions-by-row-id"] = new.names.transactions_by_row_id
    tables: dict[str, dict[str, object]] = {
        f"profiles.{name}": values,
        f"profiles.{name}.methods": dict(new.names.methods),
    }
    for method, names in new.names.parameters.items():
        tables[f"profiles.{name}.parameters.{_written(method)}"] = dict(names)
    parts = []
    for heading, pairs in tables.items():
        lines = [f"{_written(key)} = {_value(value)}\n" for key, value in pairs.items() if value is not None]
        if lines or pairs is values:
            parts.append(f"[{heading}]\n{''.join(lines)}")
    return "\n".join(parts)


def _written(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _value(key)


def _value(value: object) -> str:
    # A JSON string is a TOML one, but for this character and for escaped pairs of surrogates.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


class _Check:
    """Turns the parsed file into Settings. Raises UsageError with the line of what is wrong."""

    def __init__(self, place: Path, text: str) -> None:
        self._place, self._lines = place, text.split("\n")

    def settings(self, content: dict[str, Any]) -> Settings:
        """All of the file."""
        self._known(content, ("default-profile", "profiles"), ())
        tables, default = content.get("profiles", {}), content.get("default-profile")
        self._table(tables, ("profiles",))
        for name, values in tables.items():
            self._table(values, ("profiles", name))
        if default is not None and (not isinstance(default, str) or default not in tables):
            raise self._wrong(("default-profile",), f"is none of the profiles: {', '.join(tables) or 'there is none'}")
        profiles = {name: self._profile(values, ("profiles", name)) for name, values in tables.items()}
        return Settings(self._place, profiles, default)

    def _profile(self, values: dict[str, Any], at: tuple[str, ...]) -> Profile:
        self._known(values, KEYS, at)
        for key, value in values.items():
            types = KEYS[key]
            if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
                raise self._wrong((*at, key), f"is not {_WORDS[types[-1]]}")
        for key in ("rate", "timeout"):
            if not fits(values.get(key, 1)):
                raise self._wrong((*at, key), "is not between a millionth and a million")
        if "url" in values:
            try:
                identifiers.url(values["url"])
            except UsageError as error:
                raise self._wrong((*at, "url"), f"is wrong: {error.message}") from None
        dialect = values.get("dialect")
        if dialect not in (None, AUTO, *DIALECTS):
            raise self._wrong((*at, "dialect"), f"is none of {', '.join(DIALECTS)}, {AUTO}")
        for key, value in values.get("headers", {}).items():
            self._header(key, value, (*at, "headers", key))
        return Profile(
            values.get("url"),
            dialect,
            values.get("rate"),
            values.get("timeout"),
            values.get("headers", {}),
            Names(
                self._methods(values.get("methods", {}), (*at, "methods")),
                self._parameters(values.get("parameters", {}), (*at, "parameters")),
                values.get("transactions-by-row-id"),
            ),
        )

    def _header(self, name: str, value: object, at: tuple[str, ...]) -> None:
        if not isinstance(value, str):
            raise self._wrong(at, 'is not a string such as "env:CHAINQ_TOKEN"')
        try:
            valid = header(f"{name}: {value}")[0] == name
        except UsageError:
            valid = False
        if not valid:
            raise self._wrong(at, "is no header: its name, or its value, has characters that none can carry")

    def _methods(self, names: dict[str, Any], at: tuple[str, ...]) -> dict[str, str]:
        self._known(names, BY_NAME, at)
        for name, there in names.items():
            self._name(there, (*at, name))
        return names

    def _parameters(self, methods: dict[str, Any], at: tuple[str, ...]) -> dict[str, dict[str, str]]:
        self._known(methods, BY_NAME, at)
        for method, names in methods.items():
            self._table(names, (*at, method))
            self._known(names, [param.name for param in BY_NAME[method].params], (*at, method))
            for name, there in names.items():
                self._name(there, (*at, method, name))
                if list(names.values()).count(there) > 1:
                    raise self._wrong((*at, method, name), "has the name of another parameter of the method")
        return methods

    def _name(self, there: object, at: tuple[str, ...]) -> None:
        if not isinstance(there, str) or not there:
            raise self._wrong(at, "is not a string: the name on that server")

    def _table(self, value: object, at: tuple[str, ...]) -> None:
        if not isinstance(value, dict):
            raise self._wrong(at, "is not a table")

    def _known(self, values: dict[str, Any], known: Mapping[str, Any] | list[str] | tuple[str, ...], at: Any) -> None:
        for key in values:
            if key not in known:
                near = get_close_matches(key, known, 1)
                hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(known) or 'none'}"
                raise self._wrong((*at, key), "is unknown", hint)

    def _wrong(self, at: tuple[str, ...], what: str, hint: str = "") -> UsageError:
        return UsageError(f"{self._place} line {self._line(at)}: {'.'.join(at)} {what}", hint)

    def _line(self, at: tuple[str, ...]) -> int:
        """The line on which the value at these keys begins, from 1.

        Found by parsing ever longer beginnings of the file, which is slow and needs no TOML grammar of our own: the
        first beginning that holds the value ends with its last line, and the whole one before it ends just above.
        """
        whole = 0
        for count in range(1, len(self._lines) + 1):
            try:
                found: Any = tomllib.loads("\n".join(self._lines[:count]) + "\n")
            except tomllib.TOMLDecodeError:
                continue
            for key in at:
                found = found.get(key) if isinstance(found, dict) else None
            if found is not None:
                return whole + 1
            whole = count
        return 1
