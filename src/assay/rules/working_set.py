"""Compares the data set with the memory that could cache it, if no counter separates memory from storage.

The rule divides the distinct bytes touched (the files' sizes, at most the bytes requested) by the memory available before
the clock. A smaller limit of the clients (knob `memory`) replaces it.
Less than `memory_multiple` qualifies. With the process's `read_bytes` the rule is n/a: T01 has direct evidence.
"""

from __future__ import annotations

from assay import measures
from assay.catalogue import About, Rule, TrialCase
from assay.evidence import ladder
from assay.records import Direction, Finding, Rung, Scope, Severity, State
from assay.rulekit.applicability import reads_only
from assay.rulekit.findings import found, knob


def applies(case: TrialCase) -> str | None:
    """Reads without a count of their path through the cache."""
    own = ladder.passed(case.phase, case.observations, Rung.CLIENT_CACHE, Direction.READ)
    return reads_only(case) or (None if own is None else "the process's own read_bytes are known (T01)")


def check(case: TrialCase) -> Finding:
    """Distinct bytes touched over the memory available when the clock started."""
    memory = memory_bytes(case)
    touched = distinct_bytes(case)
    if memory is None or touched is None:
        lacking = "the size of the data" if touched is None else "the memory that could cache it"
        return found(RULE, case, State.UNVERIFIED, f"Reads of the process and {lacking} unknown.")
    multiple = touched / memory
    sizes = f"{measures.in_bytes(touched)} touched with {measures.in_bytes(memory)} of memory"
    observed = {"multiple": multiple, "touched_bytes": touched, "memory_bytes": memory}
    limit = case.thresholds["memory_multiple"]
    if multiple >= limit:
        return found(RULE, case, State.PASS, f"{sizes}: {multiple:.1f} times the memory (at least {limit:g}).", observed=observed)
    return found(
        RULE,
        case,
        State.FAIL,
        f"{sizes}: {multiple:.2g} times the memory (at least {limit:g}). Reads may be any mixture of memory and device.",
        observed=observed,
        relabel="reads of a data set that fits memory: tier unknown",
    )


def memory_bytes(case: TrialCase) -> float | None:
    """What could cache the data: the memory available when the clock started, at most what the clients may have (`memory`).

    A limit alone is no answer: on a host with less left than that, it is the host's memory that decides.
    """
    free = ladder.at_arming(case.phase, ladder.gauges(case.phase, case.observations, "memory", "available_bytes"))
    limit, hosts = knob(case, "memory"), max(1, len(case.phase.load_hosts))
    return min(free, float(limit) * hosts) if free is not None and isinstance(limit, int) else free


def distinct_bytes(case: TrialCase) -> float | None:
    """The sum of the data files' sizes, at most what was asked; None where neither is known."""
    requested = ladder.requested_bytes(case.phase, case.observations, Direction.READ)
    every = ladder.data_files(case.phase, case.observations, "file_bytes", ladder.at_arming)
    known = [size for size in (requested, every) if size]
    return min(known) if known else None


RULE = Rule(
    id="T05",
    name="working-set",
    scope=Scope.TRIAL,
    severity=Severity.QUALIFIES,
    part="tier",
    short="fits in memory",
    applies=applies,
    check=check,
    about=About.ALL_LOAD_HOSTS,
    reads=("L0.read", "L2.read", "memory.available_bytes", "page_cache.file_bytes"),
    wrong="A data set that partly fits memory gives a mixture of two speeds that differ by a factor of ten or more.",
    alternatives=("Direct I/O end to end caches nothing, whatever the size. Then read_bytes prove it.",),
    advice="Use at least twice the memory of client and server together, or make the memory small and declared (knob memory). "
    "Show the curve over the size instead of one point.",
    at_shell="Use at least twice the memory of client and server together.",
    ask="ask for data of at least twice the memory of all caches in the path, or for direct I/O with proof",
    sources=("MLPerf Storage: data of at least 5 times the clients' memory", "Tarasov et al., HotOS 2011: the cliff at the edge"),
)
