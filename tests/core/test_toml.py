import tomllib
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from assay import _core

TEXT = """\
title = "é" # a comment
[t]
"a.b" = 0x1F
list = [1.5, "x", { y = true }]
d.e = 1979-05-27
[[rows]]
k = 1
[[rows]]
k = -2
"""


def test_values_know_their_key_and_place():
    values, _, errors = _core.parse_toml(TEXT)
    expected = tomllib.loads(TEXT)
    expected["t"]["d"]["e"] = "1979-05-27"
    assert values == expected
    assert not errors
    _, places, _ = _core.parse_toml(TEXT)
    assert places["title",] == ((1, 1), (1, 9))
    assert places["t", "a.b"] == ((3, 1), (3, 9))
    assert places["t", "list", 2, "y"] == ((4, 21), (4, 25))
    assert places["t", "d", "e"] == ((5, 3), (5, 7))
    assert places["rows", 1, "k"] == ((9, 1), (9, 5))
    _, places, _ = _core.parse_toml('"äöü" = 1')
    assert places["äöü",] == ((1, 1), (1, 9))


def test_every_syntax_error_is_told_and_what_is_right_is_recovered():
    _, _, errors = _core.parse_toml("a = \nb = 1\nc = tru\nb = 2\nd = 99999999999999999999\n[e\n")
    assert [line for line, _, _ in errors] == [1, 3, 4, 5, 6]
    assert "does not fit 64 bits" in errors[3][2]
    values, _, errors = _core.parse_toml("a = \nb = 1\n")
    assert errors
    assert values["b"] == 1


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused_as_by_the_standard_reader(text: str) -> None:
    _, _, errors = _core.parse_toml(text)
    assert all(line >= 1 and column >= 1 for line, column, _ in errors)
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return  # TOML 1.1 takes more than the standard reader's 1.0
    assert not errors


KEYS = st.text(alphabet="abc_-09", min_size=1, max_size=5)
VALUES = st.recursive(
    st.integers(-(2**63), 2**63 - 1) | st.booleans() | st.text(alphabet="xyz 'ä", max_size=6),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=6,
)


def written(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f'"{value}"'
    return f"[{', '.join(map(written, value))}]" if isinstance(value, list) else str(value)


@given(st.dictionaries(KEYS, VALUES, max_size=5))
def test_what_is_written_is_read(table: dict[str, Any]) -> None:
    text = "\n".join(f"{key} = {written(value)}" for key, value in table.items())
    values, places, errors = _core.parse_toml(text)
    assert (values, errors) == (table, [])
    lines = text.splitlines()
    for key, value in table.items():
        (_, _), (line, column) = places[key,]
        assert lines[line - 1][column - 1 :] == written(value)
