"""E03: a device that others use: little is taken off, much switches to an account of our own, or leaves it open."""

from dataclasses import replace

from assay.evidence import ladder
from assay.records import Claim, Direction, Durability, Rung, Span, State, Tier
from assay.rules.attribution import RULE
from audit.case_builder import MIB, SECOND, Made, Seen, but, case_of, gauge
from stage.rows import each
from stage.said import FAIL, NOTES, PASS, UNVERIFIED, hold

DEVICE = Claim(tier=Tier.DEVICE)
READS = Made(claim=DEVICE, seen=Seen(storage_bytes=256 * MIB, lower_bytes=256 * MIB))
"""256 MiB in a second; a quiet second before."""


def judged(made, **changes):
    return RULE.check(case_of(but(made, **changes), "E03"))


@each("before", 2 * MIB, 12 * MIB)
def test_a_little_of_others_is_taken_off(before):
    found = judged(READS, before_bytes=before)
    assert (found.state, found.observed["own_bytes"]) == (State.PASS, 256 * MIB - before)


@each("knobs flushed state", ({}, False, State.UNVERIFIED), ({}, True, State.FAIL), ({"direct": True}, False, State.FAIL))
def test_the_processes_account_of_writes_counts_where_they_were_written_at_once(knobs, flushed, state):
    assert judged(READS, operation="write", before_bytes=40 * MIB, knobs=knobs, flush_in_clock=flushed).state is state


def test_the_group_of_the_trial_goes_before_the_processes():
    case = case_of(but(READS, before_bytes=40 * MIB), "E03")
    moved = gauge("cgroup", "cgroup:/assay/trial-1-abc123 device:vda", "read_bytes", (0.0, 250.0 * MIB), 1.0)
    other = gauge("cgroup", "cgroup:/assay/trial-2-abc123 device:vda", "read_bytes", (0.0, 9.0 * MIB), 1.0)
    seen = replace(case.observations, series=(*case.observations.series, moved, other))
    found = RULE.check(replace(case, observations=seen))
    assert (found.observed["account"], found.observed["account_bytes"]) == ("the account of the trial's control group", 250 * MIB)


@each("claim devices applies", (DEVICE, ("vda",), True), (Claim(), ("vda",), False), (DEVICE, (), False))
def test_it_applies_where_a_device_is_claimed_and_there_is_one(claim, devices, applies):
    made = but(READS, claim=claim, devices=devices or ("vda",))
    case = case_of(made, "E03")
    run = replace(case.run, places=tuple(replace(place, devices=devices) for place in case.run.places))
    assert (RULE.applies(replace(case, run=run)) is None) is applies
    assert RULE.applies(replace(case, claim=Claim(durability=Durability.STABLE_MEDIA))) is None


def test_the_idle_baseline_of_the_next_phase_counts_as_well():
    case = case_of(but(READS, before_bytes=40 * MIB), "E03")
    (before,) = case.observations.rung("p", Rung.LOWEST_DEVICE, Direction.READ, Span.BEFORE)
    later = [
        replace(before, phase=phase, bytes=amount, from_ns=at * SECOND, to_ns=(at + 1) * SECOND)
        for phase, amount, at in (("next", 0, 2), ("third", 900 * MIB, 5), ("former", 900 * MIB, -9))
    ]
    seen = replace(case.observations, readings=(*case.observations.readings, *later))
    step = ladder.lowest_device(case.phase, seen, Direction.READ)
    assert step.other_processes_bytes == 20 * MIB


def test_states():
    hold(
        "a device of our own passes",
        (RULE.check(case_of(but(READS, before_bytes=1), "E03")), PASS, {"own_bytes": 256 * MIB - 1}),
        "much of others switches to the account of the processes",
        (
            judged(READS, before_bytes=40 * MIB, lower_bytes=296 * MIB),
            FAIL,
            NOTES,
            {"account": "the account of its processes (/proc/PID/io)"},
            {"account_bytes": 256 * MIB},
        ),
        ("without another account it is not known", judged(READS, before_bytes=40 * MIB, storage_bytes=None), UNVERIFIED),
        ("an unwatched device is not known", RULE.check(case_of(READS, "E03")), UNVERIFIED),
    )
