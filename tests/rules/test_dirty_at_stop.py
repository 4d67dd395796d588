"""D01: 128 MiB written in 0.108 s without a flush, then the same with the drain timed, then with fsync."""

from dataclasses import replace

import pytest

from assay.audit import judge
from assay.records import Claim, Durability, Fact, FactClass, Severity, State, Tier, VerdictState, When
from assay.rules.dirty_at_stop import RULE
from audit.case_builder import MIB, Made, Seen, but, case_of, experiment_of, observations_of, run_of
from stage.rows import each
from stage.said import ASKED, FAIL, INVALIDATES, NOT_ASKED, NOTES, PASS, UNVERIFIED, high, hold, low

STABLE = Claim(durability=Durability.STABLE_MEDIA)
UNSYNCED = Made(operation="write", count=128, seconds=0.108, claim=STABLE, seen=Seen(dirty_bytes=128 * MIB))


def judged(made):
    return RULE.check(case_of(made, "D01"))


def test_a_file_that_was_made_within_the_clock_had_nothing_dirty_before_it():
    case = case_of(UNSYNCED, "D01")
    late = tuple(replace(series, at_ns=series.at_ns[1:], value=series.value[1:]) for series in case.observations.series)
    finding = RULE.check(replace(case, observations=replace(case.observations, series=late)))
    assert (finding.state, finding.observed["dirty_bytes"]) == (State.FAIL, 128 * MIB)


def test_of_very_many_files_each_one_looked_at_stands_for_some():
    """256 of 1,280 files were looked at, and all that had been written to them was dirty."""
    case = case_of(but(UNSYNCED, dirty_bytes=128 * MIB // 5), "D01")
    key, value = "page_cache.sample.p", "256 of 1280, evenly spaced by name"
    sampled = Fact(host="local", when=When.BEFORE, key=key, value=value, fact_class=FactClass.NOISE)
    seen = replace(case.observations, facts=(*case.observations.facts, sampled))
    assert RULE.check(replace(case, observations=seen)).observed["dirty_share"] == pytest.approx(1, rel=1e-6)
    assert RULE.check(case).observed["dirty_share"] == pytest.approx(0.2, rel=1e-6)


def printed(*, dirty=256, held=256, drain_s=0.145, flushes=0, parse="dd", figure="bytes_per_s"):
    """dd of 256 MiB in 79 ms, as it prints it; `elapsed` and `observed` are figures that Assay itself counted."""
    moved, elapsed_ns = 256.0 * MIB, 79e6
    values = {"write.bytes_per_s": 3.4e9, "write.bytes": moved, "write.elapsed_ns": elapsed_ns}
    return Made(
        operation="write",
        seconds=0.08,
        claim=STABLE,
        drain_s=drain_s,
        figure=figure,
        knobs={"parse": parse},
        values=values,
        seen=Seen(dirty_bytes=dirty * MIB, flushes=flushes, lower_bytes=0, call_bytes=256 * MIB, cached_bytes=(0, held * MIB)),
    )


def test_what_a_tool_printed_is_the_page_caches_where_its_drain_changes_it():
    finding = judged(printed())
    assert (finding.state, finding.severity) == (State.FAIL, Severity.INVALIDATES)
    assert finding.relabel == "3.40 GB/s is the page cache's; 1.20 GB/s reached stable media"
    (verdict,) = judge.judge_run(experiment_of(printed()), run_of(printed()), observations_of(printed()))
    assert verdict.state is VerdictState.INVALID
    assert verdict.value == 3.4e9, "the figure that was printed is judged"
    assert verdict.corrected == pytest.approx(256 * MIB / (0.079 + 0.145)), "exact bytes over exact seconds"


@each(
    "made state severity",
    (printed(figure="elapsed_ns"), State.FAIL, Severity.INVALIDATES),
    (printed(drain_s=0.002), State.FAIL, Severity.NOTES),  # less than what matters
    (printed(parse="observed"), State.FAIL, Severity.NOTES),  # nobody printed it, and the drain is charged
    (printed(dirty=0, flushes=1), State.PASS, None),  # conv=fsync: the time of an empty flush is no correction
    (printed(dirty=0, held=0, flushes=1), State.FAIL, Severity.QUALIFIES),  # past the page cache, in the cache of the device
)
def test_a_correction_has_its_reason(made, state, severity):
    finding = judged(made)
    assert finding.state is state
    assert severity is None or finding.severity is severity
    (verdict,) = judge.judge_run(experiment_of(made), run_of(made), observations_of(made))
    assert (verdict.corrected is None) == (state is State.PASS)


def test_states():
    hold(
        ("unsynced write without a drain is invalid", judged(UNSYNCED), FAIL, INVALIDATES, "100 %", low(0)),
        "charged drain makes it a note with the durable bound",
        (judged(but(UNSYNCED, drain_s=1.2)), FAIL, NOTES, high(128 * MIB / 1.308), "1.20 s"),
        ("device claim needs it too", judged(but(UNSYNCED, claim=Claim(tier=Tier.DEVICE))), INVALIDATES),
        ("no claim makes it a note that says memory", judged(but(UNSYNCED, claim=Claim())), NOTES, "into memory"),
        ("synced write passes", judged(but(UNSYNCED, dirty_bytes=0, drain_s=0.001)), PASS),
        ("dirty image below a loop device counts", judged(but(UNSYNCED, dirty_bytes=0, backing_dirty_bytes=64 * MIB)), FAIL),
        "drain stands in where no pages were watched",
        (judged(but(UNSYNCED, dirty_bytes=None, drain_s=0.5)), PASS),
        (judged(but(UNSYNCED, dirty_bytes=None)), UNVERIFIED),
        "applies to what writes",
        (RULE.applies(case_of(Made(), "D01")), NOT_ASKED),
        (RULE.applies(case_of(Made(operation="create"), "D01")), NOT_ASKED),
        (RULE.applies(case_of(Made(operation="create", claim=STABLE), "D01")), ASKED),
    )
