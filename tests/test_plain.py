import json
from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay import plain, records
from assay.errors import DamagedError

TEXTS = st.text(max_size=8)
SCALARS = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS
FACTORS = st.builds(
    records.Factor,
    path=TEXTS,
    levels=st.lists(SCALARS | st.lists(TEXTS, max_size=2).map(tuple), max_size=4).map(tuple),
    change=st.sampled_from(records.Change),
    returns=st.integers(0, 3),
)
MEASURES = st.builds(
    records.Measure,
    workload=TEXTS,
    operation=TEXTS,
    figure=TEXTS,
    claim=st.builds(records.Claim, tier=st.sampled_from(records.Tier), regime=st.none() | st.sampled_from(records.Regime)),
)
EXPERIMENTS = st.builds(
    records.Experiment,
    title=TEXTS,
    question=TEXTS,
    targets=st.lists(
        st.builds(records.TargetSpec, name=TEXTS, kind=TEXTS, knobs=st.dictionaries(TEXTS, SCALARS, max_size=3), host=TEXTS),
        max_size=2,
    ).map(tuple),
    workloads=st.just(()),
    factors=st.lists(FACTORS, max_size=3).map(tuple),
    measures=st.lists(MEASURES, max_size=3).map(tuple),
    repeats=st.none() | st.integers(1, 9) | st.builds(records.Precision, half_width_share=st.floats(0.01, 0.5)),
    budget_ns=st.none() | st.integers(1, 2**62),
)


@given(EXPERIMENTS)
def test_an_experiment_comes_back_through_json(experiment: records.Experiment) -> None:
    text = json.dumps(plain.to_plain(experiment))
    assert plain.from_plain(records.Experiment, json.loads(text)) == experiment


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=5), st.lists(st.floats(allow_nan=False), max_size=5))
def test_arrays_keep_their_type(at: list[int], values: list[float]) -> None:
    series = records.Series(
        phase="p",
        source="s",
        layer="block",
        host="h",
        subject="device:x",
        metric="m",
        unit="ns",
        at_ns=array("q", at),
        value=array("d", values),
    )
    back = plain.from_plain(records.Series, plain.to_plain(series))
    assert back == series
    assert (back.at_ns.typecode, back.value.typecode) == ("q", "d")


def test_what_does_not_fit_is_named(subtests):
    for kind, value, names in [
        (records.Claim, {"tier": "disk"}, "disk"),
        (records.Claim, {"teir": "device"}, "teir"),
        (records.Factor, {"path": "x"}, "levels"),
        (records.Factor, {"path": 5, "levels": []}, "5"),
        (records.Experiment, [], "Experiment"),
        (records.Experiment, None, "Experiment"),
    ]:
        with subtests.test(kind=kind, value=value, names=names), pytest.raises(DamagedError, match=names):
            plain.from_plain(kind, value)
