"""Records in words that a reader without the manual understands: measures, methods, claims, verdicts; and their marks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from assay import measures
from assay.measures import percent, with_unit
from assay.measures.text import level, levels
from assay.records import (
    Claim,
    DesignKind,
    Exclusion,
    ExclusionReason,
    Limiter,
    LimiterKind,
    Measure,
    Method,
    RequirementState,
    Severity,
    Tier,
    VerdictState,
)

__all__ = ["level", "levels"]

MEANING: Mapping[VerdictState, str] = {
    VerdictState.SOUND: "the figure is what it claims to be",
    VerdictState.BOUNDED: "the true figure lies within the given bounds",
    VerdictState.UNVERIFIED: "evidence is missing",
    VerdictState.TAINTED: "something disturbed the figure",
    VerdictState.INVALID: "the figure is not what it claims to be",
}
"""From best to worst, as shown."""

SHAPES: Mapping[VerdictState, str] = {
    VerdictState.SOUND: "M0,-1A1,1,0,1,1,0,1A1,1,0,1,1,0,-1Z",
    VerdictState.BOUNDED: "M0,-1.15L1.15,0L0,1.15L-1.15,0Z",
    VerdictState.UNVERIFIED: "M0,-1A1,1,0,1,1,0,1A1,1,0,1,1,0,-1Z",
    VerdictState.TAINTED: "M0,-1.1L1.1,0.9L-1.1,0.9Z",
    VerdictState.INVALID: "M-0.9,-0.9L0.9,0.9M0.9,-0.9L-0.9,0.9",
}
"""One path per state, in a square from -1 to 1; the same in badges and charts."""

NOT_COUNTED = "M-0.95,-0.95H0.95V0.95H-0.95ZM-0.95,0.95L0.95,-0.95"
"""The mark of a run that does not count, whatever its verdict: a square that is struck out."""

HOLLOW = frozenset({VerdictState.UNVERIFIED, VerdictState.TAINTED, VerdictState.INVALID})
"""States whose mark is drawn as an outline: doubtful at a glance, without colour."""

EFFECTS: Mapping[Severity, str] = {
    Severity.INVALIDATES: "makes INVALID",
    Severity.QUALIFIES: "weakens",
    Severity.NOTES: "noted in",
}
"""What a failed rule does to the figures, before their number."""

REQUIREMENT_MARKS: Mapping[RequirementState, str] = {
    RequirementState.MET: "✓",
    RequirementState.NOT_MET: "✗",
    RequirementState.UNDECIDED: "?",
}


def tally(states: Iterable[VerdictState]) -> tuple[tuple[VerdictState, int], ...]:
    """Count each state that occurs, from best to worst."""
    found = Counter(states)
    return tuple((state, found[state]) for state in MEANING if state in found)


LOWER, HIGHER = "lower is better", "higher is better"


def lower_is_better(name: str) -> bool:
    """Whether a smaller figure is the better one; figures that the lab does not know count as better when higher."""
    return better(name) == LOWER


def better(name: str) -> str:
    """Which side of a figure, or of a measure, is the better one; empty where the lab does not know."""
    kind = measures.figure_kind(name.rpartition(".")[2] if "@" not in name else name[name.index("@") :])
    return "" if kind is None else LOWER if kind.better is measures.Better.LOWER else HIGHER


def claim(one: Claim) -> str:
    """What the number is said to be; the parts that are not claimed are left out."""
    parts = [
        "as is" if one.tier is Tier.AS_IS else f"{one.tier.value} figure",
        *(part.value for part in (one.regime, one.durability, one.load, one.path) if part is not None),
    ]
    return ", ".join(parts)


def bound(text: str) -> str:
    """A requirement as it is printed: `≤ 50 ms`."""
    return text.replace("<=", "≤").replace(">=", "≥")


def count(number: int, noun: str) -> str:
    """`1 run`, `3 runs`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


