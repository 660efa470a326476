"""Whose rows a run of `owned` or `balance` is about: what keys may come from, and what a checkpoint knows of them."""

import hashlib
import os
import resource
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from shlex import quote

from chainq.catalog.methods import BY_COMMAND
from chainq.cli.tool_options import KeyOptions
from chainq.errors import UsageError
from chainq.fetching.service import Service
from chainq.hashes import sdk
from chainq.heights.range import HeightRange
from chainq.planning.chunking import refuse_whole
from chainq.text.sanitize import quoted
from chainq.wallet import keys


def read_keys(
    command: str, files: Sequence[str], given: KeyOptions, output: Path | None, warn: Callable[[str], None]
) -> list[keys.ViewKey]:
    """Return the keys of the files that are arguments and of `--view-key-file`, else of the environment or a prompt.

    Checks for aleo-sdk before, and keeps keys out of core dumps. Files that the run creates are for its user alone, as
    they say who owns records: the sinks know no rows, so this is the place. Warns of an output file that exists and
    that other users can read: its mode stays. Raises UsageError.
    """
    sdk.check_installed(command, "wallet")
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    os.umask(os.umask(0o777) | 0o077)
    found = keys.read([*map(Path, files), *(given.view_key_file or ())], insecure=given.insecure_key_file)
    if output is not None and output.is_file() and output.stat().st_mode & 0o044:
        warn(f"other users can read {quoted(str(output))}; chmod 600 {quote(str(output))}")
    return found


def refuse_whole_chain(what: str, service: Service) -> None:
    """Raise UsageError with the calls that `what` would take for the whole chain, of an export for none."""
    if service.export is None:
        methods = BY_COMMAND["ownership"], BY_COMMAND["full-blocks"]
        refuse_whole(what, methods, HeightRange(0, service.blocks.tip_height() + 1))


def recorded_owner(addresses: Sequence[str], checkpoint: Path | None) -> str:
    """Return what a checkpoint knows the addresses by: a salt and a hash, as hexadecimal digits; "" without checkpoint.

    The salt is that of the checkpoint, or a new one. The hash is slow on purpose: the addresses of a chain are known,
    and whoever finds a checkpoint could try them all.
    """
    if checkpoint is None:
        return ""
    from chainq.resume.checkpoint import recorded

    salt = b""
    with suppress(UsageError, ValueError):  # what is wrong with the file shows later
        salt = bytes.fromhex(str(recorded(checkpoint).query.get("owner")).partition(":")[0])
    salt = salt or os.urandom(16)  # bytes
    digest = hashlib.scrypt("\n".join(sorted(addresses)).encode(), salt=salt, n=1 << 14, r=8, p=1, dklen=32)
    return f"{salt.hex()}:{digest.hex()}"
