"""What `lines.py` counts as code."""

from pathlib import Path

import pytest
from lines import Count, count, folders


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


def test_longer_lines_have_as_many_tokens(tmp_path: Path) -> None:
    """What is written in fewer, longer lines has fewer lines but not fewer tokens."""
    (tmp_path / "long.py").write_text("x = f(1, 2)\n")
    (tmp_path / "tall.py").write_text("x = f(\n    1,\n    2\n)\n")
    long, tall = count(tmp_path / "long.py"), count(tmp_path / "tall.py")
    assert long.code < tall.code
    assert long.tokens == tall.tokens


def test_folders_have_all_that_is_below_them(tmp_path: Path) -> None:
    """A folder's sum has its folders, and the files beside the folders have a sum of their own."""
    for name in ("top.py", "a/one.py", "a/b/two.py", "c/three.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x = 1\n")
    assert folders(tmp_path) == {".": Count(1, 3, 1), "a": Count(2, 6, 2), "c": Count(1, 3, 1)}
