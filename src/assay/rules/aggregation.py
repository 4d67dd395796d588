"""Finds rates of external programs that add up or average rates instead of dividing all work by the whole time.

The rule recomputes the rate as work over time. It reads the work, time and rate that each program reports, and the start and
end of each program.
- A rate above work over time by more than `apart_share` (several programs: `several_share`) fails and is bounded.
- Programs that overlapped for less than `overlap_share` of the time have no common rate: the sum is invalid.
- Programs that report a rate alone leave the rule unverified.

The digits of rate, work and time, and the time of a program outside its own measurement, are allowed for.
A rate below work over time passes: it overstates nothing.
Assay's own engines count operations in one window, so the rule covers external programs only.
E05 checks bytes, time and rate of a single program.
Among 20 tools with recorded output one fails, rightly: smallfile adds the rates of its threads. It reports 105,074/s instead of
62,000/s by work over time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay import measures
from assay.catalogue import About, Rule, TrialCase
from assay.records import Bound, Finding, Scope, Severity, State
from assay.rulekit.findings import found, in_words

PRINTED_S = 0.001
"""Tools report times in whole milliseconds; their clocks agree no better."""
PRINTED = {"ops_per_s": 1.0, "bytes_per_s": float(1 << 20)}
"""And their work in whole operations or MiB, often cut off."""


@dataclass(frozen=True, kw_only=True)
class ReportedSum:
    """The programs' reports: the sum of their rates, all their work, and the longest time in s."""

    rate: float
    amount: float
    seconds: float


def applies(case: TrialCase) -> str | None:
    """Rates that external programs report."""
    if case.measure.figure not in measures.AMOUNTS:
        return "no rate"
    if f"{case.measure.operation}.{case.measure.figure}" not in case.phase.values:
        return "a rate of the load engine: work over one window"
    if len(case.phase.clients) > 1:
        return None
    if case.measure.figure == "bytes_per_s":
        return "bytes, time and rate of one program are E05's subject"
    return None if sum_of(case) is not None else "one program reports a rate alone: nothing was added"


def check(case: TrialCase) -> Finding:
    """Compare the reported rate with the reported work over the time."""
    report = sum_of(case)
    if report is None:
        text = "The programs report a rate alone, so it cannot be recomputed. Let them print bytes or operations, and the time."
        return found(RULE, case, State.UNVERIFIED, text)
    seconds, overlap = together(case, report)
    rate, clients, allowed = report.amount / seconds, len(case.phase.clients), allowed_share(case, report)
    observed = {"reported": report.rate, "recomputed": rate, "overlap_share": overlap, "seconds": seconds}
    threshold = {"apart_share": allowed}
    recomputed = f"{amount_of(case, report.amount)} in {seconds:.3g} s are {in_unit(case, rate)}."
    if report.rate <= rate * (1 + allowed):
        text = f"Reported {in_unit(case, report.rate)}; {recomputed}"
        return found(RULE, case, State.PASS, text, observed=observed, threshold=threshold)
    apart = clients > 1 and overlap < case.thresholds["overlap_share"]
    unit = measures.FIGURES[case.measure.figure].unit
    low, high = (report.amount / whole_s(case), rate) if apart else (rate, report.rate)
    bound = Bound(low=low, high=high, unit=unit)
    what = f"The rates of {clients} programs add up to" if clients > 1 else "The program reports"
    also = f" They overlapped for {measures.percent(overlap)} of the time." if clients > 1 else ""
    return found(
        RULE,
        case,
        State.FAIL,
        f"{what} {in_unit(case, report.rate)}, but {recomputed}{also} The rate is {in_words(bound)}.",
        severity=Severity.INVALIDATES if apart else Severity.QUALIFIES,
        observed=observed,
        threshold=threshold,
        bound=bound,
        relabel="sum of rates at different times" if clients > 1 else "a mean of rates, not work over time",
        evidence=("reports of the programs", "start and end of each program"),
    )


def sum_of(case: TrialCase) -> ReportedSum | None:
    """Reported rate, work and time; None if one is missing or 0."""
    names = (case.measure.figure, measures.AMOUNTS[case.measure.figure], "elapsed_ns")
    rate, amount, elapsed = (case.phase.values.get(f"{case.measure.operation}.{name}", 0.0) for name in names)
    return ReportedSum(rate=rate, amount=amount, seconds=elapsed / 1e9) if min(rate, amount, elapsed) > 0 else None


def together(case: TrialCase, report: ReportedSum) -> tuple[float, float]:
    """The shortest time in s in which all of the work can have been done, and the share in which all programs ran.

    A program's own time lies somewhere between its start and its end, so at both ends of the whole that much is left open.
    """
    spans = spans_of(case)
    if len(spans) < 2:
        return report.seconds, 1.0
    longest = max(last - first for first, last in spans) / 1e9
    return max(report.seconds, whole_s(case) - 2 * max(0.0, longest - report.seconds)), measures.overlap_share(spans)


def spans_of(case: TrialCase) -> Sequence[tuple[int, int]]:
    """When each program that did this operation started and ended, in ns."""
    done = measures.client_operations(case.phase, case.measure.operation)
    return [(client.first_ns, client.until_ns) for client in ([one for one, _ in done] or case.phase.clients)]


def whole_s(case: TrialCase) -> float:
    """From the first start to the last end, in s."""
    spans = spans_of(case)
    return (max(last for _, last in spans) - min(first for first, _ in spans)) / 1e9


def allowed_share(case: TrialCase, report: ReportedSum) -> float:
    """How far the rate may lie above: a threshold, and what is lost in the digits of rate, work and time."""
    clients, unit = len(case.phase.clients), PRINTED[case.measure.figure]
    share = case.thresholds["several_share" if clients > 1 else "apart_share"]
    return share + PRINTED_S / report.seconds + clients * unit / report.rate + clients * unit / report.amount


def in_unit(case: TrialCase, rate: float) -> str:
    """`41.0 MB/s`."""
    return measures.with_unit(rate, measures.FIGURES[case.measure.figure].unit)


def amount_of(case: TrialCase, amount: float) -> str:
    """`16.8 MB`, `4,000 operations`."""
    return measures.in_bytes(amount) if case.measure.figure == "bytes_per_s" else f"{amount:,.0f} operations"


RULE = Rule(
    id="S01",
    name="aggregation",
    scope=Scope.TRIAL,
    severity=Severity.INVALIDATES,
    part="statistics",
    short="rates added wrongly",
    applies=applies,
    check=check,
    about=About.ALL_LOAD_HOSTS,
    wrong="Four programs report 100 MB/s each, and the report says 400 MB/s, although they ran one after the other. A tool "
    "adds the rates of its threads, each over its own time, or prints the mean of the rates of its passes. For example, 100 MB "
    "at 200 MB/s and 100 MB at 50 MB/s are 80 MB/s, not 125.",
    alternatives=(
        "The tool's rate covers a part of its time (after a warm-up, until the first thread ended). Check its manual.",
        "The programs have unequal work by design. Then use the rate of the window in which all of them run (W04).",
    ),
    advice="Report all work over the time from the first start to the last end. Start the programs together and give them the "
    "same time instead of the same work. Let a tool print its bytes or operations and its time, not a rate alone.",
    sources=(
        "Fleming and Wallace, CACM 29 (1986) 218: How not to lie with statistics: the correct way to summarize benchmark results",
        "Smith, CACM 31 (1988) 1202: Characterizing computer performance with a single number",
        "Hoefler and Belli, SC 2015: scientific benchmarking of parallel computing systems",
    ),
)
