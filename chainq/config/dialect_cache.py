"""Stores the dialect of each URL in the user's cache folder."""

import os
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import orjson

from chainq.catalog.dialects import DIALECTS
from chainq.errors import BusyError, OutputError


def remembered(url: str) -> str | None:
    """Return the dialect name stored for this URL; None if unknown, and always for `demo:`."""
    return None if url == "demo:" else _stored().get(_key(url))


def remember(url: str, name: str) -> None:
    """Store the dialect's name for this URL. Does nothing for `demo:` or if the cache cannot be written now."""
    if url != "demo:":
        _store({**_stored(), _key(url): name})


def _file() -> Path | None:
    """Return the path of the file with detected dialects, in the user's cache folder; None without such a folder.

    The XDG Base Directory Specification ignores relative paths in variables.
    """
    folder = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if not folder.is_absolute() and os.environ.get("HOME"):
        folder = Path("~/.cache").expanduser()
    return folder / "chainq" / "dialects.json" if folder.is_absolute() else None


def _store(names: dict[str, str]) -> None:
    with suppress(OSError, OutputError, BusyError):  # another run may be writing it; each detects the dialect by itself
        if path := _file():
            path.parent.mkdir(parents=True, exist_ok=True)
            from chainq.sinks.atomic_file import AtomicFileSink

            with AtomicFileSink(path) as sink:
                sink.write(orjson.dumps(names, option=orjson.OPT_INDENT_2))


def _stored() -> dict[str, str]:
    """Return the dialect names by key, without unreadable entries and unknown dialects."""
    path = _file()
    try:
        content = orjson.loads(path.read_bytes()) if path else {}
    except (OSError, ValueError):
        return {}
    known = content.items() if isinstance(content, dict) else ()
    return {key: name for key, name in known if isinstance(name, str) and name in DIALECTS}


def _key(url: str) -> str:
    """Return a hash in place of the URL, whose path or query may be secret. The password is left out: it could be
    guessed from the hash."""
    parts = urlsplit(url)
    return sha256(urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2])).encode()).hexdigest()
