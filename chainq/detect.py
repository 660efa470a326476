"""Which dialect a server speaks: found out by a few harmless calls, and remembered for each URL (`--dialect auto`).

The memory is a convenience: one that cannot be read or written costs the calls again and is no error.
"""

import json
import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from msgspec import Raw

from chainq import rows
from chainq.dialects import DIALECTS, Dialect
from chainq.errors import OutputError, ServiceError, TooHeavyError, UsageError
from chainq.methods import BY_COMMAND, Method, Role
from chainq.sink import FileSink

Call = Callable[[str, Any], Raw]
"""Makes a call by its name and `params` on the wire: its `result`. Raises ServiceError for a JSON-RPC error."""

# One block's summary, and no full block at all (`start` equal to `end` gives an empty array). Rejected: to ask for a
# name only, since deployed servers know `getBlocks` too, and the document's samples call a full-block method `blocks`;
# what tells them apart is whether a name, its parameters and the rows fit together.
_QUESTIONS = (("blocks", {Role.START: 0, Role.END: 1}), ("full-blocks", {Role.START: 0, Role.END: 0}))


def dialect_of(url: str, call: Call) -> Dialect:
    """The dialect of the server at `url`, from memory or by asking through `call`, then remembered.

    Raises ServiceError or UsageError where nothing decides, and what `call` raises.
    """
    name = remembered(url)
    if name is None:
        name = decide(call)
        remember(url, name)
    return DIALECTS[name]


def decide(call: Call) -> str:
    """The name of the one dialect whose calls the server understands: at most two calls for each dialect.

    Raises ServiceError where it understands none, UsageError where it understands several alike; other errors of
    `call` (HTTP statuses, query timeouts, no connection) as they come.
    """
    left = list(DIALECTS.values())
    refusals: list[str] = []
    for command, arguments in _QUESTIONS:
        method = BY_COMMAND[command]
        fitting = [dialect for dialect in left if _understood(call, dialect, method, arguments, refusals)]
        if len(fitting) == 1:
            return fitting[0].name
        left = fitting or left
    names = " or ".join(dialect.name for dialect in DIALECTS.values())
    hint = f"say which it is: --dialect {names}; chainq doctor tells more"
    if refusals and not fitting:
        raise ServiceError(f"the server fits no dialect: {'; '.join(refusals)}", hint)
    raise UsageError(f"the server's dialect cannot be told: it answers as {names} alike", hint)


def _understood(call: Call, dialect: Dialect, method: Method, arguments: dict[Role, int], refusals: list[str]) -> bool:
    """Whether the answer holds rows of the method inside the range, or none; why not is added to `refusals`."""
    name, params = dialect.call(method, arguments)
    try:
        result = bytes(call(name, params))
    except TooHeavyError:
        raise
    except ServiceError as error:
        if error.code.startswith("HTTP "):  # said before the method was looked at: wrong path, no credentials
            raise
        refusals.append(error.message)
        return False
    pick = rows.Picker([method.height or ""])
    # A server that includes `end` may send its block too: doctor says so, and the dialect is no other for it.
    inside = range(arguments[Role.START], arguments[Role.END] + 1)
    with suppress(ValueError):
        if all(rows.integer_of(pick(row)[0]) in inside for row in rows.items(result)):
            return True
    refusals.append(f"{name}: the answer holds other things than were asked for")
    return False


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
        with FileSink(place) as sink:
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
