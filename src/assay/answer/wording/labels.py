"""What a number really is, in one line that a system administrator reads: the words of a verdict's label."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import takewhile

from assay import catalogue, measures
from assay.answer.doubts import Cause, cause
from assay.records import Finding, Label, Nature, Outcome, State, Verdict, VerdictState
from assay.units import Unit

PART = "; "
"""Between the parts of a label."""


def short(one: Cause) -> str:
    """`interval too wide (S02)`."""
    return f"{one.short} ({one.rule})"


def storage(filesystem: str, devices: Sequence[str]) -> str:
    """`overlay on vda`, `tmpfs, no block device below`: a file system that is not simply on a device."""
    kind = "FUSE" if filesystem.startswith("fuse") else filesystem
    return f"{kind} on {', '.join(devices)}" if devices else f"{kind}, no block device below"


def label(verdict: Verdict) -> str:
    """The whole label, with what a run's own figures add to it."""
    return PART.join(parts(verdict))


def parts(verdict: Verdict) -> tuple[str, ...]:
    """The parts of a label, the most important first: what the number is, evidence, limiter, disturbance."""
    disturbed = finding(verdict, verdict.label.disturbed_by)
    return (*undisturbed(verdict), f"but {short(cause(disturbed))}") if disturbed else undisturbed(verdict)


def undisturbed(verdict: Verdict) -> tuple[str, ...]:
    """The parts of a label without the disturbance, where noise has a line of its own."""
    first = head(verdict)
    return (first, *(words for words in after_head(verdict) if words != first))


def after_head(verdict: Verdict) -> list[str]:
    """Missing evidence, further reasons, a note and the limiter."""
    one = verdict.label
    failed = [other for rule in one.because if (other := finding(verdict, rule)) and one.nature is not Nature.COMPARISON]
    more = dict.fromkeys(words for other in failed for words in (relabelled(other), other.detail) if words)
    return [
        *([unconfirmed(verdict)] if one.nature is Nature.UNVERIFIED else []),
        *more,
        *named(finding(verdict, one.noted)),
        *named(finding(verdict, one.limited_by, State.PASS)),
    ]


def named(one: Finding | None) -> list[str]:
    """The label of a note or of a limiter, and the figures of this run that belong to it."""
    return [words for words in (one.relabel, one.detail) if words] if one else []


def head(verdict: Verdict) -> str:
    """What the number is."""
    one = verdict.label
    if one.nature is Nature.NO_FIGURE:
        return no_figure(one)
    if one.nature is Nature.COMPARISON:
        return compared(verdict)
    failed = finding(verdict, next(iter(one.because), None)) if one.nature is Nature.OTHER else None
    if failed is not None:
        return relabelled(failed)
    return f"{in_general(one)}{flush(verdict)}"


def in_general(one: Label) -> str:
    """`cold reads served by the device loop0`: what all runs that measured the same thing have in common."""
    operations, regime = noun(one.operation), f"{one.regime} " if one.regime else ""
    met = f" ({one.circumstance})" if one.circumstance else ""
    if one.nature in (Nature.AS_SEEN, Nature.UNVERIFIED):
        return f"{regime}{operations}{met} as the client saw {'it' if operations.startswith('operation ') else 'them'}"
    return f"{regime}{operations}{met} {one.nature}{f' {one.device}' if one.device else ''}"


def flush(verdict: Verdict) -> str:
    """How the data got there: the flush in the clock, or what was charged and the figure without it."""
    one = verdict.label
    if one.flushed:
        return ", flush time included"
    if one.undrained is None or (one.drain_ns is None and not one.flush_ns):
        return ""
    return f", {charged((one.flushes, one.flush_ns), one.drain_ns)} ({measures.with_unit(one.undrained, verdict.unit)} without)"


def charged(flush: tuple[int, float], drain_ns: float | None) -> str:
    """`flush of 90.0 ms and drain of 304 us charged`: what the figure counts beside its operations, each by itself.

    `flush` is how many flushes there were, and how long the last one took (ns)."""
    drain = "" if drain_ns is None else f"drain of {measures.with_unit(drain_ns, Unit.NANOSECONDS)} charged"
    count, flush_ns = flush
    last = f"last of {count:,} flushes ({measures.with_unit(flush_ns, Unit.NANOSECONDS)})"
    once = f"flush of {measures.with_unit(flush_ns, Unit.NANOSECONDS)}"
    if not flush_ns:
        return drain
    return f"{last if count > 1 else once} {f'and {drain}' if drain else 'counted'}"


def no_figure(one: Label) -> str:
    """Why there is no figure."""
    if one.outcome is not Outcome.FINISHED:
        return f"no figure, the run is {one.outcome}" + (f": {one.error}" if one.error else "")
    return f"no figure, no phase did {one.operation}"


