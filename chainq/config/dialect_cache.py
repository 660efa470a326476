"""Remembers which dialect a URL speaks, in the cache folder of the user."""

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from chainq.catalog.dialects import DIALECTS
from chainq.errors import OutputError
from chainq.sinks.atomic_file import AtomicFileSink


def remembered(url: str) -> str | None:
    """The dialect's name that was found for this URL before; None where it is not known, and always for `demo:`."""
    return None if url == "demo:" else _memory().get(_key(url))


def remember(url: str, name: str) -> None:
    """Keep the dialect's name for this URL, where the cache folder allows it."""
    place = _place()
    if place is None or url == "demo:":
        return
    memory = {**_memory(), _key(url): name}
    with suppress(OSError, OutputError):
        place.parent.mkdir(parents=True, exist_ok=True)
        with AtomicFileSink(place) as sink:
            sink.write(json.dumps(memory, indent=0).encode())


def _memory() -> dict[str, str]:
    place = _place()
    try:
        content = json.loads(place.read_bytes()) if place else {}
    except (OSError, ValueError, RecursionError):
        return {}
    return dict(_entries(content.items())) if isinstance(content, dict) else {}


def _entries(items: Iterable[tuple[str, object]]) -> Iterable[tuple[str, str]]:
    return ((key, name) for key, name in items if isinstance(name, str) and name in DIALECTS)


def _place() -> Path | None:
    """The file that remembers, in the user's cache folder; None where there is no such folder.

    XDG Base Directory Specification: a relative path in the variable is to be ignored.
    """
    folder = os.environ.get("XDG_CACHE_HOME", "")
    if not Path(folder).is_absolute():
        folder = str(Path("~/.cache").expanduser()) if os.environ.get("HOME") else ""
    return Path(folder, "chainq", "dialects.json") if folder else None


def _key(url: str) -> str:
    """A hash in place of the URL, whose path or query may be secret. A password could be guessed from one: left out."""
    parts = urlsplit(url)
    return sha256(urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2])).encode()).hexdigest()
