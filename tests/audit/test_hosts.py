"""Evidence of another host changes no finding about the first one, and is added up only for rules that ask for all hosts."""

from array import array
from dataclasses import replace

import pytest

from assay import catalogue
from assay.audit import limits
from assay.audit.judge import examine
from assay.catalogue import About, TrialCase
from assay.evidence import ladder
from assay.records import (
    Bound,
    Claim,
    Direction,
    Durability,
    Fact,
    FactClass,
    HostRole,
    Missing,
    Observations,
    Regime,
    Rung,
    Scope,
    Severity,
    State,
    Tier,
    When,
    missing_on,
)
from assay.rulekit.findings import found
from audit.case_builder import MIB, Made, Seen, but, case_of, gauge, reading
from stage.rows import each

RULES = catalogue.rules_of(Scope.TRIAL)
READ = Made(
    claim=Claim(tier=Tier.DEVICE, regime=Regime.COLD),
    seconds=2.0,
    resident_share=0.0,
    knobs={"direct": True},
    seen=Seen(
        storage_bytes=256 * MIB,
        call_bytes=256 * MIB,
        lower_bytes=256 * MIB,
        flushes=0,
        hole_bytes=0,
        cached_bytes=(0, 256 * MIB),
        available_bytes=8 << 30,
    ),
)
WRITE = Made(
    operation="write",
    claim=Claim(durability=Durability.STABLE_MEDIA),
    drain_s=0.5,
    flush_in_clock=True,
    seen=Seen(storage_bytes=256 * MIB, lower_bytes=256 * MIB, drain_bytes=0, flushes=3, dirty_bytes=0),
)
STAT = Made(operation="stat", record_bytes=0, figure="ops_per_s", claim=Claim(tier=Tier.DEVICE), seen=Seen(inodes=(0, 256)))
HOST_FACTS = (("clock.source", "tsc"), ("kernel.version", "6.1"), ("cpu.piece_ns", "100"), ("page_cache.sample.p", "1 of 9"))
HOST_SERIES = (
    ("cpu", "total_ns", (0.0, 4e9)),
    ("cpu", "steal_ns", (0.0, 0.0)),
    ("cpu", "cpus", (2.0, 2.0)),
    ("clock", "boot_time_s", (1.7e9, 1.7e9)),
    ("memory", "dirty_bytes", (0.0, 0.0)),
    ("pressure", "memory_full_ns", (0.0, 0.0)),
    ("other_processes", "cpu_ns", (0.0, 1e6)),
    ("other_processes", "own_cpu_ns", (0.0, 1e6)),
    ("lab", "cpu_ns", (0.0, 1e6)),
    ("network", "rx_errors", (0.0, 0.0)),
)


def whole(made: Made) -> TrialCase:
    """A case with what the observers of a host tell beside what the run itself needs."""
    return observed_host(case_of(made, "T01"), made.seconds)


def observed_host(case: TrialCase, seconds: float) -> TrialCase:
    """The case with the evidence that observers of a host give whatever the run does."""
    facts = [Fact(host="local", when=when, key=k, value=v, fact_class=FactClass.NOISE) for k, v in HOST_FACTS for when in When]
    series = [gauge(layer, "", metric, values, seconds) for layer, metric, values in HOST_SERIES]
    seen = case.observations
    return replace(case, observations=replace(seen, facts=(*seen.facts, *facts), series=(*seen.series, *series)))


def also_of(seen: Observations, host: str, times: int) -> Observations:
    """The same evidence again under the name of another host, its counters so many times as large, its facts others."""

    def many(counted: int | None) -> int | None:
        return None if counted is None else counted * times

    def more(values: array) -> array:
        return array("d", (value * times + 1.7e9 * (times == 1) for value in values))

    return replace(
        seen,
        readings=(
            *seen.readings,
            *(
                replace(
                    one, host=host, bytes=one.bytes and one.bytes * times, operations=one.operations and one.operations * times
                )
                for one in seen.readings
            ),
        ),
        series=(*(replace(one, host=host, value=more(one.value)) for one in seen.series), *seen.series),
        facts=(*(replace(one, host=host, value=f"{one.value}{times}") for one in seen.facts), *seen.facts),
        missing=(Missing(host=host, phase=None, key="cpu.steal_ns", reason="no /proc/stat"), *seen.missing),
    )


@each("times", 0, 1, 10)
@each("made", READ, WRITE, STAT, but(READ, lower_bytes=None), but(WRITE, dirty_bytes=MIB))
def test_a_host_that_no_rule_asks_for_changes_no_finding(made, times):
    case = whole(made)
    with_other = replace(case, observations=also_of(case.observations, "s", times))
    assert [examine(rule, with_other) for rule in RULES] == [examine(rule, case) for rule in RULES]


def test_without_asking_for_a_host_many_findings_would_change():
    """Else the test above would prove nothing."""
    changed = set()
    for made in (READ, WRITE):
        (case,) = whole(made).about(About.ALL_LOAD_HOSTS)
        both = replace(case, observations=also_of(case.observations, "s", 10).on_all())
        told = [examine(replace(rule, about=About.ALL_LOAD_HOSTS), case) for rule in RULES]
        for rule, before in zip(RULES, told, strict=True):
            judged = replace(both, thresholds=limits.thresholds(rule.id))
            after = rule.check(judged) if rule.applies(judged) is None else before
            changed |= {rule.id} if (after.state, after.statement) != (before.state, before.statement) else set()
    assert len(changed) >= 8, sorted(changed)


