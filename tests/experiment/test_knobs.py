"""Words of a command line are understood as the lines of an experiment file are."""

import json

from hypothesis import given
from hypothesis import strategies as st

from assay.catalogue import Knob, KnobKind
from assay.experiment.knobs import declared, raw, resolve, settle
from assay.toml_document import Document
from assay.units import Refusal, Unit
from stage.rows import each

KNOBS = declared(
    (
        Knob(name="size", kind=KnobKind.QUANTITY, unit=Unit.BYTES, help="h"),
        Knob(name="ops", kind=KnobKind.INTEGER, unit=Unit.COUNT, low=1, help="h"),
        Knob(name="direct", kind=KnobKind.SWITCH, help="h"),
        Knob(name="ratio", kind=KnobKind.NUMBER, help="h"),
        Knob(name="operations", kind=KnobKind.TEXTS, choices=("read", "write"), help="h"),
        Knob(name="cpus", kind=KnobKind.CPUS, help="h"),
        Knob(name="path", kind=KnobKind.PATH, help="h"),
        Knob(name="batches", kind=KnobKind.QUANTITY, unit=Unit.COUNT, help="h"),
    )
)


def settled(*words):
    document = Document(file="load x", values={}, places={})
    found = settle(document, words, KNOBS)
    return dict(found.values), [str(mistake).removeprefix("load x: ") for mistake in document.mistakes]


@each(
    "word value",
    ("size=512MiB", 512 << 20),
    ("size=4 KiB", 4096),
    ("ops=2000000", 2_000_000),
    ("direct=true", True),
    ("direct=false", False),
    ("ratio=2", 2.0),
    ("ratio=1.5", 1.5),
    ("operations=write,read", ("write", "read")),
    ("operations=read", ("read",)),
    ("cpus=2", 2),
    ("cpus=0,1", (0, 1)),
    ("cpus=3,", (3,)),
    ("path=/a=b", "/a=b"),
    ("batches=7", 7),
)
def test_each_kind_of_value(word, value):
    assert settled(word) == ({word.partition("=")[0]: value}, [])


@each(
    "word mistake",
    ("size=4k", "found '4k' for 'size'; expected bytes"),
    ("size=4096", "found '4096' for 'size'; expected bytes"),
    ("ops=0", "found 0 for 'ops'; expected at least 1"),
    ("ops=-3", "found -3 for 'ops'; expected at least 1"),
    ("ops=1e6", "found '1e6' for 'ops'; expected a whole number"),
    ("direct=yes", "found 'yes' for 'direct'; expected true or false"),
    ("operations=raed", "expected one of read, write (did you mean 'read'?)"),
    ("cpus=all", "found 'all' for 'cpus'"),
    ("path=", "for 'path'; expected a path"),
    ("sise=1", "found unknown key 'sise'; expected one of"),
    ("sise=1", "(did you mean 'size'?)"),
    ("read", "found 'read'; expected KEY=VALUE, such as operations=read"),
    ("=5", "found '=5'; expected KEY=VALUE"),
)
def test_each_mistake_names_its_key(word, mistake):
    values, (told,) = settled(word)
    assert mistake in told
    assert values == {}


def test_all_mistakes_are_told_at_once():
    _, told = settled("size=4k", "ops=0", "ops=1", "foo", "bar=1", "direct=maybe")
    assert len(told) == 6


@given(st.sampled_from(sorted(KNOBS)), st.text(max_size=12))
def test_whatever_is_typed_is_a_value_or_a_refusal(name, text):
    found = resolve(KNOBS[name], raw(KNOBS[name], text))
    assert isinstance(found, Refusal) or json.dumps(found, default=list)


@given(st.integers(min_value=1, max_value=2**53))
def test_a_count_is_what_the_file_would_hold(number):
    assert settled(f"ops={number}")[0] == {"ops": number}
    assert settled(f"size={number} B")[0] == {"size": number}
