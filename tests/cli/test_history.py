"""`assay history`: many notebooks of one experiment, the gate, the picture, and what is refused."""

import functools
import json
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from assay.notebook.store import Store
from stage import notebook_records as made
from stage.assay_process import COMMAND, Bench
from stage.cli_notebook import phases
from stage.rows import each


def executed(lab, rate, day, title="Ext4 or xfs?", spread=1):
    """A notebook in which the experiment ran on a day; `spread` thousandths of the rate lie between two blocks."""
    asked = made.experiment(title=title, levels=("ext4",))
    with Store.create(lab, asked, made.plan(asked), made.TEXT) as kept:
        for trial in kept.plan.trials:
            run = made.run(trial, phases=phases(rate * (1 + spread * trial.block / 1000)))

            kept.add(replace(run, started_utc=f"2026-01-{day:02d}T01:00:{trial.block:02d}+00:00"), made.observations(round(rate)))


@pytest.fixture
def bench(tmp_path):
    found = Bench(tmp_path)
    for day, rate in enumerate((1000, 1010, 990, 1005, 995, 1002, 800), start=1):
        executed(tmp_path / "history" / f"c{day}", rate, day)
    return found


def labs(bench, most=7):
    return [f"history/c{day}" for day in range(most, 0, -1)]


def test_the_newest_execution_is_worse_and_the_gate_says_so(bench):
    done = bench.run("history", *labs(bench), "--gate", "--json=told.json", "--picture=h.html")
    assert done.returncode in {3, 4}, done.stderr
    assert " worse in c7 than in c1: " in done.stdout
    assert "7 executions from 2026-01-01 to 2026-01-07" in done.stdout
    told = json.loads((bench.home / "told.json").read_text())
    (rate,) = [one for one in told["series"] if one["measure"] == made.RATE]
    assert rate["worse"]
    assert rate["unexpected"]
    assert rate["ratio"] == pytest.approx(0.8, rel=0.02)
    assert [one["name"] for one in told["executions"]] == [f"c{day}" for day in range(1, 8)]
    page = (bench.home / "h.html").read_text()
    assert page.count("<circle") >= 7
    assert " worse in c7" in page


def test_before_it_nothing_is_worse(bench):
    done = bench.run("history", *labs(bench, 6), "--measure", made.RATE, "--json=told.json")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("No figure is worse in c6 than in c1: 6 executions")
    assert [one["measure"] for one in json.loads((bench.home / "told.json").read_text())["series"]] == [made.RATE]


@each(
    "rates now spread status",
    ((1000, 1000, 100), 100, 1, 4),  # ten times slower
    ((1000, 1000, 1010), 1010, 1, 0),
    ((1000, 1000, 940), 940, 40, 0),  # 6 % less, and the intervals overlap
    ((1000, 1000, 400), 400, 900, 4),  # their intervals overlap, too, but nothing twice as bad is green
)
def test_with_few_executions_the_intervals_of_two_decide(tmp_path, rates, now, spread, status):
    bench = Bench(tmp_path)
    for day, rate in enumerate(rates, start=1):
        executed(tmp_path / "history" / f"c{day}", rate, day, spread=spread)
    done = bench.run("history", *labs(bench, 3), "--gate", "--measure", made.RATE, "--json=told.json")
    (rate,) = json.loads((bench.home / "told.json").read_text())["series"]
    assert done.returncode == status, done.stdout
    assert rate["ratio"] == pytest.approx(now / rates[0], rel=0.05)
    assert "3 of 6" in done.stdout
    assert rate["undecided"] == (spread > 1)


def test_a_level_that_is_accepted_is_the_good_one(bench):
    told = bench.run("history", *labs(bench), "--good=c7", "--json", "--measure", made.RATE)
    assert json.loads(told.stdout)["good"] == "c7"


def test_what_is_no_history_is_refused(bench):
    done = bench.run("history", "history/c1")
    assert (done.returncode, "is the first execution" in done.stdout) == (0, True)
    executed(bench.home / "history" / "c1", 5, 9, title="Another")
    done = bench.run("history", *labs(bench))
    assert done.returncode == 2
    assert "expected --title, one of: 'Another', 'Ext4 or xfs?'" in " ".join(done.stderr.split())
    done = bench.run("history", *labs(bench), "--title=Ext4 or xfs?", "--good=c9")
    assert "expected one of: c1, c2, c3" in done.stderr
    assert "ending" in bench.run("history", *labs(bench), "--picture=x.pdf").stderr
    assert "no figure like" in bench.run("history", *labs(bench), "--title=Ext4 or xfs?", "--measure=x*").stderr


def test_the_job_of_the_manual_runs(tmp_path):
    page = (Path(__file__).parents[2] / "docs" / "howto" / "ci.md").read_text()
    file = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)[0]
    job = re.findall(r"```sh\n(.*?)```", page, re.DOTALL)[0]
    (tmp_path / "nightly.toml").write_text(file.replace("repeats = 5", "repeats = 1"))
    job = job.replace("--gate", "").replace("git rev-parse --short HEAD", "echo abc")
    script = f"assay() {{ {COMMAND[0]} -c '{COMMAND[-1]}' \"$@\"; }}\n{job}"
    call = functools.partial(subprocess.run, ["sh", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    first, second = (call(env=Bench(tmp_path).environment()) for _ in range(2))
    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    assert "is the first execution: there is nothing yet to compare it with" in first.stdout
    assert re.search(r"(No figure is (known to be )?worse|figures? (is|are) worse|looks worse) .*\S+-abc", second.stdout)
    assert (tmp_path / "history.html").exists()
