"""Which dialect a server speaks: found out by a few harmless calls, and remembered for each URL (`--dialect auto`).

The memory is a convenience: one that cannot be read or written costs the calls again and is no error.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from msgspec import Raw

from chainq.catalog.dialects import DIALECTS, Dialect
from chainq.catalog.methods import BY_COMMAND, Method, Role
from chainq.config.dialect_cache import remember, remembered
from chainq.errors import ServiceError, TooHeavyError, UsageError
from chainq.rows import fields, raw_json

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
    pick = fields.Picker([method.height or ""])
    # A server that includes `end` may send its block too: doctor says so, and the dialect is no other for it.
    inside = range(arguments[Role.START], arguments[Role.END] + 1)
    with suppress(ValueError):
        if all(fields.integer_of(pick(row)[0]) in inside for row in raw_json.items(result)):
            return True
    refusals.append(f"{name}: the answer holds other things than were asked for")
    return False