_FIGURES: Mapping[str, str] = {
    "ops_per_s": "operations per second",
    "busy_ops_per_s": "operations per second of busy time",
    "bytes_per_s": "throughput",
    "synced_bytes_per_s": "throughput with the flush of both ends",
    "busy_bytes_per_s": "throughput over busy time",
    "latency_mean_ns": "mean latency",
    "latency_max_ns": "longest latency",
    "latency_p50_ns": "median latency",
    "elapsed_ns": "elapsed time",
    "delivered_elapsed_ns": "time of the delivered bytes",
    "cpu_share": "CPU share",
    "server_cpu_share": "CPU share of the server",
    "cpu_ns_per_op": "CPU time per operation",
    "cpu_ns_per_gb": "CPU time per GB",
    "cpu_s_per_million_ops": "seconds of CPU time per million operations",
    "server_cpu_ns_per_op": "CPU time of the server per operation",
    "server_cpu_ns_per_gb": "CPU time of the server per GB",
    "both_cpu_ns_per_gb": "CPU time of both ends per GB",
    "delivered_bytes_per_s": "delivered throughput",
    "delivered_share": "delivered share",
    "user_instructions_per_op": "instructions per operation in user mode",
    "kernel_instructions_per_op": "instructions per operation in the kernel",
    "user_cycles_per_op": "cycles per operation in user mode",
    "kernel_cycles_per_op": "cycles per operation in the kernel",
    "voluntary_switches": "voluntary switches of the load",
    "involuntary_switches": "involuntary switches of the load",
    "faults": "page faults of the load",
    "bytes": "bytes moved",
    "count": "operations done",
    "errors": "errors",
    "longest_pause_ns": "longest pause",
    "pause_begin_ns": "begin of the longest pause",
    "away_ns": "time away",
    "backlog_ns": "time until the backlog was gone",
    "up_share": "share of the time up",
    "changed": "records changed",
    "unreadable": "records unreadable",
    "never": "changes never seen",
    "stale": "stale reads",
    "granted_twice": "locks granted twice",
    "resolution_ns": "resolution",
    "box_packets_per_s": "packets per second of the middlebox",
    "box_drops": "packets dropped by the middlebox",
    "box_cpu_share": "CPU share of the middlebox",
}


def figure(name: str) -> str:
    """The figure of a measure in words: `latency_p999_ns` is the 99.9th percentile of the latency."""
    host, command, plain = name.partition(".observe.")
    if not command:
        host, _, plain = name.rpartition(".")
    percentile = re.fullmatch(r"latency_p(\d+)_ns", plain)
    if command:
        metric = plain.removesuffix(".max").replace(".", " ").replace("_", " ")
        text = f"maximum of {metric}" if plain.endswith(".max") else metric
    elif plain in _FIGURES:
        text = _FIGURES[plain]
    elif percentile:
        text = f"latency, {_ordinal(percentile[1])} percentile"
    else:
        text = plain.replace("_", " ")
    return f"{text} of host {host.removeprefix('@')}" if host else text


def _ordinal(digits: str) -> str:
    """`99` is 99th, `999` is 99.9th."""
    return f"{digits[:2]}.{digits[2:]}th" if len(digits) > 2 else f"{digits}th"


def measure(one: Measure) -> str:
    """`spool create: operations per second`."""
    return f"{operation(one.workload, one.operation)}: {figure(one.figure)}"


def operation(workload: str, name: str) -> str:
    """`spool create`; the workload once where the operation begins with its name (`random`, `random_read`)."""
    plain, own = name.replace("_", " "), workload.replace("_", " ")
    return plain if f"{plain} ".startswith(f"{own} ") else f"{workload} {plain}"


