"""`[machine]`: settings are in force while the load runs, and back after it, also where something goes wrong."""

import json
import os
from pathlib import Path

import pytest

from assay.experiment import read
from stage.experiment_texts import mistakes

FILE = """
title = "Settings"
repeats = 2
[machine]
sysctl."vm.stat_interval" = 7
[targets.disk]
kind = "directory"
path = "{path}"
[workloads.tool]
kind = "command"
argv = ["sh", "-c", "{words}"]
quiesce = "0 s"
[measures]
"tool.command.elapsed_ns" = {{}}
[factors]
"machine.dirty_background_bytes" = ["64 MiB", "128 MiB"]
"""
SEEN = "cat /proc/sys/vm/stat_interval /proc/sys/vm/dirty_background_bytes >> {path}/seen"
STRANGER = "echo 11 > /proc/sys/vm/stat_interval"
FILES = [Path("/proc/sys/vm", name) for name in ("stat_interval", "dirty_background_bytes", "dirty_background_ratio")]

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="settings of the machine need root")


def texts():
    return [path.read_text() for path in FILES]


def runs(bench):
    return [json.loads(path.read_text()) for path in sorted(bench.home.glob("lab/*/trials/*/attempt-*/run.json"))]


@pytest.mark.root
@needs_root
def test_settings_are_in_force_during_the_load_and_as_found_after_it(bench):
    room, before = bench.home / "room", texts()
    room.mkdir()
    (bench.home / "e.toml").write_text(FILE.format(path=room, words=SEEN.format(path=room)))
    done = bench.run("run", "e.toml", "--progress", "none")
    assert done.returncode == 0, done.stderr + done.stdout
    lines = (room / "seen").read_text().split()
    assert set(lines[::2]) == {"7"}
    assert set(lines[1::2]) == {str(64 << 20), str(128 << 20)}
    assert texts() == before
    assert "more than the factor differs" not in done.stdout, "what the lab set follows from the factor"


@pytest.mark.root
@needs_root
def test_a_trial_in_which_another_program_changes_a_setting_does_not_count(bench):
    room, before = bench.home / "room", texts()
    room.mkdir()
    (bench.home / "e.toml").write_text(FILE.format(path=room, words=STRANGER))
    try:
        done = bench.run("run", "e.toml", "--progress", "none")
        assert "another program changed" in done.stdout + done.stderr
        assert {run["outcome"] for run in runs(bench)} == {"failed"}
        assert texts()[1:] == before[1:]
        assert texts()[0] == "11\n", "what another program set is its own"
    finally:
        FILES[0].write_text(before[0])


HEAD = """title = "T"
[targets.d]
kind = "directory"
path = "/tmp"
[workloads.w]
kind = "bulk_io"
"""


def test_every_mistake_in_settings_is_told_with_its_place():
    found = mistakes(
        HEAD
        + """[machine]
swappiness = 400
governer = "performance"
dirty_bytes = "4 kB"
transparent_huge_pages = "sometimes"
hosts = ["nowhere"]
sysctl."vm.dirty_ratio" = 10
[factors]
"machine.boost" = [true, "off"]
"machine.dirty_bytes" = ["1 MiB", "2 MiB"]
""",
    )
    for words in ("at most 200", "governer", "at least", "'sometimes'", "nowhere", "'off'", "one of them: both set the same"):
        assert any(words in f"{one.found} {one.expected}" and one.line for one in found), words


def test_a_file_without_settings_is_the_same_experiment_as_before():
    plain = read.parse(HEAD, "e.toml")
    assert plain.machine is None
    assert read.parse(HEAD + "[machine]\n", "e.toml").digest == plain.digest
    assert read.parse(HEAD + "[machine]\nswappiness = 1\n", "e.toml").digest != plain.digest


def test_a_workload_may_have_the_name_of_the_table():
    found = read.parse(
        HEAD.replace("workloads.w", "workloads.machine") + '[factors]\n"machine.size" = ["1 MiB", "2 MiB"]\n', "e.toml"
    )
    assert found.machine is None
