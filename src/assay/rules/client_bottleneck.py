"""Finds loads limited by their own CPU: the result measures the client, and the target can do at least as much.

The rule takes the larger of two shares of a client's busiest thread: CPU time by getrusage, and by the kernel's count per
thread.
The time is the thread's working time, with the drain if it is charged, less the time it waited for a CPU.
- The thread used `thread_share` or more, and ran for at least `ran_share` of the time: the client was the limit.
- A command may run on a part of the host's CPUs (affinity, cpuset) and used `thread_share` of that part: it was the limit.
- The host's CPUs were busy for `host_share`, at least `own_share` of it by the load: the client was the limit.
- More workers than CPUs that they may run on, and waiting for a CPU for `pressure_share` of the time: the client was the limit.
- Threads of an external command computed, and none waited for storage, for `thread_share` of the time without a wait for a CPU.
  Looks at the threads show it (observer thread_states): the client was the limit.

- The device of the file system was idle for `idle_share` of an external command's time, or `idle_direct` past the page cache.
  For as long the command used the CPU, beyond `call_ns` for each of its calls, or was ready without one.
  So the device waited for the client. As root, `assay stat` knows its waiting from the kernel's record of each ended task.

A claim of a layer below is bounded: a rate is at least, a latency at most the measured value. Without a claim it is a note.
Reads from memory under tier = client-cache, and paced loads (`rate`, `schedule`, `think`), are n/a.
Without such looks the number of threads of an external command is unknown: from `thread_share` CPUs on it is unverified.
Phases shorter than `seconds` are too short for the kernel's ticks of 10 ms.
New memory is named instead of a slow client if all of this holds:
- The guest reports free pages to its hypervisor (fact `memory.page_reporting_order`), which then takes them back.
- The I/O is buffered.
- System time is `new_page_ns` or more for each page of 4 KiB, beyond `call_ns` for each operation.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from assay import measures
from assay.catalogue import Rule, TrialCase
from assay.evidence import ladder, time_ladder
from assay.evidence.device_idle import idle_share
from assay.machine import host_facts
from assay.measures import cost, far_end, figures
from assay.records import Client, Direction, Durability, Finding, Rung, Scope, Severity, State, Tier
from assay.rulekit.findings import found, held_back, knob
from assay.units import Unit

PAGE = 4096
IDLE_TARGET = "The target may be faster"
DIRECT = re.compile(r"\b[io]?flags?=\S*\bdirect\b|--?direct(?:=1)?(?:\s|$)")
"""How dd, sysbench and fio are told to go past the page cache."""
HELD_SHARE = 0.01
"""Of what was written: T01's counter noise."""
LEAST_WAIT = 0.05
"""Less waiting for a CPU is not told."""
TICK_NS = 10_000_000
"""/proc counts in ticks of 10 ms: a difference is uncertain by one."""


@dataclass(frozen=True, kw_only=True)
class CpuUse:
    """The load's use of CPUs, as shares; None if unknown."""

    thread: float | None
    """CPU time of the busiest thread, or of the mean thread if larger, over the time other programs left it."""
    ran: float | None
    """The same of all the time."""
    host: float | None
    """User and system time of all programs over all CPU time."""
    own: float | None
    """The load's part of that."""
    pressure: float | None
    """Share of the time in which some task waited for a CPU."""
    crowded: bool
    """Whether there were more workers than CPUs."""
    cpus: float | None
    allowed: float | None
    """How many CPUs the host has, and how many of them the load may use."""
    waited: float
    """For which share of the time the tasks of an external command were ready without a CPU, all together; 0 if unknown."""
    crowded_out: bool
    """Whether other programs had most of the CPUs: a wait for a CPU is noise then, which N02 and N03 judge."""
    computing: float | None = None
    """Threads of an external command computed for such a share of the time that they had a CPU; None without looks."""

    @property
    def own_wait(self) -> float:
        """What of `waited` is the load's own doing."""
        return 0.0 if self.crowded_out else self.waited


def applies(case: TrialCase) -> str | None:
    """Figures of closed loops of which something below the client is claimed, or nothing."""
    if case.claim.tier is Tier.CLIENT_CACHE:
        return "reads from memory are CPU work, as claimed"
    paced = any(client.load is not None for client in case.phase.clients) or knob(case, "think")
    return "a paced load: workers wait by the clock (G02 judges that)" if paced else None


