import math

import numpy as np
import pytest

from assay import catalogue
from assay.records import Severity, State
from stage.comparison_cases import case
from stage.rows import each
from stage.said import ASKED, NOT_ASKED, PASS, hold, low

RULE = catalogue.find("rules", "multimodal")
SETS = 300


def values(apart=0.0, spread=0.005, seed=4, only="xfs"):
    """Runs of one arm fall by turns into two groups that are so far apart."""
    draw = np.random.default_rng(seed)

    def value(t):
        upper = t.levels["target"] == only and t.block % 2
        return 100 * math.exp(draw.normal(0, spread) + apart * upper)

    return value


@each("blocks which", (6, "candidate"), (10, "candidate"))
def test_two_groups_of_an_arm_qualify_with_modes_and_shares(blocks, which):
    finding = RULE.check(case("S03", values(apart=0.4), blocks=blocks))
    assert (finding.state, finding.severity) == (State.FAIL, Severity.QUALIFIES)
    assert finding.observed[f"{which}_upper_share"] == 0.5
    assert finding.observed[f"{which}_low"] == pytest.approx(100, rel=0.02)
    assert finding.observed[f"{which}_high"] == pytest.approx(100 * math.exp(0.4), rel=0.02)
    assert f"the {blocks} runs of xfs form two groups, {blocks // 2} near" in finding.statement
    assert "xfs" in finding.statement
    assert finding.bound.low == pytest.approx(1, rel=0.02)
    assert finding.bound.high == pytest.approx(math.exp(0.4), rel=0.02)


@each("blocks", 5, 10, 20)
def test_normal_noise_is_rarely_accused(blocks):
    draw = np.random.default_rng(blocks)
    alarms = sum(
        RULE.check(case("S03", lambda t: 100 * math.exp(draw.normal(0, 0.2)), blocks=blocks)).state is State.FAIL
        for _ in range(SETS)
    )
    assert alarms / SETS <= 0.027 + 3 * math.sqrt(0.027 / SETS)


def test_states():
    hold(
        ("one mode passes", RULE.check(case("S03", values(), blocks=8)), PASS),
        "the bound of a baseline with two groups",
        (RULE.check(case("S03", values(apart=0.4, only="ext4"), blocks=8)), low(pytest.approx(math.exp(-0.4), rel=0.02)), "ext4"),
        ("groups nearer than what matters pass", RULE.check(case("S03", values(apart=0.03, spread=0.0005), blocks=10)), PASS),
        "too few runs cannot be told",
        (RULE.applies(case("S03", values(apart=0.4), blocks=4)), NOT_ASKED),
        (RULE.applies(case("S03", values(), blocks=5)), ASKED),
        "a figure of zero has no ratios",
        (RULE.applies(case("S03", lambda t: float(t.block), measure="spool.create.errors", blocks=8)), NOT_ASKED),
    )
