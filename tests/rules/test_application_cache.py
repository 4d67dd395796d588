"""T10: one key over all keys, as a rate and as a time, and where nobody repeats."""

from dataclasses import replace

from assay.records import Claim, State, Tier, WorkloadSpec
from assay.rules.application_cache import RULE
from audit.case_builder import Made, case_of
from stage.rows import each
from stage.said import FAIL, NOTES, PASS, QUALIFIES, UNVERIFIED, hold
from stage.server_cases import served

DEVICE = Claim(tier=Tier.DEVICE)


def case(times, figure="ops_per_s", claim=DEVICE, own=1000.0, **made):
    """A read, and the same with one key that was so many times as large a figure."""
    found = served("T10", claim=claim, figure=figure, values={f"read.{figure}": own}, **made)
    again = replace(found.phase, name="again", workload="same", values={f"read.{figure}": own * times} if times else {})
    same = WorkloadSpec(name="same", kind="command", knobs={"variables.same_key_of": "w"})
    experiment = replace(found.experiment, workloads=(*found.experiment.workloads, same))
    return replace(found, run=replace(found.run, phases=(found.phase, again)), experiment=experiment)


def judged(*args, **kwargs):
    one = case(*args, **kwargs)
    assert RULE.applies(one) is None
    return RULE.check(one)


@each("times state", (0.5, State.PASS), (1.1, State.PASS), (1.3, State.UNVERIFIED))
def test_what_makes_no_difference_passes_and_a_little_is_too_little_to_tell(times, state):
    assert judged(times).state is state


def test_it_is_asked_of_reads_that_are_repeated_and_not_of_the_repetition():
    assert RULE.applies(served("T10")) == "no workload repeats it with one key"
    assert RULE.applies(case_of(Made(claim=DEVICE), "T10")) == "no workload repeats it with one key"
    assert RULE.applies(served("T10", claim=DEVICE, operation="write")) == "neither a read nor a search"
    one = case(2.0)
    one = replace(one, measure=replace(one.measure, workload="same"))
    assert RULE.applies(one) == "the repetition with one key itself"


def test_states():
    hold(
        "one key that is answered faster shows a cache",
        (judged(3.0), FAIL, QUALIFIES, "3.0"),
        (judged(3.0, claim=Claim()), NOTES),
        "of a time less is faster",
        (judged(1 / 3, figure="elapsed_ns", own=1e9), FAIL),
        (judged(3.0, figure="elapsed_ns", own=1e9), PASS),
        ("without its figure it is unverified", judged(None), UNVERIFIED),
        ("a claim of the servers storage is told how to ask", RULE.check(served("T10", claim=DEVICE)), UNVERIFIED),
    )
