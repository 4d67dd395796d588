"""Finds quotas that limited the trial: CPU quotas, and throttle rules on the devices of the stack.

The rule reads `nr_throttled` and `throttled_ns` of the processes' control groups.
It compares every throttle rule on a device of the stack with the device's own I/O.
- An undeclared rule was used to `used_share` or more, or a group was stopped for `throttled_share` of the time: qualified. The
  figure is a lower bound of a rate, an upper bound of a latency. The time in which a group was not stopped bounds the other
  side. How much a throttled device could do is not known: the figure is TAINTED.
- An option of an external command set its rate, and that rate was reached: qualified. So does a tool's own default
  (iperf3 -u: 1 Mbit/s). An offered load of a tool that measures its effect is a note.
- A process of the load had as many files open as it may (`ulimit -n`): qualified.
- A group was stopped for less, or was at the limit of its memory: a note.
- The limit is declared by the target, is the factor, or was not reached: pass, with the limiter named.
- No process of the load was seen in a control group, or its groups could not be read: unverified.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from assay.catalogue import About, Rule, TrialCase
from assay.evidence import ladder
from assay.evidence.own_limits import own_limits
from assay.measures import in_bytes, percent, with_unit
from assay.records import Direction, Finding, Limiter, LimiterKind, Meaning, Rung, Scope, Severity, State
from assay.rulekit.findings import argv_of, found, held_back, knob
from assay.rulekit.quotas import stopped_groups
from assay.units import Unit

METRICS = {
    "limit_read_bytes_per_s": (Direction.READ, "bytes_per_s", Unit.BYTES_PER_S),
    "limit_write_bytes_per_s": (Direction.WRITE, "bytes_per_s", Unit.BYTES_PER_S),
    "limit_read_ops_per_s": (Direction.READ, "ops_per_s", Unit.PER_S),
    "limit_write_ops_per_s": (Direction.WRITE, "ops_per_s", Unit.PER_S),
}
NOT_IN_FORCE = 3
"""A tool that goes so many times faster than the rate that it was told did not obey it; some begin with a burst."""
OWN_WORDS = "the words of the command"
LEAVE_OUT = "Leave the option out, or set it above what can be reached (iperf3 -u -b 0), and report the rate that was set."
OF_GROUPS = ("cgroup.nr_throttled",)
"""Evidence that every host needs: without it a limit that is found all the same still fails."""
OF_DEVICES = "cgroup.throttle_rules"
"""Evidence that a host with devices of the target needs besides."""
SAME_SHARE = 0.01
"""A declared limit and a rule that differ by no more are one."""


@dataclass(frozen=True, kw_only=True)
class Throttle:
    """One limit that was in force under the clock, in words, and how much of it was used; None (not known) counts as reached."""

    what: str
    source: str
    detail: str = ""
    """How often it stopped the load, where that was counted."""
    used_share: float | None
    declared: str | None
    severity: Severity
    limiter: Limiter | None

    def __str__(self) -> str:
        return ", ".join(filter(None, (self.what, self.detail)))


def check(case: TrialCase) -> Finding:
    """Fail where an undeclared limit was reached; pass, naming the limiter, where it was declared or not reached."""
    missing = {key: why for key in needed(case) if (why := case.observations.why_missing(key)) is not None}
    limits = [*quotas(case), *device_rules(case), *full_groups(case), *open_files(case), *set_rates(case)]
    limit = case.thresholds["used_share"]
    reached = [one for one in limits if one.declared is None and (one.used_share is None or one.used_share >= limit)]
    state = State.FAIL if reached else State.UNVERIFIED if missing or not seen(case) else State.PASS
    worst = min((one.severity for one in reached), key=list(Severity).index, default=RULE.severity)
    held = reached if worst is Severity.QUALIFIES else []
    finding = found(
        RULE,
        case,
        state,
        in_words(state, limits, reached, missing),
        severity=worst,
        observed={str(one): one.used_share for one in limits},
        bound=held_back(case, running_share(case, held)) if held else None,
        relabel=f"held back by the {held[0].what}" if held else None,
        detail=held[0].detail if held else None,
        limiter=limiter(limits, held, limit),
        lacking=needed(case),
        evidence=tuple(f"{one.source}: {one}" for one in limits),
    )
    return replace(finding, advice=LEAVE_OUT) if held and all(one.source == OWN_WORDS for one in held) else finding


def running_share(case: TrialCase, held: list[Throttle]) -> float | None:
    """The share of the time in which no quota stopped the load; None where a device was throttled, or no time was counted."""
    if any(one.limiter is None or one.limiter.kind is not LimiterKind.CPU_QUOTA for one in held):
        return None
    stopped = [one.share for one in stopped_groups(case)]
    known = [share for share in stopped if share is not None]
    most = max(known, default=1.0)
    return 1 - most if len(known) == len(stopped) and most < 1 else None


def limiter(limits: list[Throttle], reached: list[Throttle], share: float) -> Limiter | None:
    """The limit that the figure reached: an undeclared one first; None where none is known to be used up."""
    used = [one for one in limits if one.used_share is not None and one.used_share >= share]
    return next((one.limiter for one in (*reached, *used) if one.limiter is not None), None)


def in_words(state: State, limits: list[Throttle], reached: list[Throttle], missing: dict[str, str]) -> str:
    """The finding in words."""
    if reached:
        return f"The figure describes an undeclared quota: {'; '.join(map(words, reached))}."
    if state is State.UNVERIFIED:
        reason = "; ".join(dict.fromkeys(missing.values())) or "control groups not read in this phase"
        return f"Quotas unknown: {reason}."
    if limits:
        return f"Limits in force: {'; '.join(map(words, limits))}."
    return "No CPU quota stopped a control group, and no throttle rule on a device of the stack."


def words(one: Throttle) -> str:
    """One limit, its use, and where it is declared."""
    used = "" if one.used_share is None else f"{percent(one.used_share)} used"
    more = "; ".join(filter(None, (used, one.declared and f"declared by {one.declared}")))
    return f"{one} ({more})" if more else str(one)


def needed(case: TrialCase) -> tuple[str, ...]:
    """Which evidence this host needs: rules of devices only where the target's devices are."""
    return (*OF_GROUPS, OF_DEVICES) if devices(case) else OF_GROUPS


