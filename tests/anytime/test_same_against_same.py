"""The same compared with itself: counting on made-up outcomes, the words of the call, some really run."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.experiment import plan, read
from assay.laboratory.gate import BAD_VERDICT, Gate
from assay.records import Change, Comparison, Conclusion, Estimate, Experiment, Measure, Method
from assay.selftest import same
from assay.selftest.same import Compared, SameResults
from stage.assay_process import Bench
from stage.rows import each

ASKED = Experiment(
    title="t",
    question="",
    targets=(),
    workloads=(),
    factors=(),
    measures=(Measure(workload="w", operation="create", figure="ops_per_s"),),
)
RATIO = Estimate(value=1.1, low=1.02, high=1.19, confidence=0.95, unit="ratio", n=5, method=Method.PAIRED_GEOMETRIC)
DIFFERENT = Comparison(
    measure="w.create.ops_per_s",
    factor="target",
    baseline="a",
    candidate="b",
    within={},
    ratio=RATIO,
    conclusion=Conclusion.MATTERS,
    matters_share=0.01,
    detectable_share=0.1,
    provable_share=0.2,
)
OPEN = replace(DIFFERENT, ratio=replace(RATIO, value=1.0, low=0.9, high=1.1), conclusion=Conclusion.UNDECIDED)
FALSE_ALARM = Compared(
    kind="files", number=7, comparison=DIFFERENT, experiment=ASKED, rules=frozenset({"S04"}), arms=({"1/1": 1.0, "2/1": 1.5},)
)
RIGHT = Compared(kind="files", number=1, comparison=OPEN, arms=({"1/1": 1.0, "2/1": 1.2},))
LOST = Compared(kind="reads", number=2, failed="the run failed")
OUTCOMES = st.lists(st.sampled_from([FALSE_ALARM, RIGHT, RIGHT, LOST, replace(RIGHT, kind="reads")]), max_size=40)


@given(OUTCOMES)
def test_counts_by_kind_add_up_and_what_has_no_interval_is_not_counted(compared):
    told = SameResults(compared=tuple(compared), blocks=5)
    found = same.plain(told)
    assert found["compared"] == len(compared) - compared.count(LOST) == sum(kind["compared"] for kind in found["kinds"])
    assert found["not_compared"] == compared.count(LOST)
    assert found["matters"] == found["without_one"] == compared.count(FALSE_ALARM)
    assert found["matters"] + found["equivalent"] + found["undecided"] == found["compared"]
    json.dumps(found)


def test_the_answer_comes_first_with_the_exact_interval_and_every_false_alarm_is_told():
    told = SameResults(compared=(RIGHT,) * 98 + (FALSE_ALARM, FALSE_ALARM), blocks=5)
    lines = same.text(told).splitlines()
    assert lines[0].startswith("false alarms: 2 of 100 comparisons (95 % CI")
    assert "0.2 % to 7 %" in lines[0]
    assert "not shown to be exceeded" in lines[0]
    assert lines[2].startswith("files, number 7: w create: operations per second: b is faster: 1.10 times the rate of a (")
    assert lines[2].endswith(" [UNVERIFIED, S04]")
    assert lines[-1] == "failed rules in 100 comparisons: S04 2"


@each(
    "alarms gate status said",
    (0, Gate.STRICT, 0, "limit of both 5 %: met"),
    (4, Gate.STRICT, 0, "not shown to be exceeded"),
    (6, Gate.ON, 0, "not shown to be exceeded"),
    (6, Gate.STRICT, BAD_VERDICT, "not shown to be exceeded"),
    (12, Gate.ON, BAD_VERDICT, "limit of both 5 %: exceeded"),
    (12, Gate.OFF, 0, "limit of both 5 %: exceeded"),
)
def test_the_gate_closes_where_more_are_told_apart_than_chance_explains(alarms, gate, status, said):
    told = SameResults(compared=(FALSE_ALARM,) * alarms + (RIGHT,) * (100 - alarms), blocks=5)
    assert same.status(told, gate) == status
    assert said in same.answer(told)


def test_nothing_compared_is_no_success():
    told = SameResults(compared=(LOST, LOST), blocks=5, complete=False)
    text = same.text(told)
    assert text.startswith("no comparison finished; interrupted")
    assert "reads: not compared: the run failed (2 times)" in text


@pytest.mark.parametrize("name", same.KINDS)
def test_the_arms_differ_in_nothing_but_their_name(name, tmp_path):
    first, second = (read.parse(same.experiment_text(name, seed, tmp_path), "same") for seed in (1, 2))
    one, other = first.targets
    assert replace(one, name=other.name) == other
    (factor,) = first.factors
    assert (factor.path, factor.change, len(first.measures)) == ("target", Change.AUTOMATIC, 1)
    orders = [[trial.levels["target"] for trial in plan.plan(made).trials] for made in (first, second)]
    assert orders[0] != orders[1] or first.seed != second.seed


def test_every_mistake_of_the_call(tmp_path):
    bench = Bench(tmp_path)
    done = bench.run("selftest", "--same", "0")
    assert (done.returncode, "found --same 0; expected 1 or more" in done.stderr) == (2, True)
    done = bench.run("selftest", "--same", "3", "--audit", "--times", "2")
    assert (done.returncode, "--times, --audit with --same" in done.stderr) == (2, True)


def test_one_is_really_run_the_ordinary_way(tmp_path):
    bench = Bench(tmp_path)
    done = bench.run("selftest", "--same", "1", "--json", env=bench.environment(TMPDIR=str(tmp_path)))
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    (each,) = found["each"]
    for arm, left_out in zip(each["arms"], each["left_out"], strict=True):
        assert len({run.partition("/")[0] for run in (*arm, *left_out)}) == same.BLOCKS, (
            "each trial counts, or it is told why not"
        )
        assert len({run.partition("/")[0] for run in arm}) == len(arm)
        assert all(left_out.values())
    assert found["schema"] == f"assay.{same.VERB}/1"
    assert (found["compared"], found["not_compared"]) == ((1, 0) if each["failed"] is None else (0, 1))
    if each["failed"] is None:
        assert each["ratio"]["low"] <= each["ratio"]["value"] <= each["ratio"]["high"]
    else:  # of two pairs of runs that noise does not spoil there is no interval
        assert min(map(len, each["arms"])) < same.BLOCKS
    assert bench.traces() == []
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("assay-selftest-")] == []
