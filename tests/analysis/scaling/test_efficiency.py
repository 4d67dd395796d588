"""Parallel efficiency: the ratio over that of the counts, for rates only; what limits the larger load makes it a bound."""

import math
from dataclasses import replace

import pytest

from assay.analysis.cells import cells
from assay.analysis.compare import comparisons
from assay.analysis.scaling.efficiency import listed, scaled
from assay.answer import headlines
from assay.answer.answer import answer
from assay.answer.wording import summary as words
from assay.answer.wording.comparison import limited, statement
from assay.cli import tables
from assay.notebook import read as notebook
from assay.notebook.store import Store
from assay.plain import from_plain, to_plain
from assay.records import (
    Comparison,
    Direction,
    Fact,
    FactClass,
    Factor,
    Limiter,
    LimiterKind,
    Observations,
    Results,
    Severity,
    State,
    When,
)
from stage import notebook_records as made
from stage.rows import each

CASE_B = {1: 7410.0, 2: 12633.0}
"""Writes per second of one writer and of two, as published."""


def asked_of(path="clients", levels=(1, 2), measures=(made.RATE,)):
    return replace(made.experiment(measures=measures), factors=(Factor(path=path, levels=levels),), compare=path)


def line_text(results, headline):
    return str(words.line(results.experiment, headline.lines[0]))


def said(one):
    return statement(made.experiment(measures=(made.RATE, made.LATENCY, "spool.create.busy_ops_per_s")), one)


def no_evidence(run):
    return Observations()


def compared(values, load=no_evidence, finding=None, **changes):
    asked = asked_of(**changes)
    plan = made.plan(asked)
    path = asked.factors[0].path
    runs = []
    for trial in plan.trials:
        rate = values[trial.levels[path]] * (1 + trial.block / 1e4)
        one = made.judged(made.run(trial), {measure.name: rate for measure in asked.measures})
        if finding is not None:
            one = replace(
                one, verdicts={name: replace(v, findings=(*v.findings, finding(trial))) for name, v in one.verdicts.items()}
            )
        runs.append(one)
    table = cells(asked, plan, runs, no_evidence)
    found = scaled(asked, comparisons(asked, table, runs), runs, load)
    return Results(experiment=asked, plan=plan, runs=tuple(runs), cells=table, comparisons=found)


def finding_of(state, limiter):
    return replace(made.finding("x", state, Severity.QUALIFIES), limiter=limiter)


def test_the_figures_of_case_b_give_85_percent_also_from_a_larger_baseline():
    (one,) = compared(CASE_B).comparisons
    assert one.parallel_efficiency.value == pytest.approx(12633 / 7410 / 2)
    assert one.parallel_efficiency.low == pytest.approx(one.ratio.low / 2)
    assert one.parallel_efficiency.high == pytest.approx(one.ratio.high / 2)
    assert (one.parallel_efficiency.unit, one.parallel_efficiency.n, one.limiter) == ("share", 5, None)
    assert said(one).endswith("; parallel efficiency 85 %, 2 clients against 1 (95 % interval 85 % to 85 %)")
    (one,) = compared({4: 4000.0, 1: 1250.0}, levels=(4, 1)).comparisons
    assert one.parallel_efficiency.value == pytest.approx(1.25)
    assert "parallel efficiency 125 %, 1 client against 4" in said(one)


@each("path text", ("spool.workers", "3 workers against 1"), ("spool.depth", "depth 3 against 1"))
def test_knobs_that_count_what_works_at_once(path, text):
    (one,) = compared({1: 100.0, 3: 240.0}, path=path, levels=(1, 3)).comparisons
    assert one.parallel_efficiency.value == pytest.approx(0.8)
    assert f"parallel efficiency 80 %, {text}" in said(one)


@each("changes", {"measures": (made.LATENCY,)}, {"measures": ("spool.create.busy_ops_per_s",)}, {"path": "spool.record_size"})
def test_no_efficiency_of_what_is_no_rate_or_no_count(changes):
    (one,) = compared(CASE_B, **changes).comparisons
    assert one.parallel_efficiency is None
    assert "efficiency" not in said(one)


def test_without_an_interval_there_is_none_for_the_share():
    results = compared(CASE_B)
    (bare,) = (
        replace(one, ratio=replace(one.ratio, low=None, high=None), parallel_efficiency=None) for one in results.comparisons
    )
    (one,) = scaled(results.experiment, (bare,), results.runs, no_evidence)
    assert (one.parallel_efficiency.low, one.parallel_efficiency.high) == (None, None)
    (none,) = scaled(results.experiment, (replace(bare, ratio=None),), results.runs, no_evidence)
    assert none.parallel_efficiency is None