def devices(case: TrialCase) -> tuple[str, ...]:
    """The devices below every target of the run, on the target's host."""
    if not case.holds_target:
        return ()
    return tuple(dict.fromkeys(device for place in case.run.places for device in place.devices))


def seen(case: TrialCase) -> bool:
    """Whether the control groups were read in this phase."""
    keys = (key.split(".", 1) for key in needed(case))
    return all(any(case.observations.over_time(case.phase.name, layer, metric)) for layer, metric in keys)


def quotas(case: TrialCase) -> Iterator[Throttle]:
    """Control groups that were stopped for their CPU quota."""
    declared = next((limit.declared_by for place in case.run.places for limit in place.limits if limit.device == "cpu"), None)
    for one in stopped_groups(case):
        yield Throttle(
            what=f"CPU quota of control group {one.group}",
            detail=one.words,
            source=f"{one.source}:{one.group}/cpu.stat",
            used_share=None,
            declared=declared,
            severity=Severity.QUALIFIES if one.reaches(case.thresholds["throttled_share"]) else Severity.NOTES,
            limiter=Limiter(
                kind=LimiterKind.CPU_QUOTA,
                name=one.group,
                declared=declared is not None,
                stops=round(one.times),
                stopped_share=one.share,
            ),
        )


def full_groups(case: TrialCase) -> Iterator[Throttle]:
    """Control groups that were at the limit of their memory: less of the data stayed in the page cache than the host holds."""
    for series in case.observations.over_time(case.phase.name, "cgroup", "memory_limit_hits"):
        limits = [*case.observations.over_time(case.phase.name, "cgroup", "memory_limit_bytes", series.subject)]
        times = ladder.known_rise(series, case.phase.start_ns, case.phase.end_ns)
        group = series.subject.removeprefix("cgroup:") or "/"
        if times <= 0 or not any(one.value for one in limits):
            continue
        meant = any(knob(case, "memory", spec.name) is not None for spec in case.experiment.workloads)
        yield Throttle(
            what=f"memory limit of {in_bytes(limits[0].value[-1])} of control group {group}",
            detail=f"reached {times:,.0f} times",
            source=series.source,
            used_share=None,
            declared="knob memory" if meant else None,
            severity=Severity.NOTES,
            limiter=None,
        )


def open_files(case: TrialCase) -> Iterator[Throttle]:
    """A process of the load that had as many files, sockets and pipes open as it may (`ulimit -n`): further ones failed."""
    opened, limits = (
        {one.subject: max(one.value) for one in case.observations.over_time(case.phase.name, "process", name) if one.value}
        for name in ("open_files", "open_files_limit")
    )
    both = [(opened[subject], limits[subject]) for subject in opened if subject in limits]
    count, most = min(both, key=lambda pair: pair[1] - pair[0], default=(0.0, 2.0))
    if count < most - 1:
        return
    yield Throttle(
        what=f"limit of {most:,.0f} open files (ulimit -n)",
        detail=f"{count:,.0f} open",
        source="process:/proc/PID/limits",
        used_share=1.0,
        declared=None,
        severity=Severity.QUALIFIES,
        limiter=None,
    )