def compared(verdict: Verdict) -> str:
    """The rules against a comparison, and its runs that are not sound."""
    one = verdict.label
    held = [relabelled(failed) for rule in one.because if (failed := finding(verdict, rule))]
    doubtful = [f"{count} {state}" for state, count in one.runs if state is not VerdictState.SOUND]
    runs = [f"{', '.join(doubtful)} of {sum(count for _, count in one.runs)} runs"] if doubtful else []
    return PART.join((*held, *runs))


def unconfirmed(verdict: Verdict) -> str:
    """The part of the claim that has no evidence, and why."""
    rules = verdict.label.lacking
    first = finding(verdict, rules[0], State.UNVERIFIED)
    reason = first.statement if first else f"there is no rule {rules[0]} yet"
    return f"unverified ({', '.join(rules)}): {reason[:1].lower()}{reason[1:].rstrip('.')}"


def finding(verdict: Verdict, rule: str | None, state: State = State.FAIL) -> Finding | None:
    """The finding of a rule in this state; None where there is none."""
    if rule is None:
        return None
    return next((one for one in verdict.findings if one.rule == rule and one.state is state), None)


def relabelled(failed: Finding) -> str:
    """What a failed finding makes of the number."""
    return failed.relabel or failed.statement


def noun(operation: str) -> str:
    """The operation in the plural, as a workload declares it: `reads`; `operation rr` where none does."""
    return catalogue.noun_of(operation) or f"operation {operation}"


def of_several(verdicts: Sequence[Verdict], split: Callable[[Verdict], tuple[str, ...]] = parts, runs: int = 0) -> str:
    """One label for several runs, or for `runs` of which these have the worst verdict: what all have in common.

    Then the first run's own parts, named as of one run: beside a mean stands no figure of a single run without a name.
    """
    if not verdicts:
        return ""
    if max(runs, len(verdicts)) == 1:
        return PART.join(split(verdicts[0]))
    whole = [(plain_head(one, split(one)[0]), *split(one)[1:]) for one in verdicts]
    if len(set(whole)) == 1 and len(whole) >= runs:
        return PART.join(whole[0])
    common = [first for first, *_ in takewhile(lambda same: len(set(same)) == 1, zip(*whole, strict=False))]
    if len(whole) < runs:
        common = common[:1]
    rest = PART.join(whole[0][len(common) :])
    return PART.join([*common, f"in one run: {rest.removeprefix('but ')}"] if rest else common)


def plain_head(verdict: Verdict, first: str) -> str:
    """The head of a label without the figures of the run's flush and drain."""
    tail = flush(verdict)
    if not tail or verdict.label.flushed or not first.endswith(tail):
        return first
    parts_of = ("flush" if verdict.label.flush_ns else "", "drain" if verdict.label.drain_ns is not None else "")
    return f"{first.removesuffix(tail)}, {' and '.join(part for part in parts_of if part)} charged"


def usual(verdicts: Sequence[Verdict]) -> str:
    """What most of these figures are, without what only one run's figures say; empty where there is none."""
    general = [one.label.general for one in verdicts]
    most = max(dict.fromkeys(general), key=general.count, default=None)
    return next((without_figures(one) for one in verdicts if one.label.general == most), "")


def without_figures(verdict: Verdict) -> str:
    """The head of a label without the drain of this run."""
    one = verdict.label
    plain = one.nature not in (Nature.NO_FIGURE, Nature.COMPARISON, Nature.OTHER)
    return (in_general(one) + (", flush time included" if one.flushed else "")) if plain else head(verdict)


def instead(verdicts: Sequence[Verdict]) -> str:
    """`corrected 1.2 GB/s`: what runs that do not count really did, as far as a rule could say so; else between which bounds."""
    right = [verdict for verdict in verdicts if verdict.corrected is not None and verdict.corrected != verdict.value]
    if right:
        found = sorted((verdict.corrected or 0.0, verdict.unit) for verdict in right)
        if not found[-1][0]:
            return "storage gave nothing"
        return "corrected " + " to ".join(dict.fromkeys(measures.with_unit(*end) for end in (found[0], found[-1])))
    bounds = [verdict.bound for verdict in verdicts if verdict.bound]
    lows = [bound.low for bound in bounds if bound.low is not None]
    highs = [bound.high for bound in bounds if bound.high is not None]
    low = f"at least {measures.with_unit(min(lows), bounds[0].unit)}" if lows and len(lows) == len(bounds) else ""
    high = f"at most {measures.with_unit(max(highs), bounds[0].unit)}" if highs and len(highs) == len(bounds) else ""
    return " and ".join(end for end in (low, high) if end)