def check(case: TrialCase) -> Finding:
    """Compare busiest thread, host and CPU pressure with their limits."""
    use, limits = used(case), case.thresholds
    observed = {
        "thread_share": use.thread,
        "ran_share": use.ran,
        "host_share": use.host,
        "own_share_of_host": use.own,
        "pressure_share": use.pressure,
    }
    if over := reached(use, case):
        return limited(case, over, observed | {"page_ns": page_ns(case)})
    if (ran := computed(case, use.waited)) is not None:
        seen = idle_share(case.phase, case.observations, case.direction or Direction.READ)
        if seen is None and use.computing is None:
            text = f"The command computed for {measures.percent(ran)} of the time; how long the device was idle is unknown."
            return found(RULE, case, State.UNVERIFIED, text, observed=observed)
        if seen is not None and min(seen[1], ran) >= least_idle(case):
            noise = computed(case, use.own_wait) is None
            return device_waited(case, *seen, ran, observed | {"waited_share": use.waited}, noise=noise)
    if use.thread is None:
        statement = "CPU time of the load's threads unknown: phase too short, or no counter."
        return found(RULE, case, State.UNVERIFIED, statement, observed=observed)
    if case.phase.values and use.computing is None and use.thread + use.own_wait >= limits["thread_share"]:
        ready = f", and was ready without one for {measures.percent(use.waited)} of the time" if use.waited >= LEAST_WAIT else ""
        statement = f"The command used {use.thread:.3g} CPUs{ready}; its number of threads is unknown."
        return found(RULE, case, State.UNVERIFIED, statement, observed=observed)
    if (most := most_of_one_thread(case)) is not None and most >= limits["thread_share"]:
        statement = f"A thread of the load used up to {measures.percent(most)} of a CPU: its threads were not counted apart."
        return found(RULE, case, State.UNVERIFIED, statement, observed=observed)
    if use.allowed is None and may_be_crowded(use, case):
        statement = (
            f"Workers waited for a CPU for {measures.percent(use.pressure or 0)} of the time; which CPUs they may use is unknown."
        )
        return found(RULE, case, State.UNVERIFIED, statement, observed=observed)
    limit = measures.percent(limits["thread_share"])
    statement = f"The load's busiest thread used {measures.percent(use.ran or 0.0)} of a CPU (limit {limit})."
    if use.computing is not None:
        statement = f"Threads of the command computed for {measures.percent(use.computing)} of their time (limit {limit})."
    return found(RULE, case, State.PASS, statement, observed=observed)


def reached(use: CpuUse, case: TrialCase) -> list[str]:
    """Which limits were reached, in words."""
    limits, ours = case.thresholds, use.own is not None and use.own >= case.thresholds["own_share"]
    over = []
    mostly = use.ran is not None and use.ran >= limits["ran_share"] and not case.phase.values
    if use.thread is not None and use.ran is not None and use.thread >= limits["thread_share"] and mostly:
        left = " available to it" if use.ran < limits["thread_share"] else ""
        over.append(f"a thread of the load used {measures.percent(use.thread)} of the CPU time{left}")
    if ours and use.host is not None and use.host >= limits["host_share"]:
        over.append(f"the host's CPUs were {measures.percent(use.host)} busy, mostly with the load")
    if use.computing is not None and use.computing >= limits["thread_share"]:
        over.append(
            f"the command's threads computed for {measures.percent(use.computing)} of their time, and waited for no storage"
        )
    ready = None if use.ran is None else use.ran + use.own_wait
    if case.phase.values and ready is not None and is_confined(use) and ready >= limits["thread_share"] * (use.allowed or 0):
        share = measures.percent(min(1.0, ready / (use.allowed or 1.0)))
        over.append(
            f"the command used {share} of the {use.allowed:.0f} of {use.cpus:.0f} CPUs that it may run on (affinity or cpuset)"
        )
    if use.crowded and may_be_crowded(use, case):
        over.append(f"a worker waited for a CPU for {measures.percent(use.pressure or 0.0)} of the time")
    return over


