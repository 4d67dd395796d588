"""Where evidence comes from, in words: every finding of a rule that reads something names it, and says how to get what lacks."""

from assay import catalogue
from assay.audit.judge import examine
from assay.evidence import sources
from assay.records import Claim, Durability, Scope, State, Tier
from audit.case_builder import MIB, Made, Seen, but, case_of
from stage.rows import each
from stage.traced_cases import traced

DEVICE, STABLE = Claim(tier=Tier.DEVICE), Claim(durability=Durability.STABLE_MEDIA)
READ = Made(operation="random_read", claim=DEVICE, seen=Seen(storage_bytes=256 * MIB, lower_bytes=256 * MIB))
WRITTEN = Made(operation="write", claim=STABLE, seen=Seen(flushes=3, lower_bytes=256 * MIB, dirty_bytes=0), drain_s=0.1)
OF_TIERS = [
    rule
    for rule in (catalogue.find("rules", name) for name in catalogue.names("rules"))
    if rule.id[0] in "TD" and rule.id[1:].isdigit() and rule.scope is Scope.TRIAL
]


def judged(rule, case):
    return examine(next(one for one in OF_TIERS if one.id == rule), case)


@each("rule", *OF_TIERS)
def test_every_rule_of_tiers_and_durability_says_what_it_looks_at_in_words_of_its_own(rule):
    assert rule.reads, "it names the evidence that it looks at"
    for key in rule.reads:
        assert sources.of(key).words != key, f"{key} has no words at its observer"


def test_every_observers_evidence_that_rules_read_is_given_by_somebody():
    given = {key for name in catalogue.names("observers") for key in catalogue.find("observers", name).gives}
    read = {key for rule in OF_TIERS for key in rule.reads if not key.startswith("fact:")}
    assert {key for key in read - given if sources.of(key) not in sources.UNOBSERVED} == set()


def test_a_pass_names_the_file_or_call_that_told_it():
    finding = judged("T08", case_of(READ, "T08"))
    assert finding.state is State.PASS
    assert "L2 process counters: bytes read from storage (/proc/PID/io)" in finding.evidence


def test_tracepoints_are_named_where_they_were_there():
    case = traced(case_of(READ, "T08"), {("added_bytes", "path:/f"): 256 * MIB})
    assert any(told.startswith("tracepoints: pages that came into memory") for told in judged("T08", case).evidence)
    assert not any("tracepoints" in told for told in judged("T08", case_of(READ, "T08")).evidence)


def test_who_cannot_tell_says_how_to_get_what_lacks_and_why_it_was_not_there():
    made = but(READ, storage_bytes=None, missing={"L2.read": "observer process_io failed: no such file"})
    finding = judged("T08", case_of(made, "T08"))
    assert finding.state is State.UNVERIFIED
    assert "process_io failed: no such file), needs a kernel with task I/O accounting" in finding.advice
    assert "the package bpftrace" in finding.advice
    assert finding.observers == ("tracepoints",), "the rest of the missing evidence needs no request"
    assert judged("T08", case_of(READ, "T08")).observers == ()
    finding = judged("D02", case_of(but(WRITTEN, flushes=None), "D02"))
    assert (finding.state, "Linux 5.5" in finding.advice) == (State.UNVERIFIED, True)


def test_a_stack_of_one_device_lacks_nothing_above_it():
    busy = case_of(but(WRITTEN, before_flushes=50), "D02")
    finding = judged("D02", busy)
    assert finding.state is State.UNVERIFIED
    assert "L8" not in finding.advice
    assert "L8" in judged("D02", case_of(but(WRITTEN, flushes=None), "D02")).advice


def test_what_is_not_judged_names_nothing():
    finding = judged("D02", case_of(READ, "D02"))
    assert (finding.state, finding.evidence, finding.advice) == (State.NOT_APPLICABLE, (), None)
