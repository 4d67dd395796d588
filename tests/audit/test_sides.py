"""A target on a host apart from the load: each side is judged by its own evidence, whatever the other side has too.

The evidence of sound and of doubtful runs is spread over hosts. Every finding must stay what it was on one machine, however large
the counters are that a host has beside those of its side.
"""

from array import array
from dataclasses import replace

from assay import catalogue
from assay.audit.judge import examine
from assay.catalogue import About, TrialCase
from assay.evidence import ladder
from assay.records import (
    Claim,
    Direction,
    Durability,
    Fact,
    HostClock,
    HostRole,
    Missing,
    Observations,
    Path,
    PhaseHost,
    Reading,
    Rung,
    Scope,
    Series,
    Server,
    ServerNode,
    State,
    Tier,
)
from assay.records.sides import joined, of_target
from audit.case_builder import MIB, but
from audit.test_hosts import READ, STAT, WRITE, observed_host, whole
from stage.rows import each
from stage.server_cases import served

RULES = catalogue.rules_of(Scope.TRIAL)
STACK = but(READ, devices=("loop0", "vda"), upper_bytes=256 * MIB, backing_cached_bytes=(0, 0), dio="1")
TOOL = but(READ, values={"read.bytes": 256.0 * MIB, "read.bytes_per_s": 128.0 * MIB, "read.elapsed_ns": 2e9})
SERVER_RUNGS = (
    ("L4", "write", 256 * MIB, "interface:eth0"),
    ("L4", "read", 3 * MIB, "interface:eth0"),
    ("L3", "read", 256 * MIB, "interface:eth0"),
    ("L6", "read", 256 * MIB),
    ("L6", "write", 256 * MIB),
)
SERVER_GAUGES = {
    "run_ns": (0, 3e8),
    "busiest_thread_ns": (0, 2e8),
    "cpus": (2, 2),
    "cached_bytes": (0, 256 * MIB),
    "file_bytes": (256 * MIB, 256 * MIB),
    "dirty_bytes": (0, 0),
    "writeback_bytes": (0, 0),
    "requests": (0, 300),
    "sent_segments": (0, 5e5),
    "retransmitted_segments": (0, 0),
}
WAY = {"route": "eth0", "route_kind": "physical", "limit_bytes_per_s": "1250000000", "limit": "link of eth0, 10000 Mbit/s"}


def of_server(made, **more):
    """A run whose target names a server, with what its host tells."""
    fields = {name: getattr(made, name) for name in ("operation", "record_bytes", "figure", "claim", "seen", "drain_s")}
    case = served("T02", SERVER_RUNGS, SERVER_GAUGES, WAY, seconds=2.0, **{**fields, **more})
    return observed_host(case, 2.0)


CASES = {
    "read": lambda: whole(READ),
    "write": lambda: whole(WRITE),
    "stat": lambda: whole(STAT),
    "device not counted": lambda: whole(but(READ, lower_bytes=None)),
    "dirty at the stop": lambda: whole(but(WRITE, dirty_bytes=MIB)),
    "stack": lambda: whole(STACK),
    "cached image": lambda: whole(but(WRITE, devices=("loop0", "vda"), upper_bytes=256 * MIB, dio="0", backing_dirty_bytes=MIB)),
    "external tool": lambda: whole(TOOL),
    "served read": lambda: of_server(READ, claim=Claim(tier=Tier.DEVICE, path=Path.WIRE), resident_share=0.0),
    "served write": lambda: of_server(WRITE, claim=Claim(durability=Durability.STABLE_MEDIA)),
    "served stat": lambda: of_server(STAT),
}


def key_of(one) -> tuple[str, str]:
    """The evidence key of an item, and its subject."""
    if isinstance(one, Reading):
        return f"{one.rung}.{one.direction}", one.subject
    if isinstance(one, Series):
        return f"{one.layer}.{one.metric}", one.subject
    return (f"fact:{one.key}" if isinstance(one, Fact) else one.key), ""


