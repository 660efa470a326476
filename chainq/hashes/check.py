"""Checks a block summary, or a full block, against its own hashes.

Hashes that an older era computed differently are counted as not checked, never as wrong. On the former testnet3
(network 3) these are the IDs of transitions that begin with `as1`, the transactions and values around them, and
ratifications and certificates beside a batch header without a version; on any network, headers that lack a current
field.
"""

import json
from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from chainq.hashes import formulas
from chainq.hashes.formulas import METADATA, ROOTS, TESTNET3, Row
from chainq.hashes.trees import NotAnElementError, element, hashes, id_text

HEADER = ("previous_hash", *ROOTS, *(name for name, _ in METADATA))
_COMPUTED = " (computed from the block)"  # which may be what was altered, and not the value that it names
_VALUES = ("constant", "public", "future")
_DEPLOYMENT = {"edition", "program", "verifying_keys"}
"""What each deployment has."""
_OLD_TRANSITION = "as1"
UNREADABLE = (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError)
"""What a row of another shape raises."""


class Wrong(NamedTuple):
    """A value that does not follow from its parts: the check (`hash`, `root`, `id`, `value`), what is expected by
    the parts, and the value found."""

    check: str
    expected: str | None
    found: str | None


class Checked(NamedTuple):
    """The findings in a block. `proved`: its hash was recomputed and matches. `skipped`: what was not checked.
    `readable`: a hash could be made of it."""

    wrong: list[Wrong]
    proved: bool
    skipped: Counter[str]
    readable: bool = True


def check_row(row: bytes, *, full: bool) -> Checked:
    """Return what is wrong with a block as a service sent it: a full one, or a summary."""
    try:
        block = json.loads(row)
        if not isinstance(block, dict):
            raise ValueError("not an object")  # as any other value that is no block
    except (ValueError, RecursionError) as error:
        return Checked([Wrong("hash", "a block", f"a value that is none: {error}"[:200])], False, Counter())
    return check_block(block) if full else check_summary(block)


def check_summary(summary: Row) -> Checked:
    """Return what is wrong with the hash of a block summary, whose numbers may be texts of digits."""
    if any(summary.get(name) is None for name in HEADER):
        return Checked([], False, Counter({"block hashes of headers without today's fields": 1}))
    named = summary.get("block_hash")
    try:
        due = _block_hash(tuple(str(summary[name]) for name in HEADER))
        if element(named) == due:
            return Checked([], True, Counter())
        expected, readable = f"block_hash={id_text('ab', due)}{_COMPUTED}", True
    except UNREADABLE as error:
        expected, readable = f"a block hash that can be computed: {error}", False
    return Checked([Wrong("hash", expected, f"block_hash={named}")], False, Counter(), readable)


@lru_cache(maxsize=64)
def _block_hash(values: tuple[str, ...]) -> int:
    """Return the hash of a block; cached, because its summary and the full block have the same hash."""
    return formulas.block_hash(dict(zip(HEADER, values, strict=True)))


def check_block(block: Row) -> Checked:
    """Return what is wrong with a full block: its hash, its roots, and the IDs and public values in it.

    If its header has parts of which no hash can be made, nothing below is compared: that would be a finding each.
    """
    try:
        found = check_summary(_summary(block))
        if not found.readable:
            return found
        check = _BlockCheck(block, found)
        check.roots()
        for at, confirmed in enumerate(block.get("transactions") or ()):
            check.transaction(at, confirmed["transaction"])
    except UNREADABLE as error:
        return Checked([Wrong("hash", "a full block", f"{type(error).__name__}: {error}"[:200])], False, Counter())
    return found


def _summary(block: Row) -> Row:
    """Return the summary of a full block, each field from its own place only."""
    header = block["header"]
    fields = {name: block.get(name) for name in ("block_hash", "previous_hash")}
    fields |= {name: header.get(name) for name in ROOTS}
    return fields | {name: header["metadata"].get(name) for name, _ in METADATA}


