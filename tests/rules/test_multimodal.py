import math

import numpy as np
import pytest

from assay import catalogue
from assay.records import Severity, State
from comparison_cases import case

RULE = catalogue.find("rules", "multimodal")
SETS = 300


def values(apart=0.0, spread=0.005, seed=4, only="xfs"):
    """Runs of one arm fall by turns into two groups that are so far apart."""
    draw = np.random.default_rng(seed)

    def value(t):
        upper = t.levels["target"] == only and t.block % 2
        return 100 * math.exp(draw.normal(0, spread) + apart * upper)

    return value


def test_one_mode_passes():
    assert RULE.check(case("S03", values(), blocks=8)).state is State.PASS


@pytest.mark.parametrize(("blocks", "which"), [(6, "candidate"), (10, "candidate")])
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


def test_the_bound_of_a_baseline_with_two_groups():
    finding = RULE.check(case("S03", values(apart=0.4, only="ext4"), blocks=8))
    assert finding.bound.low == pytest.approx(math.exp(-0.4), rel=0.02)
    assert "ext4" in finding.statement


def test_groups_nearer_than_what_matters_pass():
    assert RULE.check(case("S03", values(apart=0.03, spread=0.0005), blocks=10)).state is State.PASS


def test_too_few_runs_cannot_be_told():
    found = case("S03", values(apart=0.4), blocks=4)
    assert "fewer than 5 runs" in RULE.applies(found)
    assert RULE.applies(case("S03", values(), blocks=5)) is None


def test_a_figure_of_zero_has_no_ratios():
    assert "is 0" in RULE.applies(case("S03", lambda t: float(t.block), measure="spool.create.errors", blocks=8))


@pytest.mark.parametrize("blocks", [5, 10, 20])
def test_normal_noise_is_rarely_accused(blocks):
    draw = np.random.default_rng(blocks)
    alarms = sum(
        RULE.check(case("S03", lambda t: 100 * math.exp(draw.normal(0, 0.2)), blocks=blocks)).state is State.FAIL
        for _ in range(SETS)
    )
    assert alarms / SETS <= 0.027 + 3 * math.sqrt(0.027 / SETS)
