"""Checks whether read data are the written data: a rate of wrong data is worthless.

With `verify = "sample"` or `"all"` every 4 KiB block that `bulk_io` writes holds its place, its phase and a checksum.
Reads of the same workload check one record in 64, or all, after the latency was taken. A write is checked by the reads up to
the next write.
- All checked records correct: pass. A wrong record: invalid under every claim (E05 also refuses the read).
- No check: unverified, with the missing setting. No claim needs this rule to be SOUND.

Existing files, external tools and metadata are n/a.
"""

from __future__ import annotations

from collections.abc import Iterator

from assay import measures
from assay.catalogue import About, Rule, TrialCase
from assay.evidence import reports
from assay.records import Direction, Finding, Phase, Scope, Severity, State
from assay.rulekit.applicability import workload_kind
from assay.rulekit.findings import found, knob
from assay.units import counted

KIND = "bulk_io"
"""The workload that can describe what it writes."""
SAMPLE = 64
"""`sample` looks at one record in so many."""


def applies(case: TrialCase) -> str | None:
    """Operations of Assay's engines that move data of known content."""
    kind = workload_kind(case)
    if kind != KIND:
        return f"the content of {kind} data is unknown"
    if knob(case, "file") is not None:
        return "the content of an existing file is unknown"
    return "a flush moves no data of its own" if case.direction is Direction.FLUSH else None


def check(case: TrialCase) -> Finding:
    """Judge whether the records were verified, and the errors found."""
    how = str(knob(case, "verify") or "none")
    readers = tuple(looking(case)) if how != "none" else ()
    if not readers:
        return found(RULE, case, State.UNVERIFIED, unlooked(case, how), observed={"looked_at": 0.0})
    reads = sum(total.count for phase, name in readers for _, total in measures.client_operations(phase, name))
    wrong = sum(reports.mismatched(phase, name) for phase, name in readers)
    looked = reads if how == "all" else reads / SAMPLE
    observed = {"looked_at": float(looked), "wrong": float(wrong), "share": 1.0 if how == "all" else 1 / SAMPLE}
    if not wrong:
        part = "all" if how == "all" else f"about {looked:,.0f} (one in {SAMPLE})"
        statement = f"{reads:,} records read back, {part} checked, all correct."
        return found(RULE, case, State.PASS, statement, observed=observed)
    return found(
        RULE,
        case,
        State.FAIL,
        f"{counted(wrong, 'record')} of {looked:,.0f} checked differ from the written data: lost, old or damaged.",
        observed=observed,
        relabel="a rate of wrong data",
        evidence=tuple(f"{phase.name}: blocks that describe themselves, as {name} found them" for phase, name in readers),
    )


def looking(case: TrialCase) -> Iterator[tuple[Phase, str]]:
    """The verifying reads of a measure: its own, or those after a write up to the next write."""
    if case.direction is Direction.READ:
        yield case.phase, case.measure.operation
        return
    yield from reads_of(case.phase)
    own = [phase for phase in case.run.phases if phase.workload == case.measure.workload]
    for phase in own[own.index(case.phase) + 1 :] if case.phase in own else ():
        yield from reads_of(phase)
        if Direction.WRITE in phase.directions.values():
            return


def reads_of(phase: Phase) -> Iterator[tuple[Phase, str]]:
    """The reads of a phase of which at least one was done."""
    for name, way in phase.directions.items():
        if way is Direction.READ and measures.client_operations(phase, name):
            yield phase, name


def unlooked(case: TrialCase, how: str) -> str:
    """Why the data were not verified, and how to verify them."""
    if how != "none":
        return "Written data were never read back. Add `read` to the operations of this workload."
    if case.direction is Direction.READ:
        return f'Data were not verified. Set verify = "sample" to check 1 record in {SAMPLE}.'
    return 'Written data were not verified. Set verify = "sample" and read after the write.'


RULE = Rule(
    id="G06",
    name="unverified-data",
    scope=Scope.TRIAL,
    severity=Severity.INVALIDATES,
    part="evidence",
    short="data not verified",
    applies=applies,
    check=check,
    about=About.ALL_LOAD_HOSTS,
    wrong="A layer that loses a write, or answers a read with an old block, is fast. Benchmarks seldom verify: data are zeros "
    "or one repeated buffer, and a read counts when its call returns. Even a tool with verification may never reach it (fio "
    "warns of jobs that end by time before they read back).",
    alternatives=(
        "Another process wrote to the same files during the test.",
        "The data came from a cache older than the write (two clients of one share). The storage is right, the cache is not.",
    ),
    advice="Do not use the figure. Find the layer that lost the data (kernel log, device error counters, a server that "
    'acknowledges early) and repeat with verify = "all". Without any check yet, set verify = "sample": it costs one record in '
    "64, outside the latencies.",
    sources=(
        "fio, HOWTO: verify; it warns where a job's verification can never begin",
        "Bairavasundaram et al., FAST 2008: An analysis of data corruption in the storage stack",
    ),
)
