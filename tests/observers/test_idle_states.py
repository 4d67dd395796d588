"""The observer of idle states: sums over processors, the slowest wake, text of another form, a real machine."""

import pytest

from assay.errors import EvidenceError
from assay.hosts.local import Local
from assay.observers.idle_states import MOST_CPUS, OBSERVER
from assay.records import Edge, Snapshot, Subject
from stage.observer_looks import look, replayed, the_series

CPU = "/sys/devices/system/cpu"


def placed(root, cpus=2):
    for cpu in range(cpus):
        for state, name, latency, usage in ((0, "POLL", 0, 5), (1, "C6", 133 + cpu, 100 * (cpu + 1))):
            folder = root / f"sys/devices/system/cpu/cpu{cpu}/cpuidle/state{state}"
            folder.mkdir(parents=True)
            for file, value in (("name", name), ("latency", latency), ("usage", usage)):
                (folder / file).write_text(f"{value}\n")
    (root / "sys/devices/system/cpu/cpuidle").mkdir(exist_ok=True)
    return Local(root=str(root))


def test_entries_are_summed_and_the_slowest_wake_counts(tmp_path):
    slept = {f"{CPU}/cpu1/cpuidle/state1/usage": lambda text: str(int(text) + 40)}
    looks = replayed(OBSERVER, placed(tmp_path), Subject(), {}, slept)
    evidence = OBSERVER.parse("h", "p", looks, Subject())
    assert list(the_series(evidence, "entries", "state:C6").value) == [0, 0, 40, 40]
    assert set(the_series(evidence, "wake_ns", "state:C6").value) == {134_000}
    assert list(the_series(evidence, "entries", "state:POLL").value) == [0] * 4


def test_of_many_processors_some_are_read(tmp_path):
    host = placed(tmp_path, cpus=MOST_CPUS + 4)
    cpus = {path.split("/")[5] for path in OBSERVER.read(host, Subject())}
    assert cpus == {f"cpu{number}" for number in range(MOST_CPUS)}


def test_what_cannot_be_read_is_refused_or_missing(tmp_path):
    host = placed(tmp_path)
    (tmp_path / "sys/devices/system/cpu/cpu0/cpuidle/state1/usage").write_text("many\n")
    with pytest.raises(EvidenceError, match="found 'many"):
        OBSERVER.parse("h", "p", [look(OBSERVER, host, Subject(), Edge.ARMED, 0)], Subject())
    evidence = OBSERVER.parse("h", "p", [Snapshot(edge=Edge.ARMED, at_ns=0, took_ns=1, raw={})], Subject())
    assert evidence.missing == {"idle.entries": "no idle state is readable"}


def test_a_host_that_has_no_choice_says_so(tmp_path):
    assert "a single idle state" in OBSERVER.available(Local(root=str(tmp_path)))
    assert OBSERVER.available(placed(tmp_path)) is None


@pytest.mark.skipif(OBSERVER.available(Local()) is not None, reason="this kernel does not choose between idle states")
def test_this_machine_sleeps():
    looks = [look(OBSERVER, Local(), Subject(), edge, at) for at, edge in enumerate((Edge.ARMED, Edge.LAST))]
    evidence = OBSERVER.parse("h", "p", looks, Subject())
    assert {one.metric for one in evidence.series} == {"entries", "wake_ns"}
