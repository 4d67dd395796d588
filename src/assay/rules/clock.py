"""Finds times taken with a clock that changed, was set, is slow, or disagrees with the clocks of other hosts.

- The kernel's clock source changed during the trial: every rate and time qualifies.
- The wall clock was set (the boot time moved by `step_s` or more). An external tool's figure is invalid if the step exceeds
  `error_share` of the time. The lab's own engines use the monotonic clock, so their figures get a note.
- The clocks of several hosts agree only within `error_share` of the phase: qualified; above `invalid_error_share`: invalid.
- A slow source (hpet, acpi_pm, jiffies): a note; G07 gives the cost of a stamp.

NTP makes no difference to durations on one host. Between hosts, only the lab's own exchange of clocks counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from assay import measures
from assay.catalogue import About, Rule, TrialCase
from assay.records import Finding, Scope, Severity, State, When
from assay.rulekit.findings import found
from assay.units import Unit

SOURCE = "clock.source"
SLOW = frozenset({"hpet", "acpi_pm", "refined-jiffies", "jiffies", "pit"})
"""Sources that are read from a device, at about a microsecond a stamp, or tick only a few hundred times a second."""
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
    """Each fault that shows, the worst of them deciding."""
    before, booted = case.observations.fact(SOURCE), steps(case)
    faults = [*changed(case), *stepped(case, booted), *skewed(case), *slow(before)]
    observed = {
        "source": before,
        "source_after": case.observations.fact(SOURCE, When.AFTER),
        "step_s": max(booted, default=None),
        "error_share": error_share(case),
    }
    if faults:
        text = " ".join(fault.text for fault in faults)
        worst = min(faults, key=lambda fault: list(Severity).index(fault.severity))
        return found(RULE, case, State.FAIL, text, severity=worst.severity, observed=observed, relabel=worst.label)
    if before is None and not booted:
        return found(RULE, case, State.UNVERIFIED, "Clock source and boot time of the host unknown.", observed=observed)
    source = f"Clock source {before} throughout" if before else "Clock source unknown"
    kept = "wall clock not set" if booted else "wall clock unknown"
    return found(RULE, case, State.PASS, f"{source}; {kept}.", observed=observed)


def changed(case: TrialCase) -> Iterator[Fault]:
    """The kernel changed its clock source during the trial: by distrust, or by an administrator."""
    before, after = case.observations.fact(SOURCE), case.observations.fact(SOURCE, When.AFTER)
    if before is not None and after is not None and before != after:
        yield Fault(
            text=f"Clock source changed during the trial from {before} to {after}: one of them was wrong.",
            severity=Severity.QUALIFIES,
            label=f"timed by a clock that changed from {before} to {after}",
        )


def steps(case: TrialCase) -> list[float]:
    """By how much the time of booting by the wall clock moved in this phase, of each host."""
    series = case.observations.over_time(case.phase.name, "clock", "boot_time_s")
    return [max(one.value) - min(one.value) for one in series if one.value]


def stepped(case: TrialCase, booted: list[float]) -> Iterator[Fault]:
    """The wall clock was set during the phase."""
    step = max(booted, default=0.0)
    if step < case.thresholds["step_s"]:
        return
    seconds = (case.phase.end_ns - case.phase.start_ns) / 1e9
    text = f"Wall clock set by {step:g} s during the phase of {seconds:.3g} s"
    if not case.phase.values:
        yield Fault(text=f"{text}; the lab's own durations use the monotonic clock.", severity=Severity.NOTES)
    elif step > case.thresholds["error_share"] * seconds:
        label = "timed while the wall clock was set"
        yield Fault(text=f"{text}: a tool that reads it is wrong by that amount.", severity=Severity.INVALIDATES, label=label)


def error_share(case: TrialCase) -> float | None:
    """How far the clocks of the clients' hosts may be apart over the length of the phase; None where there is one host."""
    hosts = {client.host for client in case.phase.clients}
    errors = [clock.error_ns for clock in case.run.hosts if clock.host in hosts]
    length = case.phase.end_ns - case.phase.start_ns
    return 2 * max(errors) / length if len(hosts) > 1 and errors and length > 0 else None


def skewed(case: TrialCase) -> Iterator[Fault]:
    """The window in which all hosts were at work is known no better than their clocks agree."""
    share = error_share(case)
    if share is None or share <= case.thresholds["error_share"]:
        return
    much = share > case.thresholds["invalid_error_share"]
    yield Fault(
        text=f"Clocks of the hosts agree within {measures.percent(share)} of the phase (limit"
        f" {measures.percent(case.thresholds['error_share'])}), so the common window is uncertain.",
        severity=Severity.INVALIDATES if much else Severity.QUALIFIES,
        label="of hosts with disagreeing clocks",
    )


def slow(source: str | None) -> Iterator[Fault]:
    """A clock source that is dear or coarse."""
    if source in SLOW:
        text = f"Clock source {source}: about a microsecond or more per stamp, or coarse ticks (G07)."
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
    reads=("clock.boot_time_s", "fact:clock.source"),
    wrong="A virtual machine moves, the kernel finds its cycle counter unstable and switches the source. NTP or a person sets "
    "the wall clock while a tool reads it. One of ten hosts is half a second late, and the common window of all hosts is "
    "unknown.",
    alternatives=(
        "An administrator selected another clock source during the trial. Select it before the trial.",
        "A virtual machine was migrated or suspended. Check the kernel log and steal (N02).",
    ),
    advice="Let NTP or the hypervisor keep the clock without steps, and repeat. The kernel log gives the reason for a changed "
    "source (`clocksource: ... unstable`). Take durations from CLOCK_MONOTONIC of one host, never from two wall clocks.",
    sources=(
        "Becker, Rabenseifner, Wolf, EuroPVM/MPI 2008: implications of non-constant clock drifts for the timestamps of traces",
        "Hoefler and Belli, SC 2015: report the timer and its resolution",
    ),
)
