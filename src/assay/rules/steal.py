"""Finds CPU contention: CPU time that the hypervisor or other work on this machine took from the trial.

The rule reads steal of /proc/stat between the last sample before the clock and the first after it, and in the worst second. One
tick of 10 ms is subtracted.
It also reads the time that the load's threads waited for a CPU, per worker. That is a lower bound: waiting outside the clock is
subtracted.
- Steal above `steal_share`, above `window_share` in the worst second, or waiting above `run_delay_share`: qualified.
- Steal above `steal_share_invalid`: invalid.

Waiting is not judged with more workers than CPUs: the load then causes it.
A run that only noise rules made invalid is repeated, at most twice; all attempts are kept and counted.
"""

from __future__ import annotations

from dataclasses import dataclass

from assay import measures
from assay.catalogue import Rule, TrialCase
from assay.records import ABSOLUTE, Finding, Phase, Scope, Series, Severity, State
from assay.rulekit.findings import found

SECOND_NS = 1_000_000_000
TICK_NS = 10_000_000
"""/proc/stat counts in ticks of 10 ms: a difference is uncertain by one, which decides in a phase of less than a second."""


@dataclass(frozen=True, kw_only=True)
class Losses:
    """What one host lost under the clock, as shares; None where it is not known or not judged."""

    host: str
    steal: float
    worst_second: float | None
    waiting: float | None


def check(case: TrialCase) -> Finding:
    """Fail where a host lost more than the thresholds allow; above `steal_share_invalid` it invalidates."""
    losses = [one for host in hosts_of(case) if (one := losses_of(case, host)) is not None]
    if not losses:
        return unseen(case)
    worst = max(losses, key=lambda one: (exceeded(one, case) != (), one.steal))
    over = [f"{text} on host {one.host}" for one in losses for text in exceeded(one, case)]
    severity = Severity.INVALIDATES if worst.steal > case.thresholds["steal_share_invalid"] else Severity.QUALIFIES
    return found(
        RULE,
        case,
        State.FAIL if over else State.PASS,
        in_words(worst, over),
        severity=severity if over else RULE.severity,
        observed={"steal_share": worst.steal, "worst_second_share": worst.worst_second, "run_delay_share": worst.waiting},
        evidence=tuple(f"cpu:/proc/stat on {one.host}: steal {measures.percent(one.steal)} of CPU time" for one in losses),
    )


def in_words(worst: Losses, over: list[str]) -> str:
    """The finding in words."""
    if over:
        return f"CPU contention: {'; '.join(over)}. The result understates the system."
    second = "" if worst.worst_second is None else f", at most {measures.percent(worst.worst_second)} in any second"
    waited = "" if worst.waiting is None else measures.percent(worst.waiting)
    waiting = f"; its threads waited for a CPU at least {waited} of the time" if waited else ""
    return f"Steal {measures.percent(worst.steal)} of the CPU time during the clock{second}{waiting}."


def exceeded(one: Losses, case: TrialCase) -> tuple[str, ...]:
    """Which thresholds a host is over, in words."""
    limits = case.thresholds
    lost = (
        (one.steal, limits["steal_share"], "the hypervisor took {} of the CPU time (limit {})"),
        (one.worst_second, limits["window_share"], "it took {} in the worst second (limit {})"),
        (one.waiting, limits["run_delay_share"], "load threads waited for a CPU at least {} of the time (limit {})"),
    )
    return tuple(
        words.format(measures.percent(share), measures.percent(limit))
        for share, limit, words in lost
        if share is not None and share > limit
    )


def unseen(case: TrialCase) -> Finding:
    """The finding without CPU time of any host."""
    reason = case.observations.why_missing("cpu.steal_ns") or "CPUs not observed in this phase"
    return found(RULE, case, State.UNVERIFIED, f"CPU contention unknown: {reason}.")


def hosts_of(case: TrialCase) -> tuple[str, ...]:
    """The hosts with CPU counters in this phase."""
    return tuple(dict.fromkeys(series.host for series in case.observations.over_time(case.phase.name, "cpu", "steal_ns")))


