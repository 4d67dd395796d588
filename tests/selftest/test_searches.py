"""The load for observers of a directory server: it really runs, and the figure is the server's CPU time of a search."""

import pytest

from assay.hosts.local import Local
from assay.selftest import observers, searches
from dsio_stage import WHY_NOT


class Bare(Local):
    """A machine without slapd."""

    def exists(self, path):
        return "slapd" not in path and "schema" not in path


def test_only_observers_of_directories_get_their_load():
    both = observers.loads_of(("cpu", "directory_io"))
    assert set(both) == {*observers.LOADS, searches.NAME}
    assert both[searches.NAME] == ("directory_io",)
    assert set(both.values()) == {("cpu",), ("directory_io",)}
    assert list(observers.loads_of(("directory_io",))) == [searches.NAME]


def test_what_its_load_needs_is_named():
    assert searches.obstacle(Bare()) == "install slapd for its load"


@pytest.mark.root
@pytest.mark.slow
@pytest.mark.skipif(searches.obstacle(Local()) is not None, reason="needs slapd and ldap-utils")
def test_a_search_has_cpu_time(tmp_path):
    once = observers.of_server(searches.experiment(str(tmp_path), ()))
    assert 5_000 < once.cpu_ns < 5_000_000


@pytest.mark.root
@pytest.mark.slow
@pytest.mark.skipif((searches.obstacle(Local()) or WHY_NOT) is not None, reason="needs slapd, ldap-utils and bpftrace")
def test_a_trial_has_the_io_of_each_operation(tmp_path):
    run, observations = observers.conducted(searches.experiment(str(tmp_path), ("directory_io",)))
    (phase,) = (one for one in run.phases if one.measured)
    found = {
        (one.subject, one.metric): one.value[-1]
        for one in observations.series
        if (one.phase, one.layer) == (phase.name, "directory_io")
    }
    assert found["operation:search", "count"] == searches.SEARCHES
    assert found["operation:search", "device_reads"] == 0
    assert found["operation:bind", "count"] == 1
    assert found["", "lost_events"] == 0