def set_rates(case: TrialCase) -> Iterator[Throttle]:
    """Rates that the words of an external command set for it."""
    for limit in own_limits(argv_of(case)):
        figure = "bytes_per_s" if limit.unit is Unit.BYTES_PER_S else "ops_per_s"
        rate = case.phase.values.get(f"{case.measure.operation}.{figure}")
        if rate is None or not limit.amount or rate > NOT_IN_FORCE * limit.amount:
            continue
        yield Throttle(
            what=f"{limit.words}, {with_unit(limit.amount, limit.unit)}",
            source=OWN_WORDS,
            used_share=rate / limit.amount,
            declared=None,
            severity=Severity.NOTES if limit.is_meant else Severity.QUALIFIES,
            limiter=None,
        )


def device_rules(case: TrialCase) -> Iterator[Throttle]:
    """Throttle rules on the devices of the stack; `used_share` is what passed the device over what the rule lets pass."""
    for metric, (direction, kind, unit) in METRICS.items():
        for series in case.observations.over_time(case.phase.name, "cgroup", metric):
            device, limit = series.subject.removeprefix("device:"), min(series.value, default=0.0)
            if device not in devices(case) or limit <= 0:
                continue
            used = passed_per_s(case, device, direction, kind)
            declared = declared_by(case, device, direction, kind, limit)
            yield Throttle(
                what=f"{direction} limit of {with_unit(limit, unit)} on {device}",
                source=series.source,
                used_share=None if used is None else used / limit,
                declared=declared,
                severity=Severity.QUALIFIES,
                limiter=Limiter(
                    kind=LimiterKind.RATE,
                    name=device,
                    declared=declared is not None,
                    amount=limit,
                    unit=unit,
                    direction=direction,
                ),
            )


def passed_per_s(case: TrialCase, device: str, direction: Direction, kind: str) -> float | None:
    """What passed a device in a direction under the clock, per second; None where it was not seen."""
    for rung in (Rung.LOWEST_DEVICE, Rung.UPPER_DEVICE):
        for reading in case.observations.rung(case.phase.name, rung, direction, subject=f"device:{device}"):
            amount = reading.bytes if kind == "bytes_per_s" else reading.operations
            duration = min(reading.to_ns, case.phase.end_ns) - max(reading.from_ns, case.phase.start_ns)
            return None if amount is None or duration <= 0 else amount * 1e9 / duration
    return None


def declared_by(case: TrialCase, device: str, direction: Direction, kind: str, limit: float) -> str | None:
    """Where this limit is declared: by the target, or as a factor of the experiment; None if nowhere."""
    for place in case.run.places:
        for known in place.limits:
            value = getattr(known, kind)
            same = (known.device, known.direction) == (device, direction)
            if same and value is not None and abs(value - limit) <= SAME_SHARE * limit:
                return known.declared_by or f"target {place.target}"
    factors = (factor.path for factor in case.experiment.factors if "limit" in factor.path.split(".")[1:])
    return next((f"factor {path}" for path in factors), None)


RULE = Rule(
    id="L06",
    name="hidden-throttle",
    scope=Scope.TRIAL,
    severity=Severity.QUALIFIES,
    part="load",
    short="throttled",
    meaning=Meaning.QUOTA,
    reads=OF_GROUPS,
    check=check,
    about=About.EACH_HOST,
    wrong="The system looks slow, or remarkably steady, because a quota limits it. The report does not mention the control "
    "group's CPU quota or block throttle. The figure describes the quota.",
    alternatives=(
        (
            "A device's natural limit looks as flat as a throttle. Raise the queue depth: a throttled rate remains, its latency "
            "grows."
        ),
        "A limit of a hypervisor or cloud shows in no file of this host. Compare with the rate in the contract (L04).",
    ),
    advice="Remove the rule (the evidence names its file) or run outside that control group. Or declare it with `limit` of the "
    "target or [limits] of the experiment; then the figure describes a system with this limit.",
    at_shell="Remove the limit (the evidence names its file) or run outside that control group.",
    sources=("Linux: admin-guide/cgroup-v1/blkio-controller.rst, admin-guide/cgroup-v2.rst, scheduler/sched-bwc.rst",),
)
