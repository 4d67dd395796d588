"""Finds bytes that were acknowledged but still in memory when the clock stopped.

The rule reads dirty and write-back pages of the data and image files (cachestat) right after the last operation.
It subtracts those at arming, and divides by the bytes written.
Then the lab times a syncfs: the drain. The durable rate lies between (W - dirty) / T and W / (T + drain).
- A claim of stable media, or of the device for a write, is charged the drain: the figure is W / (T + drain). Dirty data are
  a note.
- A figure that an external tool prints is invalid if dirty data make the drain change it by what matters. Its rate is that of
  the page cache. If nothing was dirty, and no flush is known to have come last, it is bounded.
- The same claim without a timed drain is invalid if more than `dirty_share` was dirty.
- Other claims: a note with the share in memory.

Without page counters the charged drain serves instead. Data that were removed before write-back are D06's subject.
The rule does not see memory below the lowest visible device.
Writes through a file system in user space (FUSE) without a named server are unverified, unless the device took them.
"""

from __future__ import annotations

from assay import measures
from assay.catalogue import About, Rule, TrialCase
from assay.evidence import ladder, served
from assay.measures import Figure, in_bytes
from assay.measures.figures import is_clean
from assay.records import Bound, Direction, Durability, Finding, Meaning, Scope, Severity, Span, State, Tier
from assay.rulekit.applicability import in_memory_first, kept_only
from assay.rulekit.findings import Figures, found, in_words, knob, rate_of
from assay.units import Unit

FLUSH = "Let the command flush before it stops its clock, or report the corrected figure."
UNPRINTED = ("elapsed", "observed", None)
"""Values of the knob `parse` of figures that Assay itself counted."""


def claimed(case: TrialCase) -> bool:
    """Whether the claim says that the bytes had left the memory."""
    of_device = case.claim.tier is Tier.DEVICE and case.direction is Direction.WRITE
    return of_device or case.claim.durability is Durability.STABLE_MEDIA


def check(case: TrialCase) -> Finding:
    """Dirty and under writeback at the stop, beyond what was so at the start, over what was written."""
    written = ladder.requested_bytes(case.phase, case.observations, Direction.WRITE)
    dirty = ladder.left_dirty(case.phase, case.observations)
    if dirty is None or not written:
        return unseen(case)
    if (hidden := hidden_below(case, written)) is not None:
        return hidden
    share = min(1.0, max(0.0, dirty / written))
    observed = {"dirty_share": share, "dirty_bytes": dirty, "written_bytes": written, "drain_ns": case.phase.drain_ns}
    if share > case.thresholds["dirty_share"]:
        return still_dirty(case, share, written, observed)
    if (figure := changed(case)) is not None:
        return unflushed(case, figure, observed)
    if is_printed(case) and claimed(case) and case.phase.drain_ns is None and not is_clean(case.phase, case.observations):
        statement = (
            "Nothing was dirty when the clock stopped, but no flush was seen and none timed: a device may hold it in its cache."
        )
        return found(RULE, case, State.UNVERIFIED, statement, observed=observed)
    limit = measures.percent(case.thresholds["dirty_share"])
    statement = f"{measures.percent(share)} of {in_bytes(written)} written was dirty when the clock stopped (limit {limit})."
    return found(RULE, case, State.PASS, statement, observed=observed)


def hidden_below(case: TrialCase, written: float) -> Finding | None:
    """Writes through FUSE that may be in a memory below the mount; None where the device took them, or nothing is claimed."""
    mounts = [place.address for place in case.run.places if place.is_in_user_space]
    step = ladder.reached(case.phase, case.observations, Span.CLOCK, Span.DRAIN)
    arrived = step is not None and step.bytes >= (1 - case.thresholds["dirty_share"]) * written
    if not mounts or arrived or not claimed(case) or served.server(case.run) is not None:
        return None
    text = f"Bytes that the process behind {' and '.join(mounts)} and the page cache below it still hold are not counted."
    return found(RULE, case, State.UNVERIFIED, text, lacking=("L9.write",))


def unseen(case: TrialCase) -> Finding:
    """Without a count of pages the timed drain serves: after it this file system had no dirty page."""
    if case.phase.drain_ns is None:
        return found(RULE, case, State.UNVERIFIED, "Dirty pages at the stop and drain time unknown.")
    if (figure := changed(case)) is not None:
        return unflushed(case, figure, {"drain_ns": case.phase.drain_ns})
    took = measures.with_unit(case.phase.drain_ns, Unit.NANOSECONDS)
    charged = "and is charged" if claimed(case) else "and is not charged (no such claim)"
    statement = f"The drain after the last operation took {took} {charged}; nothing was left in memory."
    return found(RULE, case, State.PASS, statement, observed={"drain_ns": case.phase.drain_ns}, evidence=("drain: syncfs",))


