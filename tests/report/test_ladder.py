"""The ladder of bytes: a memory test is seen, a blind counter is not taken for zero, late bytes are kept apart."""

from dataclasses import replace

import pytest

from assay.records import Direction, Observations, Rung, Severity, State, VerdictState
from assay.report.ladder import WIDE, of_run, sketch
from report import fixture


@pytest.fixture(scope="module")
def run():
    return fixture.results(1).runs[0]


def ladder_of(run, phase, seen=None):
    results = fixture.results(1)
    seen = seen or fixture.loader(results)(run.id)
    return next(one for one in of_run(fixture.experiment(), run, seen) if one.phase == phase)


def test_widths_remarks_and_alarms_of_each_kind_of_load(run):
    assert all(step.width > 0.99 for step in ladder_of(run, "cold.read").steps)
    found = ladder_of(run, "warm.read")
    widths = {step.name: step.width for step in found.steps}
    assert widths["System calls"] == pytest.approx(1.0)
    assert widths["Lowest device"] == pytest.approx(0.02, abs=0.001)
    assert [step.remark for step in found.steps if step.remark] == ["98\u202f% answered from memory"]
    assert found.verdict.state is VerdictState.INVALID
    lowest = ladder_of(run, "dump.write").steps[-1]
    assert lowest.width == pytest.approx(0.381, abs=0.001)
    assert lowest.late == pytest.approx(0.62, abs=0.001)
    assert "still in memory when the clock stopped" in " ".join(step.remark for step in ladder_of(run, "dump.write").steps)
    assert [step.name for step in ladder_of(run, "dump.write").steps] == [
        "Application",
        "System calls",
        "Device",
        "Lowest device",
    ]
    assert [step.name for step in ladder_of(run, "cold.read", Observations()).steps] == ["Application"]
    seen = fixture.loader(fixture.results(1))(run.id)
    assert [step.lost for step in ladder_of(run, "warm.read").steps] == [False, False, True, False, False]
    more = tuple(replace(one, bytes=3 * (one.bytes or 0)) if one.rung is Rung.LOWEST_DEVICE else one for one in seen.readings)
    lowest = ladder_of(run, "cold.read", replace(seen, readings=more)).steps[-1]
    assert ("more: read-ahead or other processes' traffic" in lowest.remark, lowest.lost) == (True, False)
    for one in of_run(fixture.experiment(), run, fixture.loader(fixture.results(1))(run.id)):
        placed = sketch(one).placed
        assert all(step.width + step.late <= WIDE * 1.001 for step in placed)
        assert [step.bar for step in placed] == sorted(step.bar for step in placed)


def test_counters_that_count_nothing_or_are_filled_by_others_are_not_drawn(run):
    seen = fixture.loader(fixture.results(1))(run.id)
    blind = tuple(
        replace(one, bytes=0) if one.rung is Rung.SYSCALL and one.direction is Direction.READ else one for one in seen.readings
    )
    step = ladder_of(run, "cold.read", replace(seen, readings=blind)).steps[1]
    assert (step.name, step.width, step.amount) == ("System calls", None, "does not count this kind of I/O")
    seen = fixture.loader(fixture.results(1))(run.id)
    other = next(one for one in seen.readings if one.rung is Rung.CLIENT_CACHE and one.direction is Direction.READ)
    network = replace(other, rung=Rung.CLIENT_NIC, subject="interface:eth0", bytes=0)
    names = [step.name for step in ladder_of(run, other.phase, replace(seen, readings=(*seen.readings, network))).steps]
    assert names == ["Application", "System calls", "Past the page cache", "Device", "Lowest device"]


def with_verdict(run, phase, **changes):
    """The run with every finding on the measures of a phase changed."""
    names = [name for name in run.verdicts if name.startswith(phase.partition(".")[0] + ".")]
    changed = {
        name: replace(one, state=VerdictState.TAINTED, findings=tuple(replace(each, **changes) for each in one.findings))
        for name, one in run.verdicts.items()
        if name in names
    }
    return replace(run, verdicts={**run.verdicts, **changed})


def test_only_a_doubt_about_the_bytes_is_an_alarm_in_the_ladder(run, subtests):
    for part, severity, accused in [
        ("load", Severity.QUALIFIES, False),
        ("noise", Severity.INVALIDATES, False),
        ("tier", Severity.NOTES, False),
        ("tier", Severity.QUALIFIES, True),
        ("regime", Severity.QUALIFIES, False),
        ("durability", Severity.INVALIDATES, True),
    ]:
        with subtests.test(part=part):
            doubted = with_verdict(run, "cold.read", state=State.FAIL, part=part, severity=severity)
            assert ladder_of(doubted, "cold.read").accused is accused


def test_operations_without_bytes_beside_others_have_no_ladder_of_the_devices_requests(run):
    """Lists among creates that write: the device serves both, and 10,000 % of 24 lists says nothing of lists."""
    seen = fixture.loader(fixture.results(1))(run.id)
    dump = next(one for one in run.run.phases if one.name == "dump.write")
    mixed = replace(
        dump,
        operations=("write", "list"),
        directions={"write": Direction.WRITE, "list": Direction.METADATA},
        clients=tuple(
            replace(one, operations=(*one.operations, replace(one.operations[0], operation="list", bytes=0, count=24)))
            for one in dump.clients
        ),
    )
    both = replace(run, run=replace(run.run, phases=(mixed,)))
    assert [one.direction for one in of_run(fixture.experiment(), both, seen)] == ["write"]
