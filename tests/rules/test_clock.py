"""W08: one clock throughout, another one after, a wall clock that was set, hosts that do not agree, a coarse source."""

from array import array
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from assay.records import Fact, FactClass, HostClock, Observations, PhaseHost, Series, Severity, State, When
from assay.rules.clock import RULE
from audit.case_builder import SECOND, Made, case_of
from stage.rows import each
from stage.said import FAIL, NOTES, PASS, QUALIFIES, UNVERIFIED, hold


def case(sources=("tsc", "tsc"), booted=(100.0, 100.0, 100.0), hosts=("local",), error_ns=0, errors_ns=None, **made):
    """A run with these sources before and after, times of booting at each look, clients on these hosts."""
    found = case_of(Made(figure=made.pop("figure", "ops_per_s"), starts=(0.0,) * len(hosts), **made), "W08")
    names = tuple(dict.fromkeys(hosts))
    clients = tuple(replace(one, host=host) for one, host in zip(found.phase.clients, hosts, strict=True))
    errors = errors_ns or dict.fromkeys(names, error_ns)
    clocks = {host: HostClock(host=host, offset_ns=0, error_ns=error, t0_mono_ns=0) for host, error in errors.items()}
    parts = tuple(PhaseHost(host=host, clock=clocks.get(host)) for host in names)
    return replace(
        found,
        phase=replace(found.phase, clients=clients, hosts=parts),
        run=replace(found.run, hosts=()),
        observations=Observations(
            facts=tuple(fact(host, *one) for host in names for one in zip(When, sources, strict=False)),
            series=tuple(boot_times(host, booted) for host in names if booted),
        ).on(*names),
    )


def fact(host, when, value):
    return Fact(host=host, when=when, key="clock.source", value=value, fact_class=FactClass.PERFORMANCE)


def boot_times(host, booted):
    """Of a host that was booted at another time than those of other names."""
    return Series(
        phase="p",
        source="clock",
        layer="clock",
        host=host,
        subject="",
        metric="boot_time_s",
        unit="s",
        at_ns=array("q", range(len(booted))),
        value=array("d", (at + 1e6 * len(host) for at in booted)),
    )


def test_one_clock_throughout_passes():
    found = RULE.check(case())
    assert found.state is State.PASS
    assert "without time" in (RULE.applies(case(figure="count")) or "")


def test_a_wall_clock_that_was_set_spoils_a_external_tools_time_and_not_ours():
    ours = RULE.check(case(booted=(100.0, 97.0)))
    assert (ours.state, ours.severity, ours.relabel) == (State.FAIL, Severity.NOTES, None)
    theirs = RULE.check(case(booted=(100.0, 97.0), values={"read.elapsed_ns": 1e9}, figure="elapsed_ns"))
    assert (theirs.severity, theirs.observed["step_s"]) == (Severity.INVALIDATES, 3.0)


def test_a_host_that_slept_left_that_time_out():
    def after(*asleep):
        made = case()
        slept = replace(boot_times("local", asleep), metric="asleep_s")
        return RULE.check(replace(made, observations=replace(made.observations, series=(*made.observations.series, slept))))

    hold(
        ("12 s", after(1000.0, 1000.01, 1012.0), FAIL, QUALIFIES, "local slept for 12 s"),
        ("steps of the file", after(1000.01, 1000.0, 1000.02), PASS),
    )


def test_a_step_of_some_milliseconds_spoils_a_short_time_only():
    for seconds, state in ((1.0, State.FAIL), (10.0, State.PASS)):
        found = RULE.check(case(booted=(100.0, 100.02), values={"read.elapsed_ns": 1e9}, figure="elapsed_ns", seconds=seconds))
        assert found.state is state
    assert RULE.check(case(booted=(100.0, 100.0005))).state is State.PASS


@each(
    "error_ns state severity",
    (SECOND // 1000, State.PASS, None),
    (SECOND // 100, State.FAIL, Severity.QUALIFIES),
    (SECOND // 10, State.FAIL, Severity.INVALIDATES),
)
def test_hosts_must_agree_on_the_time(error_ns, state, severity):
    found = RULE.check(case(hosts=("a", "b"), error_ns=error_ns))
    assert found.state is state
    assert severity is None or found.severity is severity


def test_clocks_that_differ_are_fine_where_the_difference_is_known():
    one = case(hosts=("a", "bb"))
    parts = tuple(
        replace(part, clock=replace(part.clock, offset_ns=10**15 * number, t0_mono_ns=10**15 * number))
        for number, part in enumerate(one.phase.hosts)
    )
    assert RULE.check(replace(one, phase=replace(one.phase, hosts=parts))).state is State.PASS


def test_a_host_that_tells_nothing_of_its_clock_is_named():
    one = case(hosts=("a", "bb"))
    seen = replace(one.observations, facts=one.observations.facts[:2], series=one.observations.series[:1])
    found = RULE.check(replace(one, observations=seen))
    assert (found.state, found.statement) == (State.UNVERIFIED, "Clock source and boot time of bb unknown.")


def test_each_host_has_a_clock_source_of_its_own():
    one = case(hosts=("a", "bb"))
    facts = tuple(replace(told, value="kvm-clock") if told.host == "bb" else told for told in one.observations.facts)
    found = RULE.check(replace(one, observations=replace(one.observations, facts=facts)))
    assert (found.state, "tsc and kvm-clock throughout" in found.statement) == (State.PASS, True)
    facts = tuple(replace(told, value="hpet") if (told.host, told.when) == ("bb", "after") else told for told in facts)
    found = RULE.check(replace(one, observations=replace(one.observations, facts=facts)))
    assert (found.state, "changed on bb" in found.statement) == (State.FAIL, True)


@given(st.integers(0, 10**12))
def test_the_error_of_one_host_is_of_no_concern(error_ns):
    assert RULE.check(case(hosts=("a", "a"), error_ns=error_ns)).state is State.PASS


def test_states():
    hold(
        ("another source after qualifies", RULE.check(case(sources=("tsc", "hpet"))), FAIL, QUALIFIES),
        "a step that is little against the time is forgiven",
        (RULE.check(case(booted=(100.0, 101.0), values={"read.elapsed_ns": 1e9}, figure="elapsed_ns", seconds=1000.0)), PASS),
        "the host whose clock is known least is named",
        (
            RULE.check(case(hosts=("a", "bb", "ccc"), errors_ns={"a": 0, "bb": SECOND // 50, "ccc": SECOND // 1000})),
            FAIL,
            QUALIFIES,
            {"error_share": 0.021},
        ),
        "one per cent of the phase is too much",
        (RULE.check(case(hosts=("a", "bb"), errors_ns={"a": 0, "bb": SECOND // 100})), FAIL),
        (RULE.check(case(hosts=("a", "bb"), errors_ns={"a": 0, "bb": SECOND // 101})), PASS),
        ("a clock that was never compared is unverified", RULE.check(case(hosts=("a", "bb"), errors_ns={"a": 0})), UNVERIFIED),
        ("a slow source is a note", RULE.check(case(sources=("acpi_pm", "acpi_pm"))), FAIL, NOTES),
        "what nobody read is unverified and half of it is said",
        (RULE.check(case(sources=(), booted=())), UNVERIFIED),
        (RULE.check(case(booted=())), PASS, "wall clock unknown"),
        (RULE.check(case(booted=(), values={"read.elapsed_ns": 1e9}, figure="elapsed_ns")), UNVERIFIED, "Boot time"),
        (RULE.check(case(sources=("tsc",))), UNVERIFIED, "before or after"),
    )
