import pytest

from assay.errors import EvidenceError
from assay.hosts.local import Local
from assay.observers.pressure import OBSERVER
from assay.records import Edge, Subject
from stage.observer_looks import bumped, look, recorded, replayed, the_series

IO = "/proc/pressure/io"


def parsed(*changes):
    return OBSERVER.parse("h", "p", replayed(OBSERVER, recorded("cgroup_v1"), Subject(), *changes), Subject())


def test_totals_become_ns_and_a_kernel_without_psi_says_so():
    evidence = parsed({IO: bumped(r"full .*total=(\d+)", 7)})
    assert list(the_series(evidence, "io_full_ns").value) == [0, 7000, 7000, 7000]
    assert list(the_series(evidence, "io_some_ns").value) == [0, 0, 0, 0]
    assert not evidence.missing
    assert "psi=1" in OBSERVER.available(recorded("no_psi"))
    assert OBSERVER.available(recorded("cgroup_v1")) is None
    if reason := OBSERVER.available(Local()):
        pytest.skip(reason)
    looks = [look(OBSERVER, Local(), Subject(), edge, at) for at, edge in enumerate((Edge.ARMED, Edge.LAST))]
    evidence = OBSERVER.parse("h", "p", looks, Subject())
    assert len(evidence.series) + len(evidence.missing) == len(OBSERVER.gives)


def test_a_falling_total_or_unknown_text_is_refused(subtests):
    for change in [bumped(r"some .*total=(\d+)", -1), lambda _: "most total=3\n", lambda _: "some total=x\n"]:
        with subtests.test(change=change), pytest.raises(EvidenceError, match="expected"):
            parsed({}, {IO: change})
