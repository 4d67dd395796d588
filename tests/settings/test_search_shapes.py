"""Shapes of filters become filters of the same shape, for people that are there."""

import math
import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.settings import filter_tree, search_shapes
from assay.settings.search_shapes import ShapeError
from stage.rows import each

BASE = "dc=example,dc=com"
PEOPLE = 20_000


def chosen(shape, finds=1, people=PEOPLE, **more):
    return search_shapes.choose(shape, **({"finds": finds, "people": people, "base": BASE, "limit": 0} | more))


def shape_of(written):
    """The shape of a filter, with its attributes numbered in their order."""
    names = {}

    def leaf(match):
        attribute, sign, value = match[1], match[2] or "", match[3]
        name = names.setdefault(attribute, f"a{len(names) + 1}")
        is_pattern = sign == "" and "*" in value
        value = "*".join("?" if part else "" for part in value.split("*")) if is_pattern else "?"
        return f"({name}{re.sub(r':(?!dn)[A-Za-z]+:', ':rule:', sign)}={value})"

    return filter_tree.LEAF.sub(leaf, written)


SHAPES = (
    *("(a1=?)", "(a1=?*)", "(a1=*?*)", "(a1=*?)", "(a1=?*?)", "(a1=?*?*)", "(a1=*)", "(a1>=?)", "(a1<=?)", "(!(a1=?))"),
    *("(a1:rule:=?)", "(a1:dn:rule:=?)", "(a1:=?)", "(&(a1=?)(a2=?))", "(&(a1=?)(a2=?)(a3=?))", "(|(a1=?)(a2=?)(a3=?))"),
    *("(&(a1=?)(!(a2=*)))", "(&(a1=*)(!(a1=?)))", "(&(a1>=?)(a1<=?))", "(&(a1=?)(|(a2=?*)(a3=?*)))", "(|(a1=?*)(a2=?*))"),
    *("(&(a1=?)(a2=?*))", "(&(a1=?)(a2:rule:=?))", "(&(a1=?)(|(a2=?)(&(a3=*)(!(a4=*)))))", "(!(a1=*))"),
)


@each("shape", *SHAPES)
@each("finds", 0, 1)
def test_a_filter_has_the_shape_that_it_was_made_for(shape, finds):
    assert shape_of(chosen(shape, finds).filter) == shape


@each(
    "shape finds filter limit keys indexes",
    ("(a1=?)", 1, "(uid=u{key:08d})", 0, (0, PEOPLE, PEOPLE), {("uid", "eq")}),
    ("(a1=?)", 12, f"(manager=uid=u{{key:08d}},ou=people,{BASE})", 0, (1, 1665, PEOPLE), {("manager", "eq")}),
    ("(a1=?)", 5, f"(manager=uid=u{{key:08d}},ou=people,{BASE})", 5, (1, 1665, PEOPLE), {("manager", "eq")}),
    ("(a1=?)", 37, "(sn=Smith)", 37, (0, 1, None), {("sn", "eq")}),
    ("(a1=?)", 15_000, "(objectClass=inetOrgPerson)", 15_000, (0, 1, None), {("objectClass", "eq")}),
    ("(a1=?*)", 100, "(uid=u{key:06d}*)", 0, (0, 200, 200), {("uid", "sub")}),
    ("(a1=*?*)", 37, "(uid=*u{key:06d}*)", 37, (0, 200, 200), {("uid", "sub")}),
    ("(a1=*?)", 1, "(uid=*u{key:08d})", 0, (0, PEOPLE, PEOPLE), {("uid", "sub")}),
    ("(a1=*?)", 30, "(uid=*{key:02d})", 30, (0, 100, None), {("uid", "sub")}),
    ("(|(a1=?)(a2=?))", 1, "(|(uid=u{key:08d})(mail=nobody))", 0, (0, PEOPLE, PEOPLE), {("uid", "eq"), ("mail", "eq")}),
    ("(a1=*)", 7, "(objectClass=*)", 7, (0, 1, None), set()),
)
def test_what_a_search_finds_and_needs(shape, finds, filter, limit, keys, indexes):
    found = chosen(shape, finds)
    assert (found.filter, found.limit, found.finds) == (filter, limit, finds)
    assert ((found.first, found.count, found.missing), found.indexes) == (keys, indexes)


def test_limits_and_values_of_the_request_stay():
    assert chosen("(a1=?)", limit=500).limit == 500
    assert (chosen("(a1=?*)", 37, limit=20).limit, chosen("(a1=?*)", 37, limit=20).finds) == (20, 20)
    found = chosen("(a1=*)", alone=True)
    assert (found.filter, found.limit, found.indexes, found.is_entry) == ("(objectClass=*)", 0, frozenset(), True)
    assert chosen("(&(objectClass=inetOrgPerson)(a1=?))").filter == "(&(objectClass=inetOrgPerson)(uid=u{key:08d}))"
    found = chosen("(a1=?)", 100, people=1_000_000)
    assert (found.filter, found.first, found.count, found.missing) == ("(roomNumber={key})", 100, 900, 1000)
    assert chosen("(!(&(a1=?)(a2=?)))").filter == "(!(&(mail=nobody)(cn=nobody)))"
    with pytest.raises(ShapeError, match="people have no values"):
        chosen("(!(&(a1=?)(a2=?)))", 0)
    letters = [f"({letter}1=x)" for letter in string.ascii_letters if letter != "a"]
    assert not any(map(filter_tree.is_shape, letters))
    assert filter_tree.is_shape("(a12=*)")


