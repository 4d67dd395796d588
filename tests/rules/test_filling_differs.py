"""W10c: arms that were equally full, and a new one against one in use."""

from dataclasses import replace

from assay.records import Fact, FactClass, Factor, Observations, State, When
from assay.rules.filling_differs import RULE
from stage.noise_cases import comparison_case, run
from stage.rows import each

TARGET = Factor(path="target", levels=("a", "b"))


def ran(value):
    facts = (
        ()
        if value is None
        else (Fact(host="local", when=When.BEFORE, key="filesystem.free_share", value=value, fact_class=FactClass.NOISE),)
    )
    return run(), Observations(facts=facts)


def case(baseline, candidate):
    return comparison_case("W10c", TARGET, [ran(each) for each in baseline], [ran(each) for each in candidate])


@each(
    "baseline candidate state",
    (["0.5", "0.51"], ["0.49", "0.5"], State.PASS),
    (["0.98", "0.97"], ["0.3", "0.31"], State.FAIL),
    (["0.98", "0.97", "0.1"], ["0.96", "0.95", "0.96"], State.PASS),
    (["0.5", None], ["0.5", "0.5"], State.UNVERIFIED),
    ([None], ["0.5"], State.UNVERIFIED),
    (["?"], ["0.5"], State.UNVERIFIED),
)
def test_the_medians_of_the_arms(baseline, candidate, state):
    assert RULE.check(case(baseline, candidate)).state is state


def test_what_is_declared_to_follow_is_not_judged():
    made = case(["0.9"], ["0.1"])
    assert RULE.applies(made) is None
    assert RULE.applies(replace(made, experiment=replace(made.experiment, implied=("filesystem.*",)))) is not None
