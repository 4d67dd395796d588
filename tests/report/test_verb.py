"""`assay report`: what it refuses, and how curves of interleaved operations become curves over objects."""

import os
import re
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from assay import measures
from assay.laboratory import pages as verb
from assay.measures import CurvePoint
from assay.records import Direction, Observations, OperationTotal
from assay_process import Bench
from report import fixture


def total(operation, count):
    return OperationTotal(operation=operation, count=count, bytes=0, errors=0, busy_ns=1, first_ns=0, last_ns=1)


def points(*objects):
    return [CurvePoint(objects=one, ns_per_operation=1.0, active=1, clients=1) for one in objects]


@pytest.fixture
def judged():
    made = fixture.results(1).runs[0]
    phase = made.run.phases[0]
    clients = tuple(replace(one, operations=(total("create", 20_000), total("list", 40))) for one in phase.clients)
    return replace(made, run=replace(made.run, phases=(replace(phase, clients=clients), *made.run.phases[1:])))


def test_listings_stand_at_the_objects_they_list_and_bulk_has_none(judged, monkeypatch):
    phase = judged.run.phases[0]
    assert verb._curve(("0001/1", phase, "list"), points(1.0, 40.0)).objects == (500.0, 20_000.0)
    assert verb._curve(("0001/1", phase, "create"), points(1.0, 40.0)).objects == (1.0, 40.0)
    monkeypatch.setattr(measures, "curve", lambda *_: points(1.0, 2.0))
    assert judged.run.phases[1].directions == {"read": Direction.READ}
    assert {one.operation for one in verb.curves([judged], lambda run: Observations())} == {"create", "list"} & set(
        judged.run.phases[0].operations
    )


NOTHING = """
title = "Nothing at all"
question = "How fast is nothing?"
repeats = 1
observers = []

[targets.here]
kind = "directory"
path = "."

[workloads.w]
kind = "null"
ops = 1000
quiesce = "0 s"

[measures]
"w.null.ops_per_s" = {}
"""


def test_the_command_of_do_it_again_does_it_again(tmp_path):
    """In the notebook itself the schedule is complete: there the same command is refused."""
    bench = Bench(tmp_path)
    (tmp_path / "it.toml").write_text(NOTHING)
    assert bench.run("run", "it.toml", "--lab", "a lab").returncode == 0
    printed = bench.run("report", "--lab", "a lab", "--format", "md", "--out", "-").stdout
    line = re.search(r"- Command: (.*)", printed)[1].replace("\\", "")
    words = shlex.split(line)
    assert words[:5] == ["cd", str(tmp_path), "&&", "assay", "run"]
    assert bench.run(*words[4:6], "--lab", "a lab").returncode == 2
    elsewhere = tmp_path / "else where"
    elsewhere.mkdir()
    found = bench.environment(PATH=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    done = subprocess.run(
        ["bash", "-c", line], cwd=elsewhere, env=found, capture_output=True, text=True, timeout=300, check=False
    )
    assert (done.returncode, done.stderr.count("found")) == (0, 0), done.stderr
    assert len(list(tmp_path.glob("again/*/trials/*"))) == 1
    assert not list(elsewhere.iterdir())


def test_a_command_of_stat_is_done_again_by_stat_and_a_sitting_names_its_level(tmp_path):
    planned = SimpleNamespace(plan=SimpleNamespace(sittings=("on the rack", "off")))
    assert verb.command(tmp_path, planned).endswith("/experiment.toml --lab again --sitting 'on the rack'")
    assert verb.command(tmp_path, planned).startswith("assay run /")
    (tmp_path / "experiment.toml").write_text("# assay stat -- cp -r 'a b' c\n")
    assert verb.command(tmp_path, planned) == "assay stat -- cp -r 'a b' c"
