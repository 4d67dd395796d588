"""Records in words that a reader without the manual understands: measures, claims, levels, verdicts."""

from __future__ import annotations

import re
from collections.abc import Mapping

from assay import measures
from assay.records import Claim, Conclusion, Measure, RequirementState, Tier, Value, VerdictState

MEANING: Mapping[VerdictState, str] = {
    VerdictState.SOUND: "the number is what it claims to be",
    VerdictState.BOUNDED: "the true number lies within stated bounds",
    VerdictState.UNVERIFIED: "evidence is missing: it cannot be told",
    VerdictState.TAINTED: "something disturbed the number",
    VerdictState.INVALID: "the number is not what it claims to be",
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

HOLLOW = frozenset({VerdictState.UNVERIFIED, VerdictState.TAINTED, VerdictState.INVALID})
"""States whose mark is drawn as an outline: doubtful at a glance, without colour."""

REQUIREMENT_MARKS: Mapping[RequirementState, str] = {
    RequirementState.MET: "✓",
    RequirementState.NOT_MET: "✗",
    RequirementState.UNDECIDED: "?",
}

CONCLUSION_CLASS: Mapping[Conclusion, str] = {
    Conclusion.MATTERS: "matters",
    Conclusion.IMMATERIAL: "immaterial",
    Conclusion.EQUIVALENT: "equivalent",
    Conclusion.UNDECIDED: "undecided",
}

_FIGURES: Mapping[str, str] = {
    "ops_per_s": "operations per second",
    "busy_ops_per_s": "operations per second of busy time",
    "bytes_per_s": "throughput",
    "busy_bytes_per_s": "throughput over busy time",
    "latency_mean_ns": "mean latency",
    "latency_max_ns": "longest latency",
    "latency_p50_ns": "median latency",
    "elapsed_ns": "elapsed time",
    "cpu_share": "processor share",
    "cpu_ns_per_op": "processor time per operation",
    "bytes": "bytes moved",
    "count": "operations done",
    "errors": "errors",
}


def figure(name: str) -> str:
    """The figure of a measure in words: `latency_p999_ns` is the 99.9th percentile of the latency."""
    host, _, plain = name.rpartition(".")
    percentile = re.fullmatch(r"latency_p(\d+)_ns", plain)
    if plain in _FIGURES:
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
    plain = name.replace("_", " ")
    return plain if plain.startswith(workload.replace("_", " ")) else f"{workload} {plain}"


def lower_is_better(name: str) -> bool:
    """Whether a smaller figure is the better one; figures that the lab does not know count as better when higher."""
    kind = measures.figure_kind(name.rpartition(".")[2] if "@" not in name else name[name.index("@") :])
    return kind is not None and kind.better is measures.Better.LOWER


def claim(one: Claim) -> str:
    """What the number is said to be; the parts that are not claimed are left out."""
    parts = [
        "as is" if one.tier is Tier.AS_IS else f"{one.tier.value} figure",
        *(part.value for part in (one.regime, one.durability, one.load, one.path) if part is not None),
    ]
    return ", ".join(parts)


def level(value: Value) -> str:
    """One level of a factor."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, tuple):
        return ", ".join(level(item) for item in value)
    return f"{value:,}" if isinstance(value, int) else str(value)


def levels(values: Mapping[str, Value]) -> str:
    """A combination of levels: the bare name of the target, `factor = level` for the others."""
    return ", ".join(level(value) if path == "target" else f"{path} = {level(value)}" for path, value in values.items())


def count(number: int, noun: str) -> str:
    """`1 run`, `3 runs`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
