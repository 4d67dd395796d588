"""How long a load was away, and its rates around a cut of a path: by the counters of the engines over time."""

from array import array
from dataclasses import replace

import pytest

from assay import measures
from assay.measures.outages import outages
from assay.records import Action, Event, Series
from audit.case_builder import SECOND, Made, measure_of, observations_of, run_of

MADE = Made(seconds=10.0, figure="longest_pause_ns")
CUT = Event(phase="p", at_ns=4 * SECOND, on="wan", action=Action.CUT, for_ns=2 * SECOND)


def noted(rate, away=(), layer="application", operation="read", subject="client:0"):
    """The counters of an end that does `rate` operations a second, none within `away` (s), each of 1,000 bytes."""
    tenths = range(1, 101)
    there = [tenth / 10 - sum(min(max(tenth / 10, first), last) - first for first, last in away) for tenth in tenths]
    return [
        Series(
            phase="p",
            source="engine",
            layer=layer,
            host="local",
            subject=subject,
            metric=f"{operation}.{metric}",
            unit=metric,
            at_ns=array("q", (tenth * SECOND // 10 for tenth in tenths)),
            value=array("d", (factor * round(rate * one) for one in there)),
        )
        for metric, factor in (("count", 1), ("bytes", 1_000))
    ]


def seen(*series):
    return replace(observations_of(MADE), series=tuple(one for each in series for one in each))


def pause(*series):
    found = measures.value(run_of(MADE), seen(*series), measure_of(MADE))
    return None if found is None else found.value


def test_a_pause_is_the_time_without_a_completed_operation():
    assert pause(noted(100)) == pytest.approx(SECOND / 10)
    assert pause(noted(100, away=[(4, 7)])) == pytest.approx(3.1 * SECOND)
    assert pause(noted(100, away=[(1, 2), (4, 7)])) == pytest.approx(3.1 * SECOND)


def test_one_that_never_comes_back_is_away_until_the_end():
    assert pause(noted(100, away=[(6, 10)])) == pytest.approx(4.05 * SECOND)


def test_a_load_that_stood_still_made_no_note():
    """Nothing is noted from 4 s to 6.1 s, and hardly anything done by then: the load was stopped, not its server."""
    stopped = [
        replace(one, at_ns=one.at_ns[:40] + one.at_ns[60:], value=one.value[:40] + array("d", (v - 200 for v in one.value[60:])))
        for one in noted(100)
    ][:1]
    assert pause(stopped) == pytest.approx(2.1 * SECOND, rel=0.08)
    late = [replace(one, at_ns=one.at_ns[:40] + one.at_ns[60:], value=one.value[:40] + one.value[60:]) for one in noted(100)][:1]
    assert pause(late) == pytest.approx(SECOND / 10, rel=0.6), "it went on, and a note was late"


def test_another_client_that_goes_on_is_no_pause():
    assert pause(noted(100, away=[(4, 7)]), noted(10, subject="client:1")) == pytest.approx(SECOND / 10)


def test_what_nobody_noted_is_not_known():
    assert pause() is None


def around(operation, *events, series):
    """What is known of the phase as runs name it."""
    phase = replace(run_of(MADE).phases[0], workload="w", name="w.p", operations=(operation,))
    return outages(phase, seen(*[[replace(one, phase="w.p")] for one in series]), events)


def test_rates_before_while_and_after_a_cut():
    (one,) = around("read", CUT, series=noted(100, away=[(4, 7)]))
    assert (one.path, one.operation, one.from_ns, one.to_ns) == ("wan", "read", 4 * SECOND, 6 * SECOND)
    assert one.rates_per_s == {name: pytest.approx(rate) for name, rate in {"before": 100, "while": 0, "after": 50}.items()}
    assert one.pause_ns == pytest.approx(3.05 * SECOND)


def test_a_load_is_back_when_it_has_its_former_rate_again():
    (one,) = around("read", CUT, series=noted(100, away=[(4, 7)]))
    assert one.back_ns == pytest.approx(SECOND, abs=0.1 * SECOND), "mended at 6 s, and away until 7 s"
    (one,) = around("read", CUT, series=noted(100, away=[(4, 6)]))
    assert one.back_ns == pytest.approx(0)
    (one,) = around("read", CUT, series=noted(100, away=[(4, 9.5)]))
    assert one.back_ns is None, "a second of the former rate is not left"
    halves = [*noted(50, away=[(4, 8)]), *noted(50, subject="client:1")]
    (one,) = around("read", CUT, series=halves)
    assert one.back_ns == pytest.approx(2 * SECOND, abs=0.2 * SECOND), "two links of which one comes back at 8 s"
    assert one.rates_per_s["while"] == pytest.approx(50)


def test_a_burst_of_what_had_to_wait_is_no_return():
    late = noted(100, away=[(4, 6.8)])
    for series in late:
        factor = 1_000 if series.metric.endswith("bytes") else 1
        for at, value in enumerate(series.value):
            series.value[at] = value + (280 * factor if series.at_ns[at] > 6.8 * SECOND else 0)
    (one,) = around("read", CUT, series=late)
    assert one.back_ns == pytest.approx(0.8 * SECOND, abs=0.15 * SECOND)


def test_sent_bytes_count_where_they_arrived():
    away = noted(100, away=[(4, 7)], layer="far_end", operation="receive", subject="server:1")
    (one,) = around("send", CUT, series=[*noted(100, operation="send"), *away])
    assert one.rates_per_s["while"] == pytest.approx(0)
    assert one.rates_per_s["before"] == pytest.approx(100_000)
    assert one.pause_ns == pytest.approx(3.05 * SECOND)


def test_a_cut_ends_when_the_path_is_mended_or_with_the_phase():
    forever, mend = replace(CUT, for_ns=None), replace(CUT, action=Action.MEND, at_ns=5 * SECOND, for_ns=None)
    (one,) = around("read", forever, series=noted(100))
    assert (one.to_ns, "after" in one.rates_per_s) == (10 * SECOND, False)
    (one,) = around("read", forever, mend, series=noted(100))
    assert one.to_ns == 5 * SECOND
    assert around("read", replace(CUT, phase="other"), mend, series=noted(100)) == ()