def scaled(one, times):
    """The same evidence with its counters so many times as large; another fact."""
    if isinstance(one, Reading):
        more = {name: getattr(one, name) and round(getattr(one, name) * times) for name in ("bytes", "operations")}
        return replace(one, **more)
    if isinstance(one, Series):
        return replace(one, value=array("d", (value * times for value in one.value)))
    return replace(one, value=f"{one.value}{times}") if isinstance(one, Fact) else one


def on_target(case: TrialCase, host: str) -> TrialCase:
    """The run with its target, and the nodes of its server, on another host; nothing of the evidence is moved."""
    nodes = tuple(ServerNode(host=host, pid_file="/p", data=("/d",)) for _ in range(1))
    places = tuple(replace(one, host=host, server=one.server and Server(nodes=nodes)) for one in case.run.places)
    phase = replace(case.phase, hosts=(*case.phase.hosts, PhaseHost(host=host)))
    return replace(case, run=replace(case.run, places=places, phases=(phase,)), phase=phase)


def apart(case: TrialCase, times: int) -> TrialCase:
    """The target's evidence on `t`, the load's where it was; each host has that of the other side too, so many times as large."""

    def spread(items):
        for one in items:
            own, other = ("t", "local") if of_target(*key_of(one)) else ("local", "t")
            yield replace(one, host=own)
            yield replace(scaled(one, times), host=other)

    seen = case.observations
    kinds = ("readings", "series", "facts", "missing")
    return replace(
        on_target(case, "t"), observations=replace(seen, **{kind: tuple(spread(getattr(seen, kind))) for kind in kinds})
    )


def judged(case: TrialCase):
    found = {rule.id: examine(rule, case) for rule in RULES}
    return {name: (one.state, one.severity, one.bound) for name, one in found.items()}


@each("times", 0, 1, 10)
@each("name", *CASES)
def test_a_target_on_another_host_changes_no_finding(name, times):
    case = CASES[name]()
    assert judged(apart(case, times)) == judged(case)


@each("whom", About.EACH_LOAD_HOST, About.TARGET_HOST)
def test_the_evidence_of_one_side_alone_would_change_findings(whom):
    """Else the test above would prove nothing."""
    changed = set()
    for case in (make() for make in CASES.values()):
        before, other = judged(case), apart(case, 0)
        for rule in RULES:
            one = examine(replace(rule, about=whom), other)
            changed |= {rule.id} if (one.state, one.severity, one.bound) != before[rule.id] else set()
    assert len(changed) >= 8, sorted(changed)


HALVES = {"process", "page_cache", "extents", "inode_cache_objects"}
"""Layers and metrics of which each of two load hosts has its own half."""


def on_three(made, boots=(1e6, 5e6), clocks_ns=(0, 10**15)) -> TrialCase:
    """Two clients on two load hosts with clocks of their own, and the target on a third one."""
    case = whole(but(made, starts=(0.0, 0.0)))
    hosts = ("c.1", "c.2")

    def spread(items):
        for one in items:
            if of_target(*key_of(one)):
                yield replace(one, host="t")
                continue
            half = isinstance(one, Reading) or (isinstance(one, Series) and {one.layer, one.metric} & HALVES)
            for host, boot in zip(hosts, boots, strict=True):
                part = scaled(one, 0.5) if half else one
                if isinstance(one, Series) and one.metric == "boot_time_s":
                    part = replace(one, value=array("d", (value + boot for value in one.value)))
                yield replace(part, host=host)

    seen = case.observations
    clients = tuple(replace(one, host=host) for one, host in zip(case.phase.clients, hosts, strict=True))
    parts = tuple(
        replace(case.phase.hosts[0], host=host, clock=HostClock(host=host, offset_ns=off, error_ns=10**5, t0_mono_ns=off))
        for host, off in zip(hosts, clocks_ns, strict=True)
    )
    moved = replace(
        seen,
        **{kind: tuple(spread(getattr(seen, kind))) for kind in ("readings", "series", "facts", "missing")},
        histograms=tuple(replace(one, host=host) for one, host in zip(seen.histograms, hosts, strict=True)),
    )
    case = replace(case, phase=replace(case.phase, clients=clients, hosts=parts), observations=moved)
    return on_target(replace(case, run=replace(case.run, phases=(case.phase,))), "t")


