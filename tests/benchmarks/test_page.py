"""Tables of the benchmarks go into the page in place of the ones that they follow, or not at all."""

import pytest
from page import blocks, replaced

PAGE = """# A

| a | b |
|---|---|
| x | 1 |

text

| a | b |
|---|---|
| y | 1 |

| c |
|---|
| z |
"""
TWO = "| a | b |\n|---|---|\n| x | 2 |\n\n| a | b |\n|---|---|\n| y | 3 |\n| y | 4 |\n"


def tables(text: str) -> list[list[str]]:
    return [part for part in blocks(text) if part[0].startswith("|")]


def test_tables_with_the_same_headings_are_replaced_in_their_order() -> None:
    new = PAGE.replace("| x | 1 |", "| x | 2 |").replace("| y | 1 |", "| y | 3 |\n| y | 4 |")
    assert replaced(PAGE, tables(TWO)) == new


@pytest.mark.parametrize("new", ["| a | b |\n|---|---|\n| x | 2 |\n", "| c |\n|---|\n", "| d |\n|---|\n| 1 |\n"])
def test_tables_that_do_not_fit_the_page_are_refused(new: str) -> None:
    """Fewer tables, fewer rows, a table that the page has not."""
    with pytest.raises(ValueError, match="where the page has"):
        replaced(PAGE, tables(new))
