"""G08: mixes as they were asked for, by the knob, the profile, fio's arguments; off by chance, and off for a reason."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.records import Direction, Fact, FactClass, OperationTotal, Severity, State, When, WorkloadSpec
from assay.rules.mix_not_attained import RULE, of_fio
from audit.case_builder import Made, case_of
from stage.rows import each
from stage.said import FAIL, NOT_ASKED, PASS, hold


def case(reads, writes, *, kind="bulk_io", values=None, profile=None, **knobs):
    """A phase with so many reads and writes, or an external tool that says so."""
    found = case_of(Made(operation="read", values=values or {}), "G08")
    totals = [
        OperationTotal(operation=name, count=count, bytes=4096 * count, errors=0, busy_ns=1, first_ns=0, last_ns=1)
        for name, count in (("read", reads), ("write", writes))
    ]
    (client,) = found.phase.clients
    if not values:
        client = replace(client, operations=tuple(totals))
    phase = replace(found.phase, clients=(client,), directions={"read": Direction.READ, "write": Direction.WRITE})
    text = f"sha256 abc: {json.dumps({'read_share': profile})}"
    fact = Fact(host="local", when=When.BEFORE, key="profile.w", value=text, fact_class=FactClass.PERFORMANCE)
    spec = WorkloadSpec(name="w", kind=kind, knobs=knobs)
    return replace(
        found,
        phase=phase,
        experiment=replace(found.experiment, workloads=(spec,)),
        observations=replace(found.observations, facts=(fact,) if profile is not None else ()),
    )


def test_phases_of_one_direction_and_mixes_nobody_asked_for_are_not_judged():
    assert "not a mix" in (RULE.applies(case_of(Made(), "G08")) or "")
    assert "no requested share" in (RULE.applies(case(10, 10)) or "")
    assert RULE.applies(case(10, 10, read_share=0.5)) is None


@each("reads state", (700, State.PASS), (719, State.PASS), (760, State.FAIL), (640, State.FAIL))
def test_a_mix_may_be_off_by_two_points(reads, state):
    found = RULE.check(case(reads, 1000 - reads, read_share=0.7))
    assert (found.state, found.severity) == (state, Severity.QUALIFIES)
    if state is State.FAIL:
        assert found.relabel == "another mix of reads and writes than requested"
        assert found.detail == f"{reads / 10:g} % reads instead of 70 %"


@given(st.integers(1, 10**6), st.floats(0, 1))
def test_what_was_asked_for_passes(total, share):
    reads = round(total * share)
    assert RULE.check(case(reads, total - reads, read_share=share)).state is State.PASS


FIO = ("fio", "--name=x", "--rw=randrw", "--rwmixread=90")


@each(
    "argv share",
    (FIO, 0.9),
    (("fio", "--rw", "rw", "--rwmixwrite", "30"), 0.7),
    (("/usr/bin/fio", "-readwrite=readwrite"), 0.5),
    (("sh", "-c", "exec fio --rw=randrw --rwmixread=25 --output-format=json"), 0.25),
    (("fio", "--rw=randread"), None),
    (("fio", "--rw=randrw", "--name=b", "--rw=randread"), None),
    (("fio", "job.fio"), None),
    (("other", "--rw=randrw"), None),
)
def test_fio_is_asked_by_its_arguments(argv, share):
    assert of_fio(argv) == (None if share is None else pytest.approx(share))


def test_a_external_tool_is_held_to_what_it_tells():
    told = {"read.count": 500.0, "write.count": 500.0}
    found = RULE.check(case(0, 0, kind="command", values=told, argv=FIO))
    assert (found.state, found.observed["read_share"]) == (State.FAIL, 0.5)
    assert RULE.check(case(0, 0, kind="command", values=told, expected_read_share=0.5)).state is State.PASS
    half_told = {"read.count": 5.0, "write.bytes_per_s": 5.0}
    assert RULE.check(case(0, 0, kind="command", values=half_told, argv=FIO)).state is State.UNVERIFIED


def test_states():
    hold(
        "few operations miss by chance",
        (RULE.check(case(80, 20, read_share=0.7)), "chance"),
        (RULE.check(case(8000, 2000, read_share=0.7)), FAIL),
        "a profile is asked by what the trial kept of it",
        (RULE.check(case(800, 200, kind="profile", profile=0.8)), PASS),
        (RULE.check(case(500, 500, kind="profile", profile=0.8)), FAIL),
        (RULE.applies(case(500, 500, kind="profile")), NOT_ASKED),
    )