def losses_of(case: TrialCase, host: str) -> Losses | None:
    """What one host lost between the ends of the clock; None where it was not seen at both."""
    steal = under_clock(case, host, "cpu", "steal_ns", ABSOLUTE)
    total = under_clock(case, host, "cpu", "total_ns", ABSOLUTE)
    if len(steal) < 2 or len(total) != len(steal) or total[-1][1] <= total[0][1]:
        return None
    return Losses(
        host=host,
        steal=least_share(steal[-1][1] - steal[0][1], total[-1][1] - total[0][1]),
        worst_second=worst_window(steal, total),
        waiting=waiting_share(case, host),
    )


def under_clock(case: TrialCase, host: str, layer: str, metric: str, subject: str) -> list[tuple[int, float]]:
    """Samples from the last before the start to the first after the end of the phase's clock."""
    for series in case.observations.over_time(case.phase.name, layer, metric, subject):
        if series.host == host:
            return bracketed(series, case.phase.start_ns, case.phase.end_ns)
    return []


def bracketed(series: Series, start_ns: int, end_ns: int) -> list[tuple[int, float]]:
    """The samples inside, with one on each side where there is one."""
    first = max((at for at in series.at_ns if at <= start_ns), default=start_ns)
    last = min((at for at in series.at_ns if at >= end_ns), default=end_ns)
    return [(at, value) for at, value in zip(series.at_ns, series.value, strict=True) if first <= at <= last]


def worst_window(part: list[tuple[int, float]], whole: list[tuple[int, float]]) -> float | None:
    """The largest share in the shortest windows of at least a second; None where the phase is shorter."""
    shares = []
    for first, (begin, value) in enumerate(part):
        last = next((index for index in range(first + 1, len(part)) if part[index][0] - begin >= SECOND_NS), None)
        if last is not None and whole[last][1] > whole[first][1]:
            shares.append(least_share(part[last][1] - value, whole[last][1] - whole[first][1]))
    return max(shares, default=None)


def least_share(part_ns: float, whole_ns: float) -> float:
    """The share that a part has of the whole at least, one tick being uncertain."""
    return max(0.0, part_ns - TICK_NS) / whole_ns


def waiting_share(case: TrialCase, host: str) -> float | None:
    """Least share of the clock that the load's threads were ready without a CPU, per worker.

    What was waited between the looks and the ends of the clock may lie outside, so those spans are taken off. None where
    it was not seen, and with more workers than CPUs: then the waiting is the load's own doing.
    """
    clients = [client for client in case.phase.clients if client.host == host]
    workers = sum(client.workers for client in clients)
    cpus = under_clock(case, host, "cpu", "cpus", ABSOLUTE)
    seen = [under_clock(case, host, "process", "run_delay_ns", f"pid:{client.pid}") for client in clients]
    duration = case.phase.end_ns - case.phase.start_ns
    if not cpus or not 0 < workers <= cpus[0][1] or duration <= 0 or not seen or any(len(points) < 2 for points in seen):
        return None
    waited = sum(max(0, points[-1][1] - points[0][1] - outside(case.phase, points)) for points in seen)
    return waited / (duration * workers)


def outside(phase: Phase, points: list[tuple[int, float]]) -> int:
    """How much of the time from the first to the last look lay before or after the clock."""
    return max(0, phase.start_ns - points[0][0]) + max(0, points[-1][0] - phase.end_ns)


RULE = Rule(
    id="N02",
    name="steal",
    scope=Scope.TRIAL,
    severity=Severity.QUALIFIES,
    part="noise",
    short="CPU contention",
    needs=("cpu.steal_ns",),
    check=check,
    wrong="CPU time that the hypervisor or a neighbour took is missing from the figure, and not equally from both arms. An "
    "experiment that runs one arm in the bad hour finds the other one faster.",
    alternatives=(
        "More threads of the load than CPUs also make threads wait. That waiting is the load's own and is not judged.",
        "A CPU quota of a control group makes threads wait without any steal (L06).",
    ),
    advice="Repeat on an idle machine, or interleave the arms in short pairs so that both lose alike. In a cloud use an "
    "instance with dedicated CPUs. The lab repeats a run that only noise spoiled at most twice, and keeps all attempts.",
    at_shell="Repeat on an idle machine. In a cloud use an instance with dedicated CPUs.",
    sources=(
        "Uta et al., NSDI 2020: variability of cloud performance",
        "Maricq et al., OSDI 2018: taming performance variability",
        "Bulej et al., ICPE 2020: duet benchmarking",
    ),
)
