"""Finds percentiles of too few operations, and percentiles merged from several programs.

All of n operations lie below the percentile p with probability p^n. Above 5 % no operation bounds it from above.
The rule needs n >= log 0.05 / log p operations: 59 for p95, 299 for p99, 2,995 for p99.9.
- Fewer: qualified. A lower bound follows from the rank (binomial).
- Several programs with their own percentiles: the largest is an upper bound of the common one.
- A tool that does not report its number of operations: unverified.

Percentiles without a claim get a note. W01 demands more of a steady claim. Percentiles of the lab's engines come from one
merged histogram.
"""

from __future__ import annotations

import math

from assay.catalogue import About, Rule, TrialCase
from assay.measures import figures, latency
from assay.records import Bound, Claim, Finding, Regime, Scope, Severity, State, Tier
from assay.rulekit.findings import found, held_back, in_words
from assay.units import Unit, counted


def applies(case: TrialCase) -> str | None:
    """Percentiles below the largest, of claims for which W01 does not ask for more."""
    if not 0 < figures.PERCENTILES.get(case.measure.figure, 0.0) < 1:
        return "not a percentile"
    if case.claim.regime is Regime.STEADY:
        return "a steady percentile is W01's subject"
    return None


def check(case: TrialCase) -> Finding:
    """How many operations there were, and whether the percentile is that of all of them."""
    reported = f"{case.measure.operation}.{case.measure.figure}" in case.phase.values
    if reported and len(case.phase.clients) > 1:
        return of_several(case)
    count = operations(case, reported=reported)
    if count is None:
        statement = "The tool does not report its number of operations. Let it print that number."
        return found(RULE, case, State.UNVERIFIED, statement)
    if not count:
        return found(RULE, case, State.UNVERIFIED, "No completed operation, so no percentile.")
    share, confidence = figures.PERCENTILES[case.measure.figure], case.thresholds["confidence"]
    needed = least(share, confidence)
    observed, threshold = {"operations": float(count)}, {"operations": float(needed), **case.thresholds}
    if count >= needed:
        return found(RULE, case, State.PASS, f"{count:,} operations ({needed:,} needed).", observed=observed, threshold=threshold)
    bound = None if reported else from_below(case, count, share, confidence)
    certain = f" It is {in_words(bound)} ({100 * confidence:g} % confidence)." if bound else ""
    return found(
        RULE,
        case,
        State.FAIL,
        f"{name(case)} of {counted(count, 'operation')} ({needed:,} needed): no upper bound.{certain}",
        severity=severity(case.claim),
        observed=observed,
        threshold=threshold,
        bound=bound,
        relabel=f"{name(case)} of too few operations",
        detail=counted(count, "operation"),
        evidence=("the tool's own count" if reported else "L0 engine: histogram of all clients",),
    )


def of_several(case: TrialCase) -> Finding:
    """Each client's program reported its own percentile; the largest is an upper bound for all."""
    clients, bound = len(case.phase.clients), held_back(case)
    return found(
        RULE,
        case,
        State.FAIL,
        f"{clients} programs report a {name(case)} each; the figure is the largest. The common {name(case)} is"
        f" {in_words(bound) or 'unknown'}.",
        severity=severity(case.claim),
        observed={"programs": float(clients)},
        bound=bound,
        relabel=f"the largest {name(case)} of several programs",
        detail=f"{clients} programs",
    )


def severity(claim: Claim) -> Severity:
    """A note without a claim."""
    claimed = claim.tier is not Tier.AS_IS or any((claim.durability, claim.load, claim.regime, claim.path))
    return Severity.QUALIFIES if claimed else Severity.NOTES


def name(case: TrialCase) -> str:
    """`p99`, `p99.9`."""
    return f"p{100 * figures.PERCENTILES[case.measure.figure]:g}"


def operations(case: TrialCase, *, reported: bool) -> int | None:
    """Number of operations of the percentile; None if an external tool does not report it."""
    if reported:
        count = case.phase.values.get(f"{case.measure.operation}.count")
        return None if count is None else int(count)
    return sum(count for _, count in latency.merged(case.observations, case.phase.name, case.measure.operation))


def least(share: float, confidence: float) -> int:
    """Of how many operations the longest lies beyond the percentile with this confidence: share^n <= 1 - confidence."""
    return math.ceil(math.log(1 - confidence) / math.log(share))


def from_below(case: TrialCase, count: int, share: float, confidence: float) -> Bound | None:
    """The latency that the percentile is not below, by the rank of an operation; None where no rank or no histogram says it."""
    rank = highest_rank(count, share, confidence)
    if rank is None:
        return None
    buckets = latency.merged(case.observations, case.phase.name, case.measure.operation)
    low = latency.percentile(buckets, (rank - 0.5) / count)
    return None if low is None else Bound(low=low, high=None, unit=Unit.NANOSECONDS)


def highest_rank(count: int, share: float, confidence: float) -> int | None:
    """The highest k for which the k-th shortest of `count` operations is at most the percentile with this confidence.

    P(at least k of them at most the percentile) = P(binomial(count, share) >= k), as for any order statistic.
    """
    beyond = 0.0
    for rank in range(count, 0, -1):
        beyond += math.comb(count, rank) * share**rank * (1 - share) ** (count - rank)
        if beyond >= confidence:
            return rank
    return None


RULE = Rule(
    id="G03",
    name="percentile-quality",
    scope=Scope.TRIAL,
    severity=Severity.QUALIFIES,
    part="load",
    short="too few operations for the percentile",
    applies=applies,
    check=check,
    about=About.ALL_LOAD_HOSTS,
    wrong="A p99 of 64 operations is the longest of them, and the next 64 may give ten times that. A percentile of percentiles "
    "is none. In a simulated mix of 20 clients to 1 the mean of the clients' p99 was 8.88, and p99 of all operations 6.77.",
    alternatives=("The target is slow and does few operations in the time. Then p50 and the maximum are all there is.",),
    advice="Run longer, or measure a lower percentile. For several programs use one that keeps the latencies of all.",
    sources=(
        "David and Nagaraja: Order Statistics, on confidence intervals of quantiles",
        "Hoefler and Belli, SC 2015: scientific benchmarking of parallel computing systems",
        "Tene, HdrHistogram: percentiles cannot be averaged, histograms can be added",
    ),
)
