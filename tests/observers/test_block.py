import os
import subprocess
from pathlib import Path

import pytest

from assay.errors import EvidenceError
from assay.hosts.local import Local
from assay.observers.block import OBSERVER
from assay.records import Direction, Edge, Rung, Span, Subject
from stage.observer_looks import bumped, look, readings, recorded, replayed, the_series

STACK = Subject(devices=("loop0", "vda"))
STATS = "/proc/diskstats"
MIB = 1 << 20


def column(device: str, number: int) -> str:
    """A pattern for one column of a device's line, counted from 1 as the kernel's documentation does."""
    return rf"(?m)^ +\d+ +\d+ {device}(?: \d+){{{number - 4}}} (\d+)"


def test_the_lowest_device_is_l9_and_all_above_it_l8():
    changes = {
        STATS: lambda text: bumped(column("vda", 10), 2048)(bumped(column("loop0", 10), 4096)(bumped(column("vda", 19), 3)(text)))
    }
    evidence = OBSERVER.parse("h", "p", replayed(OBSERVER, recorded("cgroup_v1"), STACK, {}, changes), STACK)
    clock = readings(evidence, span=Span.CLOCK, direction=Direction.WRITE)
    assert {(one.rung, one.subject): one.bytes for one in clock} == {
        (Rung.UPPER_DEVICE, "device:loop0"): 4096 * 512,
        (Rung.LOWEST_DEVICE, "device:vda"): 2048 * 512,
    }
    flushes = readings(evidence, span=Span.CLOCK, direction=Direction.FLUSH, rung=Rung.LOWEST_DEVICE)
    assert [(one.bytes, one.operations) for one in flushes] == [(None, 3)]
    assert list(the_series(evidence, "write_bytes", "device:loop0").value) == [0, 0, 4096 * 512, 4096 * 512]
    assert not evidence.missing
    subject = Subject(devices=("vda",))
    evidence = OBSERVER.parse("h", "p", replayed(OBSERVER, recorded("cgroup_v1"), subject), subject)
    assert {one.rung for one in evidence.readings} == {Rung.LOWEST_DEVICE}


def test_a_partitions_flushes_are_those_of_its_disk():
    subject = Subject(devices=("vda1",))
    changes = {STATS: bumped(column("vda", 19), 5)}
    evidence = OBSERVER.parse("h", "p", replayed(OBSERVER, recorded("cgroup_v1"), subject, {}, changes), subject)
    flushes = readings(evidence, span=Span.CLOCK, direction=Direction.FLUSH)
    assert [(one.subject, one.operations) for one in flushes] == [("device:vda1", 5)]


def test_what_is_not_counted_is_told():
    subject = Subject(devices=("sdq", "vda"))
    evidence = OBSERVER.parse("h", "p", replayed(OBSERVER, recorded("cgroup_v1"), subject), subject)
    assert "device sdq missing in /proc/diskstats" in evidence.missing["L8.read"]
    assert "L9.read" not in evidence.missing
    evidence = OBSERVER.parse("h", "p", replayed(OBSERVER, recorded("no_psi"), STACK), STACK)
    assert {one.direction for one in evidence.readings} == {Direction.READ, Direction.WRITE}
    assert "no such counter" in evidence.missing["L9.flush"]


def test_a_falling_counter_or_unknown_text_is_refused(subtests):
    for change in [bumped(column("vda", 6), -1), lambda text: text.replace(" vda ", " vda x"), lambda text: " 254 0 vda 1 2"]:
        with subtests.test(change=change), pytest.raises(EvidenceError, match="expected"):
            OBSERVER.parse("h", "p", replayed(OBSERVER, recorded("cgroup_v1"), STACK, {}, {STATS: change}), STACK)


@pytest.fixture
def partitioned(tmp_path):
    """A loop device with one partition of 14 MiB that starts at 1 MiB."""
    if os.geteuid() != 0:
        pytest.skip("attaching a loop device needs root")
    image = tmp_path / "image"
    image.write_bytes(b"\0" * 16 * MIB)
    done = subprocess.run(["losetup", "--partscan", "--find", "--show", image], capture_output=True, text=True, check=True)
    device = done.stdout.strip()
    try:
        subprocess.run(["addpart", device, "1", "2048", str(14 * 2048)], check=True)
        yield Path(device)
    finally:
        subprocess.run(["losetup", "--detach", device], check=True)


def written_on(device: Path, subject: Subject):
    """The evidence of 4 MiB written directly and one flush, with quiet edges around it."""
    host = Local()
    armed = look(OBSERVER, host, subject, Edge.ARMED, 0)
    subprocess.run(
        ["dd", "if=/dev/urandom", f"of={device}", "bs=1M", "count=4", "oflag=direct", "conv=fsync", "status=none"], check=True
    )
    return OBSERVER.parse("h", "p", [armed, look(OBSERVER, host, subject, Edge.LAST, 1)], subject)


@pytest.mark.root
def test_real_direct_writes_and_flushes_of_a_partition_are_seen(partitioned):
    evidence = written_on(partitioned, Subject(devices=(partitioned.name,)))
    assert [one.bytes for one in readings(evidence, direction=Direction.WRITE)] == [4 * MIB]
    assert readings(evidence, direction=Direction.FLUSH)[0].operations >= 1
    part = partitioned.with_name(f"{partitioned.name}p1")
    if not part.exists():
        pytest.skip("this kernel made no partition on the loop device")
    evidence = written_on(part, Subject(devices=(part.name,)))
    assert [one.bytes for one in readings(evidence, direction=Direction.WRITE)] == [4 * MIB]
    assert readings(evidence, direction=Direction.FLUSH)[0].operations >= 1
    own = next(line.split() for line in Path(STATS).read_text().splitlines() if line.split()[2] == part.name)
    assert own[18] == "0", "the kernel's own column for the partition stays 0: that is why the disk is asked"
