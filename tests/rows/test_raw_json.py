"""JSON split into parts without decoding: digits, escapes and order stay; only space between tokens goes."""

import json
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Raw

from chainq.rows.fields import Picker, integer_of, text_of
from chainq.rows.raw_json import compact, items, members, put_first
from harness.readings import readings

NUMBERS = [
    "0",
    "-0",
    "1.10",
    "-1.0e-7",
    "1E400",
    "18446744073709551616",
    "340282366920938463463374607431768211455",
    "9" * 5000,
    "0.1000000000000000055511151231257827021181583404541015625",
]
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


class Text(NamedTuple):
    """One JSON text in two ways: with white space between its tokens, and without."""

    spaced: str
    tight: str


spaces = st.sampled_from(["", "", " ", "\n", "\t \r\n"])
leaves = st.sampled_from([*NUMBERS, *STRINGS, *WORDS]).map(lambda text: Text(text, text))


@st.composite
def arrays(draw: st.DrawFn, inner: st.SearchStrategy[Text]) -> Text:
    parts = draw(st.lists(inner, max_size=5))
    spaced = ",".join(draw(spaces) + part.spaced + draw(spaces) for part in parts) or draw(spaces)
    return Text(f"[{spaced}]", f"[{','.join(part.tight for part in parts)}]")


@st.composite
def objects(draw: st.DrawFn, inner: st.SearchStrategy[Text]) -> Text:
    keys = draw(st.lists(st.sampled_from(STRINGS), max_size=4, unique_by=json.loads))
    parts = [(key, draw(inner)) for key in keys]
    spaced = ",".join(
        f"{draw(spaces)}{key}{draw(spaces)}:{draw(spaces)}{part.spaced}{draw(spaces)}" for key, part in parts
    )
    return Text(f"{{{spaced or draw(spaces)}}}", f"{{{','.join(f'{key}:{part.tight}' for key, part in parts)}}}")


texts = st.recursive(leaves, lambda inner: arrays(inner) | objects(inner), max_leaves=12)
bounded = settings(max_examples=60, deadline=None, derandomize=True, database=None)


@bounded
@given(texts, spaces, spaces)
def test_compact_drops_white_space_between_tokens_and_nothing_else(text: Text, before: str, after: str) -> None:
    """What has no white space between tokens comes back as it is; what has some comes back without."""
    assert compact((before + text.spaced + after).encode()) == text.tight.encode()
    assert compact(text.tight.encode()) == text.tight.encode()


@bounded
@given(st.lists(texts, max_size=6), spaces)
def test_items_are_the_bytes_of_each_item(parts: list[Text], space: str) -> None:
    """The items of an array come in order, each as it was sent."""
    tight = "[" + ",".join(part.tight for part in parts) + "]"
    assert [bytes(item) for item in items(tight.encode())] == [part.tight.encode() for part in parts]
    spaced = "[" + ",".join(space + part.spaced + space for part in parts) + "]"
    assert [compact(bytes(item)) for item in items(spaced.encode())] == [part.tight.encode() for part in parts]


@bounded
@given(st.lists(st.tuples(st.sampled_from(STRINGS), texts), max_size=6, unique_by=lambda pair: json.loads(pair[0])))
def test_members_are_the_bytes_of_each_value(pairs: list[tuple[str, Text]]) -> None:
    """The members of an object come in order, keys decoded, values as they were sent."""
    for form in ("spaced", "tight"):
        text = "{" + ",".join(f"{key}:{getattr(part, form)}" for key, part in pairs) + "}"
        found = members(text.encode())
        assert [*found] == [json.loads(key) for key, _ in pairs]
        assert [compact(bytes(value)) for value in found.values()] == [part.tight.encode() for _, part in pairs]


@bounded
@given(texts)
def test_picked_values_are_the_bytes_that_were_sent(part: Text) -> None:
    """A dotted path leads into objects; a path that leads nowhere gives None."""
    row = f'{{"a":{part.tight},"b":{{"c":{{"d":{part.tight}}},"e":1}}}}'.encode()
    picked = Picker(["b.c.d", "a", "x", "b.x", "b.e.x", "b.c"])(row)
    tight = part.tight.encode()
    assert [None if value is None else bytes(value) for value in picked] == [
        tight,
        tight,
        None,
        None,
        None,
        b'{"d":' + tight + b"}",
    ]


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
        with nullcontext() if text.startswith(start) else pytest.raises(ValueError, match="opens with"):
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
