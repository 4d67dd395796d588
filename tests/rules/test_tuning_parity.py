import dataclasses

import pytest

from assay.records import Factor, Observations, Severity, State, TargetSpec
from assay.rules.tuning_parity import RULE
from noise_cases import comparison_case, run

TARGET = Factor(path="target", levels=("a", "b"))
SIZE = {"filesystem": "ext4", "size": 1 << 30}


def judged(a, b, *factors, within=None, kind="loopfs"):
    """The finding on two targets with these knobs, at these levels of the other factors."""
    case = comparison_case("C03", TARGET, [(run(), Observations())], [(run(), Observations())])
    targets = (TargetSpec(name="a", kind=kind, knobs=a), TargetSpec(name="b", kind=kind, knobs=b))
    return RULE.check(
        dataclasses.replace(
            case,
            experiment=dataclasses.replace(case.experiment, targets=targets, factors=(TARGET, *factors)),
            comparison=dataclasses.replace(case.comparison, within=within or {}),
        )
    )


def test_two_systems_as_they_come_pass_whatever_they_are():
    finding = judged(SIZE, {**SIZE, "filesystem": "xfs", "size": 2 << 30, "limit.read_ops_per_s": 400})
    assert finding.state is State.PASS
    assert "0 changed from their defaults, 1 setting tried" in finding.statement


def test_options_on_one_side_alone_are_a_note_counted_one_by_one():
    finding = judged({**SIZE, "mount_options": ("noatime", "data=writeback")}, SIZE)
    assert (finding.state, finding.severity) == (State.FAIL, Severity.NOTES)
    assert "a: 2 changed from their defaults (mount_options noatime, mount_options data=writeback)" in finding.statement


def test_the_best_of_many_against_what_was_never_tuned_qualifies():
    tried = Factor(path="a.mount_options", levels=((), ("noatime",), ("nobarrier",)))
    finding = judged(SIZE, SIZE, tried, within={"a.mount_options": ("noatime",)})
    assert (finding.state, finding.severity) == (State.FAIL, Severity.QUALIFIES)
    assert finding.observed["baseline_tried"] == 3
    assert finding.relabel == "comparison of a tuned a with an untuned b"
    assert judged(SIZE, SIZE, tried, within={"a.mount_options": ()}).state is State.PASS, "left as it comes"


def test_the_same_effort_on_both_sides_passes():
    tried = [Factor(path=f"{name}.mount_options", levels=((), ("noatime",), ("lazytime",))) for name in ("a", "b")]
    within = {"a.mount_options": ("noatime",), "b.mount_options": ("lazytime",)}
    assert judged(SIZE, SIZE, *tried, within=within).state is State.PASS


@pytest.mark.parametrize(("level", "state"), [("off", State.PASS), ("on", State.FAIL)])
def test_a_free_variable_counts_at_any_level_but_the_first(level, state):
    tried = Factor(path="b.variables.cache", levels=("off", "half", "on"))
    knobs = {"path": "/x", "prepare": ("mkdir", "{path}"), "variables.cache": "off", "variables.port": "22"}
    assert judged({"path": "/y"}, knobs, tried, within={"b.variables.cache": level}, kind="commands").state is state


def test_settings_of_one_system_are_what_is_compared():
    case = comparison_case("C03", Factor(path="disk.mount_options", levels=((), ("noatime",))), [], [])
    assert "the factor is" in str(RULE.applies(case))
    stray = comparison_case("C03", TARGET, [], [])
    assert RULE.check(stray).state is State.UNVERIFIED
