"""The observer of the clock: the time of booting at each look, a host that does not tell it."""

import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from assay.errors import EvidenceError
from assay.hosts.local import Local
from assay.observers.clock import OBSERVER
from assay.records import Edge, Snapshot, Subject
from stage.observer_looks import look, recorded, the_series


def host(tmp_path, text):
    (tmp_path / "proc").mkdir(exist_ok=True)
    (tmp_path / "proc" / "stat").write_text(text)
    return Local(root=str(tmp_path))


def booted(found):
    return the_series(found, "boot_time_s")


def test_a_host_that_sleeps_stops_the_clock_of_the_looks_and_not_its_uptime():
    texts = {at: {"/proc/uptime": f"{up} 9.0\n"} for at, up in ((5, 1005.01), (7, 1007.0), (9, 1021.02))}
    looks = [Snapshot(edge=Edge.POLL, at_ns=at * 10**9, took_ns=1, raw=raw) for at, raw in texts.items()]
    slept = the_series(OBSERVER.parse("h", "p", looks, Subject()), "asleep_s")
    assert list(slept.value) == pytest.approx([1000.01, 1000.0, 1012.02])
    awake = OBSERVER.parse(
        "h", "p", [look(OBSERVER, Local(), Subject(), Edge.POLL, time.monotonic()) for _ in range(9)], Subject()
    )
    assert max(the_series(awake, "asleep_s").value) - min(the_series(awake, "asleep_s").value) < 0.1


def test_a_recorded_host_tells_when_it_was_booted():
    looks = [look(OBSERVER, recorded("cgroup_v1"), Subject(), edge, at) for at, edge in ((5, Edge.ARMED), (9, Edge.LAST))]
    series = booted(OBSERVER.parse("h", "p", looks, Subject()))
    assert (series.layer, series.metric, list(series.at_ns)) == ("clock", "boot_time_s", [5 * 10**9, 9 * 10**9])
    assert series.value[0] == series.value[1] > 1e9


def test_a_clock_that_was_set_or_stepped_shows(tmp_path):
    looks = [look(OBSERVER, host(tmp_path, f"cpu 1\nbtime {at}\n"), Subject(), Edge.POLL, at) for at in (100, 97)]
    series = booted(OBSERVER.parse("h", "p", looks, Subject()))
    assert list(series.value) == [100.0, 97.0]
    stepped = host(tmp_path, "cpu 1\nbtime 100\n")
    stepped.syscalls = Stepped([1_700_000_000_000_000_000, 1_700_000_000_002_000_000])
    series = booted(OBSERVER.parse("h", "p", [look(OBSERVER, stepped, Subject(), Edge.POLL, at) for at in (1, 2)], Subject()))
    assert series.value[1] - series.value[0] == pytest.approx(0.002, abs=1e-6)
    assert series.source == "clock:clock_gettime"


@dataclass
class Stepped:
    """System calls of a host whose wall clock was set between looks."""

    told: list

    def booted_ns(self):
        return self.told.pop(0)


def test_the_clocks_of_this_machine_agree_with_what_its_kernel_says():
    looks = [look(OBSERVER, Local(), Subject(), Edge.POLL, at) for at in range(100)]
    series = booted(OBSERVER.parse("h", "p", looks, Subject()))
    text = Path("/proc/stat").read_text()
    assert abs(series.value[0] - int(text.partition("btime ")[2].split()[0])) <= 1
    assert max(series.value) - min(series.value) < 0.001
    assert OBSERVER.available(Local()) is None
    assert OBSERVER.parse("h", "p", [look(OBSERVER, Local(), Subject(), Edge.ARMED, 0)], Subject()).series


def test_what_is_not_there_is_said(tmp_path):
    empty = Local(root=str(tmp_path))
    assert "invisible" in OBSERVER.available(empty)
    found = OBSERVER.parse("h", "p", [look(OBSERVER, empty, Subject(), Edge.ARMED, 0)], Subject())
    assert (found.series, list(found.missing)) == ((), ["clock.boot_time_s"])
    with pytest.raises(EvidenceError, match="no line btime"):
        OBSERVER.parse("h", "p", [look(OBSERVER, host(tmp_path, "cpu 1\n"), Subject(), Edge.ARMED, 0)], Subject())
