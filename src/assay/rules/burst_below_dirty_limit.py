"""Finds steady write rates of runs that stayed below the write-back threshold: memory absorbed the burst.

The kernel starts write-back at dirty_background_bytes (or dirty_background_ratio of the available memory), or when data are
older than dirty_expire_centisecs.
The rule compares the data that can be dirty at once with that threshold: the bytes written, and no more than the files hold.
- Less than the threshold, and the device took less than `taken_share` during the clock: a steady claim qualifies.
- More than the threshold, or the device took most of it during the clock (a mount with `sync`): pass.
- Kernel settings, memory or device counters missing, or too much I/O of other processes: unverified.
- No steady claim, a flush inside the clock, O_DSYNC, O_DIRECT or metadata: n/a.

A steady rate is at most, a latency at least what memory delivered.
With tracepoints (`observers = ["*", "tracepoints"]`) the finding also counts how often the kernel paused the load
(`dirty_pauses`).
The rule does not see the device's own memory (W02 shows its end in long runs) or lower limits of a version 2 control group.
"""

from __future__ import annotations

from collections.abc import Iterator

from assay import measures
from assay.catalogue import About, Rule, TrialCase
from assay.evidence import ladder, traced
from assay.measures import in_bytes
from assay.records import Bound, Direction, Finding, Observations, Phase, Scope, Severity, Span, State, StopRule
from assay.rulekit.findings import flattered, found, knob

SYSCTL = "sysctl.vm."


def applies(case: TrialCase) -> str | None:
    """Buffered writes of data that are not flushed inside the clock."""
    if case.direction is not Direction.WRITE:
        return "not a write of data"
    if case.phase.flush_in_clock or knob(case, "sync") == "dsync":
        return "flushed inside the clock"
    return "direct writes are not held in memory" if knob(case, "direct") is True else None


def check(case: TrialCase) -> Finding:
    """What could be dirty at once against the threshold, and what the device took while the clock ran."""
    dirtied, threshold = dirtied_at_once(case), background_bytes(case)
    if not dirtied or threshold is None:
        lacking = "Written bytes" if not dirtied else "The kernel's write-back threshold"
        way = " (observers environment and memory)" if dirtied else ""
        return found(RULE, case, State.UNVERIFIED, f"{lacking} unknown{way}.")
    step = ladder.reached(case.phase, case.observations, Span.CLOCK)
    observed = {
        "dirtied_bytes": dirtied,
        "background_bytes": threshold,
        "seconds": seconds(case),
        "expire_s": expire_s(case),
        "device_bytes": step.raw_bytes if step else None,
        "dirty_pauses": traced.counted(case.phase, case.observations, "dirty_pauses"),
    }
    amount = f"{in_bytes(dirtied)} dirtied (write-back starts at {in_bytes(threshold)})"
    if dirtied >= threshold and not may_be_less(case):
        return found(RULE, case, State.PASS, f"{amount}.", observed=observed)
    if step is None:
        return found(RULE, case, State.UNVERIFIED, f"{amount}; device writes during the clock unknown.", observed=observed)
    least = case.thresholds["taken_share"] * dirtied
    if step.raw_bytes < least and dirtied < threshold:
        return absorbed(case, step, observed)
    if step.bytes < least:
        others = f"{step.device}: too much I/O of other processes to see this load's writes during the clock."
        again = f"{amount}, perhaps the same bytes again and again: the size of the files is unknown."
        return found(RULE, case, State.UNVERIFIED, others if dirtied < threshold else again, observed=observed)
    statement = f"{step.device} took {in_bytes(step.raw_bytes)} of {in_bytes(dirtied)} dirtied during the clock."
    return found(RULE, case, State.PASS, statement, observed=observed)


def dirtied_at_once(case: TrialCase) -> float | None:
    """The most that can have been dirty at once: what was written, or all that the files hold where they were overwritten."""
    written = ladder.requested_bytes(case.phase, case.observations, Direction.WRITE)
    held = ladder.data_files(case.phase, case.observations, "file_bytes", ladder.at_stop)
    return min(written, held) if written and held else written


def may_be_less(case: TrialCase) -> bool:
    """Whether files may have been written again and again, and nobody knows how much they hold."""
    again = any(name.startswith(("random", "record_rewrite")) for name in case.phase.operations)
    held = ladder.data_files(case.phase, case.observations, "file_bytes", ladder.at_stop)
    return not held and (again or case.phase.stop is not StopRule.WORK)


