"""Appends a profile to `config.toml` without changing the rest. Headers, which may be secrets, are never written."""

import json
import re
import tomllib
from pathlib import Path

from chainq.config import profiles
from chainq.config.profiles import KEYS, Profile, Settings
from chainq.config.toml_lines import line_of
from chainq.errors import OutputError, UsageError
from chainq.sinks.atomic_file import AtomicFileSink
from chainq.text.sanitize import quoted


def check_new(name: str, settings: Settings) -> None:
    """Raise UsageError if no profile of that name can be added."""
    if not re.fullmatch(r"[A-Za-z0-9_-]+", name):
        raise UsageError(f"invalid profile name {quoted(name)}: expected letters, digits, - and _")
    if name in settings.profiles:
        raise UsageError(f"profile {name!r} already exists in {settings.path}", "choose another name")


def add(name: str, new: Profile, *, default: bool = False) -> Path:
    """Append a profile without its headers to the configuration file; return the file's path.

    The existing content is unchanged, except the name of the default profile if `default` is given. A new file is
    readable only by its owner, because the user may add secrets; an existing one keeps its mode. Raises UsageError if
    the name is taken or nothing can be appended to the file, OutputError if it cannot be written.
    """
    settings = profiles.read()
    check_new(name, settings)
    before = profiles.file_text(settings.path)
    gap = "" if not before else "\n" if before.endswith("\n") else "\n\n"
    text = f"{before}{gap}{_table(name, new)}"
    if default:
        text = _with_default(text, name, settings)
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise UsageError(
            f"cannot append to {settings.path}: its profiles are an inline table", "write them as [profiles.NAME]"
        ) from None
    try:
        settings.path.parent.mkdir(parents=True, exist_ok=True)
        settings.path.touch(mode=0o600)  # AtomicFileSink keeps the mode of the file that it replaces
        with AtomicFileSink(settings.path) as sink:
            sink.write(text.encode())
    except OSError as error:
        raise OutputError(f"cannot create {settings.path}: {error.strerror}") from None
    except OutputError as error:
        raise OutputError(error.message) from None
    return settings.path


def _with_default(text: str, name: str, settings: Settings) -> str:
    """Return the text of a file with that default profile, in the line of the old default or in a new first line."""
    line = f"default-profile = {_value(name)}"
    if settings.default is None:
        return f"{line}\n\n{text}"
    lines = text.split("\n")
    number = line_of(text, ["default-profile"]) - 1
    _, mark, comment = lines[number].partition("#")
    lines[number] = f"{line}  {mark}{comment}" if mark and "#" not in settings.default else line
    return "\n".join(lines)


def _table(name: str, new: Profile) -> str:
    """Return a profile as TOML."""
    keys = (key for key, kind in KEYS.items() if kind != "a table")
    values = {key: getattr(new, key.replace("-", "_")) for key in keys}
    tables: dict[str, dict[str, object]] = {
        f"profiles.{name}": values,
        f"profiles.{name}.methods": new.methods,
        **{f"profiles.{name}.parameters.{_key(one)}": names for one, names in new.parameters.items()},
    }
    parts = []
    for heading, pairs in tables.items():
        lines = [f"{_key(key)} = {_value(value)}\n" for key, value in pairs.items() if value is not None]
        if lines or pairs is values:
            parts.append(f"[{heading}]\n{''.join(lines)}")
    return "\n".join(parts)


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _value(key)


def _value(value: object) -> str:
    # A JSON string is a TOML one, except for this character and for escaped pairs of surrogates.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