def computed(case: TrialCase, waited: float) -> float | None:
    """The share of the time in which an external command used the CPU beyond its calls, or was ready without one.

    None where it is too little.
    """
    spent = [cost.processor_ns(client.cost) for client in case.phase.clients if client.cost is not None]
    lasted = case.phase.lasted_ns + (case.phase.drain_ns or 0)
    of_data = case.phase.values and case.direction in (Direction.READ, Direction.WRITE)
    if not of_data or not spent or lasted < case.thresholds["idle_seconds"] * 1e9:
        return None
    own = max(0.0, sum(spent) - operations(case) * case.thresholds["call_ns"]) / lasted
    ran = min(1.0, own + waited)
    return ran if ran >= least_idle(case) else None


def computing_share(case: TrialCase) -> float | None:
    """For which share of the time that it had a CPU an external command computed, by looks; None if it hardly ran."""
    looks = time_ladder.of_phase(case.phase, case.observations) if case.phase.values else None
    if looks is None:
        return None
    ran, ready = looks.share(time_ladder.RUNNING), looks.share(time_ladder.READY)
    return ran / (1 - ready) if ready < 1 - case.thresholds["ran_share"] else None


def waited_share(case: TrialCase) -> float:
    """For which share of the time an external command was ready without a CPU, all its tasks together; 0 where nobody told."""
    lasted = case.phase.lasted_ns
    if not case.phase.values or lasted <= 0:
        return 0.0
    every = [one.value[-1] for one in ladder.gauges(case.phase, case.observations, "process", ladder.READY) if one.value]
    return sum(every) / lasted


def least_idle(case: TrialCase) -> float:
    """For which share of the time the device has to wait for the command."""
    return case.thresholds["idle_direct" if is_direct(case) else "idle_share"]


def operations(case: TrialCase) -> float:
    """The calls of an external command, or the operations that it reports: each takes CPU time in the kernel."""
    own, operation = case.phase.values, case.measure.operation
    steps = [ladder.passed(case.phase, case.observations, Rung.SYSCALL, way) for way in (Direction.READ, Direction.WRITE)]
    seconds = case.phase.lasted_ns / 1e9
    told = own.get(f"{operation}.count") or own.get(f"{operation}.ops_per_s", 0.0) * seconds
    return max(told, sum(step.raw_operations for step in steps if step is not None))


def is_direct(case: TrialCase) -> bool:
    """Whether the command read or wrote past the page cache: by its arguments, or as nothing of what it wrote is in memory."""
    held = [one.value[-1] for one in ladder.gauges(case.phase, case.observations, "page_cache", ladder.HELD) if one.value]
    written = ladder.requested_bytes(case.phase, case.observations, Direction.WRITE)
    past = case.direction is Direction.WRITE and bool(held and written) and sum(held) <= HELD_SHARE * (written or 0.0)
    words = knob(case, "argv")
    asked = isinstance(words, tuple) and any(DIRECT.search(str(word)) for word in words)
    return asked or knob(case, "asks_direct") is True or past


def device_waited(
    case: TrialCase, device: str, idle: float, ran: float, observed: dict[str, float | None], *, noise: bool
) -> Finding:
    """The failure: the true rate of the device lies between the measured one and that of its busy time; noise is a note."""
    claimed = (case.claim.tier is not Tier.AS_IS or case.claim.durability is Durability.STABLE_MEDIA) and not noise
    share, waited = measures.percent(idle), observed["waited_share"] or 0.0
    used = measures.percent(max(0.0, ran - waited) if waited >= LEAST_WAIT else ran)
    ready = f" and was ready without one for {measures.percent(min(1.0, waited))}" if waited >= LEAST_WAIT else ""
    return found(
        RULE,
        case,
        State.FAIL,
        f"{device} had nothing to do for {share} of the time, and the command used {used} of a CPU{ready}. "
        f"It {'had no CPU' if waited >= LEAST_WAIT else 'made or copied data'}, and the device waited for it.",
        severity=Severity.QUALIFIES if claimed else Severity.NOTES,
        observed=observed | {"idle_share": idle, "cpu_share": ran},
        bound=held_back(case, 1 - min(idle, ran)) if claimed and min(idle, ran) < 1 else None,
        relabel="limited by the client, not by the device" if claimed else None,
        detail=f"{device} idle for {share}" if claimed else None,
        short="the device waited for the client",
        evidence=("CPU time of the command and its children", "block:/proc/diskstats"),
    )


