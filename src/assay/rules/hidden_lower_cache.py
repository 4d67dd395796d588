"""Infers a cache below the lowest visible device: of a hypervisor, an array or the disk itself.

No counter on this machine sees such a cache. The rule uses two signs of direct reads with tier = device:
- The same data twice (`operations = ["read", "reread"]`, `direct = true`): the fastest tenth of the second pass is
  `repeat_ratio` times as fast, with equal storage reads. The rate of the first pass is the bound.
- Two groups of latencies, each with `group_share` of the reads, medians `times_apart` apart. Limits, rates and queues make
  groups of their own, so such loads are left out.

A failure qualifies, it never invalidates. A pass means "no sign": caches below are not excluded. Buffered reads, or data read
once without latencies, are unverified.
The fastest tenths are compared because neighbours only make reads slower (0.8 to 1.2 without such a cache, 19 to 24 with one).
A cache that reads ahead hides itself in sequential reads of small records: read large records, or at random.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from assay import measures
from assay.catalogue import About, Rule, TrialCase
from assay.evidence import ladder
from assay.measures import latency
from assay.records import Bound, Direction, Finding, Measure, Phase, Rung, Scope, Severity, State
from assay.rulekit.applicability import reads_only
from assay.rulekit.findings import found, knob, rate_of
from assay.units import Unit

FIRST, AGAIN = "read", "reread"  # two passes over the same data
FASTEST = 0.1
OPEN = "caches below are not excluded"
Buckets = list[tuple[int, int]]
"""(highest value of the bucket in ns, count), ascending."""
STEP = 10**0.125
"""Eight places to part two groups of latencies at to each power of ten."""


def check(case: TrialCase) -> Finding:
    """Both signs, where the trial has what they need."""
    if reason := unfit(case):
        text = f"Caches below {lowest(case)} have no counter, and no sign is possible: {reason}."
        return found(RULE, case, State.UNVERIFIED, text)
    twice = repeat(case)
    if twice is not None and twice > case.thresholds["repeat_ratio"] and case.measure.operation == AGAIN:
        return answered_below(case, twice)
    fast = None if limited(case) else groups(buckets(case), case.thresholds)
    if fast is not None:
        return two_groups(case, *fast)
    return nothing_seen(case, twice)


def unfit(case: TrialCase) -> str | None:
    """Why neither sign can be tested; None if one can."""
    if knob(case, "direct") is not True:
        return "only direct reads show it. Read with direct = true, twice (operations read, reread)"
    requested = ladder.requested_bytes(case.phase, case.observations, Direction.READ)
    device = ladder.lowest_device(case.phase, case.observations, Direction.READ)
    if requested and device is not None and device.raw_bytes < case.thresholds["device_share"] * requested:
        return "a cache above that device answered some reads (T01, T03)"
    return None if buckets(case) else "no latencies"


def lowest(case: TrialCase) -> str:
    """The name of the lowest device that was read."""
    device = ladder.lowest_device(case.phase, case.observations, Direction.READ)
    return device.device if device else "the lowest visible device"


def first_rate(case: TrialCase) -> float:
    """Bytes/s of the first pass; 0 where it is not known."""
    wanted = Measure(workload=case.measure.workload, operation=FIRST, figure="bytes_per_s")
    figure = measures.value(case.run, case.observations, wanted)
    return figure.value if figure else 0.0


def passes(case: TrialCase) -> list[Phase]:
    """The two passes over the same data in this run, the first one first; fewer where there were not both."""
    of_both = [phase for phase in case.run.phases if phase.workload == case.measure.workload]
    return [phase for name in (FIRST, AGAIN) for phase in of_both if name in phase.operations]


def repeat(case: TrialCase) -> float | None:
    """How many times as fast the second pass was; None where nothing was read twice, or storage was not asked twice.

    The fastest tenth of either is compared: neighbours make reads slower and never faster.
    """
    both = passes(case)
    if case.measure.operation not in (FIRST, AGAIN) or len(both) != 2 or not asked_alike(case, both):
        return None
    seen = [latency.merged(case.observations, phase.name, name) for phase, name in zip(both, (FIRST, AGAIN), strict=True)]
    first, again = (latency.percentile(one, FASTEST) for one in seen)
    return first / again if first and again else None


def asked_alike(case: TrialCase, both: Sequence[Phase]) -> bool:
    """Whether both passes made storage read about as much: else a cache above is the reason."""
    below = [ladder.passed(phase, case.observations, Rung.CLIENT_CACHE, Direction.READ) for phase in both]
    known = [step.raw_bytes for step in below if step is not None]
    return len(known) == len(both) and min(known) >= case.thresholds["device_share"] * max(known)


def limited(case: TrialCase) -> bool:
    """Whether a declared limit, a schedule or more requests than one a worker make latencies that are not the device's alone."""
    return any(place.limits for place in case.run.places) or bool(knob(case, "rate")) or (knob(case, "depth") or 1) != 1


