"""Figures of commands: `@HOST.observe.NAME` from their series."""

from array import array
from dataclasses import replace

import pytest

from assay import measures
from assay.answer import marks
from assay.measures import observed
from assay.records import Measure, Observations, ObserveKind, ObserveSpec, Series
from assay.units import Unit
from audit.case_builder import Made, measure_of, run_of

SECOND = 10**9


def series(metric, points, kind="gauge", unit="count", host="s"):
    return Series(
        phase="p",
        source=f"observe.x:{kind}",
        layer="observe",
        host=host,
        subject="",
        metric=metric,
        unit=unit,
        at_ns=array("q", (round(at * SECOND) for at, _ in points)),
        value=array("d", (value for _, value in points)),
    )


def figure(name, *found, host="s"):
    run, measure = run_of(Made()), measure_of(Made())
    run = replace(run, phases=(replace(run.phases[0], start_ns=0, end_ns=10 * SECOND),))
    asked = replace(measure, figure=f"@{host}.observe.{name}", unit="count")
    return measures.value(run, Observations(series=found), asked)


def test_a_gauge_gives_its_mean_over_the_time_of_the_operations():
    found = figure("x", series("x", [(-1, 4), (0, 4), (5, 8), (10, 4), (99, 1000)]))
    assert (found.value, found.unit) == (6.0, Unit.COUNT)


def test_a_gauge_is_level_beyond_its_samples():
    assert figure("x", series("x", [(2, 3)])).value == 3.0
    assert figure("x", series("x", [(-1, 0), (11, 12)])).value == 6.0


def test_the_maximum_is_the_largest_sample_inside_else_around():
    points = series("x.used", [(-1, 99), (3, 5), (7, 9), (12, 80)])
    assert figure("x.used.max", points).value == 9.0
    assert figure("x.used.max", series("x.used", [(-1, 2), (12, 80)])).value == 80.0


def test_a_counter_gives_its_rise_over_the_time_between_its_samples(subtests):
    for unit, value, of in [("count", 10.0, Unit.PER_S), ("bytes", 10.0, Unit.BYTES_PER_S), ("ns", 1e-8, Unit.SHARE)]:
        with subtests.test(unit=unit, value=value, of=of):
            found = figure("x", series("x", [(-5, 0), (5, 50), (15, 200)], kind="counter", unit=unit))
            assert (found.value, found.unit) == (pytest.approx(value), of)


def test_there_is_no_figure_without_its_series():
    other = series("x", [(0, 1), (10, 2)])
    assert figure("x", replace(other, host="t")) is None
    assert figure("y", other) is None
    assert figure("x.max", series("x", [(0, 1), (10, 2)], kind="counter")) is None
    assert figure("x", series("x", [(5, 1)], kind="counter")) is None


def test_hosts_of_groups_have_names_with_dots():
    assert figure("x.used", series("x.used", [(0, 3)], host="c.12"), host="c.12").value == 3.0


def test_a_command_gives_figures_with_units_and_no_better_side():
    gauge = ObserveSpec(name="m", hosts=("s",), argv=("a",), every_ns=1, pattern=r"(?P<used>.)/(?P<limit>.)", unit="bytes")
    assert observed.figures(gauge) == {
        "observe.m.used": "bytes",
        "observe.m.used.max": "bytes",
        "observe.m.limit": "bytes",
        "observe.m.limit.max": "bytes",
        "observe.m.used_share": "share",
        "observe.m.used_share.max": "share",
    }
    counter = replace(gauge, pattern="(.)", kind=ObserveKind.COUNTER)
    assert observed.figures(counter) == {"observe.m": "bytes/s"}
    assert measures.figure_kind("@s.observe.cpu_share") is None
    measure = Measure(workload="w", operation="o", figure="@s.observe.m", unit="bytes/s")
    assert measures.unit_of(measure) is Unit.BYTES_PER_S


def test_figures_of_commands_in_words():
    assert marks.figure("@c.1.observe.mbufs.used_share.max") == "maximum of mbufs used share of host c.1"
    assert marks.figure("@s.observe.bytes") == "bytes of host s"
    assert marks.figure("@s.cpu_share") == "CPU share of host s"
