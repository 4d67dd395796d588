"""Growth, break-even and saturation of known curves; nothing is said outside of what was measured."""

import math
import re
from dataclasses import replace

import numpy as np

from assay.analysis.cells import cells
from assay.analysis.compare import comparisons
from assay.analysis.scaling.law import filling, keeping, ordered, passage, scaling
from assay.answer.wording.scaling import statement
from assay.notebook import read as notebook
from assay.notebook.store import Store
from assay.plain import from_plain, to_plain
from assay.records import ArmOrder, Factor, Method, Observations, Results, Scaling, ScalingKind, Shape, Use
from assay.statistics.scaling_law import Crossing, CurveValue
from stage import notebook_records as made
from stage.rows import each

NUMBERS = (1, 2, 4, 8, 16)
SHARE = "spool.create.@local.cpu_share"


def said(one):
    return statement(made.experiment(), one)


def no_evidence(run):
    return Observations()


def answered(value, *, factors=None, compare=None, measure=made.RATE, blocks=5, seed=1):
    """The results of runs with value(levels) and 1 % of noise."""
    draws = np.random.default_rng(seed)
    factors = factors or (Factor(path="clients", levels=NUMBERS),)
    asked = replace(made.experiment(measures=(measure,)), factors=factors, compare=compare)
    plan = made.plan(asked, blocks)
    runs = [
        made.judged(made.run(trial), {measure: value(trial.levels) * math.exp(0.01 * draws.standard_normal())})
        for trial in plan.trials
    ]
    table = cells(asked, plan, runs, no_evidence)
    found = comparisons(asked, table, runs)
    return Results(
        experiment=asked, plan=plan, runs=tuple(runs), cells=table, comparisons=found, scaling=scaling(asked, table, found)
    )


def usl(n, one=100.0, contention=0.0, coherency=0.0):
    return one * n / (1 + contention * (n - 1) + coherency * n * (n - 1))


def test_peaks_and_straight_lines_are_told_within_the_numbers():
    (one,) = answered(lambda levels: usl(levels["clients"], contention=0.05, coherency=0.02)).scaling
    assert one.kind is ScalingKind.LAW
    assert one.at.low <= math.sqrt(0.95 / 0.02) <= one.at.high
    assert "peaks at" in said(one)
    (one,) = answered(lambda levels: usl(levels["clients"], contention=0.05, coherency=0.001)).scaling
    assert one.at is None
    assert "no peak from 1 to 16" in said(one)
    (one,) = answered(lambda levels: usl(levels["clients"])).scaling
    assert "grows in proportion up to 16 clients" in said(one)
    assert "nothing follows for more" in said(one)
    rates = {1: 100.0, 2: 190.0, 4: 200.0, 8: 120.0, 16: 115.0}
    (one,) = answered(lambda levels: rates[levels["clients"]]).scaling
    assert (one.at.value, one.at.low, one.at.high) == (4, 2, 8)
    assert "peaks at 4 (2 to 8) clients and falls beyond: highest measured rate, since no law fits all numbers" in said(one)
    rates = {1: 100.0, 2: 101.0, 4: 102.0, 8: 400.0, 16: 405.0}
    (one,) = answered(lambda levels: rates[levels["clients"]]).scaling
    assert one.at is None
    assert re.search(r"fits no scaling law: 16 clients do 4\.0\d times as much as 1 client; no peak from 1 to 16", said(one))
    factors = (Factor(path="spool.depth", levels=NUMBERS),)
    (one,) = answered(lambda levels: usl(levels["spool.depth"], contention=0.2), factors=factors).scaling
    assert re.search("16 requests in flight do .* times as much as 1 request in flight", said(one))


@each(
    "numbers contention text",
    (
        NUMBERS,
        0.2,
        r"flattens: 16 clients do 4(\.0\d)? times as much as 1 client, as if (19|20)(\.\d)? % of the work were serial",
    ),
    ((4, 8, 16, 32), 0.2, r"flattens: 32 clients do 1\.7\d times as much as 4 clients"),
    (NUMBERS, 1.3, r"falls: 16 clients do 0\.7\d\d times as much as 1 client\."),
)
def test_a_curve_that_flattens_is_told_by_what_was_measured(numbers, contention, text):
    factors = (Factor(path="clients", levels=numbers),)
    (one,) = answered(lambda levels: usl(levels["clients"], contention=contention), factors=factors).scaling
    assert re.search(text, said(one)), said(one)


def both(path, arms, numbers=NUMBERS):
    factors = (Factor(path="target", levels=("old", "new")), Factor(path="clients", levels=numbers))
    return {"factors": factors, "compare": path, "value": lambda levels: arms[levels["target"]](levels["clients"])}


def of(kind, results):
    return [one for one in results.scaling if one.kind is kind]


