"""L20: reads and writes of a tool that waited for its own flushes, counted by the device."""

from dataclasses import replace

from assay.records import Claim, Direction, Durability, Rung, Tier
from assay.rules.flush_time import RULE
from audit.case_builder import Made, case_of, gauge, reading
from stage.said import ASKED, FAIL, NOT_ASKED, NOTES, PASS, QUALIFIES, UNVERIFIED, hold
from stage.time_cases import counted, course, series

TOLD = {"read.ops_per_s": 400.0, "fsync.ops_per_s": 100.0}
DEVICE, MEDIA = Claim(tier=Tier.DEVICE), Claim(durability=Durability.STABLE_MEDIA)


def case(busy_ms=300.0, flushes=100, values=TOLD, operation="read", claim=DEVICE, ticks=True):
    """A tool that ran for a second, on a device that completed so many flushes in so much time."""
    found = case_of(Made(operation=operation, figure="ops_per_s", values=dict(values), claim=claim), "L20")
    series = [gauge("block", "device:vda", "flushes", (0, flushes), 1.0)]
    series += [gauge("block", "device:vda", "flush_ticks", (0, busy_ms), 1.0)] if ticks else []
    passed = reading(Rung.LOWEST_DEVICE, "device:vda", Direction.FLUSH, (None, flushes))
    seen = found.observations
    return replace(found, observations=replace(seen, series=(*seen.series, *series), readings=(*seen.readings, passed)))


def judged(**how):
    return RULE.check(case(**how))


def test_states():
    write = {"write.ops_per_s": 200.0, "fsync.ops_per_s": 100.0}
    hold(
        ("300 ms of a second", judged(), FAIL, QUALIFIES, "30 % of the time in fsync", {"flush_share": 0.3}),
        ("49 ms do not matter", judged(busy_ms=49.0), PASS),
        ("50 ms do", judged(busy_ms=50.0), FAIL),
        "of 1,000 flushes in 400 ms a hundred are the tool's",
        (judged(busy_ms=400.0, flushes=1000), PASS, {"flush_share": 0.04}),
        ("of flushes the tool says more than there were", judged(busy_ms=300.0, flushes=10), FAIL, {"flush_share": 0.3}),
        "writes that claim stable media have to be flushed",
        (judged(values=write, operation="write", claim=MEDIA), FAIL, NOTES),
        (judged(values=write, operation="write", claim=DEVICE), FAIL, QUALIFIES),
        ("a kernel that does not count their time", judged(ticks=False), UNVERIFIED),
        "it is about tools that tell how often they flushed",
        (RULE.applies(case()), ASKED),
        (RULE.applies(case(values={"read.ops_per_s": 400.0})), NOT_ASKED),
        (RULE.applies(case(values={"fsync.ops_per_s": 100.0}, operation="flush")), NOT_ASKED),
        (RULE.applies(case(values={})), NOT_ASKED),
    )


def looked_at(share, run=1, operation="write", claim=DEVICE):
    """A tool that does not tell its flushes, and was seen in them."""
    one = case(values={f"{operation}.ops_per_s": 400.0}, operation=operation, claim=claim)
    states = {("dd", "flush"): share, ("dd", "running"): 1 - share}
    seen = replace(one.observations, series=(*one.observations.series, *series(1.0, load=counted(course(states, run=run)))))
    return replace(one, observations=seen)


def test_of_a_tool_that_does_not_tell_its_flushes_looks_at_its_threads_tell():
    hold(
        (RULE.applies(looked_at(0.4)), ASKED),
        (RULE.check(looked_at(0.4)), FAIL, QUALIFIES, "40 % of the time in flushes"),
        (RULE.check(looked_at(0.4, claim=MEDIA)), FAIL, NOTES),
        ("less than its error leaves", RULE.check(looked_at(0.06)), PASS),
        ("one flush at the end is no flush each", RULE.check(looked_at(0.5, run=200)), PASS),
    )
