"""The observer of the processors' speed: the fastest piece, counters and clock rates of a made-up host, the real work."""

import os
from dataclasses import dataclass

import pytest

from assay.errors import EvidenceError
from assay.hosts.kernel_calls import PIECES, timed_pieces
from assay.hosts.local import Local
from assay.observers.cpu_speed import OBSERVER
from assay.records import Edge, FactClass, Subject, When
from stage.observer_looks import look

FILES = {
    "cpu0/thermal_throttle/core_throttle_count": "3\n",
    "cpu1/thermal_throttle/core_throttle_count": "4\n",
    "cpu0/thermal_throttle/package_throttle_count": "1\n",
    "cpu0/cpufreq/scaling_cur_freq": "2100000\n",
    "cpu1/cpufreq/scaling_cur_freq": "2300000\n",
    "cpu0/cpufreq/scaling_governor": "performance\n",
    "cpu1/cpufreq/scaling_governor": "powersave\n",
    "cpufreq/boost": "1\n",
    "cpuidle/current_driver": "haltpoll\n",
}


@dataclass
class Timed:
    """System calls of a host on which the pieces took this long."""

    pieces: tuple

    def spin(self):
        return self.pieces


@pytest.fixture
def host(tmp_path):
    for path, text in FILES.items():
        file = tmp_path / "sys/devices/system/cpu" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return Local(root=str(tmp_path))


def facts(host, edge=Edge.TRIAL_START):
    return OBSERVER.parse("h", "", [look(OBSERVER, host, Subject(), edge, 0)], Subject()).facts


def test_counters_are_summed_and_the_fastest_piece_tells(host):
    assert {fact.key: fact.value for fact in facts(host)} == {
        "speed.throttled.core": "7",
        "speed.throttled.package": "1",
        "speed.mhz": "2200",
        "speed.governor": "performance powersave",
    }
    assert {fact.fact_class for fact in facts(host)} == {FactClass.NOISE}
    host.syscalls = Timed((410_000, 400_000, 900_000))
    assert ("speed.piece_ns", "400000") in {(fact.key, fact.value) for fact in facts(host)}
    assert {fact.when for fact in facts(host, Edge.TRIAL_END)} == {When.AFTER}
    assert {fact.when for fact in facts(host)} == {When.BEFORE}


def test_what_cannot_be_read_is_said(host, tmp_path):
    (tmp_path / "sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq").write_text("<unknown>\n")
    with pytest.raises(EvidenceError, match="found '<unknown>' in scaling_cur_freq"):
        facts(host)
    assert "needs Assay on that host" in OBSERVER.available(Local(root=str(tmp_path / "bare")))
    assert OBSERVER.available(Local()) is None


def test_the_real_work_is_timed_on_one_processor_and_the_thread_is_free_again():
    allowed = os.sched_getaffinity(0)
    pieces = timed_pieces()
    assert len(pieces) == PIECES
    assert min(pieces) > 10_000, "a piece is much longer than a reading of the clock"
    assert os.sched_getaffinity(0) == allowed
