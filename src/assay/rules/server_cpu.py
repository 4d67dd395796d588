"""Names the server's CPUs as its limit: all usable CPUs are busy, or its busiest thread never rests.

The rule divides the CPU time of the named server by the phase and the CPUs it may use. Above `cpu_share` fails. The time is that
of its control group, else of its processes with those that they waited for.
The busiest thread that ran or waited for a CPU for more than `thread_share` of the time fails too. Phases below `seconds` are
unverified.
Threads and processes that live for one connection are never the busiest. They fail if they came one after the other, and the
server used `thread_share` to `one_cpu_share` of one CPU, with their wait for it. At each of `turn_looks` looks or more at most
one of them was there, and in `turn_share` of these looks one was. Two at once in half of the looks pass. Else it is unverified: a
lock lets threads run one at a time, too.
A CPU quota of a control group on that host that stopped it for `stopped_share` of the time fails, however idle the CPUs are.
Processes that nobody of the server waited for may have used more than was counted. It is at most what the server's ancestors
(init) waited for, and what the host's CPUs did beside the load. Then the figure `server_cpu_share` is bounded by both, and CPUs
that may have been the limit are unverified.
A program on its host between clients and server (a proxy), or on the server's own port, does a part of the work. The share is
then a lower bound.
Whether CPUs were the limit is unverified.
It qualifies tier = device and bounds it; other claims get a note with the limiter.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from assay import measures
from assay.catalogue import About, Rule, TrialCase
from assay.evidence import ladder, served
from assay.measures import cost
from assay.records import Bound, Finding, Scope, Severity, State, Tier
from assay.rulekit.applicability import servers_only
from assay.rulekit.findings import Figures, found, held_back
from assay.rulekit.quotas import stopped_groups
from assay.units import Unit

QUOTA = ("cgroup.nr_throttled",)
UNREAD = "whether a CPU quota stopped it is unknown"


def check(case: TrialCase) -> Finding:
    """CPU time of the server over that of its CPUs, and of one thread."""
    seconds, uses = case.phase.lasted_ns / 1e9, [*used(case)]
    host, ran, busiest, cpus = max(uses, key=lambda one: max(one[1] / one[3], one[2]), default=("", 0.0, 0.0, 0.0))
    if seconds <= 0 or not cpus:
        return found(RULE, case, State.UNVERIFIED, "CPU time of the server's processes unknown.")
    if seconds < case.thresholds["seconds"]:
        return found(RULE, case, State.UNVERIFIED, f"{seconds:.2g} s are too short for the server's CPU use. Run longer.")
    share, thread = ran / (seconds * 1e9), busiest / (seconds * 1e9)
    all_of_it = share / cpus
    observed: dict[str, float | str | None] = {
        "cpu_share": all_of_it,
        "busiest_thread_share": thread,
        "cpus": cpus,
        "seconds": seconds,
    }
    limits = case.thresholds
    most = at_most(case, ran) / (seconds * 1e9)
    observed["most_cpus"] = None if math.isinf(most) else most
    who = other_program(case, host)
    if is_own_figure(case) and (who is not None or most > limits["uncounted_times"] * share):
        return uncounted(case, share, most, observed) if who is None else behind(case, share, who, observed)
    where = f" on {host}" if len(uses) > 1 else ""
    use = (
        f"The server{where} used {measures.percent(all_of_it)} of its {cpus:.0f} CPUs"
        f" (limit {measures.percent(limits['cpu_share'])}),"
        f" its busiest thread {measures.percent(thread)} of the time (limit {measures.percent(limits['thread_share'])})"
    )
    limit = limit_of(case, host, share, (all_of_it, thread))
    if limit is None:
        doubt = next(doubts(case, host, (share, most, cpus)), None)
        if doubt is not None:
            lacking = QUOTA if doubt.startswith(UNREAD) else ()
            return found(RULE, case, State.UNVERIFIED, f"{use}; {doubt}", observed=observed, lacking=lacking)
        return found(RULE, case, State.PASS, f"{use}: its CPUs were not the limit.", observed=observed)
    device = case.claim.tier is Tier.DEVICE
    return found(
        RULE,
        case,
        State.FAIL,
        f"{use}: {limit[1]} the limit, so nothing below was.",
        severity=Severity.QUALIFIES if device else Severity.NOTES,
        observed=observed,
        bound=held_back(case) if device else None,
        relabel=f"limited by {limit[0]} of the server",
    )


def limit_of(case: TrialCase, host: str, share: float, most_used: tuple[float, float]) -> tuple[str, str] | None:
    """What of the server's CPUs was the limit, with how that shows; None where none was, or nobody can say.

    `share`: CPU time of the server over that of one CPU; `most_used`: over that of all its CPUs, and that of its busiest thread.
    """
    limits = case.thresholds
    quota = next((one for one in stopped_groups(case) if one.reaches(limits["stopped_share"])), None)
    if quota is not None:
        return "a CPU quota", f"control group {quota.group} was {quota.words} by its CPU quota: it was"
    if most_used[0] > limits["cpu_share"]:
        return "the CPUs", "its CPUs were"
    if most_used[1] > limits["thread_share"]:
        return "one thread", "one of its threads was"
    if in_turn(case, host, share):
        return "one thread at a time", "its threads, which came one after the other, were"
    return None


def doubts(case: TrialCase, host: str, used_cpus: tuple[float, float, float]) -> Iterator[str]:
    """Why it is unknown whether the server's CPUs were the limit; `used_cpus`: as counted, at most, and how many there are."""
    share, most, cpus = used_cpus
    why = case.observations.why_missing(*QUOTA)
    if why is not None or not any(case.observations.over_time(case.phase.name, *QUOTA[0].split("."))):
        yield f"{UNREAD}{f': {why}' if why else ''}."
    if in_turn(case, host, share) is None:
        yield "with their wait for CPUs its threads had work for one CPU. Whether they ran one at a time is unknown."
    if (who := other_program(case, host)) is not None:
        yield f"but clients are connected to {who}. {NODE}"
    if math.isinf(most):
        yield f"whether processes ended uncounted is unknown. {REMEDY}"
    if most > case.thresholds["cpu_share"] * cpus:
        yield f"processes that ended unwaited may have used the rest of {most:.1f} CPUs. {REMEDY}"


