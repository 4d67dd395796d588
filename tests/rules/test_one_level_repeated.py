from dataclasses import replace

from assay import catalogue
from assay.records import EndpointKind, Fact, FactClass, Observations, Place, Severity, State, TargetSpec, When
from stage import notebook_records as made
from stage.comparison_cases import case
from stage.rows import each
from stage.said import ASKED, FAIL, NOT_ASKED, PASS, hold

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


@each("boots state", (1, State.FAIL), (2, State.FAIL), (3, State.PASS), (6, State.PASS))
def test_arms_of_boots_of_their_own_need_three(boots, state):
    found = saying(built(), host__boot=of_its_own(boots))
    finding = RULE.check(found)
    assert finding.state is state
    if state is State.FAIL:
        assert finding.severity is Severity.QUALIFIES
        assert finding.bound.low == found.comparison.ratio.low
        assert f"boot: {boots} of the baseline, {boots} of the candidate" in finding.statement


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


def test_a_run_that_does_not_tell_leaves_its_level_out():
    found = saying(built(), host__boot=of_its_own(1))
    run, _ = found.candidate[0]
    silent = replace(found, candidate=((run, Observations()), *found.candidate[1:]))
    assert RULE.applies(silent) is not None


def test_states():
    hold(
        ("arms of one boot pass", RULE.check(saying(built(), host__boot=lambda t: "one")), PASS),
        "a target that was made once for one arm",
        (
            RULE.check(
                saying(
                    built(),
                    host__boot=lambda t: "one",
                    target__made=lambda t: "kept" if t.levels["target"] == "xfs" else f"{t.id}",
                )
            ),
            FAIL,
            {"boot.baseline": 1},
        ),
        ("a target that both arms share drops out", RULE.check(saying(built(), target__made=lambda t: "kept")), PASS),
        ("one run of each arm repeats nothing", RULE.check(saying(built(blocks=1), host__boot=of_its_own(1))), PASS),
        "runs that tell nothing are not judged",
        (RULE.applies(built()), NOT_ASKED),
        (RULE.applies(replace(built(), candidate=())), NOT_ASKED),
        "the measure does not matter",
        (RULE.applies(saying(case("S10", lambda t: 5.0, measure=made.LATENCY), host__boot=lambda t: "one")), ASKED),
    )
