"""What observing changes in a load: pairs really run, the order drawn by lot, the answer by two one-sided tests."""

import json
import random

import pytest

from assay.errors import UsageError
from assay.laboratory.gate import BAD_VERDICT, Gate
from assay.records import Conclusion
from assay.selftest import Request
from assay.selftest import observers as paired
from stage.rows import each

SHORT = {"a short load": ('kind = "null"\nduration = "1 s"', "null")}


@each(
    "slower spread conclusion",
    (0.0, 0.005, (Conclusion.EQUIVALENT,)),
    (0.012, 0.002, (Conclusion.IMMATERIAL, Conclusion.EQUIVALENT)),
    (0.10, 0.01, (Conclusion.MATTERS,)),
    (0.0, 0.30, (Conclusion.UNDECIDED,)),
)
def test_the_interval_of_the_pairs_decides(slower, spread, conclusion):
    drawn = random.Random(7)
    without = [1e6 * drawn.uniform(0.5, 2) for _ in range(12)]
    watched = [rate * (1 - slower) * (1 + drawn.uniform(-spread, spread)) for rate in without]
    ratio, found = paired.compared(without, watched)
    assert found in conclusion
    assert ratio.low <= 1 - slower <= ratio.high
    assert ratio.n == 12


def test_two_pairs_at_the_least_have_an_interval_and_three_are_asked_for():
    with pytest.raises(UsageError, match="at least 3") as told:
        paired.chosen("block,blok", 2)
    assert "'blok'" in str(told.value), "every mistake at once"
    assert "tracepoints" not in paired.chosen("all", paired.PAIRS)


def test_pairs_are_really_run_and_said(capsys, monkeypatch):
    monkeypatch.setattr(paired, "LOADS", SHORT)
    assert paired.measure_observers(Request(json_to="-"), "cpu,pressure", 3) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["schema"], told["observers"], told["margin"]) == ("assay.selftest-observers/1", ["cpu", "pressure"], 0.02)
    assert [one["figure"] for one in told["loads"]] == ["operations per second", "CPU time per operation"]
    load = told["loads"][0]
    assert load["low"] <= load["ratio"] <= load["high"]
    assert (load["pairs"], load["confidence"]) == (3, 0.95)
    assert load["cpu_share"] >= 0


def test_a_ratio_beyond_the_margin_closes_the_gate(capsys, monkeypatch):
    rates = iter((100, 200, 101, 203, 99, 199, 102, 204) * 3)

    def once(experiment):
        rate = next(rates)
        return paired.Once(rate=50.0 + rate / 100 if experiment.observers else 100.0 + rate / 100, cpu_ns=None, cpu_share=0.001)

    monkeypatch.setattr(paired, "LOADS", SHORT)
    monkeypatch.setattr(paired, "once", once)
    assert paired.measure_observers(Request(gate=Gate.ON), "cpu", 5) == BAD_VERDICT
    said = capsys.readouterr().out
    assert said.startswith("with cpu: operations per second x 0.5")
    assert "beyond the margin" in said