def may_be_crowded(use: CpuUse, case: TrialCase) -> bool:
    """Whether some of several workers of the load waited for a CPU for long."""
    several, limits = sum(client.workers for client in case.phase.clients) > 1, case.thresholds
    waited = use.pressure is not None and use.pressure >= limits["pressure_share"]
    return several and waited and use.own is not None and use.own >= limits["own_share"]


def is_confined(use: CpuUse) -> bool:
    """Whether the load may use a part of the host's CPUs only."""
    return use.cpus is not None and use.allowed is not None and 0 < use.allowed < use.cpus


def limited(case: TrialCase, over: list[str], observed: dict[str, float | None]) -> Finding:
    """The failure: it bounds a claim of a layer below, and is a note without a claim."""
    claimed, figure = case.claim.tier is not Tier.AS_IS, case.measure.figure
    timed = measures.figure_kind(figure) is not None and figure not in (
        *cost.UNITS,
        *far_end.FAR_UNITS,
        "count",
        "bytes",
        "errors",
    )
    new, of_page = takes_new_memory(case, observed["page_ns"]), measures.with_unit(observed["page_ns"] or 0.0, Unit.NANOSECONDS)
    cause = f"Each page cost {of_page} of system time: the hypervisor had taken the free memory back" if new else IDLE_TARGET
    label = "limited by new memory (free page reporting)" if new else "limited by the client's CPUs"
    return found(
        RULE,
        case,
        State.FAIL,
        f"Client CPU at its limit: {'; '.join(over)}. {cause}.",
        severity=Severity.QUALIFIES if claimed and timed else Severity.NOTES,
        observed=observed,
        bound=held_back(case) if claimed and timed else None,
        relabel=label if claimed else None,
        detail=f"{of_page} of system time a page" if new and claimed else None,
        advice=NEW_MEMORY_ADVICE if new else RULE.advice,
        short="new memory costs CPU" if new else RULE.short,
        evidence=(
            "L0 engine: getrusage of each client",
            "cpu:/proc/PID/task/*/stat",
            "cpu:/proc/stat",
            "pressure:/proc/pressure",
        ),
    )


def page_ns(case: TrialCase) -> float | None:
    """System time of the load for each page of its data (ns), without `call_ns` an operation; None if unknown."""
    phase, outer = case.phase, frozenset(case.phase.within.values())
    totals = [total for client in phase.clients for total in client.operations if total.operation not in outer]
    moved, calls = sum(total.bytes for total in totals), sum(total.count for total in totals)
    if not moved or any(client.cost is None for client in phase.clients):
        return None
    system = sum(client.cost.cpu_system_ns for client in phase.clients if client.cost is not None)
    return max(0.0, system - calls * case.thresholds["call_ns"]) * PAGE / moved


def takes_new_memory(case: TrialCase, of_page: float | None) -> bool:
    """Whether a load's CPU time went into pages that the hypervisor had to provide."""
    reports = host_facts.reports_free_pages(case.observations.fact("memory.page_reporting_order"))
    return reports and not knob(case, "direct") and of_page is not None and of_page >= case.thresholds["new_page_ns"]


def used(case: TrialCase) -> CpuUse:
    """Everything that is known."""
    phase = case.phase
    user, system, whole = (
        ladder.host_rise(phase, case.observations, "cpu", f"{kind}_ns") for kind in ("user", "system", "total")
    )
    host = (user + system) / whole if user is not None and system is not None and whole else None
    own = sum(cost.processor_ns(client.cost) for client in phase.clients if client.cost is not None)
    busy = (user or 0.0) + (system or 0.0)
    waits = ladder.of_host(phase, case.observations, "pressure", "cpu_some_ns")
    cpus, allowed = (most(case, *key) for key in (("cpu", "cpus"), ("process", "cpus_allowed")))
    ways = min((count for count in (cpus, allowed) if count is not None), default=None)
    workers = sum(client.workers for client in phase.clients)
    shares = [share for client in phase.clients if (share := busiest(case, client)) is not None]
    ran, ready = max(shares, default=(None, 0.0))
    ours = min(1.0, own / busy) if busy else None
    return CpuUse(
        thread=ran if ran is None or phase.values else min(1.0, ran / (1 - ready)) if ready < 1 else 1.0,
        ran=ran,
        host=host,
        own=ours,
        pressure=None if waits is None else ladder.rate(waits, phase.start_ns, phase.end_ns),
        crowded=ways is not None and workers > ways,
        cpus=cpus,
        allowed=allowed,
        waited=waited_share(case),
        crowded_out=ours is not None and ours < case.thresholds["own_share"],
        computing=computing_share(case),
    )