@each("made", READ, WRITE, STAT, STACK, but(WRITE, dirty_bytes=MIB))
def test_two_load_hosts_with_clocks_of_their_own_and_a_target_apart_change_no_finding(made):
    assert judged(on_three(made)) == judged(whole(but(made, starts=(0.0, 0.0))))


@each("boots", (0.0, 0.0), (1e6, 1e9))
def test_hosts_that_were_booted_at_other_times_have_set_no_clock(boots):
    clock = next(rule for rule in RULES if rule.id == "W08")
    found = examine(clock, on_three(READ, boots))
    assert (found.state, found.role) == (State.PASS, HostRole.LOAD)
    assert "agree within 0.01 %" in found.statement


def test_each_side_gives_what_is_its_own():
    case = apart(whole(READ), 10)
    (both,) = case.about(About.ALL_HOSTS)
    assert (both.host, both.role, both.beyond.hosts) == ("local", HostRole.LOAD, {"t"})
    steps = [
        ladder.passed(both.phase, both.observations, rung, Direction.READ) for rung in (Rung.CLIENT_CACHE, Rung.LOWEST_DEVICE)
    ]
    assert [step.bytes for step in steps] == [256 * MIB, 256 * MIB]
    (target,) = case.about(About.TARGET_HOST)
    assert (target.host, target.role, target.observations.hosts) == ("t", HostRole.TARGET, {"t"})
    assert ladder.passed(target.phase, target.observations, Rung.CLIENT_CACHE, Direction.READ).bytes == 2560 * MIB
    load, other = case.about(About.EACH_HOST)
    assert ((load.host, load.holds_target), (other.host, other.holds_target)) == (("local", False), ("t", True))
    assert len(other.phase.clients) == len(case.phase.clients), "about the target's host a rule hears all clients"


def test_of_several_load_hosts_each_can_be_judged_with_the_target():
    each = on_three(READ).about(About.EACH_LOAD_HOST_WITH_TARGET)
    assert [(one.host, [client.host for client in one.phase.clients]) for one in each] == [("c.1", ["c.1"]), ("c.2", ["c.2"])]
    moved = [ladder.passed(one.phase, one.observations, Rung.CLIENT_CACHE, Direction.READ).bytes for one in each]
    assert moved == [128 * MIB, 128 * MIB]
    assert {one.beyond.hosts for one in each} == {frozenset({"t"})}


def test_missing_evidence_is_that_of_the_side_and_of_each_host():
    evidence = next(rule for rule in RULES if rule.id == "E01")
    case = on_three(READ)
    blind = tuple(one for one in case.observations.readings if not (one.host == "c.2" and one.rung is Rung.CLIENT_CACHE))
    reason = Missing(host="c.2", phase="p", key="L2.read", reason="no task I/O accounting")
    strange = Missing(host="c.1", phase="p", key="L9.read", reason="of no account")
    series = tuple(one for one in case.observations.series if one.host != "c.2" or one.layer != "page_cache")
    seen = replace(case.observations, readings=blind, series=series, missing=(reason, strange))
    found = examine(evidence, replace(case, observations=seen))
    assert (found.state, found.host) == (State.UNVERIFIED, "c.2")
    assert "no task I/O accounting" in found.statement
    assert "of no account" not in found.statement


def test_views_are_made_once():
    seen = apart(whole(READ), 1).observations
    assert joined(seen, ("local",), ("t",)) is joined(seen, ("local",), ("t",))
    assert joined(Observations(), ("a",), ("a",)).hosts == set()
