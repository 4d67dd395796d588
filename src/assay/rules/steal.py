"""Finds CPU contention: CPU time that the hypervisor or other work on this machine took from the load.

The rule reads the time that the load's threads were ready without a CPU, and the hypervisor's steal.
Both are differences of the last sample before the clock and the first after it. Threads sleep outside the clock, so all waiting
counts.
One tick of 10 ms is subtracted from the steal. Both together, over the time of all workers, are the share that the load lost at
most, and so the bound of the figure.
- An effect on the figure above `noted_share`: a note.
- Above the experiment's `matters`: BOUNDED, a rate is at least the measured value.
- If the device is capped (say at 100 MB/s), a disturbance can have cost at most the gap between the result and the cap.

On the target's host the steal alone is judged, over the CPUs that the server kept busy: where its processes are observed.

Waiting is not judged with more workers than CPUs, since the load then causes it. N03 then counts the CPU time of other programs.
Noise never invalidates. A run that only noise spoiled is repeated.
"""

from __future__ import annotations

from dataclasses import dataclass

from assay import measures
from assay.catalogue import About, Rule, TrialCase
from assay.evidence import ladder
from assay.records import ABSOLUTE, Finding, HostRole, Scope, Severity, State
from assay.rulekit import noise
from assay.rulekit.findings import found

TICK_NS = 10_000_000
"""/proc/stat counts in ticks of 10 ms: a difference is uncertain by one, which decides in a phase of less than a second."""


@dataclass(frozen=True, kw_only=True)
class CpuLosses:
    """What the load lost on one host under the clock, as shares; None where it is not known or not judged."""

    host: str
    steal: float
    """Of all CPU time of the host."""
    stolen: float
    """The same over the time of the workers, as if all of it had been theirs."""
    waiting: float | None

    @property
    def lost(self) -> float:
        """Of the time of the workers, at most."""
        return min(1.0, self.stolen + (self.waiting or 0.0))


def applies(case: TrialCase) -> str | None:
    """Load hosts, and the target's host where its server and its CPUs are observed."""
    if case.role is HostRole.TARGET and all(losses_of(case, host) is None for host in hosts_of(case)):
        return "no CPU counters of the target's host"
    return noise.of_no_server(case)


def check(case: TrialCase) -> Finding:
    """What the load lost on the host that took most, and what that can have changed."""
    losses = [one for host in hosts_of(case) if (one := losses_of(case, host)) is not None]
    if not losses:
        return unseen(case)
    if case.phase.lasted_ns / 1e9 < case.thresholds["seconds"]:
        statement = "CPU contention unknown: the phase was too short for shares of its time."
        return found(RULE, case, State.UNVERIFIED, statement, observed={"seconds": case.phase.lasted_ns / 1e9})
    worst = max(losses, key=lambda one: one.lost)
    found_effect = noise.effect(case, worst.lost)
    if found_effect.state is State.PASS and any(is_unwatched(case, one.host) for one in losses):
        statement = f"{in_words(worst)} How long threads of the load waited for a CPU is unknown."
        return found(RULE, case, State.UNVERIFIED, statement, observed={"steal_share": worst.steal})
    return found(
        RULE,
        case,
        found_effect.state,
        f"{in_words(worst)} {noise.in_words(case, found_effect)}",
        severity=found_effect.severity,
        bound=found_effect.bound,
        observed={"steal_share": worst.steal, "run_delay_share": worst.waiting, "effect_share": found_effect.share},
        evidence=tuple(f"cpu:/proc/stat on {one.host}: steal {measures.percent(one.steal)} of CPU time" for one in losses),
    )


def is_unwatched(case: TrialCase, host: str) -> bool:
    """Whether the waiting of a load's threads was not counted, which have a CPU each."""
    if case.role is HostRole.TARGET:
        return False
    cpus = under_clock(case, host, "cpu", "cpus", ABSOLUTE)
    own_doing = bool(cpus) and threads(case, host) > cpus[0][1]
    return not own_doing and waiting_share(case, host) is None


def in_words(worst: CpuLosses) -> str:
    """What was lost, in words."""
    stolen = f"steal {measures.percent(worst.steal)} of the CPU time"
    if worst.waiting is None:
        return f"CPU contention: {stolen}."
    return f"CPU contention: load threads waited for a CPU for {measures.percent(worst.waiting)} of their time; {stolen}."


