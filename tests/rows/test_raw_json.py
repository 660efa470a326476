"""JSON split into parts without decoding: digits, escapes and order stay; only space between tokens goes."""

import json
import re
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Raw

from chainq.rows.fields import Picker, integer_of, text_of
from chainq.rows.raw_json import compact, items, members, put_first
from harness.models.readings import readings

NUMBERS = """
0 -0 1.10 -1.0e-7 1E400 18446744073709551616 340282366920938463463374607431768211455 9
0.1000000000000000055511151231257827021181583404541015625
"""
STRINGS = [
    '""',
    '"a  b"',
    '" \\t\\n "',
    '"\\u00e9"',
    '"é 中 \U0001f600"',
    '"\\ud83d\\ude00"',
    '"\\ud800"',
    '"\\udfff x"',
    '"a\\"b"',
    '"\\\\"',
    '"\\\\\\""',
    '"\\/"',
    '"[1, 2] {\\"a\\" : 1}"',
    '"\u2028"',
]
WORDS = ["true", "false", "null"]


spaces = st.sampled_from(["", " ", "\n", "\t \r\n"])


def pairs_of(values: st.SearchStrategy[str]) -> st.SearchStrategy[list[tuple[str, str]]]:
    """Members of an object: the texts of their keys, and of their values."""
    pairs = st.tuples(st.sampled_from(STRINGS), values)
    return st.lists(pairs, max_size=4, unique_by=lambda pair: json.loads(pair[0]))


def object_text(pairs: list[tuple[str, str]]) -> str:
    return f"{{{','.join(f'{key}:{value}' for key, value in pairs)}}}"


texts = st.recursive(
    st.sampled_from([*NUMBERS.split(), *STRINGS, *WORDS]).map(lambda text: text * 5000 if text == "9" else text),
    lambda inner: (
        st.lists(inner, max_size=5).map(lambda parts: f"[{','.join(parts)}]") | pairs_of(inner).map(object_text)
    ),
    max_leaves=12,
)


def spaced(text: str, space: str) -> str:
    """Return a JSON text with white space around its signs."""
    return re.sub(r'("(?:[^"\\]|\\.)*")|([\[\]{}:,])', lambda found: found[1] or f"{space}{found[2]}{space}", text)


bounded = settings(max_examples=60, deadline=None, derandomize=True, database=None)


@bounded
@given(texts, spaces)
def test_compact_drops_white_space_between_tokens_and_nothing_else(text: str, space: str) -> None:
    """What has no white space between tokens comes back as it is; what has some comes back without."""
    assert compact((space + spaced(text, space) + space).encode()) == text.encode()


@bounded
@given(st.lists(texts, max_size=6), spaces)
def test_items_are_the_bytes_of_each_item(parts: list[str], space: str) -> None:
    """The items of an array come in order, each as it was sent."""
    found = items(spaced(f"[{','.join(parts)}]", space).encode())
    assert [compact(bytes(item)) for item in found] == [part.encode() for part in parts]
    assert space or [bytes(item) for item in found] == [part.encode() for part in parts]


@bounded
@given(pairs_of(texts), spaces)
def test_members_are_the_bytes_of_each_value(pairs: list[tuple[str, str]], space: str) -> None:
    """The members of an object come in order, keys decoded, values as they were sent."""
    found = members(spaced(object_text(pairs), space).encode())
    assert [*found] == [json.loads(key) for key, _ in pairs]
    assert [compact(bytes(value)) for value in found.values()] == [value.encode() for _, value in pairs]


@bounded
@given(texts)
def test_picked_values_are_the_bytes_that_were_sent(part: str) -> None:
    """A dotted path leads into objects; a path that leads nowhere gives None."""
    row = f'{{"a":{part},"b":{{"c":{{"d":{part}}},"e":1}}}}'.encode()
    picked = Picker(["b.c.d", "a", "b.c", "x", "b.x", "b.e.x"])(row)
    assert [value and bytes(value).decode() for value in picked] == [part, part, f'{{"d":{part}}}', None, None, None]


