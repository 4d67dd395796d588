"""Says whether anybody looked if what is read is what was written: a rate of wrong data is the rate of nothing.

Evidence: with `verify` each block that is written says where it belongs, which phase wrote it, and a checksum; reads of the
same workload look at one record in 64 or at all of them, outside the latency. A write is looked at by the reads that follow it.
"""

from __future__ import annotations

from collections.abc import Iterator

from assay import measures
from assay.catalogue import About, Case, Rule, TrialCase
from assay.evidence import failures
from assay.records import Direction, Finding, Phase, Scope, Severity, State
from assay.rulekit.findings import found, knob

KIND = "bulk_io"
"""The workload that can describe what it writes."""
SAMPLE = 64
"""`sample` looks at one record in so many."""


def applies(case: Case) -> str | None:
    """Operations of our own that move data whose content somebody could know."""
    assert isinstance(case, TrialCase)
    kind = next((spec.kind for spec in case.experiment.workloads if spec.name == case.measure.workload), "")
    if kind != KIND:
        return f"the workload {kind} cannot know what should be there"
    if knob(case, "file") is not None:
        return "what should be in an existing file is not known"
    if case.phase.directions.get(case.measure.operation) is Direction.FLUSH:
        return "a flush moves no data of its own"
    return None


def check(case: Case) -> Finding:
    """Whether the records were looked at, and what was found there."""
    assert isinstance(case, TrialCase)
    how = str(knob(case, "verify") or "none")
    readers = tuple(looking(case)) if how != "none" else ()
    if not readers:
        return found(RULE, case, State.UNVERIFIED, unlooked(case, how), observed={"looked_at": 0.0})
    reads = sum(total.count for phase, name in readers for _, total in measures.client_operations(phase, name))
    wrong = sum(failures.mismatched(phase, name) for phase, name in readers)
    looked = reads if how == "all" else reads / SAMPLE
    observed = {"looked_at": float(looked), "wrong": float(wrong), "share": 1.0 if how == "all" else 1 / SAMPLE}
    if not wrong:
        told = "all of them" if how == "all" else f"about {looked:,.0f} of them, one in {SAMPLE}"
        said = f"{reads:,} records were read back, {told} looked at: each was what had been written there."
        return found(RULE, case, State.PASS, said, observed=observed)
    records = "One record" if wrong == 1 else f"{wrong:,} records"
    return found(
        RULE,
        case,
        State.FAIL,
        f"{records} of {looked:,.0f} that were looked at did not hold what was written there: lost, old or damaged data.",
        observed=observed,
        relabel="a rate of wrong data",
        evidence=tuple(f"{phase.name}: blocks that describe themselves, as {name} found them" for phase, name in readers),
    )


def looking(case: TrialCase) -> Iterator[tuple[Phase, str]]:
    """The reads that looked at what the measure is about: itself, or those after a write up to the next one."""
    if case.phase.directions.get(case.measure.operation) is Direction.READ:
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
    """Why nobody looked, and how to have it looked at."""
    if how != "none":
        return "What was written was never read back: add `read` to the operations of this workload."
    if case.phase.directions.get(case.measure.operation) is Direction.READ:
        return 'Nobody looked whether what was read is what was written: verify = "sample" looks at one record in 64.'
    return 'Nobody looked whether what was written is there: verify = "sample", and a read after the write.'


RULE = Rule(
    id="G06",
    name="unverified-data",
    scope=Scope.TRIAL,
    severity=Severity.INVALIDATES,
    part="evidence",
    needs=(),
    applies=applies,
    check=check,
    about=About.ALL_LOAD_HOSTS,
    alternatives=(
        "Somebody else wrote to the same files while the test ran.",
        "The data came from a cache older than the write (two clients of one share): the storage is right, the cache is not.",
    ),
    advice="Do not use the figure: find the layer that lost the data (kernel log, the device's counters of errors, a server"
    ' that answers before it has written) and repeat with verify = "all". Where nobody looked yet, verify = "sample" costs one'
    " record in 64, outside the latencies.",
    sources=(
        "fio, HOWTO: verify; it warns where a job's verification can never begin",
        "Bairavasundaram et al., FAST 2008: An analysis of data corruption in the storage stack",
    ),
)