class _BlockCheck:
    def __init__(self, block: Row, found: Checked) -> None:
        self._block, self._header, self._found = block, block["header"], found
        self._network = int(self._header["metadata"]["network"])

    def _compare(
        self, check: str, name: str, named: object, formula: Callable[..., int], *parts: object, prefix: str = ""
    ) -> None:
        """Recompute a hash by its formula from its parts, and compare it with the one in the block."""
        try:
            due = formula(*parts)
            if element(named) == due:
                return
            expected = f"{name}={id_text(prefix, due) if prefix else f'{due}field'}{_COMPUTED}"
        except NotAnElementError as error:
            expected = str(error)
        except UNREADABLE as error:
            expected = f"{name} that can be computed ({type(error).__name__}: {error})"[:300]
        self._found.wrong.append(Wrong(check, expected, f"{name}={named}"))

    def _skip(self, what: str) -> None:
        self._found.skipped[what] += 1

    def roots(self) -> None:
        """Check the roots in the header."""
        block = self._block
        ids = [confirmed["transaction"]["id"] for confirmed in block.get("transactions") or ()]
        self._root("transactions_root", formulas.transactions_root, ids, self._network)
        authority = block.get("authority") or {}
        subdag = (authority.get("subdag") or {}).get("subdag")
        old = self._network == TESTNET3 and (authority.get("type") is None or (subdag and not _versioned(subdag)))
        ratifications = block.get("ratifications") or []
        if old or (
            self._header["metadata"]["height"] in (0, "0") and any(one["type"] == "genesis" for one in ratifications)
        ):
            self._skip("ratifications roots of the genesis or of an older era")
        else:
            self._root("ratifications_root", formulas.ratifications_root, ratifications)
        if old:
            self._skip("subdag roots of an older era")
        else:
            self._root("subdag_root", _subdag_root, authority)
            for number, certificates in (subdag or {}).items():
                for at, certificate in enumerate(certificates):
                    self._batch(f"subdag[{number}][{at}].batch_id", number, certificate["batch_header"])

    def _root(self, name: str, formula: Callable[..., int], *parts: object) -> None:
        """Compare a root in the header."""
        self._compare("root", name, self._header.get(name), formula, *parts)

    def _batch(self, name: str, number: str, header: Row) -> None:
        """Check the ID of a batch, and that it is of its round."""
        if str(header["round"]) != number:
            self._found.wrong.append(Wrong("id", f"{name} of round {number}", f"round={header['round']}"))
        if self._network == TESTNET3 and not all(str(one).startswith("at1") for one in header["transmission_ids"]):
            self._skip("batches with solutions of an older era")
        else:
            self._compare("id", name, header["batch_id"], formulas.batch_id, header)

    def transaction(self, at: int, transaction: Row) -> None:
        """Check the ID of a transaction and what is in it."""
        name, old = f"transactions[{at}].id", False
        for number, transition in enumerate(formulas.transitions_of(transaction)):
            if self._network == TESTNET3 and str(transition["id"]).startswith(_OLD_TRANSITION):
                self._skip("transition IDs of an older era")
                old = True
            else:
                self._transition(f"transactions[{at}].transitions[{number}]", transition)
        if transaction.get("deployment") is not None:
            self._deployment(name, transaction)
        elif old:
            self._skip("transaction IDs of an older era")
        else:
            self._compare("id", name, transaction["id"], formulas.transaction_id, transaction, prefix="at")

    def _deployment(self, name: str, transaction: Row) -> None:
        """Check a deployment with the SDK, which recomputes its transaction ID from the program's functions."""
        if transaction.get("execution") is not None or not _DEPLOYMENT.issubset(transaction["deployment"]):
            expected = "the ID of a deployment with a program, or of an execution alone"  # one would hide the other
            self._found.wrong.append(Wrong("id", f"{name}: {expected}", f"{name}={transaction['id']}"))
            return
        try:
            hashes().sdk.Transaction.from_json(json.dumps(transaction))
        except RuntimeError as error:
            if "Mismatching transaction ID" in str(error):
                self._found.wrong.append(Wrong("id", f"{name} of its functions", f"{name}={transaction['id']}"))
            else:
                self._skip("IDs of deployments that aleo-sdk does not read")

    def _transition(self, path: str, transition: Row) -> None:
        """Check the ID of a transition, and those of its public values, futures and ciphertexts."""
        self._compare("id", f"{path}.id", transition["id"], formulas.transition_id, transition, prefix="au")
        program, name = str(transition["program"]), str(transition["function"])
        function = formulas.function_id(program, name, self._network)
        inputs = transition.get("inputs") or ()
        for at, part in enumerate([*inputs, *(transition.get("outputs") or ())]):
            name = f"{path}.inputs[{at}].id" if at < len(inputs) else f"{path}.outputs[{at - len(inputs)}].id"
            value = str(part.get("value"))
            if part["type"] in _VALUES:
                parts = (function, value, transition["tcm"], at)
                self._compare("value", name, part["id"], formulas.value_id, *parts)
            elif part["type"] == "private":
                self._compare("value", name, part["id"], formulas.private_id, value)


def _subdag_root(authority: Row) -> int:
    """Return the root over the certificates of a quorum; a beacon has none."""
    if authority["type"] == "beacon":
        return 0
    if authority["type"] != "quorum":
        raise ValueError(f"an authority of type {authority['type']!r}")
    return formulas.subdag_root(authority["subdag"]["subdag"])


def _versioned(subdag: Row) -> bool:
    """Return whether the batch headers have a version (they do since October 2023)."""
    return all("version" in one["batch_header"] for certificates in subdag.values() for one in certificates)
