"""tape_io: phases, scripts, figures and mistakes; the guest has a drive (tests/targets/test_tape_drive.py)."""

import pytest

from assay import catalogue
from assay.catalogue import Order
from assay.errors import EvidenceError, UsageError
from assay.records import Endpoint, EndpointKind
from stage.rows import each

WORKLOAD = catalogue.find("workloads", "tape_io")
END = Endpoint(kind=EndpointKind.DEVICE, address="/dev/nst0")
MIB = 1 << 20
TWO = "2+0 records in\n2+0 records out\n131072 bytes (131 kB, 128 KiB) copied, 0.07 s, 1.9 MB/s\n"


def planned(ends=(END,), **knobs):
    order = Order(workload="w", knobs=catalogue.resolved(WORKLOAD.knobs, knobs), endpoints=ends, seed=1, token="t")
    return {phase.name: phase for phase in WORKLOAD.phases(order)}


def script(phase):
    (one,) = phase.settings
    assert one["argv"][:2] == ["sh", "-c"]
    assert one["argv"][3] == "/dev/nst0"
    return one["argv"][2]


def test_each_file_is_closed_and_the_moves_are_timed_apart():
    found = planned(file_size=MIB, files=3)
    assert list(found) == ["begin", "write", "rewind", "locate", "return", "read"]
    assert [name for name, phase in found.items() if phase.measured] == ["write", "rewind", "locate", "read"]
    assert script(found["write"]).count('dd if=/dev/urandom of="$0" bs=65536 count=16 iflag=fullblock') == 3
    assert 'mt -f "$0" fsf 3' in script(found["locate"]), "the label, and two files before the last one"
    assert script(found["read"]).count('dd if="$0" of=/dev/null bs=65536') == 3
    assert 'setblk 0 && mt -f "$0" fsf 1' in script(found["begin"])


def test_fixed_blocks_are_set_at_the_drive_and_a_call_has_several():
    found = planned(file_size=MIB, blocks="fixed", record_size=4096, records_per_call=16)
    assert "setblk 4096" in script(found["begin"])
    assert "bs=65536 count=16" in script(found["write"])


def test_only_what_is_asked_for_is_timed():
    assert list(planned(operations=("write",))) == ["begin", "write"]
    assert list(WORKLOAD.operations({"operations": ("read", "write")})) == ["write", "read"]
    found = planned(operations=("write", "locate"))
    assert not found["rewind"].measured, "the last file is looked for from the beginning of the tape"


@each(
    "knobs words",
    ({"file_size": MIB + 512}, "whole calls of 64 KiB"),
    ({"records_per_call": 2}, "each call is one record"),
    ({"operations": ("read",)}, "expected write among them"),
)
def test_mistakes(knobs, words):
    (found,) = WORKLOAD.check({"file_size": MIB, **knobs})
    assert words in found


def test_one_client_has_the_drive():
    with pytest.raises(UsageError, match="one program at a time"):
        planned(ends=(END, END))


def test_figures_are_of_the_bytes_that_dd_moved():
    assert WORKLOAD.parse({}, f"write\n{TWO}{TWO}", 10**9) == {
        "write.elapsed_ns": 1e9,
        "write.bytes": 262144.0,
        "write.bytes_per_s": 262144.0,
    }
    assert WORKLOAD.parse({}, "rewind\n", 5) == {"rewind.elapsed_ns": 5.0}
    for text in ("", "sync\n", "write\ndd: error writing\n"):
        with pytest.raises(EvidenceError):
            WORKLOAD.parse({}, text, 5)
