"""Judges every measure of a run, every comparison and the experiment: every rule, every time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache

from assay import catalogue, measures
from assay.audit import arms, labels
from assay.audit.examine import examine
from assay.audit.verdicts import common_bound, failures, state_of
from assay.catalogue import Case, ComparisonCase, ExperimentCase, Rule, TrialCase
from assay.measures import Figure
from assay.records import (
    Comparison,
    Direction,
    Experiment,
    Finding,
    Judged,
    Meaning,
    Measure,
    Observations,
    Outcome,
    Phase,
    Plan,
    Run,
    Scope,
    Verdict,
    VerdictState,
    worst,
)
from assay.rulekit.soundness import COMPARED, required_rules
from assay.units import Unit

Load = Callable[[str], Observations]
"""The observations of a run by its id (`0007/1`); those of the runs that are asked for again should be kept."""


def ruleset() -> str:
    """Give the name of today's rule set."""
    from assay.audit.ruleset import ruleset as name  # its parser is not needed to judge

    return name()


@cache
def rules(scope: Scope) -> tuple[Rule, ...]:
    """The rules of one scope, by id."""
    return catalogue.rules_of(scope)


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
        run=run,
        phase=phase,
        measure=measure,
        claim=measure.claim,
        value=figure.value if figure else None,
        observations=observations,
        thresholds={},
        siblings={name: sibling.value for name, sibling in figures.items() if name != measure.name},
    )
    findings = tuple(examine(rule, case) for rule in rules(Scope.TRIAL))
    return verdict(case, figure, findings)


def without_phase(subject: str, run: Run, measure: Measure) -> Verdict:
    """A run that did not get as far as this measure."""
    failed = run.outcome is not Outcome.FINISHED
    return Verdict(
        subject=subject,
        run=run.id,
        measure=measure.name,
        claim=measure.claim,
        value=None,
        unit=unit_of(measure),
        corrected=None,
        state=VerdictState.INVALID if failed else VerdictState.UNVERIFIED,
        label=labels.of_no_phase(run, measure.operation),
        bound=None,
        findings=(),
    )


def unit_of(measure: Measure) -> str:
    """The unit of a measure's figure."""
    kind = measures.figure_kind(measure.figure)
    return kind.unit if kind else Unit.NONE


def verdict(case: TrialCase, figure: Figure | None, findings: tuple[Finding, ...]) -> Verdict:
    """State, label, correction and bound from the findings of one measure."""
    direction = case.phase.directions.get(case.measure.operation)
    state = state_of(findings, required_rules(case.claim, direction))
    bound = common_bound(findings)
    return Verdict(
        subject=case.subject,
        run=case.run.id,
        measure=case.measure.name,
        claim=case.claim,
        value=figure.value if figure else None,
        unit=figure.unit if figure else unit_of(case.measure),
        corrected=corrected(case.phase, figure, findings, direction),
        state=state,
        label=labels.label(case, figure, findings),
        bound=bound,
        findings=findings,
    )


def corrected(phase: Phase, figure: Figure | None, findings: Sequence[Finding], direction: Direction | None) -> float | None:
    """The figure with the drain charged, or what the device can have served at most; None where nothing was corrected."""
    if figure is None:
        return None
    if figure.raw is not None and figure.raw != figure.value and phase.drain_ns is not None:
        return figure.value
    cached = (f.bound for f in failures(findings) if f.meaning in (Meaning.PAGE_CACHE, Meaning.LOWER_CACHE))
    from_cache = [bound.high for bound in cached if bound and bound.high is not None]
    return min(from_cache, default=None) if direction is Direction.READ else None


# ---------------------------------------------------------------------------------------------- comparisons


def judge_comparisons(
    experiment: Experiment, plan: Plan, runs: Sequence[Judged], comparisons: Sequence[Comparison], load: Load
) -> Mapping[str, Verdict]:
    """A verdict for each comparison by its subject: its own rules, and the runs that it rests on."""
    judged = (judge_comparison(experiment, plan, (comparison, arms.of(comparison, runs)), load) for comparison in comparisons)
    return {verdict.subject: verdict for verdict in judged}


def judge_comparison(experiment: Experiment, plan: Plan, what: tuple[Comparison, arms.Arms], load: Load) -> Verdict:
    """The worst of what its rules say and of the verdicts of the runs that count in it."""
    comparison, both = what
    measure = next(measure for measure in experiment.measures if measure.name == comparison.measure)
    counted = {judged.id: judged.verdicts[measure.name] for judged in both.every if measure.name in judged.verdicts}
    case = ComparisonCase(
        subject=comparison.id,
        experiment=experiment,
        plan=plan,
        comparison=comparison,
        measure=measure,
        claim=measure.claim,
        baseline=tuple((judged.run, load(judged.id).on_all()) for judged in both.baseline),
        candidate=tuple((judged.run, load(judged.id).on_all()) for judged in both.candidate),
        verdicts=counted,
        thresholds={},
        left_out=both.left_out,
    )
    findings = tuple(examine(rule, case) for rule in rules(Scope.COMPARISON))
    own = state_of(findings, COMPARED)
    state = worst((own, *(verdict.state for verdict in counted.values())))
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


def judge_experiment(experiment: Experiment, plan: Plan, runs: Sequence[Judged]) -> tuple[Finding, ...]:
    """The findings of the rules that look at the whole experiment, by what is known of its runs."""
    case: Case = ExperimentCase(subject="experiment", experiment=experiment, plan=plan, runs=tuple(runs), thresholds={})
    return tuple(examine(rule, case) for rule in rules(Scope.EXPERIMENT))