def in_turn(case: TrialCase, host: str, ran_share: float) -> bool | None:
    """Whether threads that came during the phase did the work of one CPU, one after the other; None where nobody can say."""
    limits, took_ns = case.thresholds, case.phase.lasted_ns
    brief, ready = (served.each_rose(case.phase, case.observations, name) for name in ("brief_ns", "brief_ready_ns"))
    if ran_share > limits["one_cpu_share"] or ran_share + ready.get(host, 0.0) / took_ns < limits["thread_share"]:
        return False
    at_once = [*threads_at_once(case, host)]
    if brief.get(host, 0.0) < limits["brief_share"] * ran_share * took_ns or len(at_once) < limits["turn_looks"]:
        return None
    if max(at_once) <= 1 and sum(at_once) >= limits["turn_share"] * len(at_once):
        return True
    return False if sum(one > 1 for one in at_once) >= len(at_once) / 2 else None


def threads_at_once(case: TrialCase, host: str) -> Iterator[float]:
    """How many threads that came later were there, at each look during the clock."""
    for one in ladder.gauges(case.phase, case.observations, served.LAYER, "brief_threads"):
        if one.host == host:
            yield from (value for _, value in ladder.inside(one, case.phase))


def other_program(case: TrialCase, host: str) -> str | None:
    """A program that works for the clients, too, and what it is to the server; None where none was seen."""
    words = {served.BETWEEN_FACT: "which is connected to the server", served.BESIDE_FACT: "which listens on the server's port"}
    facts = ((case.observations.fact(f"{key}{case.phase.name}", host=host), what) for key, what in words.items())
    return next((f"{who}, {what}" for who, what in facts if who is not None), None)


def is_own_figure(case: TrialCase) -> bool:
    """Whether the CPU time of this server is the figure itself."""
    return case.measure.figure.endswith(".server_cpu_share")


