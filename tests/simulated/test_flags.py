"""What compare says of runs that are no plain repetitions: planted, it stands in words in its answer and in the report; not of
plain noise more often than each rule's level.

The schedule is the planner's own, the verdicts are those of the whole audit of comparisons. Seeds are checksums of names.
"""

import itertools
import math
import zlib
from dataclasses import replace
from functools import cache

import numpy as np

from assay.cli import compare
from assay.experiment import plan as planning
from assay.laboratory.results import answered
from assay.records import Observations, Results, State
from assay.report import markdown, page
from assay.report.galleries import Pictures
from stage import notebook_records as made
from stage.sizes import few_and_many

BLOCKS = 16
RULES = ("S03", "S04", "S05", "S07")


def source(*name) -> np.random.Generator:
    return np.random.default_rng(zlib.crc32(repr(name).encode()))


@cache
def scene(blocks):
    asked = replace(made.experiment(), repeats=blocks)
    plan = planning.plan(asked)
    return asked, plan, [made.run(trial) for trial in plan.trials]


def results(logs, blocks=BLOCKS):
    """Everything that follows from runs with these logarithms, in the order in which they were made."""
    asked, plan, runs = scene(blocks)
    judged = tuple(made.judged(run, {made.RATE: 1000 * math.exp(log)}) for run, log in zip(runs, logs, strict=True))
    return answered(Results(experiment=asked, plan=plan, runs=judged, ruleset="test"), lambda _: Observations())


def accused(found) -> set[str]:
    """Which of the rules accuse the comparison."""
    (verdict,) = found.comparison_verdicts.values()
    return {finding.rule for finding in verdict.findings if finding.rule in RULES and finding.state is State.FAIL}


def levels(blocks=BLOCKS):
    return [trial.levels["target"] for trial in scene(blocks)[1].trials]


def two_groups(draw):
    """One arm's runs are at one of two speeds."""
    quick = {"ext4": np.zeros(2 * BLOCKS), "xfs": np.where(draw.random(2 * BLOCKS) < 0.5, 0.3, 0.0)}
    return [quick[level][at] for at, level in enumerate(levels())]


def drift(_draw):
    """Everything grows slower while the experiment runs."""
    return -0.4 * np.arange(2 * BLOCKS) / (2 * BLOCKS)


def after(_draw):
    """What comes after xfs is slowed down."""
    return [-0.2 if at and levels()[at - 1] == "xfs" else 0.0 for at in range(2 * BLOCKS)]


def wander(draw):
    """What one arm gives wanders from block to block."""
    walk = np.cumsum(draw.normal(0, 0.05, BLOCKS))
    return [walk[trial.block] if trial.levels["target"] == "xfs" else 0.0 for trial in scene(BLOCKS)[1].trials]


PLANTED = {
    "S03": (two_groups, "form two groups"),
    "S04": (drift, "over the experiment"),
    "S05": (after, "Effect of the preceding trial"),
    "S07": (wander, "independent values"),
}


def test_what_is_planted_is_said_by_compare_and_by_the_report(subtests):
    for rule in RULES:
        with subtests.test(rule=rule):
            plant, words = PLANTED[rule]
            draw = source("planted", rule)
            found = results(np.asarray(plant(draw)) + draw.normal(0, 0.01, 2 * BLOCKS))
            assert rule in accused(found)
            for text in (
                compare.answer_text(found),
                markdown.render(found),
                page.render(found, lambda _: Observations(), Pictures()),
            ):
                assert rule in text
                assert words in text


@cache
def of_plain_noise(blocks, kind, sets):
    """How often each rule accuses runs that differ by plain noise alone."""
    draw = source("plain", blocks, kind)
    found = [accused(results(draw.normal(0, spread(kind), 2 * blocks), blocks)) for _ in range(sets)]
    return {rule: sum(rule in one for one in found) / sets for rule in RULES}


def spread(kind):
    return {"quiet": 0.02, "loud": 0.15}[kind]


LEVEL = {"S03": 0.05, "S04": 0.01, "S05": 0.01, "S07": 0.01}
"""The p-value below which a rule speaks (rules/limits.toml; the dip test of S03, of either arm)."""


@few_and_many("sets", 50, 150)
def test_plain_noise_is_accused_no_more_often_than_the_level_says(subtests, sets):
    for kind, blocks, rule in itertools.product(["quiet", "loud"], [5, 10, 20], RULES):
        with subtests.test(kind=kind, blocks=blocks, rule=rule):
            level = LEVEL[rule]
            assert of_plain_noise(blocks, kind, sets)[rule] <= level + 3 * math.sqrt(level * (1 - level) / sets)
