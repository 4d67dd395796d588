"""Judges every measure of a run, every comparison and the experiment: every rule, every time."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from assay import catalogue, measures
from assay.audit import labels, limits
from assay.audit.verdicts import common_bound, exclusive, failures, state_of
from assay.catalogue import Case, ComparisonCase, ExperimentCase, Rule, TrialCase
from assay.errors import EvidenceError
from assay.evidence import sources
from assay.measures import Figure, drill
from assay.records import (
    Bound,
    Comparison,
    Direction,
    Experiment,
    Finding,
    Judged,
    Meaning,
    Measure,
    Observations,
    Outcome,
    Plan,
    Run,
    Scope,
    Severity,
    State,
    Value,
    Verdict,
    VerdictState,
    worst,
)
from assay.records.layers import run_at
from assay.rulekit import made_paths, noise
from assay.rulekit.findings import found, in_words
from assay.rulekit.soundness import COMPARED, required_rules
from assay.units import Unit

Load = Callable[[str], Observations]
"""The observations of a run by its id (`0007/1`); those of the runs that are asked for again should be kept."""
STATES = (State.FAIL, State.UNVERIFIED, State.PASS, State.NOT_APPLICABLE)
"""Of several hosts the first of these counts."""
OF_STORAGE = ("tier", "durability")
"""Parts of a claim that speak of storage."""
OF_SPEED = ("tier", "noise", "regime", "window")
"""Parts that speak of how fast something was, or of where its bytes came from."""

BEYOND = "How storage served these requests is unknown. Leave that part of the claim out."


def ruleset() -> str:
    """Give the name of today's rule set."""
    from assay.audit.ruleset import ruleset as name  # its parser is not needed to judge

    return name()


# ---------------------------------------------------------------------------------------------- one rule on one case


def examine(rule: Rule, case: Case) -> Finding:
    """The finding of one rule on one case; never raises for lack of evidence, says UNVERIFIED instead.

    A trial rule is given the evidence of those hosts that it is about; of a rule about each load host the worst finding counts.
    """
    if not isinstance(case, TrialCase):
        return examine_one(rule, case)
    each = [examine_one(rule, scoped) for scoped in case.about(rule.about)]
    gravest = min(each, key=badness)
    return named(gravest, each) if case.run.is_spread else gravest


def named(one: Finding, each: Sequence[Finding]) -> Finding:
    """The finding with the host that it is about, and of how many hosts the same was found."""
    if one.host is None or one.state is State.NOT_APPLICABLE:
        return one
    alike = sum((other.state, other.severity) == (one.state, one.severity) for other in each)
    more = f" ({alike} of {len(each)} hosts alike)" if alike > 1 else ""
    return replace(one, statement=f"On {one.host}{more}: {one.statement}")


def badness(finding: Finding) -> tuple[int, int, float]:
    """The place of a finding among those of several hosts: the lowest counts. Of two bounds the wider one is worse."""
    bound, severities = finding.bound, list(Severity)
    width = math.inf if bound is None or bound.low is None or bound.high is None else bound.high - bound.low
    return STATES.index(finding.state), severities.index(finding.severity), -width


def examine_one(rule: Rule, case: Case) -> Finding:
    """The finding of one rule on the evidence of one host, or of all that it judges together."""
    case = replace(case, thresholds=limits.thresholds(rule.id))
    beyond = not_of_storage(rule, case)
    if beyond is not None and isinstance(case, TrialCase) and rule.id in required_rules(case.claim, case.direction):
        return found(rule, case, State.UNVERIFIED, BEYOND)
    reason = None if isinstance(case, ExperimentCase) else limits.outside(rule.id, case.claim)
    reason = reason or beyond or not_of_count(rule, case) or rule.applies(case)
    if reason is not None:
        return found(rule, case, State.NOT_APPLICABLE, f"{reason[:1].upper()}{reason[1:]}.")
    missing = lacking(rule, case)
    if missing:
        keys = "; ".join(f"{key} ({why})" if why else key for key, why in missing.items())
        return found(rule, case, State.UNVERIFIED, f"Evidence is missing: {keys}.", evidence=tuple(missing))
    try:
        return rule.check(case)
    except EvidenceError as error:
        return found(rule, case, State.UNVERIFIED, f"The evidence cannot be read: {error}")


def not_of_storage(rule: Rule, case: Case) -> str | None:
    """Why a rule of storage says nothing of what goes over a network or is a request; None where it may."""
    if not isinstance(case, TrialCase) or rule.part not in OF_STORAGE:
        return None
    judged = case.direction is None or case.direction.of_storage or (rule.of_requests and case.direction is Direction.REQUEST)
    return None if judged else "no storage is asked for by itself"


