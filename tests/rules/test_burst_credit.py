"""W03: a rate that fell once and stayed low, one that came back, drifts, noise, bursts that are claimed."""

import random
from array import array
from dataclasses import replace

import pytest

from assay.records import Claim, LoadTotal, Regime, Severity, State
from assay.rules.burst_credit import RULE
from audit.case_builder import Made, case_of, progress
from stage.rows import each
from stage.said import FAIL, INVALIDATES, UNVERIFIED, high, hold, low


def case(amounts, *, figure="ops_per_s", regime=None):
    """A client that did so many operations in each tenth of a second."""
    made = Made(count=sum(amounts), record_bytes=4096, seconds=len(amounts) / 10, figure=figure, claim=Claim(regime=regime))
    told = [progress(f"read.{metric}", [each * one for one in amounts], 0.1) for metric, each in (("count", 1), ("bytes", 4096))]
    found = case_of(made, "W03")
    return replace(found, observations=replace(found.observations, series=tuple(told)))


def levels(*stretches, noise=0.03, seed=1):
    chance = random.Random(seed)
    return [max(1, round(chance.gauss(level, noise * level))) for level, tenths in stretches for _ in range(tenths)]


def test_the_credit_of_a_rate_of_bytes_is_told_in_bytes():
    found = RULE.check(case(levels((200, 6), (50, 8), noise=0.0), figure="bytes_per_s"))
    assert (found.state, found.severity, found.relabel) == (State.FAIL, Severity.NOTES, None)
    assert "3.69 MB" in found.statement


@each("amounts", levels((100, 20)), levels((110, 10), (100, 10)), levels((50, 8), (200, 8)), levels((200, 4), (50, 4), (200, 8)))
def test_what_does_not_fall_once_passes(amounts):
    assert RULE.check(case(amounts)).state is State.PASS


def test_noise_is_no_credit():
    """One part in ten of noise makes a level of five parts once in some thousands: of 2,000 series none here."""
    found = [RULE.check(case(levels((100, 30), noise=0.1, seed=seed))).state for seed in range(4000, 6000)]
    assert found.count(State.FAIL) == 0


def test_what_is_not_judged():
    amounts = levels((200, 6), (50, 8))
    assert RULE.applies(case(amounts)) is None
    assert "is claimed" in (RULE.applies(case(amounts, regime=Regime.BURST)) or "")
    assert "no rate" in (RULE.applies(case(amounts, figure="latency_p99_ns")) or "")
    one = case(amounts)
    load = LoadTotal(late=0, unstarted=0, backlog_max_ns=0)
    opened = replace(one.phase, clients=tuple(replace(client, load=load) for client in one.phase.clients))
    assert "schedule" in (RULE.applies(replace(one, phase=opened)) or "")
    assert "external" in (RULE.applies(case_of(Made(values={"read.bytes": 1.0}), "W03")) or "")


def tool(rises, *, says=None, figure="bytes_per_s", layer="network", direction="send"):
    """An external tool that moved so many MB in each tenth of a second, by the counters of an interface or of its process."""
    total = sum(rises)
    values = {f"{direction}.bytes": (total if says is None else says) * 1e6, f"{direction}.{figure}": total * 1e7 / len(rises)}
    found = case_of(Made(operation=direction, seconds=len(rises) / 10, figure=figure, values=values), "W03")
    found = replace(found, value=values[f"{direction}.{figure}"])
    metric = {"network": "tx_bytes", "process": f"{direction}_bytes"}[layer]
    subject = {"network": "interface:eth0", "process": "pid:7"}[layer]
    told = progress("read.bytes", [one * 1e6 for one in rises], 0.1)
    start = array("q", (0, *told.at_ns)), array("d", (0.0, *told.value))
    seen = replace(told, layer=layer, subject=subject, metric=metric, at_ns=start[0], value=start[1])
    return replace(found, observations=replace(found.observations, series=(seen,)))


def test_the_mean_of_a_tool_is_of_neither_level():
    """30 MB in the first tenth of a second and 0.2 MB in each of the 20 that follow: 28.5 MB came on credit."""
    finding = RULE.check(tool([30.0, *[0.2] * 20]))
    assert (finding.state, finding.severity) == (State.FAIL, Severity.QUALIFIES)
    assert finding.bound.low == pytest.approx(2e6, rel=0.2)  # 0.2 MB in a tenth of a second
    assert finding.bound.high > 100e6
    assert "a burst, then a lower rate" in finding.relabel


def test_a_burst_that_passed_before_the_first_look_under_the_clock():
    """Nobody looked between 0.5 s before and 0.5 s after the start: all that passed then passed after the start."""
    found = tool([30.0, *[0.2] * 20])
    (seen,) = found.observations.series
    late = replace(seen, at_ns=array("q", (-500_000_000, *seen.at_ns[5:])), value=array("d", (0.0, *seen.value[5:])))
    finding = RULE.check(replace(found, observations=replace(found.observations, series=(late,))))
    assert (finding.state, finding.severity) == (State.FAIL, Severity.QUALIFIES)


def test_a_level_of_a_tool_that_lasts_for_a_while():
    finding = RULE.check(tool([*[4.0] * 8, *[1.0] * 12], layer="process", direction="read"))
    assert (finding.state, finding.severity) == (State.FAIL, Severity.QUALIFIES)
    assert finding.bound.low == pytest.approx(10e6, rel=0.1)
    assert finding.bound.high == pytest.approx(40e6, rel=0.1)


@each(
    "rises",
    [1.0] * 20,
    [*[1.5] * 10, *[1.0] * 10],
    [3.0, *[1.0] * 19],
    [0.0, 0.5, *[1.0] * 18],
    [*[1.0] * 15, *[0.0] * 5],
    [*[1.0] * 8, *[3.0] * 12],
)
def test_a_tool_whose_rate_did_not_fall_to_less_than_half(rises):
    assert RULE.check(tool(rises)).state is State.PASS


def test_what_a_process_dirties_is_no_course_of_its_writes():
    """dd with conv=fsync: into memory at first, then as fast as the disk."""
    dirtied = tool([*[4.0] * 8, *[1.0] * 12], layer="process", direction="write")
    assert "is not known" in (RULE.applies(dirtied) or "")


def test_counters_that_saw_other_bytes_tell_nothing_of_a_tool():
    falls = [30.0, *[0.2] * 20]
    assert RULE.check(tool(falls, says=15.0)).state is State.UNVERIFIED
    assert RULE.check(tool(falls, says=90.0)).state is State.UNVERIFIED
    assert RULE.check(tool([30.0, *[0.2] * 5])).state is State.UNVERIFIED


def test_states():
    hold(
        "a steady rate on credit is a burst",
        (
            RULE.check(case(levels((200, 6), (50, 8)), regime=Regime.STEADY)),
            FAIL,
            INVALIDATES,
            {"at_s": 0.6},
            {"ratio": pytest.approx(4, rel=0.1)},
            low(pytest.approx(500, rel=0.1)),
            high(pytest.approx(2000, rel=0.1)),
        ),
        ("too few points are unverified", RULE.check(case(levels((200, 3), (50, 3)))), UNVERIFIED),
    )