def buckets(case: TrialCase) -> Buckets:
    """All latencies of the operation, all clients together."""
    return latency.merged(case.observations, case.phase.name, case.measure.operation)


def groups(seen: Buckets, limits: Mapping[str, float]) -> tuple[float, float, float] | None:
    """(share of fast reads, their median, median of the slow ones in ns) where there are two groups far apart, else None."""
    total, apart = sum(count for _, count in seen), limits["times_apart"]
    for edge in edges(seen) if total >= limits["least_reads"] else ():
        fast, slow = [one for one in seen if one[0] <= edge], [one for one in seen if one[0] > edge]
        share = sum(count for _, count in fast) / total
        if not limits["group_share"] <= share <= 1 - limits["group_share"] or median(slow) < apart * median(fast):
            continue
        low, high = median(fast) * apart**0.25, median(slow) / apart**0.25
        between = sum(count for upper, count in seen if low < upper < high)
        if low <= edge <= high and between <= limits["between_share"] * min(share, 1 - share) * total:
            return share, median(fast), median(slow)
    return None


def median(group: Buckets) -> float:
    """The median latency of a group, in ns."""
    return latency.percentile(group, 0.5) or 0.0


def edges(seen: Buckets) -> Iterator[float]:
    """Latencies that may part two groups."""
    edge = float(seen[0][0]) if seen else 0.0
    while seen and edge < seen[-1][0]:
        yield edge
        edge *= STEP


def answered_below(case: TrialCase, times: float) -> Finding:
    """The second pass: what it adds over the first, something below the device answered."""
    rate, first = rate_of(case), first_rate(case)
    return found(
        RULE,
        case,
        State.FAIL,
        f"Second reads {times:.1f} times as fast (fastest tenth, limit {case.thresholds['repeat_ratio']:g}) with equal I/O:"
        f" a cache below {lowest(case)} answered. The first pass ran at {measures.with_unit(first, Unit.BYTES_PER_S)}.",
        observed={"repeat_ratio": times},
        bound=Bound(low=None, high=first, unit=rate[1]) if rate and rate[1] is Unit.BYTES_PER_S and first else None,
        relabel=f"reads answered from a cache below {lowest(case)}",
    )


def two_groups(case: TrialCase, share: float, fast_ns: float, slow_ns: float) -> Finding:
    """Some reads were an order of magnitude faster than the rest."""
    rate = rate_of(case)
    mean = share * fast_ns + (1 - share) * slow_ns
    fast, slow = (measures.with_unit(time, Unit.NANOSECONDS) for time in (fast_ns, slow_ns))
    return found(
        RULE,
        case,
        State.FAIL,
        f"{measures.percent(share)} of the direct reads took about {fast}, the rest about {slow}, hardly any in between:"
        f" a cache below {lowest(case)} answers a part.",
        observed={"fast_share": share, "fast_ns": fast_ns, "slow_ns": slow_ns},
        bound=Bound(low=None, high=rate[0] * mean / slow_ns, unit=rate[1]) if rate else None,
        relabel=f"a mixture of reads from a cache below {lowest(case)} and reads from below it",
        detail=f"{measures.percent(share)} from the cache",
    )


def nothing_seen(case: TrialCase, twice: float | None) -> Finding:
    """A pass: it names the tests made."""
    tests = [] if twice is None else [f"second reads {twice:.2f} times as fast as the first"]
    if buckets(case) and not limited(case):
        tests.append("one group of latencies")
    if not tests:
        return found(RULE, case, State.UNVERIFIED, f"A limit or queue hides the device; {OPEN}. Read one request at a time.")
    text = f"No sign of a cache below {lowest(case)}: {' and '.join(tests)}; {OPEN}."
    return found(RULE, case, State.PASS, text, observed={"repeat_ratio": twice})


RULE = Rule(
    id="T04",
    name="hidden-lower-cache",
    scope=Scope.TRIAL,
    severity=Severity.QUALIFIES,
    part="tier",
    reads=("L0.read", "L2.read", "L9.read"),
    applies=reads_only,
    check=check,
    about=About.ALL_HOSTS,
    wrong="The lowest visible device may be a file in a hypervisor's memory, or an array with a terabyte of memory. O_DIRECT, "
    'the process counters and the device counters all indicate "device", and they are right. No counter on this machine sees '
    "the layer below.",
    alternatives=(
        "The device's own memory, or the fast part of a flash disk, is a cache too. Decide whether it belongs to the claim.",
        "A cloud's token bucket grants a burst and then brakes. Its slow reads come later; a cache's slow reads come first.",
        "Another load on the same device ended between the two passes. Repeat them in both orders.",
    ),
    advice="Read at least four data sizes at random, one request at a time, and find the size above which the latency no "
    "longer rises. Ask the operator of the layer below about its cache (a virtual disk: cache = none).",
    sources=(
        "Traeger, Zadok, Joukov, Wright: A nine year study of file system and storage benchmarking, ACM TOS 4(2), 2008",
        "SNIA Solid State Storage Performance Test Specification: the state of write caches is to be reported",
    ),
)
