"""What `lines.py` counts as code."""

from pathlib import Path

import pytest
from lines import count


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("# a comment\n\n\n", 0),
        ('"""What a module says,\n\nin three lines."""\n', 0),
        ('def f():\n    """Docstring."""\n', 1),
        ('X = 1\n"""What X is."""\n', 1),
        ("x = 1  # why\n\ny = 2\n", 2),
        ('text = """one\n\nthree"""\n', 3),
        ("f(\n    # a comment\n    1,\n)\n", 3),
        ("if x:\n    pass\n", 2),
    ],
)
def test_lines_with_code_count(text: str, lines: int, tmp_path: Path) -> None:
    """Comments, docstrings and blank lines do not count; every line of a string that is used does."""
    (tmp_path / "module.py").write_text(text)
    found = count(tmp_path / "module.py")
    assert (found.code, found.all) == (lines, text.count("\n"))
