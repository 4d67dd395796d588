"""The figures of a measure: WORKLOAD.OPERATION.FIGURE from a run and what was observed of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum

from assay.evidence import ladder
from assay.frozen import dataclass
from assay.measures import coherence, cost, drill, far_end, latency
from assay.measures.text import with_unit
from assay.measures.windows import Window, common_window, counted, steady_edges, totals, whole_window
from assay.records import Claim, Client, Direction, Durability, Measure, Observations, OperationTotal, Phase, Run, Tier
from assay.statistics.steadiness import ROUNDS
from assay.units import Unit

HOST_SIGN = "@"
"""An observed figure names its host: `@server.cpu_share`."""


class Better(StrEnum):
    """Which way a figure is better."""

    HIGHER = "higher"
    LOWER = "lower"


@dataclass(frozen=True, kw_only=True)
class FigureKind:
    """What a figure is counted in and which way it is better."""

    unit: Unit
    better: Better


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A value in its base unit; `raw` is what it was before `treatment` was applied, None where nothing was."""

    value: float
    unit: str
    raw: float | None = None
    treatment: str | None = None
    window: Window | None = None
    """The time it was counted in, for rates."""
    flush_ns: int = 0
    """Of the time that makes it differ from `raw`: the flush after the last operation, inside the clock."""
    flushes: int = 0
    """How many flushes the workload made; `flush_ns` is of the last ones."""
    drain_ns: int | None = None
    """The drain that was charged; None where none was."""


AMOUNTS: Mapping[str, str] = {"ops_per_s": "count", "bytes_per_s": "bytes"}
"""Rates of all clients together, and which amount of a window each is made of."""
MOVED = ("bytes", "bytes_per_s", "synced_bytes_per_s")
"""Figures of moved bytes."""
CONCURRENCY = frozenset({"clients", "hosts", "workers", "depth", "walkers"})
"""Reserved factor or last part of a knob's path that counts what works at the same time."""
PERCENTILES: Mapping[str, float] = {
    "latency_p50_ns": 0.50,
    "latency_p90_ns": 0.90,
    "latency_p95_ns": 0.95,
    "latency_p99_ns": 0.99,
    "latency_p999_ns": 0.999,
    "latency_max_ns": 1.0,
}
FIGURES: Mapping[str, FigureKind] = {
    "ops_per_s": FigureKind(unit=Unit.PER_S, better=Better.HIGHER),
    "busy_ops_per_s": FigureKind(unit=Unit.PER_S, better=Better.HIGHER),
    "bytes_per_s": FigureKind(unit=Unit.BYTES_PER_S, better=Better.HIGHER),
    "synced_bytes_per_s": FigureKind(unit=Unit.BYTES_PER_S, better=Better.HIGHER),
    "latency_mean_ns": FigureKind(unit=Unit.NANOSECONDS, better=Better.LOWER),
    **{name: FigureKind(unit=Unit.NANOSECONDS, better=Better.LOWER) for name in PERCENTILES},
    "elapsed_ns": FigureKind(unit=Unit.NANOSECONDS, better=Better.LOWER),
    "count": FigureKind(unit=Unit.COUNT, better=Better.HIGHER),
    "bytes": FigureKind(unit=Unit.BYTES, better=Better.HIGHER),
    "errors": FigureKind(unit=Unit.COUNT, better=Better.LOWER),
    "attempts": FigureKind(unit=Unit.COUNT, better=Better.HIGHER),
    "delivered_bytes": FigureKind(unit=Unit.BYTES, better=Better.HIGHER),
    "delivered_elapsed_ns": FigureKind(unit=Unit.NANOSECONDS, better=Better.LOWER),
    "longest_pause_ns": FigureKind(unit=Unit.NANOSECONDS, better=Better.LOWER),
    "pause_begin_ns": FigureKind(unit=Unit.NANOSECONDS, better=Better.HIGHER),
    **{name: FigureKind(unit=unit, better=Better.LOWER) for name, unit in cost.UNITS.items()},
    **{name: FigureKind(unit=unit, better=Better.LOWER) for name, unit in coherence.UNITS.items()},
    **{
        name: FigureKind(unit=unit, better=Better.HIGHER if name in far_end.ARRIVED else Better.LOWER)
        for name, unit in far_end.FAR_UNITS.items()
    },
    **{
        name: FigureKind(unit=unit, better=Better.HIGHER if name == "up_share" else Better.LOWER)
        for name, unit in drill.DRILL_UNITS.items()
    },
}
OBSERVED: Mapping[str, FigureKind] = {
    "cpu_share": FigureKind(unit=Unit.SHARE, better=Better.LOWER),
    "server_cpu_share": FigureKind(unit=Unit.SHARE, better=Better.LOWER),
    "box_packets_per_s": FigureKind(unit=Unit.PER_S, better=Better.HIGHER),
    "box_drops": FigureKind(unit=Unit.COUNT, better=Better.LOWER),
    "box_cpu_share": FigureKind(unit=Unit.SHARE, better=Better.LOWER),
}
"""Figures of `observed.on_host` that follow `@HOST.`; a file adds `observe.NAME`, whose unit the measure carries."""


