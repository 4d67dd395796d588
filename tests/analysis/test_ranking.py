"""The order of levels over records: who could be the best, the best against the second, in rates and in times."""

from dataclasses import replace

import numpy as np

from assay.analysis.cells import cells
from assay.analysis.compare import comparisons
from assay.analysis.ranking import rankings
from assay.answer.answer import answer
from assay.answer.wording.ranking import sentence, values
from assay.answer.wording.summary import following
from assay.records import Change, Conclusion, Factor, Observations, Outcome, Results
from stage import notebook_records as made
from stage.rows import each

LEVELS = ("lz4", "zstd", "pigz", "gzip")


def no_evidence(run: str) -> Observations:
    raise AssertionError(f"the verdict of {run} has the value")


def ranked(means, spread=0.01, levels=LEVELS, blocks=5, measure=made.RATE, left_out=(), **changes):
    asked = made.experiment(levels, measures=(measure,), **changes)
    plan, draw = made.plan(asked, blocks), np.random.default_rng(5)
    runs = []
    for trial in plan.trials:
        mean = means[levels.index(trial.levels["target"])]
        run = made.run(trial)
        if trial.id in left_out:
            run = replace(run, outcome=Outcome.FAILED)
        runs.append(made.judged(run, {measure: float(mean * np.exp(draw.normal(0, spread)))}))
    found = rankings(asked, cells(asked, plan, runs, no_evidence), runs)
    return asked, found


def leaders(means, **changes):
    _, (one,) = ranked(means, **changes)
    return one.leaders


def test_the_best_is_first_and_is_held_against_the_second():
    asked, (one,) = ranked((1470, 769, 182, 119))
    assert [rank.level for rank in one.ranks] == list(LEVELS)
    assert one.leaders == ("lz4",)
    assert (one.ahead.candidate, one.ahead.baseline, one.ahead.conclusion) == ("lz4", "zstd", Conclusion.MATTERS)
    assert (one.ahead.adjusted_by, one.ahead.tested, one.ahead.ratio.n) == ("Hsu", 6, 5)
    assert one.ahead.adjusted_p_value < 1e-4
    said = sentence(asked, one)
    assert said.startswith("lz4 1,4"), said
    assert "gzip 118/s (5 runs each); lz4 is fastest, 1.90 times the rate of zstd (95 % interval 1.87 to 1.94)" in said


def test_of_times_the_shortest_is_the_best():
    asked, (one,) = ranked((0.68e9, 1.3e9, 5.5e9, 8.4e9), measure=made.LATENCY)
    assert one.leaders == ("lz4",)
    assert "lz4 is fastest, it takes 0.52" in sentence(asked, one)
    assert "times as long as zstd" in sentence(asked, one)


def test_levels_that_cannot_be_told_apart_stand_together():
    asked, (one,) = ranked((1000, 1001, 500, 400), spread=0.02)
    assert set(one.leaders) == {"lz4", "zstd"}
    assert one.ahead.conclusion in (Conclusion.UNDECIDED, Conclusion.EQUIVALENT)
    assert "zstd and lz4 lead and are equivalent (95 % interval 0.97 to 1.05; margin ±5 %)" in sentence(asked, one)


@each(
    "case blocks left_out change",
    ("one block", 1, (), Change.AUTOMATIC),
    ("two blocks", 2, (), Change.AUTOMATIC),
)
def test_too_few_runs_rule_nothing_out(case, blocks, left_out, change):
    asked, (one,) = ranked((1000, 900, 500, 400), blocks=blocks, left_out=left_out, change=change)
    assert one.leaders == ()
    assert "which is fastest is undecided: lz4 against zstd 1.1" in sentence(asked, one), case


@each("change", Change.AUTOMATIC, Change.MANUAL)
def test_without_whole_blocks_or_by_hand_pairs_decide(change):
    assert leaders((1000, 700, 500, 400), change=change, left_out=(2,)) == ("lz4",)


def test_one_level_that_spreads_more_than_the_others_is_held_against_them_pair_by_pair():
    draw = np.random.default_rng(2)
    asked = made.experiment(LEVELS)
    plan = made.plan(asked)
    wide = {"lz4": 0.01, "zstd": 0.5, "pigz": 0.01, "gzip": 0.01}
    mean = dict(zip(LEVELS, (1000, 900, 500, 400), strict=True))
    runs = [
        made.judged(
            made.run(one), {made.RATE: float(mean[one.levels["target"]] * np.exp(draw.normal(0, wide[one.levels["target"]])))}
        )
        for one in plan.trials
    ]
    (found,) = rankings(asked, cells(asked, plan, runs, no_evidence), runs)
    assert set(found.leaders) == {"lz4", "zstd"}, "zstd is below by too little for its spread, pigz and gzip are far below"


