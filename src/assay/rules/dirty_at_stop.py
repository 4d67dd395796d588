"""Finds bytes that were acknowledged but still in memory when the clock stopped.

The rule reads dirty and write-back pages of the data and image files (cachestat) right after the last operation.
It subtracts those at arming, and divides by the bytes written.
Then the lab times a syncfs: the drain. The durable rate lies between (W - dirty) / T and W / (T + drain).
- A claim of stable media, or of the device for a write, is charged the drain: the figure is W / (T + drain). Dirty data are
  a note.
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
from assay.measures import in_bytes
from assay.records import Bound, Direction, Durability, Finding, Meaning, Scope, Severity, Span, State, Tier
from assay.rulekit.applicability import kept_only
from assay.rulekit.findings import Figures, found, in_words, rate_of
from assay.units import Unit

METRICS = ("dirty_bytes", "writeback_bytes")


def claimed(case: TrialCase) -> bool:
    """Whether the claim says that the bytes had left the memory."""
    of_device = case.claim.tier is Tier.DEVICE and case.direction is Direction.WRITE
    return of_device or case.claim.durability is Durability.STABLE_MEDIA


def check(case: TrialCase) -> Finding:
    """Dirty and under writeback at the stop, beyond what was so at the start, over what was written."""
    written = ladder.requested_bytes(case.phase, case.observations, Direction.WRITE)
    dirty = dirty_rise(case)
    if dirty is None or not written:
        return unseen(case)
    if (hidden := hidden_below(case, written)) is not None:
        return hidden
    share = min(1.0, max(0.0, dirty / written))
    observed = {"dirty_share": share, "dirty_bytes": dirty, "written_bytes": written, "drain_ns": case.phase.drain_ns}
    if share > case.thresholds["dirty_share"]:
        return still_dirty(case, share, written, observed)
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


def dirty_rise(case: TrialCase) -> float | None:
    """Bytes of data and image files dirty or under writeback at the stop, minus those at arming; None where not known.

    A file that did not exist at arming had nothing dirty then. Where data files were sampled, each stands for some.
    """
    return ladder.total((of_data(case), of_images(case)))


def of_data(case: TrialCase) -> float | None:
    """The same of the data files, on every load host."""
    before, after = (
        ladder.total(ladder.data_files(case.phase, case.observations, metric, when) for metric in METRICS)
        for when in (ladder.at_arming, ladder.at_stop)
    )
    return None if after is None else after - (before or 0.0)


def of_images(case: TrialCase) -> float | None:
    """The same of the image files below."""
    series = [one for metric in METRICS for one in ladder.gauges(case.phase, case.observations, "page_cache", metric, "backing")]
    before, after = ladder.at_arming(case.phase, series), ladder.at_stop(case.phase, series)
    return None if after is None else after - (before or 0.0)


def unseen(case: TrialCase) -> Finding:
    """Without a count of pages the timed drain serves: after it this file system had no dirty page."""
    if case.phase.drain_ns is None:
        return found(RULE, case, State.UNVERIFIED, "Dirty pages at the stop and drain time unknown.")
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
        detail=detail,
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
