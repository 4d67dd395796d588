"""Many combinations of two factors are a grid on the terminal; few stay a line each."""

from dataclasses import replace

from assay.analysis.cells import cells
from assay.cli import summary
from assay.records import Label, Nature, Observations, Results, VerdictState
from stage import notebook_records as made


def results(levels, clients):
    """Every run is SOUND but the first, which is TAINTED; its rate is its place in the schedule."""
    asked = made.experiment(levels, clients=clients)
    plan = made.plan(asked, 1)
    runs = []
    for trial in plan.trials:
        one = made.judged(made.run(trial), {made.RATE: 100.0 * trial.id})
        state = VerdictState.TAINTED if trial.id == 1 else VerdictState.SOUND
        verdicts = {
            name: replace(verdict, state=state, label=Label(nature=Nature.AS_SEEN, operation="create"))
            for name, verdict in one.verdicts.items()
        }
        runs.append(replace(one, verdicts=verdicts))
    found = cells(asked, plan, runs, lambda _: Observations())
    return Results(experiment=replace(asked, compare=None), plan=plan, runs=tuple(runs), cells=found)


def test_a_grid_has_every_figure_once_and_marks_the_doubtful_one():
    told = results(("a", "b", "c"), (1, 2, 4))
    text = summary.grids(told)
    lines = text.splitlines()
    assert lines[0] == made.RATE
    assert lines[1].split() == ["target", "\\", "clients", "1", "2", "4"] or lines[1].split()[0] == "clients"
    assert sorted(word for line in lines[2:5] for word in line.split() if word.endswith("/s")) == sorted(
        f"{100 * number}/s" for number in range(1, 10)
    )
    assert text.count(" t") - text.count(" t TAINTED") >= 1
    assert "    creates as the client saw them" in lines
    assert made.RATE not in summary.tables.cell_table(told, summary.gridded(told))


def test_few_combinations_stay_a_line_each():
    told = results(("a", "b"), (1, 2))
    assert summary.grids(told) == ""
    assert summary.summary(told).count(made.RATE) >= 4