def figure_kind(figure: str) -> FigureKind | None:
    """Unit and direction of a figure's name, observed ones (`@HOST.cpu_share`) included; None where there is no such figure."""
    if figure.startswith(HOST_SIGN):
        return None if ".observe." in figure else OBSERVED.get(figure.rpartition(".")[2])
    return FIGURES.get(figure)


def unit_of(measure: Measure) -> Unit:
    """What a measure is counted in; no unit where its figure is an external tool's own."""
    kind = figure_kind(measure.figure)
    return kind.unit if kind else Unit(measure.unit or Unit.NONE)


def phase_of(run: Run, measure: Measure) -> Phase | None:
    """The measured phase in which the measure's operation was done; None where this run has none."""
    for phase in run.phases:
        if phase.measured and phase.workload == measure.workload and measure.operation in phase.operations:
            return phase
    return None


def client_operations(phase: Phase, operation: str) -> tuple[tuple[Client, OperationTotal], ...]:
    """The clients that completed at least one of these operations, each with its total."""
    return totals(phase, operation)


def value(run: Run, observations: Observations, measure: Measure) -> Figure | None:
    """The figure of a measure in one run, None where it cannot be had.

    Rates are counts inside the common window of all clients; where the claim is stable-media (or tier = device for a
    write) they are all that was done over the whole time plus the drain: W / (T + drain).
    """
    phase = phase_of(run, measure)
    if phase is None:
        return None
    if measure.figure.startswith(HOST_SIGN):
        return on_host(phase, observations, measure.figure)
    reported = phase.values.get(f"{measure.operation}.{measure.figure}")
    if reported is not None:
        return charged_report(phase, observations, measure, reported)
    if phase.values and measure.figure in MOVED:  # the bytes of an external tool are those that it tells
        return None
    observations = observations.on(*phase.load_hosts)
    compute = COMPUTE.get(measure.figure)
    return compute(phase, observations, measure) if compute else None


def charges_drain(phase: Phase, measure: Measure) -> bool:
    """Whether the time until nothing was dirty any more belongs to the figure."""
    return phase.drain_ns is not None and claims_media(measure.claim, phase.directions.get(measure.operation))


def claims_media(claim: Claim, direction: Direction | None) -> bool:
    """Whether the claim says that what was written had reached the device."""
    if direction is Direction.READ:
        return False
    return claim.durability is Durability.STABLE_MEDIA or (claim.tier is Tier.DEVICE and direction is Direction.WRITE)


def phase_window(phase: Phase, operation: str) -> Window | None:
    """All of one operation, over the time from the first start to the last end of ANY operation (flushes included)."""
    every = [one for client in phase.clients for total in client.operations if (one := whole_window(phase, total.operation))]
    whole = whole_window(phase, operation)
    if whole is None:
        return None
    first, last = min(one.from_ns for one in every), max(one.to_ns for one in every)
    return Window(from_ns=first, to_ns=last, count=whole.count, bytes=whole.bytes)


