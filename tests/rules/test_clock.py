"""W08: one clock throughout, another one after, a wall clock that was set, hosts that do not agree, a coarse source."""

from array import array
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.records import Fact, FactClass, HostClock, Series, Severity, State, When
from assay.rules.clock import RULE
from audit.case_builder import SECOND, Made, case_of


def case(sources=("tsc", "tsc"), booted=(100.0, 100.0, 100.0), hosts=("local",), error_ns=0, **made):
    """A run with these sources before and after, times of booting at each look, clients on these hosts."""
    found = case_of(Made(figure=made.pop("figure", "ops_per_s"), starts=(0.0,) * len(hosts), **made), "W08")
    facts = tuple(
        Fact(host="local", when=when, key="clock.source", value=value, fact_class=FactClass.PERFORMANCE)
        for when, value in zip((When.BEFORE, When.AFTER), sources, strict=False)
    )
    series = Series(
        phase="p",
        source="clock",
        layer="clock",
        host="local",
        subject="",
        metric="boot_time_s",
        unit="s",
        at_ns=array("q", range(len(booted))),
        value=array("d", booted),
    )
    clients = tuple(replace(one, host=host) for one, host in zip(found.phase.clients, hosts, strict=True))
    clocks = tuple(HostClock(host=host, offset_ns=0, error_ns=error_ns, t0_mono_ns=0) for host in dict.fromkeys(hosts))
    return replace(
        found,
        phase=replace(found.phase, clients=clients),
        run=replace(found.run, hosts=clocks),
        observations=replace(found.observations, facts=facts, series=(series,) if booted else ()),
    )


def test_one_clock_throughout_passes():
    found = RULE.check(case())
    assert found.statement == "Clock source tsc throughout; wall clock not set."
    assert found.state is State.PASS
    assert "without time" in (RULE.applies(case(figure="count")) or "")


def test_another_source_after_qualifies():
    found = RULE.check(case(sources=("tsc", "hpet")))
    assert (found.state, found.severity) == (State.FAIL, Severity.QUALIFIES)
    assert found.relabel == "timed by a clock that changed from tsc to hpet"


def test_a_wall_clock_that_was_set_spoils_a_external_tools_time_and_not_ours():
    ours = RULE.check(case(booted=(100.0, 97.0)))
    assert (ours.state, ours.severity, ours.relabel) == (State.FAIL, Severity.NOTES, None)
    theirs = RULE.check(case(booted=(100.0, 97.0), values={"read.elapsed_ns": 1e9}, figure="elapsed_ns"))
    assert (theirs.severity, theirs.observed["step_s"]) == (Severity.INVALIDATES, 3.0)


def test_a_step_of_some_milliseconds_spoils_a_short_time_only():
    for seconds, state in ((1.0, State.FAIL), (10.0, State.PASS)):
        found = RULE.check(case(booted=(100.0, 100.02), values={"read.elapsed_ns": 1e9}, figure="elapsed_ns", seconds=seconds))
        assert found.state is state
    assert RULE.check(case(booted=(100.0, 100.0005))).state is State.PASS


def test_a_step_that_is_little_against_the_time_is_forgiven():
    long = case(booted=(100.0, 101.0), values={"read.elapsed_ns": 1e9}, figure="elapsed_ns", seconds=1000.0)
    assert RULE.check(long).state is State.PASS


@pytest.mark.parametrize(
    ("error_ns", "state", "severity"),
    [
        (SECOND // 1000, State.PASS, None),
        (SECOND // 100, State.FAIL, Severity.QUALIFIES),
        (SECOND // 10, State.FAIL, Severity.INVALIDATES),
    ],
)
def test_hosts_must_agree_on_the_time(error_ns, state, severity):
    found = RULE.check(case(hosts=("a", "b"), error_ns=error_ns))
    assert found.state is state
    assert severity is None or found.severity is severity


@given(st.integers(0, 10**12))
def test_the_error_of_one_host_is_of_no_concern(error_ns):
    assert RULE.check(case(hosts=("a", "a"), error_ns=error_ns)).state is State.PASS


def test_a_slow_source_is_a_note():
    found = RULE.check(case(sources=("acpi_pm", "acpi_pm")))
    assert (found.state, found.severity) == (State.FAIL, Severity.NOTES)


def test_what_nobody_read_is_unverified_and_half_of_it_is_said():
    assert RULE.check(case(sources=(), booted=())).state is State.UNVERIFIED
    assert "wall clock unknown" in RULE.check(case(booted=())).statement
    assert RULE.check(case(sources=("tsc",))).state is State.PASS, "a watched command has no look after"
