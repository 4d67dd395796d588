from dataclasses import replace

from assay import catalogue
from assay.records import Severity, State, WorkloadSpec
from stage import notebook_records as made
from stage.comparison_cases import case
from stage.rows import each
from stage.said import NOT_ASKED, PASS, hold

RULE = catalogue.find("rules", "relative_only")


def reading(pattern, figure="spool.create.count", **knobs):
    """A case whose numbers a regular expression reads in what an external tool says."""
    found = case("S12", lambda t: 100.0 + t.id, measure=figure, blocks=3)
    spec = WorkloadSpec(name="spool", kind="command", knobs={"parse": "regex", "pattern": pattern, **knobs})
    return replace(found, experiment=replace(found.experiment, workloads=(spec,)))


@each("pattern", r"([0-9.]+)x", r"([0-9.]+)\s*×", r"(\d+) ?%", r"speedup: ([0-9.]+)", r"([0-9.]+) times", r"Score = (\d+)")
def test_a_number_that_is_relative_already_is_a_note(pattern):
    finding = RULE.check(reading(pattern))
    assert (finding.state, finding.severity) == (State.FAIL, Severity.NOTES)


@each("pattern", r"did (\d+) operations", r"(\d+) xattrs", r"(\d+) extents", r"files=(\d+)", r"max (\d+) ops")
def test_a_number_of_things_passes(pattern):
    assert RULE.check(reading(pattern)).state is State.PASS


def test_a_figure_that_nobody_knows_has_no_unit():
    found = case("S12", lambda t: 7.0, blocks=3)
    unknown = replace(found, measure=replace(found.measure, figure="goodness"))
    finding = RULE.check(unknown)
    assert finding.state is State.FAIL
    assert "no unit" in finding.statement


def test_states():
    hold(
        "a figure with a unit says on what it stands",
        (RULE.check(case("S12", lambda t: 100.0 + t.id, measure=made.RATE, blocks=3)), PASS, "102"),
        ("equal runs have one value", RULE.check(case("S12", lambda t: 5e6, measure=made.LATENCY, blocks=1)), "5 ms"),
        "a number with a unit is not asked for its expression",
        (RULE.check(reading(r"([0-9.]+) MB/s, 3x faster", figure="spool.create.bytes_per_s", unit="MB/s")), PASS),
        "an arm without runs is not judged",
        (RULE.applies(replace(case("S12", lambda t: 1.0, blocks=3), candidate=())), NOT_ASKED),
    )
