"""Figures in which nothing changes are seldom said to be unsteady: the whole sentence, held against its truth."""

import itertools
import math
import random
import zlib

from assay.analysis import steady_state
from assay.analysis.steady_state import Values
from assay.records import Course, CourseKind, CourseState
from assay.statistics.steadiness import FALSE_ALARM_SHARE
from stage.sizes import few_and_many

SETS = few_and_many("sets", 50, 200)
BARE = Course(run="0001/1", measure="w.o.ops_per_s", kind=CourseKind.RATE, unit="1/s", state=CourseState.UNKNOWN, start_ns=0)


def noise(name, count, correlation, kind):
    """Rates of which neighbours correlate by so much, the seed the checksum of their name."""
    draw, state, values = random.Random(zlib.crc32(repr((name, count, correlation, kind)).encode())), 0.0, []
    for _ in range(count + 50):
        state = correlation * state + math.sqrt(1 - correlation**2) * draw.gauss(0, 1)
        values.append(1000 * (math.exp(0.3 * state) if kind == "lognormal" else 1 + 0.06 * state))
    return values[50:]


def said(values):
    return steady_state.tested(BARE, Values(edges=(0, 12 * 10**9), each=values), 0.05)


@SETS
def test_at_most_five_of_a_hundred_unchanging_figures_are_called_unsteady(subtests, sets):
    for kind, (count, correlation) in itertools.product(
        ["normal", "lognormal"], [(120, 0.0), (120, 0.3), (120, 0.6), (120, 0.8), (60, 0.6), (20, 0.3)]
    ):
        with subtests.test(kind=kind, count=count, correlation=correlation):
            unsteady = sum(said(noise(one, count, correlation, kind)).state is CourseState.NOT_STEADY for one in range(sets))
            assert unsteady / sets <= FALSE_ALARM_SHARE + 3 * math.sqrt(FALSE_ALARM_SHARE * (1 - FALSE_ALARM_SHARE) / sets)


@SETS
def test_the_mean_of_what_is_steady_is_held_by_its_interval(sets):
    found = [said(noise(("mean", one), 120, 0.3, "normal")) for one in range(sets)]
    means = [one.mean for one in found if one.mean.low is not None]
    held = sum(mean.low <= 1000 <= mean.high for mean in means)
    assert len(means) / sets >= 0.85
    assert held / len(means) >= 0.93 - 3 * math.sqrt(0.93 * 0.07 / len(means))


@few_and_many("sets", 30, 100)
def test_the_mean_after_a_warm_up_is_held_too(subtests, sets):
    for correlation in [0.0, 0.3, 0.6]:
        with subtests.test(correlation=correlation):
            ramp = [min(1.0, 0.4 + at / 30) for at in range(120)]
            held = known = cut = 0
            for one in range(sets):
                values = [
                    value * level for value, level in zip(noise(("ramp", one), 120, correlation, "normal"), ramp, strict=True)
                ]
                found = said(values)
                warm = found.state is not CourseState.NOT_STEADY and found.before is not None
                cut += warm
                if warm and found.mean.low is not None:
                    known += 1
                    held += found.mean.low <= 1000 <= found.mean.high
            assert cut >= 0.85 * sets
            assert held / known >= 0.85