@pytest.mark.parametrize("row", [b"5", b'"x"', b"null", b"[]", b'[{"a":1}]'])
def test_a_row_that_is_not_an_object_has_no_fields(row: bytes) -> None:
    """Picking from anything but an object gives None for every path."""
    assert Picker(["a", "a.b"])(Raw(row)) == [None, None]


def test_a_dot_in_a_key_is_not_a_path() -> None:
    """`a.b` means b inside a, never a key that is written with a dot."""
    assert Picker(["a.b"])(b'{"a.b":1}') == [None]


def test_unknown_fields_are_reported() -> None:
    """Fields that no path leads to are reported by their dotted paths, with their values, of each row."""
    reported: list[str] = []
    pick = Picker(["a", "b.c"], lambda path, value: reported.append(f"{path}={bytes(value).decode()}"))
    for row in (b'{"a":1,"b":{"c":2,"d":3}}', b'{"a":1,"b":{"d":3},"e":4}', b'{"b":null}'):
        pick(row)
    assert reported == ["b.d=3", "b.d=3", "e=4"]


@pytest.mark.parametrize(
    "text", ["", "{", "[1,]", "{,}", "[1 2]", "nul", '"\\x"', "[NaN]", "[01]", "[1] 2", "'a'", "["]
)
def test_invalid_json_is_refused(text: str) -> None:
    """Broken JSON is a ValueError, with white space and without, beside lone surrogates too."""
    for form in (text, text.replace(",", " , ") + " ", f'["\\ud800", {text}'):
        with pytest.raises(ValueError, match=r"."):
            items(compact(form.encode()))


@pytest.mark.parametrize("text", [b"{}", b"[]", b'"x"', b"5", b"null", b'{"a": "\\ud800"}', b'["\\ud800"]'])
def test_items_want_an_array_and_members_an_object(text: bytes) -> None:
    """Any other JSON is a ValueError."""
    for read, start in ((items, b"["), (members, b"{")):
        with nullcontext() if text.startswith(start) else pytest.raises(ValueError, match="expected a JSON"):
            read(text)


@pytest.mark.parametrize("inner", ["1.10", '"\\ud800"'])
@pytest.mark.parametrize("depth", [1, 50, 200])
def test_deep_nesting_is_kept(inner: str, depth: int) -> None:
    """Nesting as deep as any block's comes through as it was sent."""
    tight = "[" * depth + inner + "]" * depth
    spaced = "[ " * depth + inner + " ]" * depth
    assert compact(spaced.encode()) == tight.encode()
    assert [bytes(item) for item in items(tight.encode())] == [tight[1:-1].encode()]


@pytest.mark.parametrize("inner", ["1", '"\\ud800"'])
def test_nesting_without_end_is_an_error_and_no_crash(inner: str) -> None:
    """A text that is nested a hundred thousand deep ends in RecursionError or ValueError, not in the interpreter."""
    text = "[ " * 100_000 + inner + "]" * 100_000
    with pytest.raises((RecursionError, ValueError)):
        items(compact(text.encode()))


def test_values(golden: Callable[[Path, str], None]) -> None:
    """As text: strings lose their quotes and escapes, null is empty, all else keeps its digits.

    As a whole number: numbers and strings, with leading zeros too, up to 100 digits; anything else, or a longer one, is
    none.
    """

    def read(sent: str) -> str:
        value = Raw(sent.encode())
        return f"{text_of(value)!a}, {integer_of(value)}"

    file = Path(__file__).parent / "values.txt"
    golden(file, readings(file, read))
    assert (text_of(None), integer_of(None), integer_of(Raw(b"9" * 5000))) == ("", None, None)


@pytest.mark.parametrize(
    ("row", "due"),
    [
        ("{}", '{"\u00e9":1,"b":"x"}'),
        ('{"a":1.10}', '{"\u00e9":1,"b":"x","a":1.10}'),
        (r'{"\ud800":{}}', r'{"é":1,"b":"x","\ud800":{}}'),
    ],
)
def test_members_before_those_of_a_row(row: str, due: str) -> None:
    """Other members come first; those of the row stay as they were sent, lone surrogates too."""
    found = put_first(Raw(row.encode()), {"é": b"1", "b": Raw(b'"x"')})
    assert bytes(found).decode() == due
