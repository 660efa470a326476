"""The scoreboard runs, without a network: chainq and, where they are installed, curl and jq."""

import shutil

import pytest
from scoreboard import Server, Tool, score

pytestmark = pytest.mark.search
BLOCKS = Server("", "--no-shuffle", "full-blocks", 0, 3)
SHUFFLED = Server("", "--fault fail-rate:0.3 --fault row-cap:7", "records", 0, 8)


def test_a_program_that_prints_what_is_due_scores(capsys: pytest.CaptureFixture[str]) -> None:
    assert score(Tool(""), BLOCKS, limit=60)
    assert capsys.readouterr().out.startswith("| chainq | 3 | 0 | 0 | 0 | ")


@pytest.mark.skipif(not (shutil.which("curl") and shutil.which("jq")), reason="curl or jq is not installed")
def test_a_program_that_loses_rows_does_not(capsys: pytest.CaptureFixture[str]) -> None:
    """Pages of a height in changing order, as every program but chainq reads them."""
    assert not score(Tool("curl"), SHUFFLED, limit=60)
    assert capsys.readouterr().out.endswith(" | 0 |\n")
    assert score(Tool(""), SHUFFLED, limit=60)
