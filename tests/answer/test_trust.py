"""Trust in one unit: each cell has one verdict, the same in bar, table, headline and terminal; noise is told once."""

import re
from dataclasses import replace

from assay.analysis.cells import cells
from assay.answer import trust
from assay.answer.answer import answer
from assay.answer.wording.trust import noisy, trusted
from assay.cli import summary
from assay.records import Meaning, Observations, Results, Severity, State, VerdictState
from assay.report import listing, markdown
from stage import notebook_records as made


def results(*kinds):
    """An experiment of one measure at so many numbers of clients; each kind is what all runs of its cell are."""
    asked = replace(made.experiment(("ext4",), clients=tuple(range(1, len(kinds) + 1))), compare=None)
    plan = made.plan(asked, 3)
    by_clients = dict(enumerate(kinds, 1))
    runs = tuple(
        by_clients[trial.levels["clients"]](made.judged(made.run(trial), {made.RATE: 100.0 + trial.id})) for trial in plan.trials
    )
    return Results(experiment=asked, plan=plan, runs=runs, cells=cells(asked, plan, runs, lambda _: Observations()))


def sound(one):
    return one


def false(one):
    return made.judged(one.run, {name: verdict.value for name, verdict in one.verdicts.items()}, VerdictState.INVALID)


def carried_over(one):
    """An INVALID run with which nothing is wrong but work of an earlier trial."""

    def spoiled(verdict):
        left = replace(verdict.findings[0], part="window", meaning=Meaning.CARRY_OVER, severity=Severity.INVALIDATES)
        return replace(verdict, state=VerdictState.INVALID, findings=(replace(left, state=State.FAIL),))

    return replace(one, verdicts={name: spoiled(verdict) for name, verdict in one.verdicts.items()})


def test_a_cell_has_one_verdict_however_many_runs_it_has():
    found = results(sound, sound, made.disturbed, false)
    counts = {state: count for state, count in answer(found).counts if count}
    assert counts == {VerdictState.SOUND: 2, VerdictState.TAINTED: 1, VerdictState.INVALID: 1}
    rows = [row.state for row in listing.figures(found)]
    assert {state: rows.count(state) for state in counts} == counts
    assert trusted(answer(found)) == "2 of 4 figures SOUND, 1 TAINTED, 1 INVALID"
    assert "2 of 4 figures SOUND, 1 TAINTED, 1 INVALID" in summary.summary(found)
    (table,) = re.findall(r"## How far the figures can be trusted\n\n(.*?)(?:\n\n|$)", markdown.render(found), re.DOTALL)
    assert "| SOUND | 2 |" in table
    assert "| INVALID | 1 |" in table


def test_all_alike_is_said_in_one_number():
    assert trusted(answer(results(sound, sound))) == "2 figures SOUND"
    nothing = replace(results(sound), runs=(), cells=())
    assert trusted(answer(nothing)) == "no figures"


def test_disturbed_is_never_called_false():
    found = results(carried_over, false)
    assert [trust.state_of(found, cell) for cell in found.cells] == [VerdictState.TAINTED, VerdictState.INVALID]
    assert [row.state for row in listing.figures(found)] == [VerdictState.TAINTED, VerdictState.INVALID]


def test_noise_is_told_once_with_the_runs_that_it_may_have_changed():
    found = results(made.disturbed, sound, made.disturbed)
    (line,) = noisy(answer(found))
    assert line == "Noise: steal (N02) in 6 of 9 runs"
    assert summary.summary(found).count(line) == 1
    assert all("but steal" not in row.label for row in listing.figures(found))
    assert list(noisy(answer(results(sound)))) == []
