"""Levels that are quantities are told in their unit, on the terminal, in comparisons and in the report."""

from dataclasses import replace

import notebook_records as made
from assay.analysis import quantities
from assay.analysis.cells import cells
from assay.analysis.compare import comparisons
from assay.answer.levels import judged, readable
from assay.audit import arms, judge
from assay.cli import show
from assay.cli.terminal import summary, tables
from assay.plain import to_plain
from assay.records import Factor, Judged, Results, TargetSpec, WorkloadSpec
from assay.report import markdown
from assay.report.charts import roles

LEVELS = (1_000_000_000, 2_000_000_000)


def results():
    """An experiment that compares pauses of 1 s and 2 s at two sizes."""
    factors = (Factor(path="spool.quiesce", levels=LEVELS), Factor(path="ext4.size", levels=(2**20, 2**30)))
    asked = replace(
        made.experiment(),
        factors=factors,
        compare="spool.quiesce",
        targets=(TargetSpec(name="ext4", kind="loopfs"),),
        workloads=(WorkloadSpec(name="spool", kind="metadata"),),
    )
    combinations = [{"spool.quiesce": pause, "ext4.size": size} for pause in LEVELS for size in (2**20, 2**30)]
    plan = made.plan(replace(asked, factors=made.experiment().factors))
    trials = tuple(replace(trial, levels=combinations[n % 4], block=n // 4) for n, trial in enumerate(plan.trials[:8]))
    runs = []
    for trial in trials:
        run = made.run(trial)
        value = 100.0 if trial.levels["spool.quiesce"] == LEVELS[0] else 150.0 + trial.block
        runs.append(Judged(run=run, verdicts={made.RATE: made.verdict(run, made.RATE, value)}))
    plan = replace(plan, trials=trials)
    table = cells(asked, plan, runs, lambda _: made.observations())
    found = comparisons(asked, plan, table, runs)
    verdicts = judge.judge_comparisons(asked, plan, runs, found, lambda _: made.observations())
    return Results(experiment=asked, plan=plan, runs=tuple(runs), cells=table, comparisons=found, comparison_verdicts=verdicts)


def test_everywhere_alike():
    raw = results()
    told = readable(raw)
    page = markdown.render(told)
    for text in (summary.summary(told), page, *(one.statement for one in raw.comparisons), show.told(told.runs[1], {})):
        assert "000000000" not in text.replace(",", ""), text
        assert "1048576" not in text.replace(",", ""), text
    assert "spool.quiesce=2 s / 1 s" in summary.summary(told)
    assert "ext4.size=1 GiB" in summary.summary(told)
    assert "ext4.size = 1 MiB" in page
    assert [one.statement.split(": ")[2] for one in raw.comparisons] == ["quiesce = 2 s against 1 s is undecided"] * 2


def test_the_numbers_behind_the_texts_are_the_same():
    raw = results()
    told = readable(raw)
    assert to_plain(told.cells) == to_plain(raw.cells)
    assert told.experiment == raw.experiment
    assert told.plan == raw.plan
    assert {arms.subject(one) for one in told.comparisons} == set(told.comparison_verdicts)
    assert list(told.comparison_verdicts.values()) == list(raw.comparison_verdicts.values())
    assert roles.positions(told.experiment.factors[1].levels) == {2**20: 0.0, 2**30: 1.0}


def test_only_knobs_with_units_are_told_in_one():
    asked = replace(
        made.experiment(),
        factors=(
            Factor(path="spool.quiesce", levels=LEVELS),
            Factor(path="spool.objects", levels=(1000,)),
            Factor(path="room", levels=(7,)),
            Factor(path="clients", levels=(2,)),
        ),
        workloads=(WorkloadSpec(name="spool", kind="metadata"),),
    )
    told = quantities.telling(asked)
    levels = {"spool.quiesce": LEVELS[0], "spool.objects": 1000, "room": 7, "clients": 2}
    assert tables.levels_text({path: told(path, level) for path, level in levels.items()}) == (
        "spool.quiesce=1 s spool.objects=1000 room=7 clients=2"
    )
    assert told("spool.quiesce", None) is None
    unknown = replace(asked, workloads=(WorkloadSpec(name="spool", kind="of_another_version"),))
    assert str(quantities.telling(unknown)("spool.quiesce", LEVELS[0])) == str(LEVELS[0])


def test_a_run_is_told_too():
    one = results().runs[0]
    told = judged(one, quantities.telling(results().experiment))
    assert str(told.run.trial.levels["spool.quiesce"]) == "1 s"
    assert one.run.trial == told.run.trial
