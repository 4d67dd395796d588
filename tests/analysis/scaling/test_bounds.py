"""Bounds, knees, saturation and objectives of closed systems whose demands are known, by exact mean value analysis."""

import re
from dataclasses import replace

import numpy as np
import pytest

from assay.analysis.capacities import described
from assay.analysis.cells import cells
from assay.analysis.scaling.bounds import bounded, bounds, crossing_of
from assay.analysis.scaling.law import judged, scaling
from assay.analysis.scaling.use import along
from assay.answer.wording.scaling import statement
from assay.records import (
    Action,
    Capacity,
    CapacitySource,
    Event,
    Fact,
    FactClass,
    Factor,
    Observations,
    Requirement,
    RequirementKind,
    ScalingKind,
    VerdictState,
    When,
)
from stage import notebook_records as made
from stage.closed_system import (
    CORE,
    DEVICE,
    KNEE,
    LATENCY,
    NUMBERS,
    PROCESSORS,
    RATE,
    RECORD,
    SPEED,
    evidence,
    system,
    throughput,
)
from stage.mix_cases import S, gauge, rising
from stage.rows import each
from stage.sizes import chance, few_and_many


def said(one):
    return statement(made.experiment(), one)


def of(kind, found):
    return [one for one in found if one.kind is kind]


def test_the_bounds_are_those_of_the_demands():
    (curve,) = along(*system(noise=0.0))
    device, processor = bounds(curve)
    assert device.use.capacity == Capacity(resource="device_write", amount=20e6, source=CapacitySource.LIMIT, name="loop0")
    assert described(device.use.capacity) == "the 20 MB/s written to loop0"
    assert device.rate.value == pytest.approx(1 / DEVICE, rel=1e-3)
    assert processor.rate.value == pytest.approx(PROCESSORS / CORE, rel=1e-3)
    assert described(processor.use.capacity) == "the 4 CPUs of the host"
    assert all(rate < device.rate.value for rates in curve.rates.values() for rate in rates)
    assert crossing_of(curve, device).value == pytest.approx(KNEE, rel=1e-3)


def test_the_knee_and_the_saturation_of_the_named_device_are_told():
    found = bounded(*system())
    (knee,) = of(ScalingKind.KNEE, found)
    assert knee.at.low <= KNEE <= knee.at.high
    assert "beyond it the bound is the 20 MB/s written to loop0, 2,4" in said(knee)
    (full,) = of(ScalingKind.SATURATION, found)
    assert "use of the 20 MB/s written to loop0 reaches 90 % at" in said(full)
    true = next(n for n in range(1, 17) if throughput(n) * DEVICE >= 0.9)
    assert true - 1 <= full.at.value <= true + 1, "the means are joined by straight lines"
    assert full.at.low <= full.at.value <= full.at.high


@few_and_many("sets", 50, 200)
def test_the_interval_of_the_knee_holds_the_truth_as_often_as_it_says(sets):
    """Nominal 95 %, made-up experiments of five trials each."""
    held = 0
    for seed in range(sets):
        (curve,) = along(*system(noise=0.03, seed=seed, numbers=(1, 16)))
        knee = crossing_of(curve, bounds(curve)[0])
        held += knee.low <= KNEE <= knee.high
    assert 0.95 - max(0.05, chance(0.05, sets)) <= held / sets <= (0.99 if sets == 200 else 1)


def test_without_a_knee_the_fullest_resource_is_told_and_none_without_one_alone():
    found = bounded(*system(numbers=(2, 3)))
    (full,) = of(ScalingKind.SATURATION, found)
    assert full.at is None
    assert "loop0 stays below 90 % up to 3 clients" in said(full)
    assert of(ScalingKind.KNEE, bounded(*system(numbers=(2, 4, 8)))) == []
    found = bounded(*system(numbers=(1, 2, 3)))
    (knee,) = of(ScalingKind.KNEE, found)
    assert knee.at is None
    assert re.search(r"the knee would be at 3\.9\d* \(.*\) clients: not in the measured range, 1 to 3", said(knee))
    assert re.search(r"written to loop0 \(6\d(\.\d)? % used\)", said(knee))
    assert of(ScalingKind.SATURATION, found) == [], "the knee says it"


def test_a_rate_far_below_every_bound_is_held_back_by_something_else():
    """A lock that lets through half of what the device would: the demands are the same, the rate is not."""
    asked, runs, *_ = system(noise=0.005)
    slowed = [made.judged(one.run, {name: min(verdict.value, 900.0) for name, verdict in one.verdicts.items()}) for one in runs]
    halved = {one.id: evidence(one.verdicts[RATE].value, one.verdicts[RATE].value * RECORD) for one in slowed}
    table = cells(asked, made.plan(asked, 5), slowed, halved.get)
    (knee,) = of(ScalingKind.KNEE, bounded(asked, slowed, table, halved.get))
    assert knee.at is None, "the resources that are known do not make this curve bend"
    assert "an unlisted limit (a path, a lock, a journal, a queue) holds it back. 16 clients do 900/s" in said(knee)
    assert "the listed resources allow 2,0" in said(knee)
    assert "The knee of these resources alone would be at 3." in said(knee)


