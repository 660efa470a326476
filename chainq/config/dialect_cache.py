"""Stores the dialect of each URL in the user's cache folder."""

import os
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import msgspec

from chainq.catalog.dialects import DIALECTS
from chainq.errors import BusyError, OutputError


def remembered(url: str) -> str | None:
    """Return the dialect name stored for this URL; None if unknown."""
    name = _stored().get(_key(url))
    return name if name in DIALECTS else None


def remember(url: str, name: str) -> None:
    """Store the dialect's name for this URL. Does nothing if the cache cannot be written now."""
    with suppress(OSError, RuntimeError, OutputError, BusyError):  # another run may be writing it
        path = _file()
        path.parent.mkdir(parents=True, exist_ok=True)
        from chainq.sinks.atomic_file import AtomicFileSink

        with AtomicFileSink(path) as sink:
            sink.write(msgspec.json.encode({**_stored(), _key(url): name}))


def _file() -> Path:
    """Return the path of the file with detected dialects, in the user's cache folder.

    The XDG Base Directory Specification ignores relative paths in variables. Raises RuntimeError if nobody knows it.
    """
    folder = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if not folder.is_absolute():
        folder = Path.home() / ".cache"
    return folder / "chainq" / "dialects.json"


def _stored() -> dict[str, str]:
    """Return the dialect names by key; none if the file cannot be read."""
    try:
        return msgspec.json.decode(_file().read_bytes(), type=dict[str, str])
    except (OSError, RuntimeError, msgspec.DecodeError):
        return {}


def _key(url: str) -> str:
    """Return a hash in place of the URL, whose path or query may be secret. The password is left out: it could be
    guessed from the hash."""
    parts = urlsplit(url)
    return sha256(urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2])).encode()).hexdigest()
