"""Finds arms whose servers do different work for an answer: early acknowledgement, client caching, or memory.

The rule compares the medians of other rules' findings over the runs of each arm:
- D04, acknowledged before or after the data were stored: any difference is invalid. For a rate that counts the flush of both ends
  (`synced_bytes_per_s`) the question is whether they were stored at its end.
- T09, operations of the clients per request at the server: more than `ratio_share` apart is invalid.
- T02, the share from the server's memory: more than `memory_share` apart qualifies.

A comparison of two servers implies equal work, so no claim is needed. Without any of the three in both arms the rule is
unverified.
Targets without a server, and a server's own setting as the factor, are n/a. The id is C02s: C02 compares file systems, this
rule compares servers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from statistics import median

from assay import measures
from assay.catalogue import ComparisonCase, Rule
from assay.evidence import served
from assay.records import Finding, Scope, Severity, State
from assay.rulekit.applicability import is_own_setting
from assay.rulekit.findings import found

EARLY, ITSELF, REMEMBERED = "D04", "T09", "T02"
LOOKED_AT = {EARLY: "time of acknowledgement", ITSELF: "client caching", REMEMBERED: "server memory"}
SYNCED, AT_THE_END = "synced_bytes_per_s", "data stored when both ends had been flushed"
JUDGED = (State.PASS, State.FAIL)
Seen = Mapping[str, float]
"""Rule -> what it found in an arm: the share of runs that acknowledged early, operations a request, the share from memory."""


def applies(case: ComparisonCase) -> str | None:
    """Comparisons of servers, but where the server's own setting is the factor."""
    if not any(served.server(run) for run, _ in (*case.baseline, *case.candidate)):
        return "the targets name no server"
    return f"the server's setting is the factor ({case.comparison.factor})" if is_own_setting(case) else None


def check(case: ComparisonCase) -> Finding:
    """The same rule's findings in both arms."""
    baseline, candidate = (seen(case, {run.id for run, _ in arm}) for arm in case.arms)
    both = baseline.keys() & candidate.keys()
    observed = {
        f"{rule}.{arm}": known[rule]
        for arm, known in (("baseline", baseline), ("candidate", candidate))
        for rule in sorted(known)
    }
    if not both:
        statement = f"Unknown for both arms: {', '.join(looked_at(case).values())}."
        return found(RULE, case, State.UNVERIFIED, statement, observed=observed)
    apart = list(differences(case, baseline, candidate))
    if not apart:
        alike = " and ".join(looked_at(case)[rule] for rule in sorted(both))
        return found(RULE, case, State.PASS, f"Both arms are alike: {alike}.", observed=observed)
    worst = min((severity for severity, _ in apart), key=list(Severity).index)
    return found(
        RULE,
        case,
        State.FAIL,
        f"The servers did different work for an answer: {'; '.join(words for _, words in apart)}.",
        severity=worst,
        observed=observed,
        relabel="a comparison of two guarantees, not of two speeds" if worst is Severity.INVALIDATES else None,
    )


def looked_at(case: ComparisonCase) -> Mapping[str, str]:
    """What each rule looked at; at the end of the flush of both ends, where the figure counts its time."""
    return {**LOOKED_AT, EARLY: AT_THE_END} if case.measure.figure == SYNCED else LOOKED_AT


def seen(case: ComparisonCase, runs: set[str]) -> Seen:
    """Median of the rules' figures over the runs of one arm; unverified findings are left out."""
    known: dict[str, list[float]] = {}
    for finding in (finding for run in sorted(runs & case.verdicts.keys()) for finding in case.verdicts[run].findings):
        value = {
            EARLY: float(finding.state is State.FAIL),
            ITSELF: finding.observed.get("ratio"),
            REMEMBERED: finding.observed.get("hit_share"),
        }.get(finding.rule)
        if finding.state in JUDGED and isinstance(value, float):
            known.setdefault(finding.rule, []).append(value)
    return {rule: median(values) for rule, values in known.items()}


def differences(case: ComparisonCase, baseline: Seen, candidate: Seen) -> Iterator[tuple[Severity, str]]:
    """What sets the arms apart, each with what it means for the comparison."""
    both = baseline.keys() & candidate.keys()
    if EARLY in both and baseline[EARLY] != candidate[EARLY]:
        which = "the candidate" if candidate[EARLY] > baseline[EARLY] else "the baseline"
        before = f"{which} acknowledges before storing its data (D04), the other arm after"
        unstored = f"{which} had not stored its data when both ends had been flushed (D04), the other arm had"
        yield Severity.INVALIDATES, unstored if case.measure.figure == SYNCED else before
    if ITSELF in both:
        least, most = sorted((max(1.0, baseline[ITSELF]), max(1.0, candidate[ITSELF])))
        if most > (1 + case.thresholds["ratio_share"]) * least:
            each = f"{baseline[ITSELF]:.2f} operations in the baseline, {candidate[ITSELF]:.2f} in the candidate"
            yield Severity.INVALIDATES, f"per request clients did {each} (T09)"
    if REMEMBERED in both and abs(baseline[REMEMBERED] - candidate[REMEMBERED]) > case.thresholds["memory_share"]:
        shares = (measures.percent(arm[REMEMBERED]) for arm in (baseline, candidate))
        yield Severity.QUALIFIES, "{} from the server's memory in the baseline, {} in the candidate (T02)".format(*shares)


RULE = Rule(
    id="C02s",
    name="server-parity",
    scope=Scope.COMPARISON,
    severity=Severity.INVALIDATES,
    part="comparability",
    applies=applies,
    check=check,
    wrong="Server A is a third as fast as server B because B acknowledges from memory, or its clients hold leases and sent "
    "fewer requests. Or A had just been restarted. Each figure is right, and the comparison is one of two guarantees.",
    alternatives=(
        "The difference is the subject. Make it the factor (a setting of the target); that declares it.",
        "One server caches more because it needs less memory per entry. That is a property of it; report it.",
    ),
    advice="Give both servers the same settings (sync, client caching, cold or warm), or show both settings for both servers.",
    sources=(
        "Heiser: Systems benchmarking crimes, unfair benchmarking of competitors",
        "SPEC SFS 2014, 4.3: stable storage is the same for all",
    ),
)