@each(
    "shape finds people text",
    ("(a1~=?)", 1, PEOPLE, "found ~= in the shape (a1~=?)"),
    ("(&(a1=?)(a2=?)(a3=?)(a4=?))", 1, PEOPLE, "for which people have no values"),
    ("(a1=?*?*?)", 1, PEOPLE, "the pattern ?*?*?"),
    ("(a1=?)", 101, 100, "in a population of 100; expected at most 100"),
    ("(a1=?*)", 11, 20, "in a population of 20; expected more entries"),
    ("(:dn:rule:=?)", 1, PEOPLE, "without an attribute"),
    ("(a1:rule:=?)", 2, PEOPLE, "by a matching rule"),
)
def test_shapes_that_people_have_no_values_for(shape, finds, people, text):
    with pytest.raises(ShapeError) as refused:
        chosen(shape, finds, people)
    assert text in str(refused.value)
    assert "; expected " in str(refused.value)


NAMES = st.sampled_from(["a1", "a2", "a3"])
LEAVES = st.builds(
    lambda name, item: f"({name}{item})", NAMES, st.sampled_from(["=?", "=*", "=?*", "=*?*", "=*?", ">=?", "<=?", ":rule:=?"])
)
FILTERS = st.recursive(
    LEAVES,
    lambda inner: (
        st.builds(lambda sign, parts: f"({sign}{''.join(parts)})", st.sampled_from("&|"), st.lists(inner, min_size=1, max_size=3))
        | st.builds("(!{})".format, inner)
    ),
    max_leaves=5,
)


def is_true(node, entry):
    """Whether a filter is true of an entry: attribute -> its value; a plain reading of RFC 4511, section 4.5.1.7."""
    if node.kind in ("&", "|"):
        return (all if node.kind == "&" else any)(is_true(part, entry) for part in node.parts)
    if node.kind == "!":
        return not is_true(node.parts[0], entry)
    value = entry.get(node.attribute)
    if node.kind == "presence" or value is None:
        return value is not None
    if node.kind == "order":
        return value >= node.value if node.sign == ">" else value <= node.value
    pattern = ".*".join(map(re.escape, node.value.split("*"))) if node.kind == "substrings" else re.escape(node.value)
    return re.fullmatch(pattern, value) is not None


def person(key):
    """An entry as the template makes it."""
    uid = f"u{key:08d}"
    manager = {"manager": f"uid=u{key // 12:08d},ou=people,{BASE}"} if key >= 12 else {}
    stamps = dict.fromkeys(search_shapes.STAMPS, "20261126000000Z")
    drawn = {"cn": "Ann Able", "sn": "Able", "givenName": "Ann", "title": "Clerk", "l": "Bern", "street": "Hillside 1"}
    phones = dict.fromkeys(("telephoneNumber", "mobile"), "+41 123 1234567")
    own = {"uid": uid, "mail": f"ann.able.{key}@example.com", "employeeNumber": str(key), "objectClass": "inetOrgPerson"}
    return {**drawn, **phones, **stamps, **own, **manager, "postalCode": "10001", "roomNumber": "100"}


@given(FILTERS, st.integers(0, PEOPLE - 1))
def test_any_shape_is_true_of_the_entry_of_its_key_and_of_nobody_where_nothing_is_to_be_found(shape, key):
    try:
        found, nothing = chosen(shape), chosen(shape, 0)
    except ShapeError:
        return
    assert filter_tree.plain(filter_tree.read(found.filter)) == found.filter
    if found.is_entry:
        assert is_true(filter_tree.read(filled(found.filter, key)), person(key))
    else:
        assert is_true(filter_tree.read(found.filter), person(key))
    assert not is_true(filter_tree.read(filled(nothing.filter, key)), person(key))


def filled(written, key):
    return re.sub(r"\{key(?::0(\d)d)?\}", lambda match: str(key).zfill(int(match[1] or 0)), written)


@given(st.integers(1, 10_000), st.integers(10_000, 10**8))
def test_groups_are_large_enough_and_keys_have_room(finds, people):
    for shape in ("(a1=?)", "(a1=?*)", "(a1=*?)"):
        try:
            found = chosen(shape, finds, people)
        except ShapeError:
            continue
        digits = [int(width) for width in re.findall(r"\{key:0(\d)d\}", found.filter)]
        last = found.first + found.count - 1
        assert all(last < 10**width for width in digits)
        assert found.limit in (0, finds)
        if shape == "(a1=?*)" and digits:
            assert 10 ** (8 - digits[0]) * found.count <= people
            assert 10 ** math.ceil(math.log10(finds) - 1e-9) == 10 ** (8 - digits[0])
