from dataclasses import replace

import pytest

import notebook_records as made
from assay import catalogue
from assay.records import EndpointKind, Fact, FactClass, Observations, Place, Severity, State, TargetSpec, When
from comparison_cases import case

RULE = catalogue.find("rules", "one_level_repeated")


def saying(found, **facts):
    """The case with facts of each run: key -> what it says for a run; `target` stands for a dot's first part."""

    def seen(run):
        said = {key.replace("__", "."): tell(run.trial) for key, tell in facts.items()}
        return Observations(
            facts=tuple(
                Fact(host="local", when=When.BEFORE, key=key, value=value, fact_class=FactClass.IDENTITY)
                for key, value in said.items()
            )
        )

    arms = {name: tuple((run, seen(run)) for run, _ in getattr(found, name)) for name in ("baseline", "candidate")}
    return replace(found, **arms)


def built(blocks=6):
    return case("S10", lambda t: 100.0 + t.id % 3, blocks=blocks)


def of_its_own(levels_of_each):
    """Each arm has so many boots of its own, by turns."""
    return lambda trial: f"{trial.levels['target']}-{trial.block % levels_of_each}"


def test_arms_of_one_boot_pass():
    finding = RULE.check(saying(built(), host__boot=lambda t: "one"))
    assert finding.state is State.PASS
    assert finding.statement == "Set-ups by arm: boot 1 and 1, in common."


@pytest.mark.parametrize(("boots", "state"), [(1, State.FAIL), (2, State.FAIL), (3, State.PASS), (6, State.PASS)])
def test_arms_of_boots_of_their_own_need_three(boots, state):
    found = saying(built(), host__boot=of_its_own(boots))
    finding = RULE.check(found)
    assert finding.state is state
    if state is State.FAIL:
        assert finding.severity is Severity.QUALIFIES
        assert finding.bound.low == found.comparison.ratio.low
        assert f"boot: {boots} of the baseline, {boots} of the candidate" in finding.statement


def test_a_target_that_was_made_once_for_one_arm():
    makings = lambda t: "kept" if t.levels["target"] == "xfs" else f"{t.id}"  # noqa: E731
    finding = RULE.check(saying(built(), host__boot=lambda t: "one", target__made=makings))
    assert finding.state is State.FAIL
    assert "set-up: 6 of the baseline, 1 of the candidate" in finding.statement
    assert finding.observed["boot.baseline"] == 1


def test_a_target_that_both_arms_share_drops_out():
    assert RULE.check(saying(built(), target__made=lambda t: "kept")).state is State.PASS


def test_a_loop_file_system_is_made_for_every_trial():
    found = built()
    asked = replace(found.experiment, targets=tuple(TargetSpec(name=level, kind="loopfs") for level in ("ext4", "xfs")))

    def placed(arm):
        place = lambda run: Place(  # noqa: E731
            target=str(run.trial.levels["target"]), host="local", kind=EndpointKind.DIRECTORY, address="/t"
        )
        return tuple((replace(run, places=(place(run),)), seen) for run, seen in arm)

    on_loops = replace(found, experiment=asked, baseline=placed(found.baseline), candidate=placed(found.candidate))
    finding = RULE.check(on_loops)
    assert finding.state is State.PASS
    assert finding.statement.endswith("set-up 6 and 6.")


def test_one_run_of_each_arm_repeats_nothing():
    assert RULE.check(saying(built(blocks=1), host__boot=of_its_own(1))).state is State.PASS


def test_runs_that_tell_nothing_are_not_judged():
    assert "unknown" in RULE.applies(built())
    assert "no valid run" in RULE.applies(replace(built(), candidate=()))


def test_a_run_that_does_not_tell_leaves_its_level_out():
    found = saying(built(), host__boot=of_its_own(1))
    run, _ = found.candidate[0]
    silent = replace(found, candidate=((run, Observations()), *found.candidate[1:]))
    assert RULE.applies(silent) is not None


def test_the_measure_does_not_matter():
    assert RULE.applies(saying(case("S10", lambda t: 5.0, measure=made.LATENCY), host__boot=lambda t: "one")) is None
