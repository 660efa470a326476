"""Errors of obstore, as it words them, in plain words."""

from collections.abc import Callable
from pathlib import Path

import pytest

from chainq.lake.store import cause

RECORD = Path(__file__).parent / "object_errors.txt"


def test_the_plain_cause(golden: Callable[[Path, str], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """What went wrong and what to do is after `! `; the dump is left out."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://e")
    told = []
    for said in [line for line in RECORD.read_text().splitlines() if line.startswith("<")]:
        words = cause(OSError(said[2:].replace("\\n", "\n")))
        told.append(f"{said}\n! {'; '.join(filter(None, words))}\n")
    golden(RECORD, "\n".join(told))