FRAME, SEGMENT = 38, 1462
OF_A_WAY = {"bytes_per_s": SPEED, "frame_bytes": FRAME}
STATED = {f"target.path.wan.{way}.{name}": value for way in ("up", "down") for name, value in OF_A_WAY.items()}


def over_a_path(carried, facts):
    """What was seen of clients on a path whose line delivered so many bytes/s to the server, with its framing."""
    segments = carried / (SEGMENT + FRAME)
    counts = {"delivered_bytes": segments * SEGMENT, "delivered_segments": segments, "segments": segments}
    ways = {"up": counts, "down": dict.fromkeys(counts, 1.0)}
    series = [
        rising("line", metric, found.get(metric, 0.0), f"line:wan.{way}")
        for way, found in ways.items()
        for metric in (*counts, "dropped_segments", "lost_segments")
    ]
    known = [
        Fact(host="local", when=When.BEFORE, key=key, value=str(value), fact_class=FactClass.PERFORMANCE)
        for key, value in {"target.line": "wan", **facts}.items()
    ]
    return Observations(series=tuple(series), facts=tuple(known))


def on_a_path(facts=STATED, slowed=1.0):
    """The system whose disk is a path of the same speed, without any other evidence."""
    asked, runs, *_ = system(noise=0.005)
    runs = [made.judged(one.run, {name: min(v.value, slowed * 2441) for name, v in one.verdicts.items()}) for one in runs]
    seen = {one.id: over_a_path(one.verdicts[RATE].value * RECORD, facts) for one in runs}
    return asked, runs, cells(asked, made.plan(asked, 5), runs, seen.get), seen.get


def test_an_emulated_path_is_a_resource_with_its_stated_rate():
    found = bounded(*on_a_path())
    (knee,) = of(ScalingKind.KNEE, found)
    assert "beyond it the bound is the path wan (160 Mbit/s to the server), 2,4" in said(knee)
    assert knee.at.low <= KNEE <= knee.at.high
    (full,) = of(ScalingKind.SATURATION, found)
    assert "use of the path wan (160 Mbit/s to the server) reaches 90 % at" in said(full)
    (knee,) = of(ScalingKind.KNEE, bounded(*on_a_path(slowed=0.4)))
    assert "an unlisted limit (a lock, a journal, a queue) holds it back. 16 clients do" in said(knee), said(knee)
    assert re.search(r"by the path wan \(160 Mbit/s to the server\) \((39|40)(\.\d)? % used\)", said(knee)), said(knee)
    assert bounded(*on_a_path({})) == ()
    asked, *rest = on_a_path()
    (load,) = asked.workloads
    slower = Event(phase="random_mix", at_ns=0, on="wan", action=Action.RATE)
    assert bounded(replace(asked, workloads=(replace(load, events=(slower,)),)), *rest) == ()


@each("seed", *range(8))
def test_a_system_of_nothing_but_its_resources_is_held_back_by_nothing_else(seed):
    (knee,) = of(ScalingKind.KNEE, bounded(*system(noise=0.05, seed=seed)))
    assert "holds it back" not in said(knee)


def test_no_knee_is_told_where_one_alone_is_slower_than_its_share():
    asked, runs, *_ = system(noise=0.005)
    slowed = [
        made.judged(one.run, {RATE: one.verdicts[RATE].value * (0.5 if one.run.trial.levels["clients"] == 1 else 1)})
        for one in runs
    ]
    seen = {one.id: evidence(one.verdicts[RATE].value, one.verdicts[RATE].value * RECORD) for one in slowed}
    (knee,) = of(ScalingKind.KNEE, bounded(asked, slowed, cells(asked, made.plan(asked, 5), slowed, seen.get), seen.get))
    assert knee.at is None
    assert "2 clients do more than 2 times as much as 1 client: no knee follows" in said(knee)


def test_what_is_written_after_the_clock_counts_and_a_limit_that_was_not_in_force_bounds_nothing():
    found = bounded(*system(scale=3.0, late=0.8))
    (knee,) = of(ScalingKind.KNEE, found)
    assert "rates above it did not last" in said(knee)
    (knee,) = of(ScalingKind.KNEE, bounded(*system(scale=6.0, late=0.9)))
    assert knee.at is None
    assert re.search(r"1 client alone uses 1\d\d % of the 20 MB/s written to loop0: no knee from 1 to 16", said(knee))
    # A throttle gives credit at first: in a short trial more passes it while the clock runs than it allows.
    found = bounded(*system(scale=3.0))
    (credit,) = of(ScalingKind.SATURATION, found)
    assert credit.at is None
    assert re.search(r"(29|30)\d % of the 20 MB/s written to loop0 passed while the clock ran", said(credit))
    assert of(ScalingKind.KNEE, found) == [], "what held it back is not known"


