"""Checksums of Bech32 and Bech32m: the vectors of BIP 173 and BIP 350."""

import re
from pathlib import Path

import pytest

from chainq.catalog import bech32
from chainq.demo.chain import Chain

ID = Chain().transaction_id(640, 1)
VECTORS = (Path(__file__).parent / "bech32.txt").read_text()


@pytest.mark.parametrize("line", re.findall("^[^#\n].*", VECTORS, re.MULTILINE))
def test_vectors_of_the_standards(line: str) -> None:
    """Valid ones pass, in Bech32 and Bech32m; an invalid one is refused for the reason that stands beside it.

    The bound of 90 characters is not applied: the service's IDs are longer.
    """
    text, _, said = line.encode().decode("unicode_escape").rpartition(" ")
    assert (bech32.fault(text) == "") if said == "valid" else (said in bech32.fault(text))


@pytest.mark.parametrize(
    "text", ["", "1", "at1", "at", "a1", "AT12uEL5L", ID.upper()[:5] + ID[5:], ID[:5] + ID[5:].upper()]
)
def test_mixed_case_and_fragments_are_refused(text: str) -> None:
    """Upper and lower case must not be mixed (BIP 173), and a fragment has no checksum."""
    assert bech32.fault(text)


def test_one_case_throughout_is_fine() -> None:
    """A text all in upper case is the same text (BIP 173)."""
    assert bech32.fault(ID.upper(), prefix="at") == ""
