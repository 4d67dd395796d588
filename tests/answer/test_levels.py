"""Levels that are quantities are told in their unit, on the terminal, in comparisons and in the report."""

from dataclasses import replace

from assay.analysis.cells import cells
from assay.analysis.compare import comparisons
from assay.answer.wording.comparison import statement
from assay.audit import judge
from assay.cli import show, summary, tables
from assay.measures import text as texts
from assay.records import Factor, Judged, Observations, Results, TargetSpec, WorkloadSpec
from assay.report import markdown
from assay.report.charts import roles
from stage import notebook_records as made

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
    found = comparisons(asked, table, runs)
    verdicts = judge.judge_comparisons(asked, plan, runs, found, lambda _: made.observations())
    return Results(experiment=asked, plan=plan, runs=tuple(runs), cells=table, comparisons=found, comparison_verdicts=verdicts)


def test_everywhere_alike():
    found = results()
    page = markdown.render(found)
    sentences = [statement(found.experiment, one) for one in found.comparisons]
    for text in (summary.summary(found), page, *sentences, show.text(found.experiment, found.runs[1], {}, Observations())):
        assert "000000000" not in text.replace(",", ""), text
        assert "1048576" not in text.replace(",", ""), text
    assert "spool.quiesce=2 s / 1 s" in summary.summary(found)
    assert "ext4.size=1 GiB" in summary.summary(found)
    assert "ext4.size = 1 MiB" in page
    assert [text.split(": ")[2] for text in sentences] == ["quiesce = 2 s against 1 s is undecided"] * 2


def test_levels_stay_values_and_a_comparison_has_one_id():
    found = results()
    assert {one.candidate for one in found.comparisons} == {LEVELS[1]}
    assert {one.id for one in found.comparisons} == set(found.comparison_verdicts)
    assert found.comparisons[0].id == f"comparison:{made.RATE}:2000000000:ext4.size=1048576"
    assert roles.positions(found.experiment.factors[1].levels) == {2**20: 0.0, 2**30: 1.0}


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
    levels = {"spool.quiesce": LEVELS[0], "spool.objects": 1000, "room": 7, "clients": 2}
    assert tables.levels_text(asked, levels) == "spool.quiesce=1 s spool.objects=1000 room=7 clients=2"
    assert texts.level(asked, "spool.objects", 1000) == "1,000"
    assert texts.level(asked, "spool.quiesce", None) == "none"
    unknown = replace(asked, workloads=(WorkloadSpec(name="spool", kind="of_another_version"),))
    assert texts.word(unknown, "spool.quiesce", LEVELS[0]) == str(LEVELS[0])


def test_command_lines_are_shown_as_a_shell_takes_them():
    """The levels of `stat --save`, of a compared `argv`, and options of mkfs."""
    targets = (TargetSpec(name="disk", kind="loopfs"),)
    asked = replace(made.experiment(), workloads=(WorkloadSpec(name="c", kind="command"),), targets=targets)
    argv = ("dd", "if=my file", "bs=4k")
    assert texts.level(asked, "c.argv", argv) == texts.word(asked, "c.argv", argv) == "dd 'if=my file' bs=4k"
    assert texts.level(asked, "disk.mkfs_options", ("-O", "^has_journal")) == "-O '^has_journal'"
    assert texts.level(asked, "disk.mount_options", ("noatime", "nodev")) == "noatime, nodev"
    assert texts.level(asked, "disk.mkfs_options", ()) == ""