def test_the_break_even_is_where_the_order_changes_and_none_is_made_up():
    arms = {"old": lambda n: usl(n, one=130, contention=0.3), "new": lambda n: usl(n, one=100, contention=0.1)}
    asked = both("target", arms)
    (one,) = of(ScalingKind.BREAK_EVEN, answered(asked.pop("value"), **asked))
    true = next(n / 100 for n in range(100, 1600) if arms["new"](n / 100) > arms["old"](n / 100))
    assert one.at.low - 0.2 <= true <= one.at.high + 0.2, "the curve is joined by straight lines"
    assert "beyond it new is above old" in said(one)
    assert one.within == {"target": "new"}
    arms = {"old": lambda n: usl(n, one=100), "new": lambda n: usl(n, one=120)}
    asked = both("target", arms)
    (one,) = of(ScalingKind.BREAK_EVEN, answered(asked.pop("value"), **asked))
    assert one.at is None
    assert "new is above old everywhere from 1 to 16 clients: no break-even in that range" in said(one)


@each(
    "gap text",
    (1.001, r"no significant difference at any number from 1 to 16 clients: a break-even stays open"),
    (1.012, r"new is above old from 1 to 16 clients by the means, within noise at [\d, ]+: a break-even there stays open"),
)
def test_noise_neither_shows_nor_excludes_a_break_even(gap, text):
    arms = {"old": lambda n: usl(n, one=100), "new": lambda n: usl(n, one=100 * gap)}
    statements = []
    for seed in range(12):
        asked = both("target", arms)
        found = of(ScalingKind.BREAK_EVEN, answered(asked.pop("value"), seed=seed, **asked))
        assert not any("no break-even in that range" in said(one) for one in found)
        assert all(one.at is None for one in found if one.shape is Shape.CROSSES_BY_MEANS)
        statements += [said(one) for one in found]
    assert any(re.search(text, one) for one in statements), statements


@each(
    "each text",
    (0.15, r"reaches 90 % at (6|7)(\.\d+)? \((6|7)(\.\d+)? to 7\.\d+\) clients"),
    (0.0563, r"reaches 90 % at 16 \(15\.\d to 16 or more\) clients"),
    (0.02, r"stays below 90 % up to 16 clients \(at most 3\d(\.\d)? %\)"),
    (0.95, r"is 90 % or more already with 1 client"),
)
def test_where_a_share_is_used_up(each, text):
    results = answered(lambda levels: min(0.99, each * levels["clients"]), measure=SHARE)
    (one,) = of(ScalingKind.SATURATION, results)
    assert re.search(text, said(one)), said(one)


def crossed(kind, shape, table, one, **changes):
    place = passage(one, (table[0].at, table[-1].at), Method.CROSSING_OF_MEANS)
    bare = Scaling(
        kind=kind, shape=shape, measure="m", factor="clients", within={}, lowest=table[0].at, highest=table[-1].at, **place
    )
    return said(replace(bare, **changes))


def test_what_noise_alone_can_do_is_no_place():
    """The interval never leaves the level within what was measured: then neither its place nor that there is one is known."""
    table, one = [CurveValue(at=n, low=-9, value=n - 5, high=9) for n in (1, 8)], Crossing(at=5, low=None, high=None, rising=True)
    order, use = ArmOrder(candidate="new", baseline="old", compared="target", above=True), Use(share=0.88)
    full = {"kind": ScalingKind.SATURATION, "table": table, "use": use}
    even = {"kind": ScalingKind.BREAK_EVEN, "table": table, "order": order}
    assert (
        crossed(shape=filling(table, one), one=one, **full)
        == "m reaches 90 % near 5 clients by the means; noise alone can do that."
    )
    assert crossed(shape=ordered(1, one, 0, 2), one=one, **even).endswith("noise alone can do that: no break-even.")
    assert crossed(ScalingKind.OBJECTIVE, keeping(table, one), table, one).endswith("noise allows any number from 1 to 8.")
    close = [CurveValue(at=n, low=0.8, value=0.88, high=0.92) for n in (1, 8)]
    assert (
        crossed(shape=filling(close, None), one=None, **full) == "m is 88 % at most up to 8 clients; its interval includes 90 %."
    )
    half = replace(one, low=3.0)
    assert crossed(shape=filling(table, half), one=half, **full) == "m reaches 90 % at 5 (3 to 8 or more) clients."
    bounded = replace(one, high=6.0)
    assert crossed(shape=ordered(1, bounded, 0, 2), one=bounded, **even) == (
        "m, new against old: break-even at 5 (1 or fewer to 6) clients; beyond it new is above old."
    )


@each(
    "factors",
    (Factor(path="spool.record_size", levels=(1, 2, 4, 8)),),
    (Factor(path="clients", levels=(4,)),),
    (Factor(path="target", levels=("a", "b")),),
)
def test_only_counts_scale(factors):
    assert answered(lambda levels: 100.0, factors=factors).scaling == ()


def test_the_notebook_keeps_it(tmp_path):
    results = answered(lambda levels: usl(levels["clients"], contention=0.1))
    assert tuple(from_plain(Scaling, to_plain(one)) for one in results.scaling) == results.scaling
    with Store.create(tmp_path / "lab", results.experiment, results.plan, made.TEXT) as store:
        for judged in results.runs:
            store.add(judged.run, made.observations(1))
        store.derive("rules", results)
        assert notebook.results(store.folder, "rules").scaling == results.scaling