DECLARED = Limiter(kind=LimiterKind.RATE, name="loop0", declared=True, amount=50e6, unit="bytes/s", direction=Direction.WRITE)
QUOTA = Limiter(kind=LimiterKind.CPU_QUOTA, name="/x", declared=False, stops=3, stopped_share=0.2)
LIMITED = finding_of(State.PASS, DECLARED)


@each(
    "finding limit",
    (LIMITED, "limited by the declared 50 MB/s of loop0"),
    (finding_of(State.FAIL, replace(DECLARED, declared=False)), "limited by the 50 MB/s of loop0"),
    (finding_of(State.FAIL, QUOTA), "limited by the CPU quota of control group /x (3 stops, 20 % of the time)"),
    (finding_of(State.UNVERIFIED, QUOTA), None),
    (finding_of(State.PASS, None), None),
)
def test_what_held_the_larger_load_back_makes_it_a_lower_bound(finding, limit):
    (one,) = compared(CASE_B, finding=lambda trial: finding).comparisons
    assert (one.limiter is None) == (limit is None)
    assert (f"; lower bound, {limit})" in said(one)) == (limit is not None)


def test_a_limit_of_one_load_bounds_or_says_nothing():
    plain = made.finding("x")
    (one,) = compared(CASE_B, finding=lambda trial: LIMITED if trial.levels["clients"] == 1 else plain).comparisons
    assert one.limiter is None
    (one,) = compared(CASE_B, finding=lambda trial: LIMITED if trial.block < 2 else plain).comparisons
    assert one.limiter is None
    (one,) = compared({2: 12633.0, 1: 7410.0}, levels=(2, 1), finding=lambda trial: LIMITED).comparisons
    assert "; upper bound, limited by" in said(one)
    (one,) = compared(CASE_B, load=processors("0"), path="spool.depth").comparisons
    assert one.limiter is None
    assert [listed(text) for text in ("0", "0-3", "0-2,5\n", "0,2,4")] == [1, 4, 4, 3]


def processors(text):
    fact = Fact(host="local", when=When.BEFORE, key="cpu.online", value=text, fact_class=FactClass.PERFORMANCE)
    return lambda run: Observations(facts=(fact,))


@each("cpus limit", ("0", "limited by 1 CPU for 2 clients"), ("0-1", None), ("absent: no such file", None))
def test_fewer_processors_than_clients(cpus, limit):
    (one,) = compared(CASE_B, load=processors(cpus)).comparisons
    assert (one.limiter is None) == (limit is None)
    assert limited(one) == (limit or "")


def test_terminal_and_report_tell_it_on_a_line_of_its_own():
    results = compared(CASE_B, finding=lambda trial: LIMITED)
    assert "parallel efficiency 85 %, 2 clients against 1" in tables.comparison_table(results)
    (headline,) = headlines.headlines(results)
    assert "parallel efficiency 85 %, 2 clients against 1" in line_text(results, headline)
    assert "lower bound, limited by the declared 50 MB/s of loop0" in line_text(results, headline)
    # With several levels the first sentence had so many figures that nobody could repeat it.
    found = answer(compared(CASE_B))
    assert "parallel efficiency" not in words.opening(found)
    assert [one for one in words.following(found) if one.startswith("parallel efficiency 85 %, 2 clients against 1")]
    (one,) = compared(CASE_B).comparisons
    two = replace(one, within={"file.size": 2}, parallel_efficiency=replace(one.parallel_efficiency, value=0.7))
    results = compared(CASE_B)
    (headline,) = headlines.headlines(replace(results, comparisons=(replace(one, within={"file.size": 1}), two)))
    assert "parallel efficiency 70 % to 85 %, 2 clients against 1" in line_text(results, headline)


def test_the_notebook_keeps_it_and_reads_old_comparisons(tmp_path):
    results = replace(compared(CASE_B), runs=())
    with Store.create(tmp_path, results.experiment, results.plan, made.TEXT) as kept:
        kept.derive("test", results)
        folder = kept.folder
    assert notebook.results(folder, "test").comparisons == results.comparisons
    old = to_plain(results.comparisons[0])
    del old["parallel_efficiency"], old["limiter"]
    assert from_plain(Comparison, old).parallel_efficiency is None
    assert math.isclose(from_plain(Comparison, old).ratio.value, 12633 / 7410, rel_tol=1e-9)
