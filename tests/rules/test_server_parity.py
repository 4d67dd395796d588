"""C02s: what D04, T09 and T02 found in the runs of two arms, held against each other."""

from dataclasses import replace

from assay.catalogue import find
from assay.records import Claim, Measure, Severity, State
from assay.rulekit.findings import found
from assay.rules.server_parity import RULE
from stage.comparison_cases import case as comparison
from stage.rows import each
from stage.said import FAIL, INVALIDATES, PASS, hold
from stage.server_cases import SERVER, served

UNKNOWN = State.UNVERIFIED
RULES = {
    "D04": find("rules", "server_acks_early"),
    "T09": find("rules", "protocol_client_cache"),
    "T02": find("rules", "server_page_cache"),
}


def finding(rule, state, **observed):
    return found(RULES[rule], served(rule), state, "said", observed=observed)


def case(baseline, candidate, compare="target", server=SERVER):
    """Both arms with these findings in each run."""
    one = comparison("C02s", lambda _trial: 1.0, compare=compare)
    arms, verdicts = {}, dict(one.verdicts)
    for name, said in (("baseline", baseline), ("candidate", candidate)):
        runs = []
        for run, seen in getattr(one, name):
            places = tuple(replace(place, server=server) for place in run.places) or (
                replace(served("D04").run.places[0], server=server),
            )
            runs.append((replace(run, places=places), seen))
            key = f"{run.trial.id:04d}/{run.attempt}"
            verdicts[key] = replace(verdicts[key], findings=tuple(said))
        arms[name] = tuple(runs)
    return replace(one, verdicts=verdicts, **arms)


def judged(baseline, candidate):
    one = case(baseline, candidate)
    assert RULE.applies(one) is None
    return RULE.check(one)


def test_a_server_that_acknowledges_early_is_not_compared_with_one_that_does_not():
    found_it = judged([finding("D04", PASS)], [finding("D04", FAIL)])
    assert (found_it.state, found_it.severity) == (FAIL, Severity.INVALIDATES)
    assert judged([finding("D04", FAIL)], [finding("D04", FAIL)]).state is PASS


def test_with_the_flush_of_both_ends_in_the_time_it_asks_what_was_stored_at_its_end():
    measure = Measure(workload="w", operation="put", figure="synced_bytes_per_s", claim=Claim())
    stored = replace(case([finding("D04", PASS)], [finding("D04", PASS)]), measure=measure)
    assert RULE.check(stored).state is PASS
    apart = replace(case([finding("D04", FAIL)], [finding("D04", PASS)]), measure=measure)
    found_it = RULE.check(apart)
    assert (found_it.state, found_it.severity) == (FAIL, Severity.INVALIDATES)


@each("ratio state", (1.04, PASS), (1.2, FAIL), (0.5, PASS))
def test_clients_that_ask_less_often(ratio, state):
    assert judged([finding("T09", PASS, ratio=1.0)], [finding("T09", PASS, ratio=ratio)]).state is state


def test_a_server_that_remembers_more_qualifies():
    found_it = judged([finding("T02", PASS, hit_share=0.0)], [finding("T02", FAIL, hit_share=0.9)])
    assert (found_it.state, found_it.severity) == (FAIL, Severity.QUALIFIES)
    assert judged([finding("T02", PASS, hit_share=0.01)], [finding("T02", FAIL, hit_share=0.05)]).state is PASS


def test_what_one_arm_does_not_tell_is_unverified():
    assert judged([finding("D04", UNKNOWN)], [finding("D04", FAIL)]).state is UNKNOWN
    assert judged([], []).state is UNKNOWN


def test_it_is_not_asked_without_servers_nor_where_the_setting_is_the_factor():
    assert RULE.applies(case([], [], server=None)) == "the targets name no server"
    owner = comparison("C02s", lambda _trial: 1.0).experiment.targets[0].name
    assert "is the factor" in RULE.applies(case([], [], compare=f"{owner}.variables.sync"))


def test_states():
    hold(
        "the worst difference decides and all are told",
        (
            judged(
                [finding("D04", PASS), finding("T02", PASS, hit_share=0.0)],
                [finding("D04", FAIL), finding("T02", FAIL, hit_share=1.0)],
            ),
            INVALIDATES,
            "T02",
        ),
    )
