"""Detects a server's dialect with a few harmless calls, and caches it for each URL (`--dialect auto`).

The cache only saves calls: a cache that cannot be read or written is not an error.
"""

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from msgspec import Raw

from chainq.catalog.dialects import DIALECTS, NO_NAMES, Dialect, Names
from chainq.catalog.methods import BY_COMMAND, Method, Role
from chainq.config.dialect_cache import remember
from chainq.errors import (
    BrokenBodyError,
    IncompleteError,
    LackingError,
    ResponseError,
    ServiceError,
    TooHeavyError,
)
from chainq.rows import fields
from chainq.transport.failures import is_misunderstood, is_unknown_method

Call = Callable[[str, Any], Sequence[Raw]]
"""Makes a call with a method name and `params` as they are sent; returns the items of its `result`. Raises
ServiceError for a JSON-RPC error, and ResponseError for a result that is not an array."""

PURPOSE = "to detect the dialect"
"""Of the calls, for errors and reports: nobody asked for them."""

_UNKNOWN_METHOD = re.compile(r"(?i)\bmethods?\b|\bprocedures?\b|not (found|implemented|supported)|unknown|unsupported")
"""The words of a server that has another code than -32601 for an unknown method."""
# One block's summary, and an empty range of full blocks (`start` equal to `end` gives an empty array). Rejected: to
# check names only. Deployed servers have `getBlocks` too, and the published samples call a full-block method `blocks`.
# A dialect is recognized by a name, its parameters and the rows together.
_PROBES = (("blocks", {Role.START: 0, Role.END: 1}), ("full-blocks", {Role.START: 0, Role.END: 0}))


class Refusal(NamedTuple):
    """A method that the server does not have as a dialect has it, and the error that shows it."""

    name: str
    error: ServiceError | ResponseError


def dialect_of(url: str, call: Call, names: Names = NO_NAMES) -> Dialect:
    """Return the dialect of the server at `url`, detected with `call`, and cache it.

    `names`: the server's own method names. Raises ServiceError if it cannot be detected, and the errors of `call`.
    """
    name = detect(call, names)
    remember(url, name)
    return DIALECTS[name].with_names(names)


def detect(call: Call, names: Names = NO_NAMES) -> str:
    """Return the name of the one dialect whose calls the server accepts, with at most two calls for each dialect.

    Raises ServiceError if it accepts none or several, and the errors of `call` for other reasons (HTTP statuses, query
    timeouts, no connection, one error for every method), ResponseError if no result has rows.
    """
    candidates = [dialect.with_names(names) for dialect in DIALECTS.values()]
    refusals: list[Refusal] = []
    for command, arguments in _PROBES:
        method = BY_COMMAND[command]
        fitting = [dialect for dialect in candidates if _fits(call, dialect, method, arguments, refusals)]
        if len(fitting) == 1:
            return fitting[0].name
        candidates = fitting or candidates
    hint = f"pass --dialect {' or '.join(DIALECTS)}"
    if refusals and not fitting:
        if _same(refusals):
            raise refusals[0].error
        texts = "; ".join(f"{', '.join(names)}: {reason}" for reason, names in _by_reason(refusals).items())
        raise ServiceError(f"the server fits no known dialect: {texts}", hint)
    raise ServiceError(f"the server's dialect cannot be detected: {' and '.join(DIALECTS)} fit", hint)


def explain_name(error: ServiceError, method: Method, names: Names, profile: str | None) -> bool:
    """Return whether an error means that the server lacks the name that a profile gives a method, and say so in it."""
    own = names.methods.get(method.name)
    if own is None or not is_unknown_method(error.code):
        return False
    head = error.message.partition(": ")[0]
    error.message = (
        f"{head}: the server has no method {own}, the name that methods.{method.name} of profile {profile} gives it"
    )
    return True


def explain(error: ServiceError, dialect: Dialect, *, stated: bool, shared: bool) -> None:
    """Add to an error that the server has another dialect, if the error means that, and what to do.

    `stated`: whether the user chose the dialect; else it was detected, now or earlier. `shared`: whether the method has
    the same name in all dialects.
    """
    if not is_misunderstood(error.code, error.message):
        return
    error.hint = "chainq doctor shows which methods the server has"
    if shared:
        return
    head, _, tail = error.message.partition(": ")
    error.message = f"{head}: this server speaks another dialect than {dialect.name}: {tail}"
    if not stated:
        error.message = f"{head}: this server speaks another dialect than {dialect.name}, or lacks the method: {tail}"


def _fits(call: Call, dialect: Dialect, method: Method, arguments: dict[Role, int], refusals: list[Refusal]) -> bool:
    """Return whether the result holds rows of the method inside the range, or none; append to `refusals` why not."""
    name, params = dialect.call(method, arguments)
    try:
        rows = call(name, params)
    except (IncompleteError, LackingError):  # an export without this height has the method
        return True
    except (TooHeavyError, BrokenBodyError):
        raise
    except (ServiceError, ResponseError) as error:
        # An HTTP status is decided before the method is looked at: wrong path, no credentials.
        if isinstance(error, ServiceError) and error.code.startswith("HTTP "):
            raise
        refusals.append(Refusal(name, error))
        return False
    pick = fields.Picker([method.height or ""])
    # A server that includes `end` may return its block too: doctor reports that; it does not mean another dialect.
    inside = range(arguments[Role.START], arguments[Role.END] + 1)
    with suppress(ValueError):
        if all(fields.integer_of(pick(row)[0]) in inside for row in rows):
            return True
    refusals.append(Refusal(name, ServiceError(f"{name}: the result is not rows of the requested range")))
    return False


def _by_reason(refusals: list[Refusal]) -> dict[str, list[str]]:
    """Return the methods that were refused, by what the messages say after their names."""
    methods: dict[str, list[str]] = {}
    for name, error in refusals:
        methods.setdefault(error.message.partition(": ")[2], []).append(name)
    return methods


def _same(refusals: list[Refusal]) -> bool:
    """Return whether the server refuses every method for one reason, which says nothing about its dialect."""
    if all(isinstance(error, ResponseError) for _, error in refusals):
        return True
    return len(_by_reason(refusals)) == 1 and all(
        isinstance(error, ServiceError)
        and error.code
        and not is_misunderstood(error.code, error.message)
        and not _UNKNOWN_METHOD.search(error.message)
        for _, error in refusals
    )
