"""Finds times taken with a clock that changed, was set, is slow, or disagrees with the clocks of other hosts.

- The kernel's clock source changed during the trial: every rate and time qualifies.
- The wall clock was set (the boot time moved by `step_s` or more). An external tool's figure is invalid if the step exceeds
  `error_share` of the time. The lab's own engines use the monotonic clock, so their figures get a note.
- A host slept for `slept_s` or more (suspend): the monotonic clock stood still, and the figure leaves that time out: qualified.
- The clocks of several load hosts agree only within `error_share` of the phase: qualified, with the host that is known least;
  above `invalid_error_share`: invalid. The bounds come from the comparisons before and after the phase.
- A load host whose clock was never compared, or whose clock source is not known before and after: unverified. An external tool
  is unverified, too, where the boot time is not known.
- A slow source (hpet, acpi_pm, jiffies): a note; G07 gives the cost of a stamp.

Clocks that differ are fine as long as the difference is known.
NTP makes no difference to durations on one host. Between hosts, only the lab's own exchange of clocks counts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from assay import measures
from assay.catalogue import About, Rule, TrialCase
from assay.records import Finding, HostClock, Scope, Severity, State, When
from assay.rulekit.findings import found
from assay.units import Unit

SOURCE = "clock.source"
SLOW = frozenset({"hpet", "acpi_pm", "refined-jiffies", "jiffies", "pit"})
"""Sources that are read from a device, at about a microsecond a stamp, or tick only a few hundred times a second."""
Sources = tuple[str | None, str | None]
"""Before and after the trial."""
TIMED = (Unit.PER_S, Unit.BYTES_PER_S, Unit.NANOSECONDS)


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One thing that is wrong with the clock, what it does to the figure, and what the figure is then called."""

    text: str
    severity: Severity
    label: str | None = None


def applies(case: TrialCase) -> str | None:
    """Rates and times."""
    kind = measures.figure_kind(case.measure.figure)
    return None if kind is not None and kind.unit in TIMED else "a figure without time"


def check(case: TrialCase) -> Finding:
    """Each fault that shows on any host, the worst of them deciding."""
    sources = {host: sources_of(case, host) for host in hosts_of(case)}
    booted = {host: step for host in sources if (step := stepped_s(case, host)) is not None}
    uncertain, share = least_known(case)
    faults = [*changed(sources), *slept(case), *stepped(case, booted), *skewed(case, uncertain, share), *slow(sources)]
    observed: dict[str, float | str | None] = {
        "source": named(before for before, _ in sources.values()),
        "source_after": named(after for _, after in sources.values()),
        "step_s": max(booted.values(), default=None),
        "error_share": share,
    }
    if faults:
        text = " ".join(fault.text for fault in faults)
        worst = min(faults, key=lambda fault: list(Severity).index(fault.severity))
        return found(RULE, case, State.FAIL, text, severity=worst.severity, observed=observed, relabel=worst.label)
    if (doubt := unknown(case, sources, booted)) is not None:
        return found(RULE, case, State.UNVERIFIED, doubt, observed=observed)
    names = dict.fromkeys(before for before, _ in sources.values() if before)
    source = f"Clock source {' and '.join(names)} throughout" if names else "Clock source unknown"
    kept = "wall clock not set" if booted else "wall clock unknown"
    apart = "" if share is None else f"; clocks of the hosts agree within {measures.percent(share)} of the phase"
    return found(RULE, case, State.PASS, f"{source}; {kept}{apart}.", observed=observed)


def hosts_of(case: TrialCase) -> tuple[str, ...]:
    """The hosts whose clocks time the load; where no client is known those that were watched."""
    return case.phase.load_hosts or tuple(sorted(case.observations.hosts))


def sources_of(case: TrialCase, host: str) -> tuple[str | None, str | None]:
    """The kernel's clock source on a host before and after the trial."""
    before, after = (case.observations.fact(SOURCE, when, host) for when in (When.BEFORE, When.AFTER))
    return before, after


def named(sources: Iterable[str | None]) -> str | None:
    """The sources that are known, each once."""
    return ", ".join(dict.fromkeys(one for one in sources if one)) or None


def where(host: str, hosts: Collection[str]) -> str:
    """` on HOST`, where there is more than one."""
    return f" on {host}" if len(hosts) > 1 else ""


def unknown(case: TrialCase, sources: Mapping[str, Sources], booted: Mapping[str, float]) -> str | None:
    """What is not known of the clocks; None where enough is."""
    blind = [host for host, (before, _) in sources.items() if before is None and host not in booted]
    if blind or not sources:
        several = f" of {', '.join(blind)}" if len(sources) > 1 else " of the host"
        return f"Clock source and boot time{several} unknown."
    half = [host for host, both in sources.items() if None in both]
    if half:
        return f"Clock source{''.join(where(host, sources) for host in half[:1])} unknown before or after the trial."
    unset = [host for host in sources if host not in booted]
    if unset and case.phase.values:
        return (
            f"Boot time{where(unset[0], sources)} unknown: the wall clock, by which a tool may take its times, may have been set."
        )
    lacking = [host for host in sources if clock_of(case, host) is None] if len(sources) > 1 else []
    return f"Clocks never compared: {', '.join(lacking)}." if lacking else None


