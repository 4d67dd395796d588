"""What a number really is, in one line that a system administrator reads."""

from __future__ import annotations

from collections.abc import Sequence

from assay import measures
from assay.audit.verdicts import failures, notes, unverified
from assay.catalogue import About, TrialCase
from assay.evidence import ladder
from assay.measures import Figure
from assay.records import Direction, Durability, Finding, Phase, Regime, State, Tier
from assay.rulekit.soundness import required_rules
from assay.units import Unit

LIMITERS = ("L04", "L06")
"""Rules that name a limiter when they pass."""
CARRY_OVER = "W07"
PAGE_CACHE, HOLES = "T01", "T06"
NOUNS = {
    "random_read": "random reads",
    "random_write": "random writes",
    "backward_read": "backward reads",
    "stride_read": "reads in strides",
    "record_rewrite": "rewrites of one record",
    "stdio_write": "writes through C stdio",
    "stdio_rewrite": "rewrites through C stdio",
    "stdio_read": "reads through C stdio",
    "stdio_reread": "rereads through C stdio",
    "null": "empty operations",
    "fsync": "syncs",
    "list": "listings",
    "readdir": "listings",
    "readdir_plus": "listings with attributes",
    "open": "opens",
    "setxattr": "settings of an attribute",
    "rename": "renames",
    "link": "hard links",
    "symlink": "symbolic links",
    "mkdir": "new directories",
    "rmdir": "removals of directories",
}
COUNTED = frozenset({"create", "file", "read", "reread", "rewrite", "stat", "trim", "unlink", "walk", "write"})
"""Operations whose plural is their name with an s; a foreign tool's own names are told as they are."""


def label(case: TrialCase, figure: Figure | None, findings: Sequence[Finding]) -> str:
    """The label of a verdict: the worst failures' own words, else what the claim turned out to be, with limiter and noise."""
    failed = failures(findings)
    disturbed = [finding for finding in failed if from_outside(finding)]
    if len(failed) > len(disturbed):
        others = explained([finding for finding in failed if not from_outside(finding)])
        return "; ".join(dict.fromkeys(finding.relabel or finding.statement for finding in others[:2]))
    if unverified(findings, required(case)):
        words = f"{seen_by_client(case, findings)}; {not_known(case, findings)}"
    elif is_as_is(case):
        words = with_limiter(seen_by_client(case, findings), findings)
    else:
        words = with_limiter(sound(case, figure), findings)
    return "; but ".join([words, *(short(finding) for finding in disturbed[:1])])


def from_outside(finding: Finding) -> bool:
    """Whether it speaks of the platform (rules N, and what an earlier trial left): that leaves what the number is."""
    return finding.part == "noise" or finding.rule == CARRY_OVER


def explained(findings: Sequence[Finding]) -> list[Finding]:
    """Without hits in memory where the files have holes: reads of zeros ask no device, and no cache answers them."""
    zeros = any(finding.rule == HOLES for finding in findings)
    return [finding for finding in findings if not (zeros and finding.rule == PAGE_CACHE)]


def required(case: TrialCase) -> tuple[str, ...]:
    """The rules that the claim needs."""
    return required_rules(case.claim, case.phase.directions.get(case.measure.operation))


def short(finding: Finding) -> str:
    """What disturbed the run, in its relabel or its first sentence."""
    words = finding.relabel or finding.statement.split(". ")[0].rstrip(".")
    return f"{words[:1].lower()}{words[1:]}"


def is_as_is(case: TrialCase) -> bool:
    """Whether nothing is claimed that a layer below the application could confirm."""
    return case.claim.tier is Tier.AS_IS and case.claim.durability in (None, Durability.NONE, Durability.ACKED)


def noun(operation: str) -> str:
    """The operation in the plural: `reads`, `random writes`; `operation rr` where its name is no word that is known here."""
    return NOUNS.get(operation, f"{operation}s" if operation in COUNTED else f"operation {operation}")


def seen_by_client(case: TrialCase, findings: Sequence[Finding]) -> str:
    """An as-is figure, with what the evidence adds to it."""
    known = [finding.relabel for finding in explained(notes(findings)) if finding.relabel]
    regime = f"{case.claim.regime} " if case.claim.regime in TOLD else ""
    operations = noun(case.measure.operation)
    them = "it" if operations.startswith("operation ") else "them"
    return "; ".join([f"{regime}{operations} as the client saw {them}", *known[:1]])


def not_known(case: TrialCase, findings: Sequence[Finding]) -> str:
    """Which part of the claim nobody could confirm."""
    rules = unverified(findings, required(case))
    by_rule = {finding.rule: finding for finding in findings}
    if not rules:
        return "unverified"
    first = by_rule.get(rules[0])
    reason = first.statement if first else f"there is no rule {rules[0]} yet"
    return f"unverified ({', '.join(rules)}): {reason[:1].lower()}{reason[1:].rstrip('.')}"


def sound(case: TrialCase, figure: Figure | None) -> str:
    """A claim that holds, in its own terms."""
    operations = noun(case.measure.operation)
    regime = f"{case.claim.regime} " if case.claim.regime in TOLD else ""
    if case.claim.durability is Durability.STABLE_MEDIA:
        return f"{operations} on stable media{flushed(case.phase, figure)}"
    if case.claim.tier is Tier.CLIENT_CACHE:
        return f"{regime}{operations} from the client's page cache"
    if case.claim.tier is Tier.SERVER_CACHE:
        return f"{regime}{operations} from the server's cache"
    if case.phase.directions.get(case.measure.operation) is Direction.WRITE:
        return f"{operations} taken by the device{below(case)}{flushed(case.phase, figure)}"
    return f"{regime}{operations} served by the device{below(case)}"


def below(case: TrialCase) -> str:
    """The name of the lowest device that moved bytes of this direction."""
    (of_target,) = case.about(About.TARGET_HOST)
    direction, seen = case.phase.directions.get(case.measure.operation), of_target.observations
    step = ladder.lowest_device(case.phase, seen, direction) if direction else None
    return f" {step.device}" if step else ""


def flushed(phase: Phase, figure: Figure | None) -> str:
    """How the data got there: the flush in the clock, or the drain that was charged and what the figure was without it."""
    charged = figure is not None and figure.raw is not None and phase.drain_ns is not None
    seconds = figure.window.seconds if figure and figure.window else 0.0
    if phase.flush_in_clock and (not charged or (phase.drain_ns or 0) / 1e9 < WORTH_SAYING * seconds):
        return ", flushed inside the clock"
    if figure is None or figure.raw is None or phase.drain_ns is None:
        return ""
    took = measures.with_unit(phase.drain_ns, Unit.NANOSECONDS)
    return f", drain of {took} charged ({measures.with_unit(figure.raw, figure.unit)} without)"


TOLD = (Regime.COLD, Regime.WARM, Regime.STEADY)
"""Regimes that stand before the operation in a label."""
WORTH_SAYING = 0.05
"""A drain that is a smaller share of the time than what matters by default is not put into the label."""


def with_limiter(words: str, findings: Sequence[Finding]) -> str:
    """The label with the limiter that a passing rule named."""
    named = [f.relabel for f in findings if f.rule in LIMITERS and f.state is State.PASS and f.relabel]
    return "; ".join([words, *named[:1]])