METHODS: Mapping[Method, str] = {
    Method.MEAN: "mean, t interval",
    Method.GEOMETRIC_MEAN: "geometric mean, t interval on logarithms",
    Method.MEDIAN: "median, order-statistic interval",
    Method.BATCH_MEANS: "mean, t interval of batch means",
    Method.PAIRED_GEOMETRIC: "paired by block, t interval on logarithms",
    Method.PAIRED_PREPARATIONS: "means of a duet's preparations in pairs, t interval on logarithms",
    Method.UNPAIRED_GEOMETRIC: "unpaired, Welch's t interval on logarithms",
    Method.PAIRED_TOTALS: "paired by block, ratio of totals, Fieller's interval",
    Method.UNPAIRED_TOTALS: "unpaired, ratio of totals, Fieller's interval",
    Method.PAIRED_MEDIANS: "paired by block, median of the ratios, order-statistic interval",
    Method.UNPAIRED_MEDIANS: "unpaired, ratio of medians, bootstrap (BCa) of runs",
    Method.NEIGHBOURS: "paired by block, neighbours interpolated by logarithm, t interval on logarithms",
    Method.EFFECT: "blocks removed, Welch-Satterthwaite t interval on logarithms",
    Method.SCALING_LAW: "Gunther's law, resampled residuals",
    Method.HIGHEST_POINT: "highest measured rate, between lower neighbours",
    Method.CROSSING_OF_RATIOS: "ratios paired by block, linear interpolation",
    Method.CROSSING_OF_MEANS: "means, linear interpolation",
    Method.UTILISATION_LAW: "utilisation law, geometric mean with t interval",
    Method.ASYMPTOTIC_BOUNDS: "asymptotic bounds, Welch's t interval on logarithms",
    Method.SERVICE_DEMAND: "non-negative least squares over mixes, bootstrap of trials",
}
DESIGNS: Mapping[DesignKind, str] = {
    DesignKind.ONE_AT_A_TIME: "other factors at their baseline",
    DesignKind.FULL: "mean over all levels of the other factors",
    DesignKind.FRACTIONAL: "mean over the fraction's levels of the other factors",
    DesignKind.SCREENING: "mean over the screened levels of the other factors",
}
"""What the other factors of a design are when an effect is estimated."""


def method(one: Method) -> str:
    """Describe how a figure and its interval are computed."""
    return METHODS[one]


BY_RULES = {ExclusionReason.INVALID: "INVALID", ExclusionReason.NOISE: "disturbed, and enough runs are not"}
"""What rules found."""


def exclusion(one: Exclusion) -> str:
    """Describe why a run does not count."""
    if one.reason is ExclusionReason.OUTCOME:
        return ": ".join(part for part in (one.outcome.value if one.outcome else "", one.error) if part)
    if one.reason is ExclusionReason.REPEATED:
        return f"repeated as attempt {one.attempt}"
    if one.reason is ExclusionReason.NOT_POSITIVE:
        return f"INVALID: figure {one.value:g}, must not be below 0"
    if one.reason in BY_RULES:
        rules = ", ".join(f"{name} ({rule})" for rule, name in one.rules.items())
        return f"{BY_RULES[one.reason]}: {rules}" if rules else BY_RULES[one.reason]
    if one.reason is ExclusionReason.UNREADABLE:
        return one.error or "evidence unreadable"
    return "no valid run of the other arm in its block" if one.reason is ExclusionReason.NO_PARTNER else "no figure"


def limiter(one: Limiter) -> str:
    """Name a limit that was reached: `limited by the declared 50 MB/s of loop0`."""
    declared = "declared " if one.declared else ""
    if one.kind is LimiterKind.RATE:
        return f"limited by the {declared}{with_unit(one.amount or 0.0, one.unit)} of {one.name}"
    if one.kind is LimiterKind.CPU_QUOTA:
        stopped = f" ({one.stops:,} stops, {percent(one.stopped_share or 0.0)} of the time)" if one.stops else ""
        return f"limited by the {declared}CPU quota of control group {one.name}{stopped}"
    return f"limited by {one.amount:g} {'CPU' if one.amount == 1 else 'CPUs'}"


def listed(names: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
