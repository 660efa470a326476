"""Checksums of Bech32 and Bech32m: the vectors of BIP 173 and BIP 350."""

import pytest

from chainq.catalog import bech32
from chainq.demo.chain import Chain

ID = Chain().transaction_id(640, 1)

# The test vectors of BIP 173 and BIP 350. The bound of 90 characters is not applied here: the service's IDs are longer.
VALID = {
    "BIP 173": [
        "A12UEL5L",
        "a12uel5l",
        "an83characterlonghumanreadablepartthatcontainsthenumber1andtheexcludedcharactersbio1tt5tgs",
        "abcdef1qpzry9x8gf2tvdw0s3jn54khce6mua7lmqqqxw",
        "11qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqc8247j",
        "split1checkupstagehandshakeupstreamerranterredcaperred2y9e3w",
        "?1ezyfcl",
    ],
    "BIP 350": [
        "A1LQFN3A",
        "a1lqfn3a",
        "an83characterlonghumanreadablepartthatcontainsthetheexcludedcharactersbioandnumber11sg7hg6",
        "abcdef1l7aum6echk45nj3s0wdvt2fg8x9yrzpqzd3ryx",
        "11llllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllludsr8",
        "split1checkupstagehandshakeupstreamerranterredcaperredlc445v",
        "?1v759aa",
    ],
}
INVALID = {
    "\x201nwldj5": "prefix",
    "\x7f1axkwrx": "prefix",
    "\x801eym55h": "prefix",
    "pzry9x0s0muk": "prefix",
    "1pzry9x0s0muk": "prefix",
    "x1b4n0q5v": "'b'",
    "li1dgmt3": "short",
    "de1lg7wt\xff": "'\xff'",
    "A1G7SGD8": "checksum",
    "10a06t8": "prefix",
    "1qzzfhee": "prefix",
    "\x201xj0phk": "prefix",
    "\x7f1g6xzxy": "prefix",
    "\x801vctc34": "prefix",
    "qyrz8wqd2c9m": "prefix",
    "1qyrz8wqd2c9m": "prefix",
    "y1b0jsk6g": "'b'",
    "lt1igcx5c0": "'i'",
    "in1muywd": "short",
    "mm1crxm3i": "'i'",
    "au1s5cgom": "'o'",
    "M1VUXWEZ": "checksum",
    "16plkw9": "prefix",
    "1p2gdwpf": "prefix",
}


@pytest.mark.parametrize("text", [text for texts in VALID.values() for text in texts])
def test_the_valid_vectors_of_the_standards_pass(text: str) -> None:
    """Bech32 and bech32m are both accepted."""
    assert bech32.fault(text) == ""


@pytest.mark.parametrize(("text", "said"), INVALID.items())
def test_the_invalid_vectors_of_the_standards_do_not(text: str, said: str) -> None:
    """Each invalid vector is refused, for the reason that the standard gives."""
    assert said in bech32.fault(text)


@pytest.mark.parametrize(
    "text", ["", "1", "at1", "at", "a1", "AT12uEL5L", ID.upper()[:5] + ID[5:], ID[:5] + ID[5:].upper()]
)
def test_mixed_case_and_fragments_are_refused(text: str) -> None:
    """Upper and lower case must not be mixed (BIP 173), and a fragment has no checksum."""
    assert bech32.fault(text)


def test_one_case_throughout_is_fine() -> None:
    """A text all in upper case is the same text (BIP 173)."""
    assert bech32.fault(ID.upper(), prefix="at") == ""