def still_dirty(case: TrialCase, share: float, written: float, observed: Figures) -> Finding:
    """The clock stopped too early: invalid without a drain to charge, a note where the drain is charged or nothing claimed."""
    drain = case.phase.drain_ns
    took = "" if drain is None else measures.with_unit(drain, Unit.NANOSECONDS)
    detail = f"{measures.percent(share)} dirty"
    if not claimed(case):
        severity, label = Severity.NOTES, "write into memory: dirty when the clock stopped"
        end = f"; the drain took {took} more." if took else "."
    elif not took:
        severity, label = Severity.INVALIDATES, "write into memory: dirty when the clock stopped, and no drain timed"
        end = ", and the drain was not timed."
    elif (figure := changed(case)) is not None:
        severity, label, detail = Severity.INVALIDATES, both_rates(case, figure), ""
        end = (
            f": the command prints {in_unit(figure.raw, figure)}, with the drain of {took} it is {in_unit(figure.value, figure)}."
        )
    else:
        severity, label, detail = Severity.NOTES, "writes on stable media with the drain charged", f"drain of {took}"
        end = f"; the drain of {took} is charged to the figure."
    bound = durable_bound(case, share)
    known = f" Durable rate: {in_words(bound)}." if bound else ""
    return found(
        RULE,
        case,
        State.FAIL,
        f"{measures.percent(share)} of {in_bytes(written)} written was dirty when the clock stopped{end}{known}",
        severity=severity,
        part="durability" if case.claim.durability is Durability.STABLE_MEDIA else RULE.part,
        observed=observed,
        bound=bound,
        relabel=label,
        detail=detail or None,
        advice=FLUSH if changed(case) is not None else RULE.advice or "",
        evidence=("drain: syncfs",),
    )


def is_printed(case: TrialCase) -> bool:
    """Whether the figure is what an external tool printed."""
    return knob(case, "parse") not in UNPRINTED


def changed(case: TrialCase) -> Figure | None:
    """The figure that an external tool printed, where the drain that is charged changes it by what matters; else None."""
    figure = measures.value(case.run, case.observations, case.measure)
    if not is_printed(case) or figure is None or not figure.raw or not figure.value or not claimed(case):
        return None
    ends = sorted((figure.raw, figure.value))
    return figure if ends[1] / ends[0] - 1 > case.experiment.matters_share else None


def unflushed(case: TrialCase, figure: Figure, observed: Figures) -> Finding:
    """Nothing is known to have been dirty, and yet the drain took a share of the time: the figure lies between both."""
    assert figure.raw is not None
    low, high = sorted((figure.raw, figure.value))
    drain = measures.with_unit(case.phase.drain_ns or 0, Unit.NANOSECONDS)
    is_flushed = ladder.flushed_in_clock(case.phase, case.observations)
    flushes = (
        "a flush was seen inside its clock, but not whether it came last" if is_flushed else "flushed nothing inside its clock"
    )
    said = f"The command prints {in_unit(figure.raw, figure)}{';' if is_flushed else ' and'} {flushes}"
    return found(
        RULE,
        case,
        State.FAIL,
        f"{said}; with the drain of {drain} it is {in_unit(figure.value, figure)}.",
        severity=Severity.QUALIFIES,
        observed=observed,
        bound=Bound(low=low, high=high, unit=figure.unit),
        relabel="writes whose last flush nobody saw" if is_flushed else "writes without a flush of the command's own",
        detail=f"{drain} until they were on the device",
        advice=FLUSH,
        evidence=("drain: syncfs",),
    )


def both_rates(case: TrialCase, figure: Figure) -> str:
    """`3.40 GB/s is the page cache's; 1.32 GB/s reached stable media`: what was printed, and what is true of it."""
    where = "stable media" if case.claim.durability is Durability.STABLE_MEDIA else "the device"
    if figure.unit == Unit.NANOSECONDS:
        return f"{in_unit(figure.raw, figure)} until the page cache had it; {in_unit(figure.value, figure)} until {where}"
    return f"{in_unit(figure.raw, figure)} is the page cache's; {in_unit(figure.value, figure)} reached {where}"


def in_unit(value: float | None, figure: Figure) -> str:
    """A value of the figure with its unit."""
    return measures.with_unit(value or 0.0, figure.unit)


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
    applies=lambda case: kept_only(case) or in_memory_first(case),
    check=check,
    about=About.ALL_HOSTS,
    reads=("L0.write", "page_cache.dirty_bytes", "page_cache.writeback_bytes"),
    wrong='134 MB "written" in 0.108 s are 1244 MB/s, and every page of them was dirty.',
    alternatives=(
        "Another process dirtied the same files. Only pages of the trial's own data and image files are counted.",
        "The files were removed before write-back (D06), or the file system bypasses the page cache (dax).",
    ),
    advice="Put the flush inside the clock (flush = end, fio end_fsync=1). Or let the lab time the drain and claim durability "
    "= stable-media, so that it is charged.",
    at_shell="Let the command flush before it ends, or claim durability=stable-media, so that the drain is charged.",
    sources=(
        "IO500 rule 6",
        "fio HOWTO: end_fsync is off by default",
        "measured: 134 MB `written` at 1244 MB/s, all of it dirty",
    ),
)
