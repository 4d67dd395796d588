"""Finds bytes that were acknowledged but still in memory when the clock stopped.

The rule reads dirty and write-back pages of the data and image files (cachestat) right after the last operation, less those at
arming, over the bytes written.
Then the lab times a syncfs: the drain. The durable rate lies between (W - dirty) / T and W / (T + drain).
- A claim of stable media, or of the device for a write, is charged the drain: the figure is W / (T + drain). Dirty data are
  a note.
- The same claim without a timed drain is invalid if more than `dirty_share` was dirty.
- Other claims: a note with the share in memory.

Without page counters the charged drain serves instead. Data that were removed before write-back are D06's subject.
The rule does not see memory below the lowest visible device.
"""

from __future__ import annotations

from assay import measures
from assay.catalogue import Rule, TrialCase
from assay.evidence import ladder
from assay.records import Bound, Direction, Durability, Finding, Meaning, Phase, Scope, Severity, State, Tier
from assay.rulekit.applicability import kept_only
from assay.rulekit.findings import found, in_words, rate_of, rate_text
from assay.units import Unit


def claimed(case: TrialCase) -> bool:
    """Whether the claim says that the bytes had left the memory."""
    write = case.phase.directions.get(case.measure.operation) is Direction.WRITE
    return case.claim.durability is Durability.STABLE_MEDIA or (case.claim.tier is Tier.DEVICE and write)


def check(case: TrialCase) -> Finding:
    """Dirty and under writeback at the stop, beyond what was so at the start, over what was written."""
    written = ladder.requested_bytes(case.phase, case.observations, Direction.WRITE)
    dirty = dirty_rise(case)
    if dirty is None or not written:
        return unseen(case)
    share = min(1.0, max(0.0, dirty / written))
    observed = {"dirty_share": share, "dirty_bytes": dirty, "written_bytes": written, "drain_ns": drain(case.phase)}
    if share > case.thresholds["dirty_share"]:
        return still_dirty(case, share, observed)
    total = measures.with_unit(written, Unit.BYTES)
    limit = measures.percent(case.thresholds["dirty_share"])
    statement = f"{measures.percent(share)} of {total} written was dirty when the clock stopped (limit {limit})."
    return found(RULE, case, State.PASS, statement, observed=observed)


def dirty_rise(case: TrialCase) -> float | None:
    """Bytes of data and image files dirty or under writeback at the stop, minus those at arming; None where not known.

    A file that did not exist at arming had nothing dirty then. Where data files were sampled, each stands for some.
    """
    data, images = risen(case, "path"), risen(case, "backing")
    if data is None:
        return images
    return data * ladder.stands_for(case.phase, case.observations) + (images or 0.0)


def risen(case: TrialCase, kind: str) -> float | None:
    """The same of the observed files of one kind."""
    series = [
        item
        for metric in ("dirty_bytes", "writeback_bytes")
        for item in ladder.gauges(case.phase, case.observations, "page_cache", metric, kind)
    ]
    before, after = ladder.at_arming(case.phase, series), ladder.at_stop(case.phase, series)
    return None if after is None else after - (before or 0.0)


def drain(phase: Phase) -> float | None:
    """How long the drain took, in ns."""
    return None if phase.drain_ns is None else float(phase.drain_ns)


def unseen(case: TrialCase) -> Finding:
    """Without a count of pages the timed drain serves: after it this file system had no dirty page."""
    if case.phase.drain_ns is None:
        statement = "Dirty pages at the stop and drain time unknown."
        return found(RULE, case, State.UNVERIFIED, statement)
    took = measures.with_unit(case.phase.drain_ns, Unit.NANOSECONDS)
    charged = "and is charged" if claimed(case) else "and is not charged (no such claim)"
    statement = f"The drain after the last operation took {took} {charged}; nothing was left in memory."
    return found(RULE, case, State.PASS, statement, observed={"drain_ns": drain(case.phase)}, evidence=("drain: syncfs",))


def still_dirty(case: TrialCase, share: float, observed: dict[str, float | None]) -> Finding:
    """The clock stopped too early: invalid without a drain to charge, a note where the drain is charged or nothing claimed."""
    took = case.phase.drain_ns
    total = measures.with_unit(observed["written_bytes"] or 0, Unit.BYTES)
    statement = f"{measures.percent(share)} of {total} written was dirty when the clock stopped"
    if not claimed(case):
        tail = "." if took is None else f"; the drain took {measures.with_unit(took, Unit.NANOSECONDS)} more."
        label = f"write{rate_text(case)} into memory: {measures.percent(share)} dirty when the clock stopped"
        severity, end = Severity.NOTES, tail
    elif took is None:
        label = f"write{rate_text(case)} into memory: {measures.percent(share)} dirty, and no drain timed"
        severity, end = Severity.INVALIDATES, ", and the drain was not timed."
    else:
        label = f"writes on stable media with the drain of {measures.with_unit(took, Unit.NANOSECONDS)} charged"
        severity, end = Severity.NOTES, f"; the drain of {measures.with_unit(took, Unit.NANOSECONDS)} is charged to the figure."
    bound = durable_bound(case, share)
    known = f" Durable rate: {in_words(bound)}." if bound else ""
    return found(
        RULE,
        case,
        State.FAIL,
        statement + end + known,
        severity=severity,
        part="durability" if case.claim.durability is Durability.STABLE_MEDIA else RULE.part,
        observed={**observed},
        threshold={"dirty_share": case.thresholds["dirty_share"]},
        bound=bound,
        relabel=label,
        evidence=("drain: syncfs",),
    )


def durable_bound(case: TrialCase, share: float) -> Bound | None:
    """[(W - dirty) / T, W / (T + drain)] for a rate; T is the time that the rate was counted in."""
    rate = rate_of(case)
    figure = measures.value(case.run, case.observations, case.measure)
    if rate is None or figure is None:
        return None
    uncharged = figure.raw if figure.raw is not None else figure.value
    whole = measures.whole_window(case.phase, case.measure.operation)
    if case.phase.drain_ns is None or whole is None or whole.seconds <= 0:
        return Bound(low=uncharged * (1 - share), high=uncharged, unit=rate[1])
    stretched = uncharged * whole.seconds / (whole.seconds + case.phase.drain_ns / 1e9)
    charged = figure.value if figure.raw is not None else stretched
    return Bound(low=min(uncharged * (1 - share), charged), high=max(charged, uncharged * (1 - share)), unit=rate[1])


RULE = Rule(
    id="D01",
    name="dirty-at-stop",
    scope=Scope.TRIAL,
    severity=Severity.INVALIDATES,
    part="durability",
    short="dirty when the clock stopped",
    meaning=Meaning.DIRTY,
    applies=kept_only,
    check=check,
    reads=("L0.write", "page_cache.dirty_bytes", "page_cache.writeback_bytes"),
    wrong='134 MB "written" in 0.108 s are 1244 MB/s, and every page of them was dirty.',
    alternatives=(
        "Another process dirtied the same files. Only pages of the trial's own data and image files are counted.",
        "The files were removed before write-back (D06), or the file system bypasses the page cache (dax).",
    ),
    advice="Put the flush inside the clock (flush = end, fio end_fsync=1). Or let the lab time the drain and claim durability "
    "= stable-media, so that it is charged.",
    sources=(
        "IO500 rule 6",
        "fio HOWTO: end_fsync is off by default",
        "measured: 134 MB `written` at 1244 MB/s, all of it dirty",
    ),
)
