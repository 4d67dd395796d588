"""The observer of the clock: the time of booting at each look, a host that does not tell it."""

import pytest

from assay.errors import EvidenceError
from assay.fleet.hosts.local import Local
from assay.observers.clock import OBSERVER
from assay.records import Edge, Subject
from observer_looks import look, recorded


def host(tmp_path, text):
    (tmp_path / "proc").mkdir(exist_ok=True)
    (tmp_path / "proc" / "stat").write_text(text)
    return Local(root=str(tmp_path))


def test_a_recorded_host_tells_when_it_was_booted():
    looks = [look(OBSERVER, recorded("cgroup_v1"), Subject(), edge, at) for at, edge in ((5, Edge.ARMED), (9, Edge.LAST))]
    (series,) = OBSERVER.parse("h", "p", looks, Subject()).series
    assert (series.layer, series.metric, list(series.at_ns)) == ("clock", "boot_time_s", [5 * 10**9, 9 * 10**9])
    assert series.value[0] == series.value[1] > 1e9


def test_a_clock_that_was_set_moves_it(tmp_path):
    looks = [look(OBSERVER, host(tmp_path, f"cpu 1\nbtime {at}\n"), Subject(), Edge.POLL, at) for at in (100, 97)]
    (series,) = OBSERVER.parse("h", "p", looks, Subject()).series
    assert list(series.value) == [100.0, 97.0]


def test_what_is_not_there_is_said(tmp_path):
    empty = Local(root=str(tmp_path))
    assert "not visible" in OBSERVER.available(empty)
    found = OBSERVER.parse("h", "p", [look(OBSERVER, empty, Subject(), Edge.ARMED, 0)], Subject())
    assert (found.series, list(found.missing)) == ((), ["clock.boot_time_s"])
    with pytest.raises(EvidenceError, match="no line btime"):
        OBSERVER.parse("h", "p", [look(OBSERVER, host(tmp_path, "cpu 1\n"), Subject(), Edge.ARMED, 0)], Subject())


def test_this_machine_can_be_looked_at():
    assert OBSERVER.available(Local()) is None
    assert OBSERVER.parse("h", "p", [look(OBSERVER, Local(), Subject(), Edge.ARMED, 0)], Subject()).series