def test_a_lead_that_is_not_shown_among_all_has_its_p_value_and_how_many_runs_would_show_it():
    asked, (one,) = ranked((1000, 900, 500, 400))
    ahead = replace(one.ahead, p_value=0.03, adjusted_p_value=0.08, conclusion=Conclusion.UNDECIDED, needed=40, needed_as_seen=9)
    said = sentence(asked, replace(one, ranks=tuple(replace(rank, may_be_best=True) for rank in one.ranks), ahead=ahead))
    assert "which is fastest is undecided: lz4 against zstd " in said
    assert "(not shown among 4, p = 0.08 by Hsu)" in said
    assert said.endswith("; about 9 runs each (4 more) would show a difference as seen, about 40 one of 5 %"), said


def test_each_condition_has_an_order_of_its_own():
    asked, found = ranked((1000, 900, 500, 400), clients=(1, 8))
    assert [dict(one.within) for one in found] == [{"clients": 1}, {"clients": 8}]
    assert sentence(asked, found[1]).startswith("at clients = 8: lz4 ")


def test_two_levels_need_no_order():
    assert ranked((1000, 900), levels=("ext4", "xfs"))[1] == ()


def test_of_numbers_the_smallest_that_could_be_the_best_is_named():
    asked, (one,) = ranked((100, 400, 401, 400), levels=(1, 4, 16, 64), spread=0.005)
    said = sentence(asked, one)
    assert said.startswith("target 1: 99.9/s, 4: 400/s, 16: 401/s, 64: 399/s (5 runs each); "), said
    assert "; target = 4, 16 and 64 lead, and which of them is fastest is undecided" in said
    assert "is undecided; nothing more is shown to be gained above target = 4" in said
    assert said.endswith("; nothing more is shown to be gained above target = 4"), said
    assert set(one.leaders) == {4, 16, 64}


@each("times said", (2.8, True), (1.02, False))
def test_what_more_of_a_count_costs_is_named_where_it_gains_nothing(times, said):
    levels, means = (1, 4, 16, 64), {1: 100, 4: 400, 16: 401, 64: 400}
    asked = made.experiment(levels, measures=(made.RATE, made.LATENCY))
    plan, draw = made.plan(asked), np.random.default_rng(5)
    runs = []
    for trial in plan.trials:
        level = trial.levels["target"]
        noise = float(np.exp(draw.normal(0, 0.005)))
        slow = 1.8e6 * (times if level == 64 else 1)
        runs.append(made.judged(made.run(trial), {made.RATE: means[level] * noise, made.LATENCY: slow * noise}))
    table = cells(asked, plan, runs, no_evidence)
    found = answer(
        Results(
            experiment=asked,
            plan=plan,
            runs=tuple(runs),
            cells=table,
            comparisons=comparisons(asked, table, runs),
            rankings=rankings(asked, table, runs),
        )
    )
    few, many = "1.80\u202fms", "5.03\u202fms"
    costs = [text for text in following(found) if text.startswith("price of more")]
    assert (
        costs
        == [f"price of more: spool create, latency, 99th percentile: from {few} at target = 4 to {many} at target = 64 [SOUND]"][
            : int(said)
        ]
    )


def test_of_many_levels_the_first_ones_and_the_last_are_listed():
    levels = tuple("abcdefghijkl")
    asked, (one,) = ranked(tuple(range(1200, 0, -100)), levels=levels)
    assert values(asked, one.factor, [(rank.level, rank.estimate) for rank in one.ranks]).count("/s") == 6
    assert ", 6 more, to l 9" in sentence(asked, one) or ", 6 more, to l 1" in sentence(asked, one)


@each(
    "names said",
    (("0.05", "0.0505"), "0.05: 100/s, 0.0505: 90/s"),
    (("a", "a, b"), "a: 100/s; a, b: 90/s"),
    (("ext4", "xfs"), "ext4 100/s, xfs 90/s"),
    (("x" * 40, "y"), ""),
)
def test_names_and_values_can_be_told_apart(names, said):
    asked = made.experiment(names)
    one = ranked((1000, 900, 500, 400))[1][0].ahead.ratio
    found = [(name, replace(one, value=value, unit="1/s", n=1)) for name, value in zip(names, (100.0, 90.0), strict=True)]
    assert values(asked, "target", found) == said


def test_a_level_without_a_run_that_counts_has_no_place():
    asked, found = ranked((1000, 900, 500, 400), left_out=tuple(range(1, 100)))
    assert found == ()
    assert asked.factors[0] == Factor(path="target", levels=LEVELS)