def rate(phase: Phase, observations: Observations, measure: Measure) -> Figure | None:
    """ops_per_s or bytes_per_s."""
    unit = FIGURES[measure.figure].unit
    window = common_window(phase, observations, measure.operation)
    if window is None or window.seconds <= 0:
        return None
    raw = amount(window, unit) / window.seconds
    steady = rounds_in_words(phase, measure.operation)
    charged = charged_window(phase, measure)
    if charged is None or (steady and charged[1] is None):
        return Figure(value=raw, unit=unit, treatment=window.reason or steady, window=window)
    whole, drain_ns = window if steady else charged[0], charged[1]
    seconds = whole.seconds + (drain_ns or 0) / 1e9
    end = whole.to_ns + (drain_ns or 0)
    return Figure(
        value=amount(whole, unit) / seconds,
        unit=unit,
        raw=raw,
        treatment=steady,
        window=Window(from_ns=whole.from_ns, to_ns=end, count=whole.count, bytes=whole.bytes),
        flush_ns=last_flush_ns(phase, measure.operation, whole),
        flushes=own_flushes(phase),
        drain_ns=drain_ns,
    )


def synced_rate(phase: Phase, _observations: Observations, measure: Measure) -> Figure | None:
    """Bytes over T, whatever is claimed: the time of all transfers, and of the flush of both ends (the slower one counts)."""
    whole = phase_window(phase, measure.operation)
    if whole is None or phase.drain_ns is None or whole.seconds <= 0:
        return None
    return Figure(
        value=whole.bytes / (whole.seconds + phase.drain_ns / 1e9),
        unit=Unit.BYTES_PER_S,
        raw=whole.bytes / whole.seconds,
        window=whole,
        drain_ns=phase.drain_ns,
    )


def ends_with_flush(phase: Phase, operation: str) -> bool:
    """Whether the workload flushed these writes once, at its end: the flush was chosen, so a rate of the writes counts it."""
    once = 0 < own_flushes(phase) <= sum(client.workers for client in phase.clients)
    return once and phase.flush_in_clock and phase.directions.get(operation) is Direction.WRITE


def charged_window(phase: Phase, measure: Measure) -> tuple[Window, int | None] | None:
    """The time of the writes with a flush at the end, and the drain that is charged; None where neither counts."""
    drain_ns = phase.drain_ns if charges_drain(phase, measure) else None
    whole = phase_window(phase, measure.operation)
    if whole is None or (drain_ns is None and not ends_with_flush(phase, measure.operation)):
        return None
    return whole, drain_ns


def flushing_ns(phase: Phase, measure: Measure) -> int:
    """How long a rate of writes counts on after the last of them: for a flush at the end, and for the drain that is charged."""
    charged = charged_window(phase, measure)
    if charged is None:
        return 0
    whole, drain_ns = charged
    return last_flush_ns(phase, measure.operation, whole) + (drain_ns or 0)


def last_flush_ns(phase: Phase, operation: str, charged: Window) -> int:
    """How long after the last of its operations the clock ran on for the workload's own flush."""
    own = whole_window(phase, operation)
    return max(0, charged.to_ns - own.to_ns) if own is not None and phase.flush_in_clock else 0


def own_flushes(phase: Phase) -> int:
    """How many flushes the workload made inside the clock."""
    totals = (total for client in phase.clients for total in client.operations)
    return sum(one.count for one in totals if phase.directions.get(one.operation) is Direction.FLUSH)


def rounds_in_words(phase: Phase, operation: str) -> str | None:
    """`of 5 steady rounds of 5 s`; None where the phase did not run until it was steady, or this operation was outside."""
    if phase.steady is None or steady_edges(phase, operation) is None:
        return None
    return f"of {ROUNDS} steady rounds of {with_unit(phase.steady.round_ns, Unit.NANOSECONDS)}"


def amount(window: Window, unit: str) -> float:
    """Bytes or operations of a window, by the unit of the rate."""
    return window.bytes if unit == Unit.BYTES_PER_S else window.count


CLEAN_SHARE = 0.01
"""A smaller share of what was written that is dirty at the stop is none (D01 in limits.toml)."""


