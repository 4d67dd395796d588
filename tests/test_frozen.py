"""Frozen records without compiled functions are dataclasses as any other."""

import copy
import dataclasses
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.frozen import altered, dataclass, field


def itself(word):
    return word


@dataclass(frozen=True, kw_only=True)
class Ours:
    """A record."""

    name: str
    parts: tuple[int, ...] = ()
    made: dict[str, int] = field(default_factory=dict)
    call: object = itself


@dataclasses.dataclass(frozen=True, kw_only=True)
class Theirs:
    """The same by the standard library."""

    name: str
    parts: tuple[int, ...] = ()
    made: dict[str, int] = dataclasses.field(default_factory=dict)
    call: object = itself


fields_given = st.fixed_dictionaries(
    {"name": st.text(max_size=3)},
    optional={
        "parts": st.lists(st.integers(0, 2), max_size=2).map(tuple),
        "made": st.dictionaries(st.text(max_size=1), st.integers()),
    },
)


@given(fields_given, fields_given)
def test_it_is_what_the_standard_library_makes(one, other):
    mine, its = Ours(**one), Theirs(**one)
    assert dataclasses.asdict(mine) == dataclasses.asdict(its)
    assert repr(mine).removeprefix("Ours") == repr(its).removeprefix("Theirs")
    assert (mine == Ours(**other)) is (its == Theirs(**other))
    assert mine != its
    assert dataclasses.replace(mine, **other) == Ours(**{**one, **other})
    assert copy.deepcopy(mine) == pickle.loads(pickle.dumps(mine)) == mine


@given(st.lists(fields_given, max_size=3), fields_given)
def test_records_are_altered_as_the_standard_library_replaces(each, changes):
    records = [Ours(**one) for one in each]
    assert altered(Ours, records, **changes) == tuple(dataclasses.replace(one, **changes) for one in records)
    assert records == [Ours(**one) for one in each]
    with pytest.raises(TypeError, match="unknown"):
        altered(Ours, records, nothing=1)


def test_equal_records_have_one_hash():
    assert hash(Ours(name="a", made=())) == hash(Ours(name="a", made=()))
    with pytest.raises(TypeError):
        hash(Ours(name="a"))


def test_defaults_are_made_anew_and_functions_stay_functions():
    assert Ours(name="a").made is not Ours(name="a").made
    assert Ours(name="a").call("word") == "word"


@pytest.mark.parametrize("change", [lambda record: setattr(record, "name", "b"), lambda record: delattr(record, "name")])
def test_nothing_can_be_changed(change):
    record = Ours(name="a")
    with pytest.raises(dataclasses.FrozenInstanceError, match="'name' of Ours"):
        change(record)
    assert record.name == "a"


@pytest.mark.parametrize(("given", "named"), [({}, "missing {'name'}"), ({"name": "a", "nme": 1}, "unknown {'nme'}")])
def test_a_wrong_call_names_the_fields(given, named):
    with pytest.raises(TypeError, match=named):
        Ours(**given)


def test_what_is_not_frozen_is_the_standard_librarys():
    with pytest.raises(TypeError, match=r"dataclasses\.dataclass"):
        dataclass(frozen=False, kw_only=True)


def test_own_functions_are_kept():
    @dataclass(frozen=True, kw_only=True)
    class Spoken:
        """A record with words of its own."""

        name: str

        def __repr__(self) -> str:
            return "mine"

    assert repr(Spoken(name="a")) == "mine"