def not_of_count(rule: Rule, case: Case) -> str | None:
    """Why a rule of speed says nothing of records that were counted after a failure; None where it may."""
    counts = isinstance(case, TrialCase) and case.measure.figure in drill.COUNTS and rule.part in OF_SPEED
    return "a count of records has no speed" if counts else None


def lacking(rule: Rule, case: Case) -> dict[str, str]:
    """Evidence that the rule needs and that is not there, each with the reason where one is known."""
    if isinstance(case, TrialCase):
        absent = [key for key in rule.needs if not sources.has(case.phase, case.observations, key)]
        return {key: case.observations.why_missing(key) or "" for key in absent}
    if not isinstance(case, ComparisonCase):
        return {}
    every = [observations for arm in case.arms for _, observations in arm]
    return {
        key: next((why for seen in every if (why := seen.why_missing(key)) is not None), "")
        for key in rule.needs
        if not all(sources.has_anywhere(seen, key) for seen in every)
    }


# ---------------------------------------------------------------------------------------------- measures of a run


def judge_run(experiment: Experiment, run: Run, observations: Observations) -> tuple[Verdict, ...]:
    """One verdict for each measure of this run, in the experiment's order; measures of workloads not in it are left out."""
    figures = {
        measure.name: figure
        for measure in experiment.measures
        if (figure := measures.value(run, observations, measure)) is not None
    }
    return tuple(
        judge_measure(experiment, run, observations, (measure, figures))
        for measure in experiment.measures
        if run.trial.levels.get("workload", measure.workload) == measure.workload
    )


def judge_measure(
    experiment: Experiment, run: Run, observations: Observations, what: tuple[Measure, Mapping[str, Figure]]
) -> Verdict:
    """The verdict on one measure; a run without the measure's phase has no figure that anything could be said of."""
    measure, figures = what
    subject = f"run:{run.id}:{measure.name}"
    figure = figures.get(measure.name)
    phase = measures.phase_of(run, measure)
    if phase is None:
        return without_phase(subject, run, measure)
    case = TrialCase(
        subject=subject,
        experiment=experiment,
        run=run_at(run, phase.side),
        phase=phase,
        measure=measure,
        claim=measure.claim,
        value=figure.value if figure else None,
        observations=observations,
        thresholds={},
        siblings={name: sibling.value for name, sibling in figures.items() if name != measure.name},
    )
    findings = tuple(examine(rule, case) for rule in catalogue.rules_of(Scope.TRIAL))
    return verdict(case, figure, without_contradiction(case, findings))