def charged_report(phase: Phase, observations: Observations, measure: Measure, reported: float) -> Figure:
    """An external tool's own figure, its rates and times with the drain where the claim asks for it: W / (T + drain).

    W and T are the tool's own, as exact as it tells them; where it tells a rate alone, the rate is stretched over its bytes, or
    over the whole time of the command, and the treatment says so. What was flushed inside the clock has no drain.
    """
    kind = FIGURES.get(measure.figure)
    unit = kind.unit if kind else Unit.NONE
    timed = measure.figure in ("ops_per_s", "bytes_per_s", "elapsed_ns")
    own = reported_seconds(phase, measure.operation)
    seconds = own or phase.lasted_ns / 1e9
    if phase.drain_ns is None or not timed or seconds <= 0 or not charges_drain(phase, measure):
        return Figure(value=reported, unit=unit)
    if is_clean(phase, observations):
        return Figure(value=reported, unit=unit)
    drain_s = phase.drain_ns / 1e9
    if unit == Unit.NANOSECONDS:
        figure = reported * (1 + drain_s / seconds)
    else:
        figure = exact_amount(phase, measure, reported, seconds) / (seconds + drain_s)
    treatment = None if own else "over the command's whole time"
    return Figure(value=figure, unit=unit, raw=reported, treatment=treatment, drain_ns=phase.drain_ns)


HELD_SHARE = 0.5
"""Of so much of what was written pages are in memory where it went through the page cache."""


def is_clean(phase: Phase, observations: Observations) -> bool:
    """Whether what was written was on the device at the stop: in the page cache and nothing of it dirty, a flush in the clock.

    What went past the page cache was never dirty; it may be in the cache of the device until the flush of the drain.
    """
    dirty, written = ladder.left_dirty(phase, observations), ladder.requested_bytes(phase, observations, Direction.WRITE)
    looks = (ladder.data_files(phase, observations, metric, ladder.at_stop) for metric in (ladder.HELD, "cached_bytes"))
    held = max((one for one in looks if one is not None), default=None)
    if dirty is None or held is None or not written:
        return False
    buffered = held >= HELD_SHARE * written and dirty <= CLEAN_SHARE * written
    return buffered and ladder.flushed_in_clock(phase, observations)


def exact_amount(phase: Phase, measure: Measure, reported: float, seconds: float) -> float:
    """What a tool's rate is made of: the bytes or operations that it tells, else what its rate gives over its time.

    A rate is printed with fewer digits than its bytes and its time. Where they are far from it they are of something else.
    """
    told = phase.values.get(f"{measure.operation}.{AMOUNTS[measure.figure]}")
    return told if told and abs(told / seconds / reported - 1) <= ROUNDED_SHARE else reported * seconds


ROUNDED_SHARE = 0.1
"""Two printed digits leave 5 % open, and the time as much."""


def reported_seconds(phase: Phase, operation: str) -> float | None:
    """How long an external tool says that it worked, in s: its elapsed time, else bytes over rate; None where it says neither."""
    elapsed, moved, speed = (phase.values.get(f"{operation}.{name}") for name in ("elapsed_ns", "bytes", "bytes_per_s"))
    if elapsed:
        return elapsed / 1e9
    return moved / speed if moved and speed else None


def busy_rate(phase: Phase, observations: Observations, measure: Measure) -> Figure | None:
    """Count over the sum of the operation's own latencies: what one busy client would do, one operation after the other.

    None where latencies are no busy time: in a queue they overlap, and in an open loop they begin before the operation does.
    """
    if any(client.load is not None or client.places > client.workers for client in phase.clients):
        return None
    count, busy = counted(phase, observations, measure.operation)
    treatment = rounds_in_words(phase, measure.operation)
    return Figure(value=count * 1e9 / busy, unit=Unit.PER_S, treatment=treatment) if busy else None


def mean_latency(phase: Phase, observations: Observations, measure: Measure) -> Figure | None:
    """Sum of the latencies over their number."""
    count, busy = counted(phase, observations, measure.operation)
    treatment = rounds_in_words(phase, measure.operation)
    return Figure(value=busy / count, unit=Unit.NANOSECONDS, treatment=treatment) if count and busy else None


def percentile(phase: Phase, observations: Observations, measure: Measure) -> Figure | None:
    """A percentile of the merged histogram, which is one of the whole phase, steady or not."""
    found = latency.percentile(latency.merged(observations, phase.name, measure.operation), PERCENTILES[measure.figure])
    treatment = "of the whole phase, warm-up and all" if rounds_in_words(phase, measure.operation) else None
    return None if found is None else Figure(value=found, unit=Unit.NANOSECONDS, treatment=treatment)