def background_bytes(case: TrialCase) -> float | None:
    """From how many dirty bytes on kernels write by themselves, over all hosts whose memory can hold them; None if unknown."""
    each = [background_of(case.phase, *one) for one in memories(case)]
    known = [limit for limit in each if limit is not None]
    return sum(known) if known and len(known) == len(each) else None


def memories(case: TrialCase) -> Iterator[tuple[Observations, str | None]]:
    """The evidence of each host whose memory takes writes, with its name: the load hosts, and the target's where it is apart."""
    load = case.phase.load_hosts or (None,)
    yield from ((case.observations, host) for host in load)
    if case.beyond is not None:
        yield from ((case.beyond, host) for host in sorted(case.beyond.hosts))


def background_of(phase: Phase, seen: Observations, host: str | None) -> float | None:
    """The same of one host: dirty_background_bytes, else the ratio of what is available."""
    if set_bytes := number(seen, "dirty_background_bytes", host):
        return set_bytes
    ratio = number(seen, "dirty_background_ratio", host)
    series = ladder.gauges(phase, seen, "memory", "available_bytes")
    available = ladder.at_arming(phase, [one for one in series if host in (None, one.host)])
    return None if ratio is None or available is None else ratio / 100 * available


def number(seen: Observations, name: str, host: str | None) -> float | None:
    """A sysctl of the kernel's virtual memory; None if it was not read."""
    text = seen.fact(SYSCTL + name, host=host)
    return float(text) if text is not None and text.isdigit() else None


def expire_s(case: TrialCase) -> float | None:
    """How old dirty data get before they are written whatever their number; the shortest of all hosts."""
    ages = (number(seen, "dirty_expire_centisecs", host) for seen, host in memories(case))
    return min((age / 100 for age in ages if age is not None), default=None)


def seconds(case: TrialCase) -> float:
    """How long the phase ran."""
    return case.phase.lasted_ns / 1e9


def absorbed(case: TrialCase, step: ladder.LadderStep, observed: dict[str, float | None]) -> Finding:
    """The failure: the run was over before the device had to do anything."""
    dirtied, threshold, expire = (observed[name] or 0.0 for name in ("dirtied_bytes", "background_bytes", "expire_s"))
    ran = seconds(case)
    soon = f" and after {expire:.3g} s" if ran < expire else ""
    return found(
        RULE,
        case,
        State.FAIL,
        f"{in_bytes(dirtied)} dirtied in {ran:.3g} s; write-back starts at {in_bytes(threshold)}{soon}."
        f" {step.device} took {measures.percent(step.raw_bytes / dirtied)} during the clock: memory absorbed the burst.",
        observed=observed,
        bound=bound(case),
        relabel="write absorbed by memory: a burst below the dirty limit, not a steady rate",
        detail=f"{in_bytes(dirtied)} in {ran:.3g} s",
    )


def bound(case: TrialCase) -> Bound | None:
    """A device that has to keep up is no faster than memory: a steady rate is at most, a time at least what memory needed."""
    figure = measures.value(case.run, case.observations, case.measure)
    return None if figure is None else flattered(case, figure.value if figure.raw is None else figure.raw)


RULE = Rule(
    id="D05",
    name="burst-below-dirty-limit",
    scope=Scope.TRIAL,
    severity=Severity.QUALIFIES,
    part="regime",
    applies=applies,
    check=check,
    about=About.ALL_HOSTS,
    reads=(
        "L0.write",
        "fact:sysctl.vm.dirty*",
        "memory.available_bytes",
        "page_cache.file_bytes",
        "L9.write",
        "tracepoints.dirty_pauses",
    ),
    wrong="256 MB on a machine with 24 GB are written before the kernel starts write-back. The rate is real for a second or "
    "two. Then the limit is reached, and the writers wait for the device.",
    alternatives=(
        "A burst is the subject, such as saving a file. Claim regime = burst.",
        (
            "A lower limit of the device itself (bdi max_ratio, strict_limit) started write-back earlier, so the device took the "
            "data."
        ),
    ),
    advice="Write at least three times the dirty limit (vm.dirty_ratio of the available memory). Or flush inside the "
    "clock (flush_every, flush = end), or write with direct = true. Or claim regime = burst.",
    at_shell="Write at least three times the dirty limit (vm.dirty_ratio of the available memory), or flush before the "
    "clock stops.",
    sources=(
        "Linux: Documentation/admin-guide/sysctl/vm.rst (dirty_background_ratio, dirty_expire_centisecs)",
        "SNIA SSS PTS: steady state is measured after the device has been filled, not in the first seconds",
    ),
)
