"""The load for observers of a directory server: it really runs, and one figure is the server's CPU time of a search."""

import json
import os

import pytest

from assay.hosts.local import Local
from assay.selftest import Request, observers, searches
from stage.dsio_stage import WHY_NOT

ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="capturing needs root")
SERVER = pytest.mark.skipif(searches.obstacle(Local()) is not None, reason="needs slapd and ldap-utils")


class Bare(Local):
    """A machine without slapd."""

    def exists(self, path):
        return "slapd" not in path and "schema" not in path


def test_only_observers_of_directories_get_their_load():
    every = observers.loads_of(("cpu", "directory_io", "wire"))
    assert set(every) == {*observers.LOADS, searches.NAME}
    assert every[searches.NAME] == ("directory_io", "wire")
    assert set(every.values()) == {("cpu",), ("directory_io", "wire")}
    assert list(observers.loads_of(("wire",))) == [searches.NAME]


def test_what_its_load_needs_is_named():
    assert searches.obstacle(Bare()) == "install slapd for its load"


def counted(tmp_path, observer):
    """What an observer of a trial counted last: (subject, metric) -> count."""
    run, observations = observers.conducted(searches.experiment((observer,)), tmp_path)
    (phase,) = (one for one in run.phases if one.measured)
    found = {
        (one.subject, one.metric): one.value[-1]
        for one in observations.series
        if (one.phase, one.layer) == (phase.name, observer)
    }
    assert found, observations.missing
    return found


@pytest.mark.root
@pytest.mark.slow
@SERVER
def test_a_search_has_cpu_time_of_both_ends(tmp_path):
    once = observers.once(searches.experiment(()), tmp_path)
    assert 5_000 < once.server_cpu_ns < 5_000_000
    assert 1_000 < once.cpu_ns < 5_000_000
    assert once.rate > 50
    assert [*tmp_path.iterdir()] == []


@pytest.mark.root
@pytest.mark.slow
@SERVER
@pytest.mark.skipif(WHY_NOT is not None, reason="needs bpftrace")
def test_a_trial_has_the_io_of_each_operation(tmp_path):
    found = counted(tmp_path, "directory_io")
    assert found["operation:search", "count"] >= searches.SEARCHES  # those of the looks at the server besides
    assert found["operation:search", "device_reads"] == 0
    assert found["", "lost_events"] == 0


@pytest.mark.root
@pytest.mark.slow
@SERVER
@ROOT
def test_a_trial_has_the_searches_on_the_wire(tmp_path):
    found = counted(tmp_path, "wire")
    assert found["", "search"] + found["", "capture_drops"] >= searches.SEARCHES


@pytest.mark.root
@pytest.mark.slow
@SERVER
@ROOT
def test_the_cost_of_the_wire_is_printed_in_pairs(capsys, monkeypatch):
    monkeypatch.setattr(searches, "EXPERIMENT", searches.EXPERIMENT.replace(str(searches.SEARCHES), "500"))
    monkeypatch.setattr(searches, "SEARCHES", 500)
    assert observers.measure_observers(Request(json_to="-"), "wire", 3) == 0
    found = json.loads(capsys.readouterr().out)["loads"]
    assert [one["figure"] for one in found] == [*observers.FIGURES]
    assert {(one["load"], one["pairs"]) for one in found} == {(searches.NAME, 3)}
    assert all(0 < one["low"] <= one["ratio"] <= one["high"] for one in found)
    assert all(one["cpu_ns_per_op"] > 100 for one in found), "the reader's own CPU time"
