"""Results as people read them: levels that are quantities in their units, everywhere alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from assay.analysis import quantities
from assay.audit import arms
from assay.records import Experiment, FactorEffect, Judged, Plan, Results, Step, Trial, Trough, Value


def readable(results: Results) -> Results:
    """The same results with every level told in the unit of its knob; the numbers behind the texts are the same."""
    told = quantities.telling(results.experiment)
    known = {arms.subject(one): quantities.compared(one, told) for one in results.comparisons}
    return replace(
        results,
        experiment=experiment(results.experiment, told),
        plan=plan(results.plan, told),
        runs=tuple(judged(one, told) for one in results.runs),
        cells=tuple(replace(one, levels=mapped(one.levels, told)) for one in results.cells),
        comparisons=tuple(quantities.compared(one, told) for one in results.comparisons),
        comparison_verdicts={
            arms.subject(known[subject]) if subject in known else subject: verdict
            for subject, verdict in results.comparison_verdicts.items()
        },
        requirements=tuple(replace(one, levels=mapped(one.levels, told)) for one in results.requirements),
        troughs=tuple(trough(one, told) for one in results.troughs),
        sensitivity=tuple(replace(one, effects=tuple(effect(each, told) for each in one.effects)) for one in results.sensitivity),
    )


def experiment(one: Experiment, told: quantities.Told) -> Experiment:
    """The experiment with the levels of its factors told."""
    factors = (replace(factor, levels=tuple(told(factor.path, level) for level in factor.levels)) for factor in one.factors)
    return replace(one, factors=tuple(factors))


def plan(one: Plan, told: quantities.Told) -> Plan:
    """The plan with the levels of its trials told."""
    return replace(one, trials=tuple(trial(each, told) for each in one.trials))


def judged(one: Judged, told: quantities.Told) -> Judged:
    """A run with the levels of its trial told."""
    return replace(one, run=replace(one.run, trial=trial(one.run.trial, told)))


def trial(one: Trial, told: quantities.Told) -> Trial:
    """A trial with its levels told."""
    return replace(one, levels=mapped(one.levels, told))


def trough(one: Trough, told: quantities.Told) -> Trough:
    """A trough with its levels told."""
    below, above = (told(one.factor, level) for level in one.neighbours)
    return replace(one, levels=mapped(one.levels, told), neighbours=(below, above))


def effect(one: FactorEffect, told: quantities.Told) -> FactorEffect:
    """An effect with the levels of its steps told, and those of what is mixed with it."""
    return replace(one, steps=steps(one.steps, told), mixed_with=tuple(steps(each, told) for each in one.mixed_with))


def steps(several: tuple[Step, ...], told: quantities.Told) -> tuple[Step, ...]:
    """Steps with their levels told."""
    return tuple(replace(one, baseline=told(one.factor, one.baseline), level=told(one.factor, one.level)) for one in several)


def mapped(combination: Mapping[str, Value], told: quantities.Told) -> dict[str, Value]:
    """A combination of levels, each told."""
    return {path: told(path, level) for path, level in combination.items()}