def second_load(case: TrialCase, times: int) -> TrialCase:
    """The case with as many clients on a second load host."""
    more = tuple(replace(one, host="s", index=one.index + len(case.phase.clients)) for one in case.phase.clients)
    other = tuple(replace(one, host="s", cached_share_before=0.9, drain_ns=9) for one in case.phase.hosts)
    phase = replace(case.phase, clients=(*case.phase.clients, *more), hosts=(*other, *case.phase.hosts))
    run = replace(case.run, phases=(phase,))
    return replace(case, run=run, phase=phase, observations=also_of(case.observations, "s", times))


@each("made", READ, WRITE, STAT)
def test_of_two_load_hosts_each_is_judged_by_its_own_evidence(made):
    case = whole(made)
    first, second = second_load(case, 10).about(About.EACH_LOAD_HOST)
    assert (first.host, second.host, first.role) == ("local", "s", HostRole.LOAD)
    (alone,) = case.about(About.EACH_LOAD_HOST)
    assert (first.phase, first.run, set(first.observations.readings)) == (
        alone.phase,
        alone.run,
        set(alone.observations.readings),
    )
    assert first.observations.hosts == {"local"}
    for rule in RULES:
        if rule.about is About.EACH_LOAD_HOST:
            assert examine(rule, first) == examine(rule, alone), rule.id


def test_two_hosts_are_added_up_only_where_a_rule_asks_for_all():
    case = second_load(whole(READ), 10)
    moved = {
        about: [ladder.passed(one.phase, one.observations, Rung.LOWEST_DEVICE, Direction.READ) for one in case.about(about)]
        for about in About
    }
    assert [step.bytes for step in moved[About.EACH_LOAD_HOST]] == [256 * MIB, 2560 * MIB]
    assert [step.bytes for step in moved[About.ALL_LOAD_HOSTS]] == [2816 * MIB]
    assert [step.bytes for step in moved[About.TARGET_HOST]] == [256 * MIB]
    with pytest.raises(LookupError, match="local, s"):
        ladder.passed(case.phase, case.observations, Rung.LOWEST_DEVICE, Direction.READ)
    with pytest.raises(LookupError):
        case.observations.fact("clock.source")


def test_of_several_load_hosts_the_worst_finding_counts_and_names_its_host():
    case = second_load(whole(READ), 1)

    def check(one: TrialCase):
        state = State.FAIL if one.host == "s" else State.PASS
        return found(rule, one, state, "said", severity=Severity.QUALIFIES)

    rule = replace(RULES[0], id="T01", needs=(), applies=lambda _: None, check=check, about=About.EACH_LOAD_HOST)
    finding = examine(rule, case)
    assert (finding.state, finding.host, finding.role) == (State.FAIL, "s", HostRole.LOAD)
    assert finding.statement == "On s: said"
    of_target = examine(replace(rule, about=About.TARGET_HOST), case)
    assert (of_target.state, of_target.host, of_target.role) == (State.PASS, "local", HostRole.TARGET)
    together = examine(replace(rule, about=About.ALL_LOAD_HOSTS), case)
    assert (together.host, together.role) == (None, HostRole.LOAD)
    assert together.statement == "said"


def test_equal_findings_of_several_hosts_are_one_with_their_number():
    case = second_load(whole(READ), 1)

    def check(one: TrialCase):
        bound = Bound(low=1.0, high=3.0 if one.host == "s" else 2.0, unit="1/s")
        return found(rule, one, State.FAIL, "said", severity=Severity.QUALIFIES, bound=bound)

    rule = replace(RULES[0], id="T01", needs=(), applies=lambda _: None, check=check, about=About.EACH_LOAD_HOST)
    assert examine(rule, case).statement == "On s (2 of 2 hosts alike): said"
    assert examine(rule, whole(READ)).statement == "said"


def test_missing_evidence_of_several_hosts_names_those_that_lack_it():
    seen = also_of(whole(READ).observations, "s", 1)
    both = replace(seen, missing=(*missing_on("s", None, {"L9.read": "no engine there"}),)).on_all()
    assert both.why_missing("L9.read") == "on s: no engine there"
    assert both.on("s").why_missing("L9.read") == "no engine there"


def test_idle_baselines_are_those_of_the_same_host():
    case = whole(but(READ, before_bytes=MIB))
    other = replace(case, observations=also_of(case.observations, "s", 10).on("local", "s"))
    (mine,) = [one for one in case.observations.readings if (one.rung, one.span, one.direction) == ("L9", "clock", "read")]
    windows = ladder.idle_baselines(case.phase, other.observations, mine)
    assert [(one.host, one.bytes) for one in windows] == [("local", MIB)]


def test_facts_of_hosts_that_differ_are_no_fact_of_all():
    seen = also_of(whole(READ).observations, "s", 1)
    assert seen.on_all().fact("clock.source") is None
    assert seen.on_all().fact("clock.source", host="s") == "tsc1"
    assert seen.on("local").fact("clock.source") == "tsc"


@each("direction", Direction.SEND, Direction.RECEIVE, Direction.REQUEST)
def test_no_rule_of_storage_speaks_of_a_network(direction):
    """A reading of each kind is there: rules of tier and durability neither pass nor accuse."""
    case = whole(READ)
    phase = replace(case.phase, directions={"read": direction})
    spoken = replace(case, phase=phase, run=replace(case.run, phases=(phase,)))
    for rule in RULES:
        if rule.part in ("tier", "durability"):
            assert examine(rule, spoken).state in (State.NOT_APPLICABLE, State.UNVERIFIED), rule.id
    assert not direction.of_storage
    assert reading(Rung.CLIENT_NIC, "interface:eth0", direction, (1, 1)).direction is direction
