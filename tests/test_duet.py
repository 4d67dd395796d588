"""Duets: two levels are prepared at once, their phases take turns, and nothing is left of either."""

import json
import math
import random
import signal
import subprocess
from dataclasses import replace
from types import SimpleNamespace

import pytest

from assay.analysis import cells, compare
from assay.errors import InputErrors
from assay.experiment import outlook, plan, read
from assay.notebook import read as notebook
from assay.plain import to_plain
from assay.rulekit import preparations
from stage.assay_process import wait_until
from stage.kill_moments import killed
from stage.sizes import few_and_many
from stage.targets_host import needs_root

DUET = """
title = "In turns"
question = "Are larger records faster?"
compare = "load.record_size"
design = "duet"
repeats = 3
slices = 4
observers = ["block", "process_io", "page_cache"]

[targets.disk]
kind = "loopfs"
filesystem = "ext4"
size = "48 MiB"

[workloads.load]
kind = "bulk_io"
operations = ["random_read"]
size = "8 MiB"
record_size = "4 KiB"
duration = "0.3 s"
quiesce = "0 s"

[factors]
"load.record_size" = ["4 KiB", "64 KiB"]

[measures]
"load.random_read.bytes_per_s" = {}
"""


def conducted(bench, *words):
    done = bench.run("run", "e.toml", "--json=-", *words)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), kept(bench)


def kept(bench):
    """The runs in the notebook, as plain values."""
    (folder,) = notebook.folders(bench.home / "lab")
    return [to_plain(run) for run in notebook.runs(folder)]


@needs_root
def test_each_level_is_prepared_once_for_all_its_slices_and_both_at_once(bench):
    (bench.home / "e.toml").write_text(DUET)
    answer, runs = conducted(bench)
    assert len(runs) == 24
    assert {run["outcome"] for run in runs} == {"finished"}
    laid_out = [run for run in runs if any(phase["name"] == "load.layout" for phase in run["phases"])]
    assert sorted(run["trial"]["preparation"] for run in laid_out) == [0, 0, 1, 1, 2, 2], "once for each level and preparation"
    of_first = {
        (run["trial"]["levels"]["load.record_size"], run["places"][0]["devices"][0])
        for run in runs
        if run["trial"]["preparation"] == 0
    }
    assert len(of_first) == len({device for _, device in of_first}) == 2, "two disks, one for each level"
    (one,) = answer["comparisons"]
    assert (one["ratio"]["n"], one["ratio"]["method"]) == (3, "paired preparations")
    assert "(3 preparations each)" in answer["answer"]["statement"]
    assert {cell["estimate"]["n"] for cell in answer["cells"]} == {3}
    assert one["ratio"]["value"] > 2
    assert bench.traces() == []


@needs_root
def test_a_slice_that_fails_costs_its_own_preparation_alone(bench):
    text = DUET.replace('"loopfs"\nfilesystem = "ext4"\nsize = "48 MiB"', f'"directory"\npath = "{bench.home}"')
    head, _, _ = text.partition("[workloads.load]")
    load = """[workloads.load]
kind = "command"
argv = ["sh", "-c", "n=$(cat count 2>/dev/null || echo 0); echo $((n + 1)) > count; [ $n != 2 ]"]
variables.level = "a"
[factors]
"load.variables.level" = ["a", "b"]
[measures]
"load.command.elapsed_ns" = {}
"""
    (bench.home / "e.toml").write_text(head.replace("load.record_size", "load.variables.level") + load)
    done = bench.run("run", "e.toml", "--json=-")
    runs = kept(bench)
    failed = [run for run in runs if run["outcome"] != "finished"]
    assert len(failed) == 6, done.stderr  # the third slice of six preparations, after which a directory is made anew
    assert len({run["places"][0]["address"] for run in runs}) == 12
    assert bench.traces() == []


@needs_root
def test_ctrl_c_undoes_both_preparations_and_resume_completes_the_schedule(bench):
    (bench.home / "e.toml").write_text(DUET)
    heard = bench.home / "news"
    with heard.open("w") as news:
        lab = bench.start("run", "e.toml", "--progress", "json", stdout=subprocess.DEVNULL, stderr=news)
        wait_until(lambda: heard.read_text().count('"event": "finished"') >= 3)
        lab.send_signal(signal.SIGINT)
        lab.wait(120)
    assert "All changes of the machine are undone" in heard.read_text()
    assert bench.traces() == []
    answer, runs = conducted(bench, "--resume")
    assert len([run for run in runs if run["outcome"] == "finished"]) == 24
    assert answer["comparisons"][0]["ratio"]["n"] == 3


@needs_root
@pytest.mark.slow
@few_and_many("points", 2, 20)
def test_nothing_is_left_of_a_duet_that_was_killed(bench, points):
    (bench.home / "e.toml").write_text(DUET)
    for _ in killed(bench, points):
        pass


# --------------------------------------------------------------------------------------------------- the file


def experiment(**changed):
    return replace(read.parse(DUET, "duet.toml"), **changed)


