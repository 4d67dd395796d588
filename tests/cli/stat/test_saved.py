"""`assay stat --save`: what is kept is read like any other notebook, and what cannot be compared stands apart."""

import json
import os
import threading
from dataclasses import replace

import pytest

from assay.cli.stat import saved
from assay.errors import BusyError
from assay.notebook.store import Store
from stage import notebook_records as made
from stage.assay_process import Bench

CACHED = ("--save=kept", "--claim", "tier=client-cache")


@pytest.fixture
def bench(tmp_path):
    (tmp_path / "data").write_bytes(os.urandom(8 << 20))
    (tmp_path / "data").read_bytes()
    return Bench(tmp_path)


def dd(size):
    return ("--", "dd", "if=data", "of=/dev/null", f"bs={size}")


def told(bench, verb, *words):
    done = bench.run(verb, *words, "--lab", "kept", "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_same_command_is_one_more_run_and_another_one_an_arm(bench):
    for size in ("1M", "1M", "64k", "1M", "64k"):
        done = bench.run("stat", *CACHED, *dd(size))
        assert done.returncode == 0, done.stderr
    assert "assay: kept as run 0005/1 of" in done.stderr
    (listed,) = told(bench, "list")["experiments"]
    assert (listed["runs"], listed["finished"], listed["trials"]) == (5, 5, 5)
    shown = told(bench, "show", "0003/1")
    assert shown["run"]["trial"]["levels"]["stat.argv"][-1] == "bs=64k"
    assert shown["verdicts"]["stat.read.bytes_per_s"]["claim"]["tier"] == "client-cache"
    (compared,) = told(bench, "compare")["comparisons"]
    assert (compared["baseline"][-1], compared["candidate"][-1]) == ("bs=1M", "bs=64k")
    assert bench.run("audit", "--lab", "kept").returncode == 0
    assert bench.run("report", "--lab", "kept").returncode == 0


def test_pairs_are_blocks(bench):
    done = bench.run("stat", *CACHED, "--repeat=3", "--vs", "dd if=data of=/dev/null bs=64k", *dd("1M"))
    assert "kept 6 runs, the last as 0006/1" in done.stderr
    (compared,) = told(bench, "compare")["comparisons"]
    assert compared["interleaved"]
    assert compared["ratio"]["n"] == 3


def test_what_cannot_be_compared_is_another_experiment(bench):
    bench.run("stat", *CACHED, *dd("1M"))
    bench.run("stat", "--save=kept", *dd("1M"))
    bench.run("stat", *CACHED, "--", "sh", "-c", "cat data > copy")
    (bench.home / "deeper").mkdir()
    (bench.home / "deeper" / "data").write_bytes(bytes(8 << 20))
    deeper = Bench(bench.home / "deeper")
    assert deeper.run("stat", "--save=../kept", "--claim", "tier=client-cache", *dd("1M")).returncode == 0
    assert [one["runs"] for one in told(bench, "list")["experiments"]] == [1, 1, 1, 1]


def test_a_run_that_failed_is_kept_as_such(bench):
    words = ("--reported", "([0-9.]+) MB/s", "--unit", "MB/s")
    done = bench.run("stat", "--save=kept", *words, "--", "sh", "-c", "cat data > /dev/null; echo 5 MB/s; exit 4")
    assert done.returncode == 4
    (listed,) = told(bench, "list")["experiments"]
    assert (listed["runs"], listed["finished"]) == (1, 0)
    assert "status 4" in told(bench, "show", "0001/1")["run"]["error"]


def test_without_a_name_it_is_the_notebook_of_every_other_verb(bench):
    bench.run("stat", "--save", *dd("1M"))
    assert bench.run("list").stdout.count("dd-if-data") == 1


def test_a_place_that_cannot_be_is_told_before_the_command_runs(bench):
    done = bench.run("stat", "--save=none/such", "--", "touch", "ran")
    assert (done.returncode, "none/such" in done.stderr, (bench.home / "ran").exists()) == (125, True, False)
    done = bench.run("stat", "--save=data", "--", "touch", "ran")
    assert (done.returncode, "no directory" in done.stderr, (bench.home / "ran").exists()) == (125, True, False)


def test_another_that_keeps_its_run_meanwhile_is_waited_for(tmp_path, monkeypatch):
    """Its folder is the one for the next arm, too: taken for none, that arm went into an experiment of its own."""
    one = made.experiment()
    other = replace(one, title="another command", digest="", factors=(replace(one.factors[0], levels=("other",)),))
    held = Store.create(tmp_path, one, made.plan(one), made.TEXT)
    monkeypatch.setattr(saved, "PATIENCE_S", 0.0)
    with pytest.raises(BusyError, match="being written by process"):
        saved.opened(tmp_path, other)
    monkeypatch.undo()
    release = threading.Timer(0.3, held.handle.close)
    release.start()
    with saved.opened(tmp_path, other) as store:
        assert store.folder == held.folder
    release.join()
    held.close()
    assert [path.name for path in tmp_path.iterdir()] == [held.folder.name]
