"""The observer of the kernel's log: records, whose they are, when they came, and what cannot be read."""

import os
from dataclasses import dataclass, field

import pytest

from assay.errors import EvidenceError
from assay.hosts.kernel_calls import KernelLog
from assay.hosts.local import Local
from assay.observers.kernel_log import MOST_KEPT, OBSERVER
from assay.records import Edge, FactClass, Subject
from stage.observer_looks import look, recorded, the_series

RECORD = "{number},339,5140900,-;{text}"
ERROR = "EXT4-fs error (device loop0): trigger_test_error:129: comm sh: planted"


@dataclass
class Logged:
    """A host whose kernel logs what the test says, one text a look."""

    texts: list = field(default_factory=list)

    @property
    def syscalls(self):
        return self

    def kernel_log(self):
        text = self.texts.pop(0)
        if isinstance(text, OSError):
            raise text
        return text


def record(text, number=3):
    return RECORD.format(number=number, text=text)


def parsed(*texts):
    host, subject = Logged(list(texts)), Subject()
    looks = [look(OBSERVER, host, subject, edge, at) for at, edge in enumerate((Edge.QUIET, Edge.ARMED, Edge.LAST, Edge.DRAINED))]
    return OBSERVER.parse("h", "p", looks, subject)


def test_only_messages_of_the_kernel_of_the_phase_count():
    evidence = parsed(record("former trial"), "", record(ERROR), record("late"))
    assert [(fact.key, fact.value) for fact in evidence.facts] == [
        ("kernel.log.p.0", f"<3> {ERROR}"),
        ("kernel.log.p.1", "<3> late"),
    ]
    assert {fact.fact_class for fact in evidence.facts} == {FactClass.NOISE}
    assert list(the_series(evidence, "messages").value) == [0, 0, 1, 2]
    evidence = parsed("", "\n".join((record("I/O error, dev vda", 11), record("ours"), record("systemd[1]: failed", 27))), "", "")
    assert [fact.value for fact in evidence.facts] == ["<3> ours"]
    assert (the_series(evidence, "messages").value[-1], the_series(evidence, "program_messages").value[-1]) == (1, 2)
    evidence = parsed("", f"{record('sd 2:0:0:0: [sda] x;y')}\n SUBSYSTEM=scsi\n DEVICE=+scsi:2:0:0:0", "", "")
    assert [fact.value for fact in evidence.facts] == ["<3> sd 2:0:0:0: [sda] x;y"]


def test_of_a_flood_the_gravest_are_kept():
    flood = "\n".join(record(f"talk {index}", 6) for index in range(2 * MOST_KEPT))
    evidence = parsed("", f"{flood}\n{record(ERROR)}\nlost", "", "")
    assert len(evidence.facts) == MOST_KEPT
    assert evidence.facts[-1].value == f"<3> {ERROR}"
    assert the_series(evidence, "messages").value[-1] == 2 * MOST_KEPT + 1
    assert the_series(evidence, "lost").value[-1] == 1


def test_what_cannot_be_read_is_refused_or_says_how():
    with pytest.raises(EvidenceError, match="expected `priority,number"):
        parsed("", "[12.0] what dmesg prints", "", "")
    assert "Run as root" in OBSERVER.available(Logged([PermissionError(1, "Operation not permitted")]))
    assert "No such file" in OBSERVER.available(Logged([FileNotFoundError(2, "No such file or directory")]))
    assert OBSERVER.available(Logged([""])) is None
    assert "needs Assay" in OBSERVER.available(recorded("cgroup_v1"))


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0 or not os.access("/dev/kmsg", os.W_OK), reason="needs to write into the kernel's log")
def test_the_real_log_is_read_on_from_where_it_was_left():
    host = Local()
    log, mark = KernelLog(), f"assay test {os.getpid()}"
    assert log.since() == ""
    host.write("/dev/kmsg", f"<6>{mark} one\n")
    host.write("/dev/kmsg", f"<6>{mark} two\n")
    first = [line.partition(";")[2] for line in log.since().split("\n") if mark in line]
    assert first == [f"{mark} one", f"{mark} two"]
    assert mark not in log.since()
