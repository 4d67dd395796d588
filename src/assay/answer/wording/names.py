"""Measures in words that a reader without the manual understands: `spool create: operations per second`."""

from __future__ import annotations

import re
from collections.abc import Mapping

from assay.records import Measure

_FIGURES: Mapping[str, str] = {
    "ops_per_s": "operations per second",
    "busy_ops_per_s": "operations per second of busy time",
    "bytes_per_s": "throughput",
    "busy_bytes_per_s": "throughput over busy time",
    "latency_mean_ns": "mean latency",
    "latency_max_ns": "longest latency",
    "latency_p50_ns": "median latency",
    "elapsed_ns": "elapsed time",
    "cpu_share": "CPU share",
    "cpu_ns_per_op": "CPU time per operation",
    "cpu_s_per_million_ops": "seconds of CPU time per million operations",
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
    plain, own = name.replace("_", " "), workload.replace("_", " ")
    return plain if f"{plain} ".startswith(f"{own} ") else f"{workload} {plain}"
