"""W07: what was dirty, written or cached before the clock started."""

from array import array
from dataclasses import replace

from assay.audit import limits
from assay.records import (
    CacheState,
    Claim,
    Direction,
    HostRole,
    Observations,
    PhaseHost,
    Reading,
    Regime,
    Rung,
    Series,
    Span,
    State,
)
from assay.rules.carry_over import RULE
from audit.case_builder import Made, case_of
from stage.rows import each
from stage.said import FAIL, PASS, UNVERIFIED, hold

MIB = 1 << 20
SECOND = 10**9
THRESHOLDS = {"dirty_share": 0.01, "write_rate_share": 0.01, "least_dirty_bytes": 4 * MIB, "least_written_bytes": MIB // 4}


def gauge(metric, value):
    return Series(
        phase="p",
        source="memory:/proc/meminfo",
        layer="memory",
        host="local",
        subject="",
        metric=metric,
        unit="bytes",
        at_ns=array("q", [-SECOND // 4, -SECOND // 100, SECOND]),
        value=array("d", [0, value, 900 * MIB]),
    )


def written(moved, span=Span.BEFORE):
    return Reading(
        phase="p",
        rung=Rung.LOWEST_DEVICE,
        source="block:/proc/diskstats",
        host="local",
        subject="device:vda",
        direction=Direction.WRITE,
        bytes=moved,
        operations=1,
        from_ns=-SECOND // 4 if span is Span.BEFORE else 0,
        to_ns=0 if span is Span.BEFORE else SECOND,
        span=span,
    )


def judged(made=None, dirty=0, writeback=0, before=0, share=0.0, proved=CacheState.COLD, **case_more):
    """256 MiB read in one second, after what the arguments say."""
    case = case_of(made or Made(operation="read", claim=Claim(regime=Regime.COLD)), "W07")
    series = () if dirty is None else (gauge("dirty_bytes", dirty), gauge("writeback_bytes", writeback))
    readings = () if before is None else (written(before),)
    phase = replace(case.phase, hosts=(PhaseHost(host="local", cached_share_before=share, cache_proved=proved),))
    case = replace(
        case, phase=phase, observations=Observations(readings=readings, series=series), thresholds=THRESHOLDS, **case_more
    )
    reason = RULE.applies(case)
    return State.NOT_APPLICABLE if reason else RULE.check(case)


@each(
    "more words",
    ({"dirty": 5 * MIB}, "dirty or in write-back"),
    ({"writeback": 5 * MIB}, "dirty or in write-back"),
    ({"before": 2 * MIB}, "by something else (limit "),
    ({"share": 1.0, "proved": CacheState.WARM}, "100 % of the data files in memory (cold caches claimed)"),
    ({"share": 0.4, "proved": None}, "40 % of the data files"),
)
def test_each_thing_left_over_fails_and_says_which(more, words):
    finding = judged(**more)
    assert finding.state is State.FAIL
    assert words in finding.statement
    assert finding.advice
    assert finding.alternatives


def test_all_that_is_wrong_is_said_at_once():
    finding = judged(dirty=50 * MIB, before=9 * MIB, share=1.0, proved=CacheState.WARM)
    assert finding.statement.count(";") == 2


def test_a_large_phase_allows_a_hundredth_of_its_bytes():
    big = Made(operation="read", count=2048, seconds=8.0, claim=Claim(regime=Regime.COLD))
    assert judged(big, dirty=19 * MIB).state is State.PASS
    assert judged(big, dirty=21 * MIB).state is State.FAIL


@each(
    "claim proved state",
    (Claim(regime=Regime.WARM), CacheState.WARM, State.PASS),
    (Claim(regime=Regime.WARM), CacheState.COLD, State.FAIL),
    (Claim(regime=Regime.BURST), CacheState.WARM, State.PASS),
    (Claim(), CacheState.WARM, State.PASS),
)
def test_caches_are_held_against_the_claim_only(claim, proved, state):
    share = 1.0 if proved is CacheState.WARM else 0.0
    assert judged(Made(operation="read", claim=claim), share=share, proved=proved).state is state


def test_phases_that_are_not_measured_are_not_judged():
    case = case_of(Made(), "W07")
    assert RULE.applies(replace(case, phase=replace(case.phase, measured=False)))


def test_what_touches_no_storage_is_not_judged():
    case = case_of(Made(), "W07")
    idle = replace(case, phase=replace(case.phase, directions={}))
    assert RULE.applies(idle) == "no storage in this phase"
    external = replace(idle, phase=replace(idle.phase, values={"command.elapsed_ns": 1.0}))
    assert RULE.applies(external) is None, "what a command moves is not known"


def test_its_thresholds_are_those_of_the_audit():
    assert limits.thresholds("W07").keys() == THRESHOLDS.keys()


@each("share proved state", (0.0, CacheState.COLD, State.PASS), (0.9, None, State.FAIL), (None, None, State.PASS))
def test_on_the_targets_own_host_it_is_the_servers_files_that_must_be_cold(share, proved, state):
    """Where it is not known T02 judges what the server read."""
    case = case_of(Made(operation="read", claim=Claim(regime=Regime.COLD)), "W07")
    hosts = (PhaseHost(host="c.1", cached_share_before=0.0), PhaseHost(host="s", server_cached_before=share, cache_proved=proved))
    seen = Observations(readings=(written(0),), series=(gauge("dirty_bytes", 0), gauge("writeback_bytes", 0)))
    case = replace(case, phase=replace(case.phase, hosts=hosts), observations=seen, thresholds=THRESHOLDS)
    assert RULE.check(replace(case, host="s", role=HostRole.TARGET)).state is state


def test_states():
    hold(
        "a quiet cold start passes",
        (judged(), PASS),
        (judged(dirty=3 * MIB, before=200_000), PASS),
        "writing is weighed against the rate of the phase",
        (judged(Made(operation="read", count=8, seconds=4.0, claim=Claim(regime=Regime.COLD)), before=MIB // 2), FAIL),
        (judged(before=MIB // 2), PASS),
        "writes do not claim a state of the files they make",
        (judged(Made(operation="write", claim=Claim(regime=Regime.COLD)), share=1.0, proved=CacheState.WARM), PASS),
        "what nobody saw is unverified",
        (judged(dirty=None), UNVERIFIED),
        (judged(before=None), UNVERIFIED),
        (judged(share=None, proved=None), UNVERIFIED),
        ("a failure outweighs what is not known", judged(before=None, dirty=50 * MIB), FAIL),
        "a place without devices has no device to be written",
        (
            judged(
                Made(operation="read"),
                before=None,
                run=replace(
                    case_of(Made(operation="read"), "W07").run,
                    places=tuple(replace(place, devices=()) for place in case_of(Made(operation="read"), "W07").run.places),
                ),
            ),
            PASS,
        ),
    )
