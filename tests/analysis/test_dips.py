"""Dips over grids: a planted one is named with its neighbours; noise, cliffs and slopes are none."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.analysis.cells import cells
from assay.analysis.dips import candidates, dips
from assay.answer.wording.comparison import dip
from assay.cli import summary
from assay.notebook import read as notebook
from assay.notebook.store import Store
from assay.records import Factor, VerdictState
from assay.report import markdown
from stage import grid_cases as made
from stage import notebook_records as records
from stage.rows import each
from stage.sizes import chance, few_and_many

KIB, MIB = made.KIB, made.MIB


def said(one):
    return dip(made.experiment(measures=(made.RATE, made.LATENCY)), one)


def found_in(surface, cv=0.02, seed=1, blocks=5, **changes):
    asked = made.experiment(**changes)
    runs = made.runs_of(asked, blocks, made.noisy(surface, cv, np.random.default_rng(seed)))
    return dips(asked, cells(asked, records.plan(asked, blocks), runs, made.no_evidence), runs)


def test_a_planted_dip_is_named_along_both_factors_and_for_a_latency_above():
    by_size, by_record = found_in(made.with_dip)
    assert (by_size.factor, by_record.factor) == (made.FILE, made.RECORD)
    assert by_record.neighbours == (32 * KIB, 128 * KIB)
    assert by_record.levels == {made.FILE: 128 * MIB, made.RECORD: 64 * KIB}
    assert by_size.depth.low < 0.7 < by_size.depth.high
    assert by_size.depth.n == 5
    assert by_size.p_value < by_size.adjusted_p_value < 0.05
    assert said(by_record).startswith(
        "file random read: throughput, file.size = 128 MiB: file.record_size = 64 KiB gives 0.73 times (95 % interval 0.72 to "
    )
    assert said(by_record).endswith("the figure of its neighbours 32 KiB and 128 KiB")
    found = found_in(made.with_dip, measures=(made.LATENCY,))
    assert len(found) == 2
    assert all(one.depth.low > 1.3 for one in found)
    assert said(found[0]).endswith("; lower is better")
    (found,) = found_in(made.with_dip, files=(128 * MIB,))
    assert found.factor == made.RECORD


def cliff(record, size):
    return 1e9 if record <= 64 * KIB else 2e8


@few_and_many("grids", 40, 150)
@each("surface", made.flat, made.concave, cliff, lambda record, size: 1e9 / record)
def test_noise_slopes_and_cliffs_are_no_dips(surface, grids):
    asked = made.experiment()
    runs = made.runs_of(asked, 5, lambda trial, measure: 1.0)
    truth = np.array([surface(int(one.run.trial.levels[made.RECORD]), int(one.run.trial.levels[made.FILE])) for one in runs])
    draw = np.random.default_rng(4)
    named = sum(
        bool(dips(asked, made.fast_cells(asked, runs, truth * np.exp(draw.normal(0, 0.05, len(runs)))), runs))
        for _ in range(grids)
    )
    assert named / grids <= 0.05 + (chance(0.05, grids, errors=1) if grids < 150 else 0)


@few_and_many("grids", 20, 60)
def test_five_blocks_find_most_dips_of_seven_tenths(grids):
    asked = made.experiment()
    runs = made.runs_of(asked, 5, lambda trial, measure: 1.0)
    places = [(int(one.run.trial.levels[made.RECORD]), int(one.run.trial.levels[made.FILE])) for one in runs]
    truth = np.array([made.with_dip(*place) for place in places])
    draw = np.random.default_rng(5)
    found = 0
    for _ in range(grids):
        named = dips(asked, made.fast_cells(asked, runs, truth * np.exp(draw.normal(0, 0.05, len(runs)))), runs)
        found += any((one.levels[made.RECORD], one.levels[made.FILE]) == made.PLANTED for one in named)
    assert found / grids > 0.8


@settings(max_examples=15, deadline=None)
@given(st.floats(0.2, 1.5), st.integers(0, 2**32 - 1))
def test_a_row_that_only_rises_or_falls_has_none_even_without_noise(power, seed):
    sign = 1 if seed % 2 else -1
    assert found_in(lambda record, size: 1e3 * record ** (sign * power), cv=1e-9, seed=seed, files=(MIB,)) == ()


def test_what_does_not_matter_or_cannot_be_tested_is_not_named():
    def shallow(record, size):
        return 0.97 if record == 64 * KIB else 1.0

    assert found_in(shallow, cv=0.001, files=(MIB,)) == ()
    asked = made.experiment(files=(MIB,))
    runs = made.runs_of(asked, 5, made.noisy(shallow, 0.001, np.random.default_rng(1)))
    assert len(dips(replace(asked, matters_share=0.01), cells(asked, records.plan(asked, 5), runs, made.no_evidence), runs)) == 1
    assert found_in(made.with_dip, cv=1e-6, blocks=2) == ()
    asked = made.experiment(files=(MIB,))
    asked = replace(asked, factors=(Factor(path="file.layout", levels=("a", "b", "c")),))
    runs = made.runs_of(asked, 5, lambda trial, measure: 1.0 if trial.levels["file.layout"] != "b" else 0.1)
    table = cells(asked, records.plan(asked, 5), runs, made.no_evidence)
    assert list(candidates(asked, table, {one.id: one for one in runs})) == []
    assert found_in(lambda record, size: 0.5 if record in (8 * KIB, 256 * KIB) else 1.0, files=(MIB,)) == ()


def test_runs_that_do_not_count_make_no_dip():
    asked = made.experiment(files=(MIB,))
    runs = made.runs_of(asked, 5, made.noisy(lambda r, s: 0.5 if r == 64 * KIB else 1.0, 0.01, np.random.default_rng(2)))
    plan = records.plan(asked, 5)
    assert len(dips(asked, cells(asked, plan, runs, made.no_evidence), runs)) == 1
    lies = tuple(
        replace(one, verdicts={name: replace(v, state=VerdictState.INVALID) for name, v in one.verdicts.items()})
        if one.run.trial.levels[made.RECORD] == 64 * KIB
        else one
        for one in runs
    )
    assert dips(asked, cells(asked, plan, lies, made.no_evidence), lies) == ()


def test_unequal_steps_are_interpolated_by_logarithm():
    """On a straight line in logarithms the interpolation gives the cell itself, whatever the steps."""
    asked = made.experiment(records=(8 * KIB, 16 * KIB, 256 * KIB), files=(MIB,))
    runs = made.runs_of(asked, 5, made.noisy(lambda record, size: 1e3 * math.sqrt(record), 1e-6, np.random.default_rng(3)))
    table = cells(asked, records.plan(asked, 5), runs, made.no_evidence)
    (one,) = candidates(asked, table, {one.id: one for one in runs})
    assert one.contrast.depth.difference == pytest.approx(0.0, abs=1e-4)


def test_the_notebook_keeps_them_and_takes_no_answers_without(tmp_path):
    whole = made.results()
    with Store.create(tmp_path, whole.experiment, whole.plan, "title = 'Reading at random'") as kept:
        kept.derive("test", replace(whole, runs=()))
        folder = kept.folder
    again = notebook.results(folder, "test")
    assert again.dips == whole.dips
    assert len(again.dips) == 4
    (path,) = folder.glob("derived/*/answers.json")
    found = json.loads(path.read_text())
    del found["dips"]
    path.write_text(json.dumps(found))
    old = notebook.results(folder, "test")
    assert (old.dips, old.cells) == ((), ()), "answers of another form are made anew"


def test_terminal_and_markdown_name_each():
    shown = made.results()
    text = summary.summary(shown)
    lines = [line for line in text.splitlines() if line.startswith("DIP ")]
    assert len(lines) == 4
    assert all("64 KiB" in line and "(Holm-adjusted p = " in line for line in lines)
    assert markdown.render(shown).count("the figure of its neighbours") == 4
    assert shown.dips[1].neighbours == (32 * KIB, 128 * KIB)
