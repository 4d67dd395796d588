import dataclasses

from assay.records import Claim, Measure, Observations, OperationTotal, Printed, State, WorkloadSpec
from assay.rules.reproducible_verdict import RULE
from stage.noise_cases import phase, run, trial_case
from stage.rows import each
from stage.said import FAIL, NOTES, PASS, UNVERIFIED, hold

KNOBS = {"argv": ("tool",), "parse": "regex", "pattern": r"rate (\d+)", "unit": "MB/s", "operation": "write"}


def case(printed=None, values=None, *, figure="bytes_per_s", knobs=KNOBS):
    """A run of a command that reported `values`, of which each client printed one of these."""
    bare = phase()
    total = OperationTotal(operation="command", count=1, bytes=0, errors=0, busy_ns=10**9, first_ns=0, last_ns=10**9)
    clients = tuple(
        dataclasses.replace(bare.clients[0], index=index, operations=(total,), printed=one)
        for index, one in enumerate(printed or [None])
    )
    made = trial_case("E06", run(of=dataclasses.replace(bare, values=values or {}, clients=clients)), Observations())
    spec = WorkloadSpec(name="w", kind="command", knobs=knobs)
    measure = Measure(workload="w", operation="write", figure=figure, claim=Claim())
    return dataclasses.replace(made, measure=measure, experiment=dataclasses.replace(made.experiment, workloads=(spec,)))


def said(text, errors="", cut=False):
    return Printed(stdout=text, stderr=errors, cut=cut)


def test_a_knob_that_a_level_set_is_used():
    made = case([said("rate 100 speed 7")], {"write.bytes_per_s": 7e6})
    levels = {"w.pattern": r"speed (\d+)"}
    trial = dataclasses.replace(made.run.trial, levels=levels)
    assert RULE.check(dataclasses.replace(made, run=dataclasses.replace(made.run, trial=trial))).state is State.PASS


@each("change", {"value": None}, {"figure": "@local.cpu_share"}, {"target": "stat"})
def test_what_is_no_figure_of_a_lab_is_not_judged(change):
    made = case(figure=change.get("figure", "bytes_per_s"))
    assert RULE.applies(made) is None or "figure" in change
    if "target" in change:
        places = tuple(dataclasses.replace(place, target="stat") for place in made.run.places)
        made = dataclasses.replace(made, run=dataclasses.replace(made.run, places=places))
    if "value" in change:
        made = dataclasses.replace(made, value=None)
    assert RULE.applies(made) is not None


def test_states():
    hold(
        ("a figure is read again and is the same", RULE.check(case([said("rate 100\n")], {"write.bytes_per_s": 1e8})), PASS),
        "several commands add up and standard error is read too",
        (RULE.check(case([said("rate 100"), said("", "rate 50")], {"write.bytes_per_s": 1.5e8})), PASS),
        "a result that was not kept is a note with the reason",
        (RULE.check(case([said("....", cut=True)], {"write.bytes_per_s": 1e8})), FAIL, NOTES),
        "another reading of the same output is told with both figures",
        (RULE.check(case([said("rate 100")], {"write.bytes_per_s": 1e6, "write.count": 7.0})), FAIL),
        "output that was not kept leaves it open and our own engines pass",
        (RULE.check(case(None, {"write.bytes_per_s": 1e8})), UNVERIFIED),
        (RULE.check(case()), PASS),
    )