def most(case: TrialCase, layer: str, metric: str) -> float | None:
    """The largest value of a gauge of any process; None where it was not read."""
    every = case.observations.over_time(case.phase.name, layer, metric)
    return max((max(series.value) for series in every if series.value), default=None)


def busiest(case: TrialCase, client: Client) -> tuple[float, float] | None:
    """Least shares of the time a client's busiest thread ran and was ready; None if the time is too short."""
    drain_ns = case.phase.drain_ns if figures.charges_drain(case.phase, case.measure) else 0
    lasted = client.until_ns - client.first_ns + (drain_ns or 0)
    if lasted < case.thresholds["seconds"] * 1e9:
        return None
    threads = 1 if case.phase.values else max(1, client.workers)
    mean = cost.processor_ns(client.cost) / threads if client.cost is not None else None
    ticks, ready = (of_process(case, client, metric) for metric in ("busiest_thread_ns", "run_delay_ns"))
    ran = [time for time in (mean, None if ticks is None else ticks - TICK_NS) if time is not None]
    return (max(0.0, *ran) / lasted, (ready or 0.0) / threads / lasted) if ran else None


def most_of_one_thread(case: TrialCase) -> float | None:
    """The most that one thread of several can have run; None where each client has one, or they were counted apart."""
    several = [one for one in case.phase.clients if one.workers > 1 and of_process(case, one, "busiest_thread_ns") is None]
    if case.phase.values:
        return None
    drain_ns = case.phase.drain_ns if figures.charges_drain(case.phase, case.measure) else 0
    spent = [
        min(1.0, cost.processor_ns(one.cost) / max(1, one.until_ns - one.first_ns + (drain_ns or 0)))
        for one in several
        if one.cost is not None
    ]
    return max(spent, default=None)


def of_process(case: TrialCase, client: Client, metric: str) -> float | None:
    """By how much a counter of a client's process rose under the clock; None where it was not seen."""
    series = next(case.observations.over_time(case.phase.name, "process", metric, f"pid:{client.pid}"), None)
    return None if series is None else ladder.rise(series, case.phase.start_ns, case.phase.end_ns)


NEW_MEMORY_ADVICE = (
    "Compare with direct = true, which takes no new memory, or repeat at once: freed memory stays with the guest for some 2 s. "
    "Or switch free page reporting off for this guest (QEMU: free-page-reporting=off). Another client does not help."
)

RULE = Rule(
    id="L01",
    name="client-bottleneck",
    scope=Scope.TRIAL,
    severity=Severity.QUALIFIES,
    part="load",
    short="client CPU at its limit",
    applies=applies,
    check=check,
    wrong="A thread that is never idle does not wait for its target. Two disks, one twice as fast as the other, then look "
    "alike. The figure describes system calls, copies and data generation on this CPU.",
    alternatives=(
        "A client that polls (io_uring with polling, DPDK) uses its whole CPU although it waits. Add a client and compare.",
        "New memory: a page costs a few us more if the hypervisor had taken it back (free page reporting).",
        "The CPU time is the target's own if the target runs in the kernel of this host (a compressing file system, a RAM disk).",
    ),
    advice="Add a client or a worker: if the rate rises by a tenth or more, the client was the limit. Use larger records or "
    "cheaper data (`data`). Or claim the measured tier: tier = client-cache for reads from memory.",
    at_shell="Use larger records or a second process: if the rate rises by a tenth or more, the client was the limit.",
    sources=(
        "Gregg, checklist for benchmarks: why not double?",
        "SPECstorage, TPC: the load generator must not be the limit",
    ),
)