def elapsed(phase: Phase, _observations: Observations, measure: Measure) -> Figure | None:
    """From the first start to the last end, with a flush at the end, and with the drain where the claim asks for it."""
    whole = whole_window(phase, measure.operation)
    if whole is None:
        return None
    raw = float(whole.to_ns - whole.from_ns)
    charged = charged_window(phase, measure)
    if charged is None:
        return Figure(value=raw, unit=Unit.NANOSECONDS, window=whole)
    with_flush, drain_ns = charged
    return Figure(
        value=float(with_flush.to_ns - with_flush.from_ns + (drain_ns or 0)),
        unit=Unit.NANOSECONDS,
        raw=raw,
        window=with_flush,
        flush_ns=last_flush_ns(phase, measure.operation, with_flush),
        flushes=own_flushes(phase),
        drain_ns=drain_ns,
    )


def tally(phase: Phase, _observations: Observations, measure: Measure) -> Figure | None:
    """count, bytes or errors, summed over the clients; failed operations need not have succeeded once."""
    found = [total for client in phase.clients for total in client.operations if total.operation == measure.operation]
    if not found:
        return None
    field = measure.figure
    return Figure(value=float(sum(getattr(total, field) for total in found)), unit=FIGURES[field].unit)


def longest_pause(phase: Phase, observations: Observations, measure: Measure) -> Figure | None:
    """The longest time in which nothing was completed: how long a service was away."""
    from assay.measures import outages  # few runs have outages

    found = outages.longest_pause_ns(phase, observations, measure.operation)
    return None if found is None else Figure(value=found, unit=Unit.NANOSECONDS)


def own_cost(phase: Phase, _observations: Observations, measure: Measure) -> Figure | None:
    """What the load itself or its servers used, over all operations of the phase; None where a client does not tell."""
    far = measure.figure in far_end.FAR_UNITS
    found = far_end.far_figure(phase, measure.figure, measure.operation) if far else cost.cost(phase, measure.figure)
    return None if found is None else Figure(value=found, unit=FIGURES[measure.figure].unit)


def of_account(phase: Phase, _observations: Observations, measure: Measure) -> Figure | None:
    """How the target came through a drill, or what the reader of a coherence phase saw; None of other workloads."""
    found = drill.drill_figure(phase, measure.figure) if measure.figure in drill.DRILL_UNITS else None
    if found is None and measure.figure in coherence.UNITS:
        found = coherence.figure(phase, measure.figure, measure.operation)
    return None if found is None else Figure(value=found, unit=FIGURES[measure.figure].unit)


def host_and_key(figure: str) -> tuple[str, str] | None:
    """The host that a figure names, and the key of the evidence that it is made of; None for a figure of the load."""
    if not figure.startswith(HOST_SIGN):
        return None
    from assay.measures import observed

    host, command, metric = figure[len(HOST_SIGN) :].partition(observed.INFIX)
    if command:
        return host, f"{observed.LAYER}.{metric.removesuffix(observed.MAX)}"
    return host.rpartition(".")[0], f"cpu.{observed.TOTAL_METRIC}"


def on_host(phase: Phase, observations: Observations, figure: str) -> Figure | None:
    """`@HOST.cpu_share`, figures of a box between the ends, and `@HOST.observe.NAME` of what a command of the file counts."""
    from assay.measures import observed  # few runs have figures of hosts

    host, command, metric = figure[len(HOST_SIGN) :].partition(observed.INFIX)
    if command:
        found = observed.by_command(phase, observations, host, metric)
        return None if found is None else Figure(value=found[0], unit=found[1])
    host, _, name = host.rpartition(".")
    own = observed.on_host(phase, observations, host, name) if name in OBSERVED else None
    return None if own is None else Figure(value=own, unit=OBSERVED[name].unit)


COMPUTE: Mapping[str, Callable[[Phase, Observations, Measure], Figure | None]] = {
    "ops_per_s": rate,
    "bytes_per_s": rate,
    "synced_bytes_per_s": synced_rate,
    "busy_ops_per_s": busy_rate,
    "latency_mean_ns": mean_latency,
    **dict.fromkeys(PERCENTILES, percentile),
    "elapsed_ns": elapsed,
    "count": tally,
    "bytes": tally,
    "errors": tally,
    "longest_pause_ns": longest_pause,
    **dict.fromkeys((*cost.UNITS, *far_end.FAR_UNITS), own_cost),
    **dict.fromkeys((*drill.DRILL_UNITS, *coherence.UNITS), of_account),
}
