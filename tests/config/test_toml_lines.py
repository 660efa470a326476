"""On which line a value is, in TOML texts of every shape."""

import tomllib

import pytest

from chainq.config.toml_lines import line_of, line_of_long_number
from harness.steps import linear, steps

TEXT = """\
# a comment
top = 1

[a]  # [not.this]
"b c" = '''
x = [1]
[a.hidden]
'''
list = [
  "]",
  [1,
   2],
]  # here
after = { inner = 5, text = '''
deep
''' }

[a.d."e.f"]
value = '''one line'''
g.h = true

[[many]]
name = "x"
"""


LINES = {
    ("top",): 2,
    ("top", "more"): 1,  # there is none
    ("a",): 4,
    ("a", "b c"): 5,
    ("a", "hidden"): 1,
    ("a", "list"): 9,
    ("a", "after", "text"): 14,
    ("a", "d", "e.f"): 18,
    ("a", "d", "e.f", "value"): 19,
    ("a", "d", "e.f", "g", "h"): 20,
    ("many",): 22,
}


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_the_line_of_a_value_is_found(ending: str) -> None:
    """Strings and arrays of several lines, comments, quoted and dotted keys and both kinds of line ends are read as
    TOML has them."""
    text = TEXT.replace("\n", ending)
    tomllib.loads(text)
    for whole in (text, text.removesuffix(ending)):
        assert {keys: line_of(whole, keys) for keys in LINES} == LINES


def test_a_number_that_is_too_long_is_found() -> None:
    """The line of an integer with more digits than Python converts is found, also behind values of several lines."""
    assert line_of_long_number(f"{TEXT}n = {'1' * 5000}\nlast = 1\n") == 24
    assert line_of_long_number(TEXT) == 1


def test_a_long_string_takes_linear_time() -> None:
    """A value of twice as many lines does not cost four times as much."""

    def found(lines: int) -> None:
        text = "text\n" * lines
        assert line_of(f"a = '''\n{text}'''\nb = 1\n", ["b"]) == lines + 3

    assert linear(steps(lambda: found(1_000)), steps(lambda: found(2_000)))
