"""`chainq.json`: describes a data set, so that every export into it writes the same kind of files of one chain."""

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated, NamedTuple

import msgspec

from chainq.catalog.tables import TABLES
from chainq.errors import OutputError, UsageError
from chainq.stored.narrow import HIGHEST, UNFIT, Dialect, Height, Table, damaged
from chainq.stored.receipt import parse_entry
from chainq.stored.store import Store
from chainq.text.sanitize import excerpt

NAME = "chainq.json"
VERSION = 1  # of this layout
PARTITION = 10_000  # heights
EARLIER = "_chainq/manifest.json"
"""Of earlier versions, which read it in place of a listing: gone before the data set grows."""
RESTORE = f"restore {NAME}, or export to a new folder"


class Origin(msgspec.Struct, frozen=True):
    """A block that identifies the chain: block 0, or the first block of the first export if the service lacks it."""

    height: Height
    hash: str


class DataSet(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The description of a data set.

    `dialect`: of the service, None if no command has depended on it yet. `partition`: heights in each. `schemas`: for
    each command, what its columns depend on.
    """

    chainq: int
    chain: Origin
    dialect: Dialect | None
    partition: Annotated[int, msgspec.Meta(ge=1, le=HIGHEST + 1)]
    schemas: dict[Table, Annotated[str, msgspec.Meta(pattern=r"\A[0-9a-f]{1,16}\Z")]]


class Wanted(NamedTuple):
    """The output of an export. `dialect`: None if no command depends on it. `partition`: None for the data set's
    own."""

    dialect: str | None
    partition: int | None
    schemas: Mapping[str, str]


def read(store: Store) -> DataSet | None:
    """Return the description, None for a new data set.

    Raises IncompleteError if `chainq.json` is damaged, UsageError if it is of another version."""
    text = store.read(NAME)
    if text is None:
        return None
    try:
        version = msgspec.json.decode(text, type=dict[str, msgspec.Raw]).get("chainq", msgspec.Raw(b"null"))
        if bytes(version) != b"%d" % VERSION:
            raise UsageError(
                f"{store.label} was written in layout {excerpt(bytes(version).decode(), 20)}, this chainq writes layout"
                f" {VERSION}",
                "export to a new folder",
            )
        return msgspec.json.decode(text, type=DataSet)
    except UNFIT as error:
        raise damaged(store.label, NAME, excerpt(str(error), 80), RESTORE) from None


def outer(label: str) -> Path | None:
    """Return the data set that has a folder inside of one of its own folders; None if none does."""
    folder = Path(label).absolute()
    for parent in folder.parents[:3]:
        if folder.relative_to(parent).parts[0] in {"_chainq", *TABLES} and os.path.isfile(parent / NAME):  # noqa: PTH113
            return parent
    return None


def missing(store: Store, hint: str) -> UsageError:
    """Return the error of a destination without `chainq.json`. `hint`: what to do if no export wrote it."""
    with suppress(OutputError):  # a listing may be forbidden
        if any(parse_entry(one.name) for one in store.listing()):
            return UsageError(f"{store.label} lost {NAME}", RESTORE)
    gone = "://" not in store.label and not os.path.exists(store.label)  # noqa: PTH110  # as above
    reason = "that folder does not exist" if gone else f"no {NAME}"
    return UsageError(f"no data set in {store.label}: {reason}", hint)


def check_place(store: Store) -> None:
    """Raise UsageError for a folder inside of another data set, whose readers would take the files for its own."""
    around = outer(store.label)
    if around is not None and read(store) is None:
        raise UsageError(f"{store.label} is a folder of the data set {around}")


def check(store: Store, found: DataSet, wanted: Wanted) -> None:
    """Raise UsageError if an export would write files that do not match the data set."""
    pairs = {"dialect": (found.dialect, wanted.dialect), "partition": (found.partition, wanted.partition)}
    for what, (then, now) in pairs.items():
        if None not in (then, now) and then != now:
            raise UsageError(
                f"{store.label} was exported with {what} {then}, not {now}",
                f"pass --{what} {then}, or another --to",
            )
    for command, schema in wanted.schemas.items():
        if found.schemas.get(command, schema) != schema:
            raise UsageError(
                f"{store.label} has {command} with other columns or types than this chainq writes",
                "export to a new folder, or use the chainq that wrote it",
            )


def check_chain(store: Store, found: DataSet, block_hash: str | None) -> None:
    """Raise UsageError if the service has another chain. `block_hash`: of the block in `chainq.json`."""
    if found.chain.hash != (block_hash or ""):
        raise UsageError(
            f"{store.label} holds another chain: its block {found.chain.height} is {excerpt(found.chain.hash, 80)},"
            f" the service has {excerpt(block_hash or 'no such block', 80)}",
            "pass another --to, or the --url of that chain",
        )


def save(store: Store, wanted: Wanted, origin: Origin, found: DataSet | None) -> DataSet:
    """Write the description (for an existing data set, only the new commands) and return it."""
    if found is None:
        made = DataSet(VERSION, origin, wanted.dialect, wanted.partition or PARTITION, dict(wanted.schemas))
        if store.create(NAME, _encode(made)):
            return made
        found = read(store)  # another export created it concurrently, without the lock
        if found is None:
            return made
        check(store, found, wanted)
        check_chain(store, found, origin.hash)
    schemas, dialect = found.schemas | dict(wanted.schemas), found.dialect or wanted.dialect
    grown = msgspec.structs.replace(found, schemas=schemas, dialect=dialect)
    if grown != found:
        store.write(NAME, _encode(grown))
    return grown


def _encode(data_set: DataSet) -> bytes:
    return msgspec.json.format(msgspec.json.encode(data_set), indent=1) + b"\n"
