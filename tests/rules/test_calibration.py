from dataclasses import replace

from assay import catalogue
from assay.records import Change, Fact, FactClass, Observations, Severity, State, When
from stage import notebook_records as made
from stage.comparison_cases import case
from stage.rows import each
from stage.said import ASKED, FAIL, NOT_ASKED, PASS, UNVERIFIED, hold

RULE = catalogue.find("rules", "calibration")
MODEL = "xfs"
"""The level whose runs are those of a model; the other is what was measured."""


def saying(fitted=None, data=None, **shape):
    """A comparison whose runs say what they were fitted on, and which data they are."""
    built = case("S13", lambda t: 100.0 + t.id % 3, **shape)

    def seen(run):
        tell, key = (fitted, "fitted_on") if run.trial.levels["target"] == MODEL else (data, "data")
        value = tell(run.trial) if tell else None
        facts = () if value is None else (fact(f"target.{key}", value),)
        return Observations(facts=facts)

    arms = {name: tuple((run, seen(run)) for run, _ in getattr(built, name)) for name in ("baseline", "candidate")}
    experiment = made.experiment(change=shape.get("change", Change.AUTOMATIC))
    return replace(built, experiment=experiment, **arms)


def fact(key, value):
    return Fact(host="local", when=When.BEFORE, key=key, value=value, fact_class=FactClass.IDENTITY)


def measured(found):
    return [str(run.trial.id) for run, _ in found.baseline]


def test_a_model_tested_on_its_own_data_is_a_fit():
    finding = RULE.check(saying(fitted=lambda t: "hour-1, hour-2", data=lambda t: f"hour-{t.block}"))
    assert (finding.state, finding.severity) == (State.FAIL, Severity.INVALIDATES)
    assert "2 of 6" in finding.statement
    assert finding.relabel == "a fit, not a prediction"
    assert finding.observed == {"tests": 6, "tests_on_fitted_data": 2}


@each("form", "{}", "{:04d}")
def test_trials_are_known_by_their_numbers(form):
    all_trials = " ".join(form.format(int(one)) for one in measured(saying()))
    assert RULE.check(saying(fitted=lambda t: all_trials)).state is State.FAIL


def test_states():
    hold(
        "comparisons without a model are none of its business",
        (RULE.applies(saying()), NOT_ASKED),
        (RULE.applies(saying(fitted=lambda t: "a")), ASKED),
        "a model tested on other data predicts",
        (RULE.check(saying(fitted=lambda t: "hour-11 hour-12", data=lambda t: f"hour-{t.block}")), PASS),
        "leaving each block out in turn is no mistake",
        (
            RULE.check(
                saying(
                    fitted=lambda t: " ".join(
                        name
                        for block, name in {run.trial.block: str(run.trial.id) for run, _ in saying().baseline}.items()
                        if block != t.block
                    )
                )
            ),
            PASS,
        ),
        "arms in sittings of their own are held against all",
        (
            RULE.check(saying(fitted=lambda t: "hour-0", data=lambda t: f"hour-{t.block}", change=Change.MANUAL)),
            FAIL,
            {"tests": 36},
            {"tests_on_fitted_data": 6},
        ),
        "a model that nothing is held against cannot be judged",
        (RULE.check(replace(saying(fitted=lambda t: "a"), baseline=())), UNVERIFIED),
    )