@each(
    "bound at text",
    (2e6, True, r"<= 2 ms is kept up to \d"),
    (1e9, False, "is kept at all numbers from 1 to 16 clients: its end is not in the measured range"),
    (1e5, False, "is kept at none of the numbers from 1 to 16 clients"),
)
def test_up_to_where_an_objective_is_kept(bound, at, text):
    asked = Requirement(measure=LATENCY, kind=RequirementKind.AT_MOST, bound=bound, text="<= 2 ms")
    (one,) = of(ScalingKind.OBJECTIVE, bounded(*system(requirements=(asked,))))
    assert re.search(text, said(one)), said(one)
    assert (one.at is not None) is at
    if at:
        true = next(
            n / 100 for n in range(100, 1601) if np.interp(n / 100, NUMBERS, [k / throughput(k) * 1e9 for k in NUMBERS]) > bound
        )
        assert one.at.low - 0.05 <= true <= one.at.high + 0.05


def test_a_least_rate_or_nobody_who_watched_gives_no_answer():
    asked = Requirement(measure=RATE, kind=RequirementKind.AT_LEAST, bound=1500.0, text=">= 1500 /s")
    (one,) = of(ScalingKind.OBJECTIVE, bounded(*system(requirements=(asked,))))
    assert one.at is None
    assert "no simple answer" in said(one)
    asked, runs, table, _ = system()
    assert bounded(asked, runs, table, lambda run: Observations()) == ()
    other = replace(asked, factors=(Factor(path="mix.record_size", levels=(1, 2)),))
    assert bounded(other, runs, table, lambda run: Observations()) == ()


def test_a_disk_that_is_used_up_is_no_peak():
    """The rates bend sharply and never fall; by its form alone Gunther's law would claim a peak."""
    for seed in range(8):
        asked, _, table, _ = system(seed=seed)
        laws = [one for one in scaling(asked, table, ()) if one.measure == RATE]
        assert [one.at for one in laws] == [None]


def beside(programs, *, watched=True):
    """The closed system on one CPU's worth of a host of four, on a disk that is no limit, beside programs that have so many."""
    asked, runs, _, _ = system(noise=0.005, moved=1)
    own = {one.id: one.verdicts[RATE].value * CORE * 4 * S for one in runs}
    seen = {}
    for one in runs:
        rate, mine = one.verdicts[RATE].value, own[one.id]
        busy = (mine + programs * S) / 2
        others = (rising("other_processes", "sure_cpu_ns", programs * S), rising("other_processes", "own_cpu_ns", mine))
        found = evidence(rate, rate)
        cpus = (rising("cpu", "user_ns", busy), rising("cpu", "system_ns", busy), gauge("cpus", float(PROCESSORS)))
        seen[one.id] = replace(found, series=(*cpus, *(others if watched else ())))
    table = cells(asked, made.plan(asked, 5), runs, seen.get)
    return asked, runs, table, seen.get


def test_other_programs_are_no_limit_of_the_loads_own():
    """What they had of the CPUs is neither in the bound nor in the share that the load used, and is told beside it."""
    (quiet,) = of(ScalingKind.KNEE, bounded(*beside(0.0)))
    (busy,) = of(ScalingKind.KNEE, bounded(*beside(1.5)))
    assert busy.knee.bound == pytest.approx(quiet.knee.bound, rel=0.01), "an operation costs what it costs"
    assert busy.use.others == pytest.approx(1.5 / PROCESSORS, rel=0.01)
    assert "other programs, with 37.5 % of the 4 CPUs of the host, or an unlisted limit" in said(busy), "they hold it back"
    assert "other programs" not in said(quiet)
    (unseen,) = of(ScalingKind.KNEE, bounded(*beside(1.5, watched=False)))
    assert unseen.use.others is None, "nobody watched them"


def test_an_answer_has_the_verdict_of_the_cells_that_it_rests_on():
    asked, runs, table, load = system()
    tainted = [replace(one, verdict=VerdictState.TAINTED if one.levels["clients"] == 4 else VerdictState.SOUND) for one in table]
    elsewhere = replace(table[0], measure=LATENCY, verdict=VerdictState.INVALID)
    (knee,) = of(ScalingKind.KNEE, judged(bounded(asked, runs, table, load), [*tainted, elsewhere]))
    assert knee.verdict is VerdictState.TAINTED
    assert said(knee).endswith("% reached [TAINTED].")
    (bare,) = of(ScalingKind.KNEE, judged(bounded(asked, runs, table, load), [replace(one, verdict=None) for one in table]))
    assert said(bare).endswith("reached."), "where nothing was judged there is no verdict"
