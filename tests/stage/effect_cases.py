"""Designed experiments with planted effects: runs with values times drift and noise, and what follows from them."""

import math
from dataclasses import replace

import numpy as np

from assay.analysis.cells import cells
from assay.analysis.sensitivity import sensitivity
from assay.experiment import plan as planning
from assay.records import DesignKind, Factor, Observations, Outcome, Results
from stage import notebook_records as made

FULL, FRACTION, ALONE = DesignKind.FULL, DesignKind.FRACTIONAL, DesignKind.ONE_AT_A_TIME
SCREEN = DesignKind.SCREENING


def no_evidence(run):
    return Observations()


def factors(*levels):
    """Of so many levels each, or as they are given."""
    if isinstance(levels[0], Factor):
        return levels
    return tuple(
        Factor(path=f"spool.{letter}", levels=tuple(range(count))) for letter, count in zip("abcdefghij", levels, strict=False)
    )


def answered(kind, levels, value, *, measures=(made.RATE,), blocks=5, seed=1, cv=0.01, lost=lambda trial: False):
    """The results of runs with value(levels), a drift from block to block, and noise."""
    draws = np.random.default_rng(seed)
    asked = replace(
        made.experiment(measures=measures), factors=factors(*levels), compare=None, design=kind, repeats=blocks, digest="cd" * 32
    )
    plan = planning.plan(asked)
    drift = np.exp(0.1 * draws.standard_normal(blocks))
    runs = []
    for trial in plan.trials:
        figures = {name: drift[trial.block] * value(trial.levels) * math.exp(cv * draws.standard_normal()) for name in measures}
        runs.append(made.judged(made.run(trial, outcome=Outcome.FAILED if lost(trial) else Outcome.FINISHED), figures))
    table = cells(asked, plan, runs, no_evidence)
    return Results(experiment=asked, plan=plan, runs=tuple(runs), cells=table, sensitivity=sensitivity(asked, table, runs))


def planted(levels):
    """a: -38 %; b: +2 %; c: +20 %; a and c together 1.4 times; the others nothing."""
    value = 1000.0 * (0.62 if levels["spool.a"] else 1) * (1.02 if levels["spool.b"] else 1)
    return value * (1.2 if levels["spool.c"] else 1) * (1.4 if levels["spool.a"] and levels["spool.c"] else 1)


def plain_effects(levels):
    """a: -38 %; b: +2 %; no factor cares for another."""
    return 1000.0 * (0.62 if levels["spool.a"] else 1) * (1.02 if levels["spool.b"] else 1)