def changed(sources: Mapping[str, Sources]) -> Iterator[Fault]:
    """A kernel changed its clock source during the trial: by distrust, or by an administrator."""
    for host, (before, after) in sources.items():
        if before is not None and after is not None and before != after:
            yield Fault(
                text=f"Clock source changed{where(host, sources)} during the trial from {before} to {after}:"
                " one of them was wrong.",
                severity=Severity.QUALIFIES,
                label=f"timed by a clock that changed from {before} to {after}",
            )


def stepped_s(case: TrialCase, host: str) -> float | None:
    """By how much the time of booting by the wall clock of a host moved in this phase; None where nobody looked."""
    series = case.observations.over_time(case.phase.name, "clock", "boot_time_s")
    return max((max(one.value) - min(one.value) for one in series if one.host == host and one.value), default=None)


def stepped(case: TrialCase, booted: Mapping[str, float]) -> Iterator[Fault]:
    """A wall clock was set during the phase."""
    host = max(booted, key=lambda one: booted[one], default="")
    step = booted.get(host, 0.0)
    if step < case.thresholds["step_s"]:
        return
    seconds = case.phase.lasted_ns / 1e9
    text = f"Wall clock set{where(host, booted)} by {step:g} s during the phase of {seconds:.3g} s"
    if not case.phase.values:
        yield Fault(text=f"{text}; the lab's own durations use the monotonic clock.", severity=Severity.NOTES)
    elif step > case.thresholds["error_share"] * seconds:
        label = "timed while the wall clock was set"
        yield Fault(text=f"{text}: a tool that reads it is wrong by that amount.", severity=Severity.INVALIDATES, label=label)


def slept(case: TrialCase) -> Iterator[Fault]:
    """A host slept during the phase, so that its clock stood still."""
    for one in case.observations.over_time(case.phase.name, "clock", "asleep_s"):
        rose = one.value[-1] - one.value[0] if one.value else 0.0
        if rose >= case.thresholds["slept_s"]:
            text = f"{one.host} slept for {rose:.3g} s during the phase, and its clock stood still."
            yield Fault(text=text, severity=Severity.QUALIFIES, label="without the time in which a host slept")


def clock_of(case: TrialCase, host: str) -> HostClock | None:
    """The comparison of a host's clock with ours: that of the phase, else the best of the trial; None without one."""
    here = case.phase.on_host(host)
    own = None if here is None else here.clock
    return own or next((one for one in case.run.hosts if one.host == host), None)


def least_known(case: TrialCase) -> tuple[str, float | None]:
    """The host whose clock is known least, and how far two clocks may be apart over the length of the phase.

    None where there is one host: what one clock times needs no other.
    """
    hosts, length = case.phase.load_hosts, case.phase.lasted_ns
    clocks = sorted((clock for host in hosts if (clock := clock_of(case, host)) is not None), key=lambda one: -one.error_ns)
    if len(hosts) < 2 or not clocks or length <= 0:
        return "", None
    return clocks[0].host, sum(clock.error_ns for clock in clocks[:2]) / length


def skewed(case: TrialCase, host: str, share: float | None) -> Iterator[Fault]:
    """The window in which all hosts were at work is known no better than their clocks agree."""
    if share is None or share < case.thresholds["error_share"]:
        return
    much = share > case.thresholds["invalid_error_share"]
    yield Fault(
        text=f"Clocks of the hosts agree within {measures.percent(share)} of the phase (limit"
        f" {measures.percent(case.thresholds['error_share'])}), so the common window is uncertain. Least known: {host}.",
        severity=Severity.INVALIDATES if much else Severity.QUALIFIES,
        label="of hosts with disagreeing clocks",
    )


def slow(sources: Mapping[str, Sources]) -> Iterator[Fault]:
    """A clock source that is dear or coarse."""
    for host, (source, _) in sources.items():
        if source in SLOW:
            text = f"Clock source {source}{where(host, sources)}: about a microsecond or more per stamp, or coarse ticks (G07)."
            yield Fault(text=text, severity=Severity.NOTES)


RULE = Rule(
    id="W08",
    name="clock",
    scope=Scope.TRIAL,
    severity=Severity.QUALIFIES,
    part="window",
    short="clock changed or set",
    applies=applies,
    check=check,
    about=About.ALL_LOAD_HOSTS,
    reads=("clock.boot_time_s", "clock.asleep_s", "fact:clock.source"),
    wrong="A virtual machine moves, the kernel finds its cycle counter unstable and switches the source. NTP or a person sets "
    "the wall clock while a tool reads it. One of ten hosts is half a second late, and the common window of all hosts is "
    "unknown.",
    alternatives=(
        "An administrator selected another clock source during the trial. Select it before the trial.",
        "A virtual machine was migrated or suspended. Check the kernel log and steal (N02).",
    ),
    advice="Clocks of several hosts known too little: measure longer, so that the same bound is a smaller share of the phase; "
    "NTP does not help. A wall clock that was set: let NTP or the hypervisor keep it without steps, and repeat. The kernel log "
    "gives the reason for a changed source (`clocksource: ... unstable`).",
    sources=(
        "Becker, Rabenseifner, Wolf, EuroPVM/MPI 2008: implications of non-constant clock drifts for the timestamps of traces",
        "Hoefler and Belli, SC 2015: report the timer and its resolution",
    ),
)
