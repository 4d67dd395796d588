from dataclasses import replace

import pytest

import notebook_records as made
from assay import catalogue
from assay.records import Severity, State, WorkloadSpec
from comparison_cases import case

RULE = catalogue.find("rules", "relative_only")


def reading(pattern, figure="spool.create.count", **knobs):
    """A case whose numbers a regular expression reads in what an external tool says."""
    found = case("S12", lambda t: 100.0 + t.id, measure=figure, blocks=3)
    spec = WorkloadSpec(name="spool", kind="command", knobs={"parse": "regex", "pattern": pattern, **knobs})
    return replace(found, experiment=replace(found.experiment, workloads=(spec,)))


def test_a_figure_with_a_unit_says_on_what_it_stands():
    finding = RULE.check(case("S12", lambda t: 100.0 + t.id, measure=made.RATE, blocks=3))
    assert finding.state is State.PASS
    assert finding.statement == "Absolute values: 102/s to 106/s of ext4 (3 runs); 101/s to 105/s of xfs (3 runs)."


def test_equal_runs_have_one_value():
    finding = RULE.check(case("S12", lambda t: 5e6, measure=made.LATENCY, blocks=1))
    assert finding.statement == "Absolute values: 5 ms of ext4 (1 run); 5 ms of xfs (1 run)."


@pytest.mark.parametrize(
    "pattern", [r"([0-9.]+)x", r"([0-9.]+)\s*×", r"(\d+) ?%", r"speedup: ([0-9.]+)", r"([0-9.]+) times", r"Score = (\d+)"]
)
def test_a_number_that_is_relative_already_is_a_note(pattern):
    finding = RULE.check(reading(pattern))
    assert (finding.state, finding.severity) == (State.FAIL, Severity.NOTES)
    assert "reads a relative number" in finding.statement


@pytest.mark.parametrize(
    "pattern", [r"did (\d+) operations", r"(\d+) xattrs", r"(\d+) extents", r"files=(\d+)", r"max (\d+) ops"]
)
def test_a_number_of_things_passes(pattern):
    assert RULE.check(reading(pattern)).state is State.PASS


def test_a_number_with_a_unit_is_not_asked_for_its_expression():
    assert RULE.check(reading(r"([0-9.]+) MB/s, 3x faster", figure="spool.create.bytes_per_s", unit="MB/s")).state is State.PASS


def test_a_figure_that_nobody_knows_has_no_unit():
    found = case("S12", lambda t: 7.0, blocks=3)
    unknown = replace(found, measure=replace(found.measure, figure="goodness"))
    finding = RULE.check(unknown)
    assert finding.state is State.FAIL
    assert "no unit" in finding.statement


def test_an_arm_without_runs_is_not_judged():
    assert "no valid run" in RULE.applies(replace(case("S12", lambda t: 1.0, blocks=3), candidate=()))