def test_the_schedule_has_slices_in_preparations_and_both_levels_in_each_block():
    made = plan.plan(experiment())
    assert (made.blocks, len(made.trials)) == (12, 24)
    assert [trial.preparation for trial in made.trials if trial.position % 2 == 0] == [0] * 4 + [1] * 4 + [2] * 4
    for block in range(12):
        assert len({trial.levels["load.record_size"] for trial in made.trials if trial.block == block}) == 2


def test_a_slice_takes_less_than_a_trial_of_its_own():
    duet = experiment()
    alone = replace(duet, slices=None)
    levels = {"load.record_size": 4096}
    assert outlook.trial_s(duet, levels) < 0.8 * outlook.trial_s(alone, levels)
    assert outlook.outlook(duet, plan.plan(duet)).effects[0].blocks == 3, "what can be shown depends on preparations"


def test_the_digest_of_other_experiments_is_what_it_was():
    assert "slices" not in read.parse(DUET.replace('design = "duet"\n', "").replace("slices = 4\n", ""), "x.toml").digest
    assert experiment().digest != replace(read.parse(DUET.replace("slices = 4", "slices = 5"), "x.toml")).digest


MISTAKES = """
title = "Wrong"
design = "duet"
budget = "1 h"
repeats = "until 3 %"
slices = 1
[targets.share]
kind = "nfs_ganesha"
[workloads.files]
kind = "metadata"
object = "file"
count = 100
[workloads.load]
kind = "bulk_io"
operations = ["write"]
size = "8 MiB"
[factors]
"files.count" = [100, 200, 300]
"""


def test_every_mistake_is_told_at_once_with_its_place():
    with pytest.raises(InputErrors) as error:
        read.parse(MISTAKES, "wrong.toml")
    told = str(error.value)
    for part in (
        "wrong.toml:4:1: found budget in a duet",
        "wrong.toml:5:11: found repeats = 'until 3 %' in a duet",
        "wrong.toml:6:10: found 1 for 'slices'",
        "found target share of kind nfs_ganesha in a duet",
        "found workload files in a duet: it changes what the next slice would begin with",
        "found workload load in a duet: its first slice writes a new file",
        "found no duration in a duet",
        "found 2 workloads in a duet",
        "found 3 levels of files.count in a duet; expected one factor with two levels",
    ):
        assert part in told, told


def test_more_slices_than_anybody_runs_are_refused_with_the_arithmetic():
    with pytest.raises(InputErrors, match=r"1,600,000 trials \(2 load.record_size x 800 repeats x 1,000 slices\)"):
        read.parse(DUET.replace("slices = 4", "slices = 1000").replace("repeats = 3", "repeats = 800"), "x.toml")


def test_slices_without_a_duet_are_refused():
    with pytest.raises(InputErrors, match="found slices = 4 without a duet"):
        read.parse(DUET.replace('design = "duet"\n', ""), "x.toml")


# --------------------------------------------------------------------------------------------- its statistics


def judged(number, trial):
    return SimpleNamespace(id=str(number), run=SimpleNamespace(trial=trial))


def test_slices_of_one_preparation_are_one_value():
    trials = plan.plan(experiment()).trials
    runs = {str(number): judged(number, trial) for number, trial in enumerate(trials)}
    first = [number for number, trial in enumerate(trials) if trial.levels["load.record_size"] == 4096]
    values = {str(number): 10.0 ** (1 + trials[number].preparation) for number in first}
    assert preparations.sample(values, runs) == pytest.approx([10.0, 100.0, 1000.0])
    assert preparations.mean([1.0, 4.0]) == pytest.approx(2.0)
    assert preparations.mean([0.0, 4.0]) == 2.0
    assert math.isinf(preparations.mean([1.0, math.inf]))


def test_intervals_hold_the_truth_where_preparations_differ_and_slices_resemble_each_other():
    """95 % intervals of 400 simulated duets: ratio 1.1, preparations apart by 5 %, and noise of which neighbours share most."""
    chance = random.Random(5)
    duet = experiment()
    trials = plan.plan(duet).trials
    (factor,) = duet.factors
    held = 0
    for _ in range(400):
        apart = {(prepared, level): chance.gauss(0, 0.05) for prepared in range(3) for level in factor.levels}
        noise, values = 0.0, {level: {} for level in factor.levels}
        for trial in trials:
            noise = 0.9 * noise + chance.gauss(0, 0.04)
            level = trial.levels[factor.path]
            logarithm = math.log(1.1) * (level == factor.levels[1]) + apart[trial.preparation, level] + noise
            values[level][str(trial.id)] = math.exp(logarithm)
        runs = {str(trial.id): judged(trial.id, trial) for trial in trials}
        arms = [SimpleNamespace(values=values[level], measure="m", levels={factor.path: level}) for level in factor.levels]
        pair = SimpleNamespace(baseline=arms[0], candidate=arms[1], runs=runs, factor=factor)
        (found,) = compare.paired(pair).contrasts
        low, high = compare.interval(found, 0.95)
        held += low <= math.log(1.1) <= high
    assert held >= 0.95 * 400 - 3 * math.sqrt(400 * 0.95 * 0.05), held
    assert cells.CONFIDENCE == 0.95