def at_most(case: TrialCase, ran: float) -> float:
    """The most CPU time (ns) that the server can have used: all of the host's beside the load where processes ended unwaited.

    What its ancestors waited for bounds it, too, where none of them ignores the end of its children. Infinite where nobody knows
    whether some did, or what the host's CPUs did.
    """
    unwaited, missed = (highest(case, name) for name in ("unwaited", "missed_ns"))
    known_most = ran + missed if unwaited == 0 and missed is not None else math.inf
    if unwaited == 0 and missed == 0:
        return ran
    busy = [ladder.host_rise(case.phase, case.observations, "cpu", metric) for metric in ("user_ns", "system_ns")]
    known = [one for one in busy if one is not None]
    load = sum(cost.processor_ns(one.cost) for one in case.phase.clients if one.cost is not None and one.host == case.host)
    by_host = max(ran, sum(known) - load) if unwaited is not None and len(known) == len(busy) else math.inf
    return min(known_most, by_host)


def highest(case: TrialCase, metric: str) -> float | None:
    """The highest sample of a gauge of the server, of all its hosts together; None where there is none."""
    found = [max(one.value) for one in ladder.gauges(case.phase, case.observations, served.LAYER, metric) if one.value]
    return sum(found) if found else None


def behind(case: TrialCase, least: float, who: str, observed: Figures) -> Finding:
    """The failure of the server's CPU share as a figure where another program works for its clients, too."""
    return found(
        RULE,
        case,
        State.FAIL,
        f"The clients are connected to {who}: its CPU time is not counted. {NODE}",
        severity=Severity.QUALIFIES,
        observed=observed,
        bound=Bound(low=least, high=None, unit=Unit.SHARE),
        relabel=f"CPU time of the server without {who}",
    )


def uncounted(case: TrialCase, least: float, most: float, observed: Figures) -> Finding:
    """The failure of the server's CPU share as a figure: it lies between what was counted and what the host did."""
    if math.isinf(most):
        statement = "Whether processes of the server ended uncounted is unknown."
        return found(RULE, case, State.UNVERIFIED, f"{statement} {REMEDY}", observed=observed)
    return found(
        RULE,
        case,
        State.FAIL,
        f"CPU time of processes that ended may be in no account of the server. It used at least "
        f"{measures.percent(least)} of a CPU, and with all that the host did beside the load {measures.percent(most)}. {REMEDY}",
        severity=Severity.QUALIFIES,
        observed=observed,
        bound=Bound(low=least, high=most, unit=Unit.SHARE),
        relabel="CPU time of the server at least: some processes of it ended uncounted",
    )


NODE = "Name that program as a part of the server (server.nodes.NAME.pid_file)."
REMEDY = "Give the server a control group of its own (a systemd unit has one) and name it (server.cgroup)."


def used(case: TrialCase) -> Iterator[tuple[str, float, float, float]]:
    """Of each host of the server its name, the CPU time of all threads, that of the busiest (ns), and the CPUs to be used."""
    ran, busiest = (served.each_rose(case.phase, case.observations, name) for name in ("run_ns", "busiest_thread_ns"))
    for host in ran.keys() & busiest.keys():
        cpus = [one for one in ladder.gauges(case.phase, case.observations, served.LAYER, "cpus") if one.host == host]
        if usable := ladder.at_arming(case.phase, cpus):
            yield host, ran[host], busiest[host], usable


RULE = Rule(
    id="L02",
    name="server-cpu",
    scope=Scope.TRIAL,
    severity=Severity.QUALIFIES,
    part="load",
    reads=(
        "server.run_ns",
        "server.unwaited",
        "server.missed_ns",
        "server.busiest_thread_ns",
        "server.brief_ns",
        "server.brief_ready_ns",
        "server.brief_threads",
        "server.cpus",
    ),
    applies=servers_only,
    check=check,
    about=About.TARGET_HOST,
    wrong="A storage array is praised or blamed for encryption, logging or one thread of the server in front of it. Its disks "
    "were idle most of the time.",
    alternatives=(
        "A server that polls or spins is busy at any load. Halve the load and measure again.",
        "Two threads of one core count as two CPUs. From half on such a pair may be at its limit.",
        "A slow clock (N01) makes the same work take longer. Compare cycles, not time.",
        "Other processes used the CPUs (N02, N03), so the thread waited instead of running.",
    ),
    advice="Report the figure as one of this server's CPUs, with the CPU time per operation. Add CPUs, or reduce the work per "
    "operation (logging, encryption), if its storage is the subject.",
    sources=("Gregg: Systems Performance, 2nd edition, 2020, the USE method", "operational laws: demand D = U / X"),
)