def unseen(case: TrialCase) -> Finding:
    """The finding without CPU time of any host."""
    reason = case.observations.why_missing("cpu.steal_ns") or "CPUs not observed in this phase"
    return found(RULE, case, State.UNVERIFIED, f"CPU contention unknown: {reason}.")


def hosts_of(case: TrialCase) -> tuple[str, ...]:
    """The hosts with CPU counters in this phase."""
    return tuple(dict.fromkeys(series.host for series in case.observations.over_time(case.phase.name, "cpu", "steal_ns")))


def losses_of(case: TrialCase, host: str) -> CpuLosses | None:
    """What the load lost on one host between the ends of the clock; None where it was not seen at both."""
    steal = under_clock(case, host, "cpu", "steal_ns", ABSOLUTE)
    total = under_clock(case, host, "cpu", "total_ns", ABSOLUTE)
    if len(steal) < 2 or len(total) != len(steal) or total[-1][1] <= total[0][1]:
        return None
    cpus = max((value for _, value in under_clock(case, host, "cpu", "cpus", ABSOLUTE)), default=1.0)
    share = max(0.0, steal[-1][1] - steal[0][1] - TICK_NS) / (total[-1][1] - total[0][1])
    stolen = share * cpus / min(cpus, max(1.0, threads(case, host)))
    if case.role is HostRole.TARGET:
        return CpuLosses(host=host, steal=share, stolen=stolen * noise.waiting_share(case), waiting=None)
    return CpuLosses(host=host, steal=share, stolen=stolen, waiting=waiting_share(case, host))


def threads(case: TrialCase, host: str) -> float:
    """How many threads the stolen time was taken from: workers of the load there, or CPUs that the server kept busy."""
    if case.role is HostRole.TARGET:
        return noise.server_cpus(case) or 0.0
    return sum(client.workers for client in case.phase.clients if client.host == host)


def under_clock(case: TrialCase, host: str, layer: str, metric: str, subject: str) -> list[tuple[int, float]]:
    """Samples from the last before the start to the first after the end of the phase's clock."""
    for series in case.observations.over_time(case.phase.name, layer, metric, subject):
        if series.host == host:
            return ladder.samples(series, case.phase)
    return []


def waiting_share(case: TrialCase, host: str) -> float | None:
    """Share of the clock that the load's threads were ready without a CPU, per worker.

    None where it was not seen, and with more workers than CPUs: then the waiting is the load's own doing.
    """
    clients = [client for client in case.phase.clients if client.host == host]
    workers = sum(client.workers for client in clients)
    cpus = under_clock(case, host, "cpu", "cpus", ABSOLUTE)
    seen = [under_clock(case, host, "process", "run_delay_ns", f"pid:{client.pid}") for client in clients]
    duration = case.phase.lasted_ns
    if not cpus or not 0 < workers <= cpus[0][1] or duration <= 0 or not seen or any(len(points) < 2 for points in seen):
        return None
    return min(1.0, sum(points[-1][1] - points[0][1] for points in seen) / (duration * workers))


RULE = Rule(
    id="N02",
    name="steal",
    scope=Scope.TRIAL,
    severity=Severity.QUALIFIES,
    part="noise",
    short="CPU contention",
    needs=("cpu.steal_ns",),
    applies=applies,
    check=check,
    about=About.EACH_HOST,
    wrong="CPU time that the hypervisor or a neighbour took is missing from the figure, and not equally from both arms. An "
    "experiment that runs one arm in the bad hour finds the other one faster.",
    alternatives=(
        "More threads of the load than CPUs also make threads wait. That waiting is the load's own and is not judged.",
        "A CPU quota of a control group makes threads wait without any steal (L06).",
    ),
    advice="Repeat on an idle machine, or interleave the arms in short pairs so that both lose alike. In a cloud use an "
    "instance with dedicated CPUs. The lab repeats a run that only noise spoiled, and keeps all attempts.",
    at_shell="Repeat on an idle machine. In a cloud use an instance with dedicated CPUs.",
    sources=(
        "Uta et al., NSDI 2020: variability of cloud performance",
        "Maricq et al., OSDI 2018: taming performance variability",
        "Bulej et al., ICPE 2020: duet benchmarking",
    ),
)