def without_contradiction(case: TrialCase, findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """The findings; where bounds of two exclude each other the evidence is wrong, and the rule of contradictions says so."""
    found_pair = exclusive(findings, case.value)
    rule = next((rule for rule in catalogue.rules_of(Scope.TRIAL) if rule.meaning is Meaning.CONTRADICTORY), None)
    if found_pair is None or rule is None:
        return findings
    case = replace(case, thresholds=limits.thresholds(rule.id))
    each = " and ".join(f"{in_words(bound)} by {', '.join(rules)}" for rules, bound in found_pair)
    statement = f"Two rules bound the figure, and their bounds exclude each other: {each}."
    wrong = found(rule, case, State.FAIL, statement, relabel="readings contradict each other")
    return tuple(wrong if one.rule == rule.id and not one.counts else one for one in findings)


def without_phase(subject: str, run: Run, measure: Measure) -> Verdict:
    """A run that did not get as far as this measure."""
    failed = run.outcome is not Outcome.FINISHED
    return Verdict(
        subject=subject,
        run=run.id,
        measure=measure.name,
        claim=measure.claim,
        value=None,
        unit=measures.unit_of(measure),
        corrected=None,
        state=VerdictState.INVALID if failed else VerdictState.UNVERIFIED,
        label=labels.of_no_phase(run, measure.operation),
        bound=None,
        findings=(),
    )


def verdict(case: TrialCase, figure: Figure | None, findings: tuple[Finding, ...]) -> Verdict:
    """State, label, correction and bound from the findings of one measure."""
    factor = limits.bound_factor(case.experiment)
    possible = possible_range(case)
    state = state_of(findings, required_rules(case.claim, case.direction), case.value, factor, possible)
    if figure is None:  # of what has no value nothing is confirmed
        state = worst((state, VerdictState.UNVERIFIED))
    return Verdict(
        subject=case.subject,
        run=case.run.id,
        measure=case.measure.name,
        claim=case.claim,
        value=told(figure, findings),
        unit=figure.unit if figure else measures.unit_of(case.measure),
        corrected=corrected(figure, findings, case.direction),
        state=state,
        label=labels.label(case, figure, findings, state),
        bound=common_bound(findings, case.value, possible),
        findings=findings,
    )


def possible_range(case: TrialCase) -> Bound:
    """What no bound of a figure goes beyond: what the lab's own path lets through, and the fastest operation that was seen."""
    path = made_paths.ceiling(replace(case, observations=case.observations.on_all()))
    high = min((one for one in (path, noise.highest_rate(case)) if one is not None), default=None)
    low = noise.fastest_ns(case) if case.measure.figure.startswith("latency_") else None
    return Bound(low=low, high=high, unit="")


def told(figure: Figure | None, findings: Sequence[Finding]) -> float | None:
    """The figure that is judged: what was measured; where the drain makes what a tool printed false, that."""
    if figure is None:
        return None
    failed = failures(findings)
    printed = any(one.meaning is Meaning.DIRTY and one.severity is Severity.INVALIDATES for one in failed)
    return figure.raw if printed and figure.raw is not None else figure.value


def corrected(figure: Figure | None, findings: Sequence[Finding], direction: Direction | None) -> float | None:
    """The figure with the drain charged, or what the device can have served at most; None where nothing was corrected."""
    if figure is None:
        return None
    if figure.raw is not None and figure.raw != figure.value and figure.drain_ns is not None:
        return figure.value
    cached = (f.bound for f in failures(findings) if f.meaning in (Meaning.PAGE_CACHE, Meaning.LOWER_CACHE))
    from_cache = [bound.high for bound in cached if bound and bound.high is not None]
    return min(from_cache, default=None) if direction is Direction.READ else None


# ---------------------------------------------------------------------------------------------- comparisons


def judge_comparisons(
    experiment: Experiment, plan: Plan, runs: Sequence[Judged], comparisons: Sequence[Comparison], load: Load
) -> Mapping[str, Verdict]:
    """A verdict for each comparison by its subject: its own rules, and the runs that it rests on."""
    judged = (judge_comparison(experiment, plan, comparison, runs, load) for comparison in comparisons)
    return {verdict.subject: verdict for verdict in judged}


def arm(comparison: Comparison, level: Value, runs: Sequence[Judged]) -> tuple[Judged, ...]:
    """The runs at one level of the factor that the comparison does not exclude."""
    wanted = {**comparison.within, comparison.factor: level}
    counted = (one for one in runs if one.id not in comparison.excluded)
    return tuple(one for one in counted if all(one.run.trial.levels.get(path) == at for path, at in wanted.items()))


def judge_comparison(experiment: Experiment, plan: Plan, comparison: Comparison, runs: Sequence[Judged], load: Load) -> Verdict:
    """The worst of what its rules say and of the verdicts of the runs that count in it."""
    baseline, candidate = (arm(comparison, level, runs) for level in (comparison.baseline, comparison.candidate))
    measure = next(measure for measure in experiment.measures if measure.name == comparison.measure)
    counted = {judged.id: judged.verdicts[measure.name] for judged in (*baseline, *candidate) if measure.name in judged.verdicts}
    case = ComparisonCase(
        subject=comparison.id,
        experiment=experiment,
        plan=plan,
        comparison=comparison,
        measure=measure,
        claim=measure.claim,
        baseline=tuple((_as_measured(judged.run, measure), load(judged.id).on_all()) for judged in baseline),
        candidate=tuple((_as_measured(judged.run, measure), load(judged.id).on_all()) for judged in candidate),
        verdicts=counted,
        thresholds={},
        left_out=tuple(one for one in runs if one.id in comparison.excluded),
    )
    findings = tuple(examine(rule, case) for rule in catalogue.rules_of(Scope.COMPARISON))
    own = state_of(findings, COMPARED)
    left = [VerdictState.UNVERIFIED] if any(one.spoils for one in comparison.excluded.values()) else []
    state = worst((own, *(verdict.state for verdict in counted.values()), *left))
    return Verdict(
        subject=case.subject,
        measure=measure.name,
        claim=measure.claim,
        value=comparison.ratio.value if comparison.ratio else None,
        unit=Unit.NONE,
        corrected=None,
        state=state,
        label=labels.of_comparison(own, counted.values(), findings),
        bound=common_bound(findings),
        findings=findings,
    )


def _as_measured(run: Run, measure: Measure) -> Run:
    """The run as the side of the measure's phase has it."""
    phase = measures.phase_of(run, measure)
    return run if phase is None else run_at(run, phase.side)


def judge_experiment(experiment: Experiment, plan: Plan, runs: Sequence[Judged]) -> tuple[Finding, ...]:
    """The findings of the rules that look at the whole experiment, by what is known of its runs."""
    case: Case = ExperimentCase(subject="experiment", experiment=experiment, plan=plan, runs=tuple(runs), thresholds={})
    return tuple(examine(rule, case) for rule in catalogue.rules_of(Scope.EXPERIMENT))
