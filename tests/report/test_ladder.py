"""The ladder of bytes: a memory test is seen, a blind counter is not taken for zero, late bytes are kept apart."""

from dataclasses import replace

import pytest

from assay.records import Direction, Observations, Rung, VerdictState
from assay.report.ladder import ladders
from assay.report.sketch import WIDE, sketch
from report import fixture


@pytest.fixture(scope="module")
def run():
    return fixture.results(1).runs[0]


def ladder_of(run, phase, seen=None):
    results = fixture.results(1)
    seen = seen or fixture.loader(results)(run.id)
    return next(one for one in ladders(run, seen) if one.phase == phase)


def test_cold_read_keeps_its_width(run):
    assert all(step.width > 0.99 for step in ladder_of(run, "cold.read").steps)


def test_warm_read_narrows_at_the_page_cache_and_says_so(run):
    found = ladder_of(run, "warm.read")
    widths = {step.name: step.width for step in found.steps}
    assert widths["System calls"] == pytest.approx(1.0)
    assert widths["Lowest device"] == pytest.approx(0.02, abs=0.001)
    assert [step.remark for step in found.steps if step.remark] == ["98\u202f% answered from memory"]
    assert found.verdict.state is VerdictState.INVALID


def test_bytes_after_the_clock_are_apart(run):
    lowest = ladder_of(run, "dump.write").steps[-1]
    assert lowest.width == pytest.approx(0.381, abs=0.001)
    assert lowest.late == pytest.approx(0.62, abs=0.001)
    assert "still in memory when the clock stopped" in " ".join(step.remark for step in ladder_of(run, "dump.write").steps)


def test_system_calls_that_count_nothing_are_not_drawn_as_nothing(run):
    seen = fixture.loader(fixture.results(1))(run.id)
    blind = tuple(
        replace(one, bytes=0) if one.rung is Rung.SYSCALL and one.direction is Direction.READ else one for one in seen.readings
    )
    step = ladder_of(run, "cold.read", replace(seen, readings=blind)).steps[1]
    assert (step.name, step.width, step.amount) == ("System calls", None, "does not count this kind of I/O")


def test_counters_that_others_fill_are_left_out_of_a_local_ladder(run):
    seen = fixture.loader(fixture.results(1))(run.id)
    other = next(one for one in seen.readings if one.rung is Rung.CLIENT_CACHE and one.direction is Direction.READ)
    network = replace(other, rung=Rung.CLIENT_NIC, subject="interface:eth0", bytes=0)
    names = [step.name for step in ladder_of(run, other.phase, replace(seen, readings=(*seen.readings, network))).steps]
    assert names == ["Application", "System calls", "Past the page cache", "Device", "Lowest device"]


def test_what_a_process_is_charged_for_writes_is_no_rung(run):
    assert [step.name for step in ladder_of(run, "dump.write").steps] == [
        "Application",
        "System calls",
        "Device",
        "Lowest device",
    ]


def test_no_readings_leave_the_application_alone(run):
    assert [step.name for step in ladder_of(run, "cold.read", Observations()).steps] == ["Application"]


def test_nothing_is_drawn_wider_than_the_picture(run):
    for one in ladders(run, fixture.loader(fixture.results(1))(run.id)):
        placed = sketch(one).placed
        assert all(step.width + step.late <= WIDE * 1.001 for step in placed)
        assert [step.bar for step in placed] == sorted(step.bar for step in placed)
