import contextlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from assay.errors import EvidenceError
from assay.hosts.local import Local
from assay.observers.cgroup import OBSERVER, lineage
from assay.records import Edge, Subject
from observer_looks import bumped, look, recorded, replayed, the_series

SUBJECT = Subject(pids=(4242,), devices=("loop0", "vda"))
LOOP = Subject(pids=(4242,), devices=("loop0",))
GROUP = "cgroup:/assay/0007"
CPU_1 = "/sys/fs/cgroup/cpu/assay/0007/cpu.stat"
BLKIO = Path("/sys/fs/cgroup/blkio")


def parsed(host, *changes, subject=SUBJECT):
    return OBSERVER.parse("h", "p", replayed(OBSERVER, recorded(host), subject, *changes), subject)


def test_a_group_and_all_above_it():
    assert lineage("/a/b") == ["/a/b", "/a", ""]
    assert lineage("") == [""]


@pytest.mark.parametrize(("host", "writeback"), [("cgroup_v1", 4096), ("cgroup_v2", 8192)])
def test_dirty_pages_of_the_processes_group(host, writeback):
    evidence = parsed(host)
    assert the_series(evidence, "dirty_bytes", GROUP).value[0] == 134230016
    assert the_series(evidence, "writeback_bytes", GROUP).value[0] == writeback


def test_throttled_time_is_in_ns_in_both_versions():
    first = parsed(
        "cgroup_v1", {}, {CPU_1: lambda text: bumped(r"nr_throttled (\d+)", 3)(bumped(r"throttled_time (\d+)", 90)(text))}
    )
    assert list(the_series(first, "nr_throttled", GROUP).value) == [0, 0, 3, 3]
    assert list(the_series(first, "throttled_ns", GROUP).value) == [0, 0, 90, 90]
    path = "/sys/fs/cgroup/assay/0007/cpu.stat"
    second = parsed("cgroup_v2", {}, {path: bumped(r"throttled_usec (\d+)", 90)})
    assert list(the_series(second, "throttled_ns", GROUP).value) == [0, 0, 90000, 90000]


@pytest.mark.parametrize(
    ("host", "source"),
    [("cgroup_v1", "blkio/blkio.throttle.write_bps_device"), ("cgroup_v2", "assay/io.max")],
)
def test_a_rule_above_the_group_is_found_and_its_file_named(host, source):
    evidence = parsed(host)
    rule = the_series(evidence, "limit_write_bytes_per_s", "device:loop0")
    assert (rule.value[0], rule.source) == (52428800, f"cgroup:/sys/fs/cgroup/{source}")
    assert the_series(evidence, "throttle_rules", "device:loop0").value[0] == 1
    assert the_series(evidence, "throttle_rules", "device:vda").value[0] == 0


def test_a_rule_on_the_disk_holds_for_its_partition():
    path = "/sys/fs/cgroup/blkio/blkio.throttle.read_bps_device"
    evidence = parsed("cgroup_v1", {path: lambda _: "254:0 1000\n"}, subject=Subject(pids=(4242,), devices=("vda1",)))
    assert the_series(evidence, "limit_read_bytes_per_s", "device:vda1").value[-1] == 1000


@pytest.mark.parametrize(
    ("host", "subject", "moved"), [("cgroup_v1", "cgroup: device:loop0", 0), ("cgroup_v2", f"{GROUP} device:vda", 0)]
)
def test_bytes_of_the_group_are_given_by_device(host, subject, moved):
    assert the_series(parsed(host), "write_bytes", subject).value[-1] == moved


def test_devices_of_other_stacks_are_left_out():
    evidence = parsed("cgroup_v2", subject=LOOP)
    assert not [one for one in evidence.series if one.subject.endswith("device:vda")]


def test_a_device_of_others_that_goes_costs_no_evidence():
    """A loop device that a container gives back takes its counters with it."""
    path = "/sys/fs/cgroup/io.stat"
    gone = parsed("cgroup_v2", {}, {path: lambda text: "".join(text.splitlines(keepends=True)[1:])}, subject=LOOP)
    assert the_series(gone, "dirty_bytes", GROUP).value[0] == 134230016


def test_without_control_groups_everything_is_missing():
    assert "no control groups" in OBSERVER.available(recorded("no_psi"))
    assert "cgroup.nr_throttled" in parsed("no_psi").missing


def test_a_falling_counter_is_refused():
    with pytest.raises(EvidenceError, match="falling"):
        parsed("cgroup_v1", {}, {CPU_1: bumped(r"nr_throttled (\d+)", -3)})


def in_version_1(controller: str) -> Path:
    directory = Path("/sys/fs/cgroup") / controller
    if os.geteuid() != 0 or not (directory / "cgroup.procs").exists():
        pytest.skip(f"needs root and the version 1 controller {controller}")
    return directory


@pytest.mark.root
def test_a_real_quota_stops_a_busy_process():
    group = in_version_1("cpu") / f"assay-test-{os.getpid()}"
    group.mkdir()
    code = (
        "import sys, time\nsys.stdin.readline()\nwhile time.process_time() < 0.3: pass\nprint(flush=True); sys.stdin.readline()"
    )
    try:
        (group / "cpu.cfs_quota_us").write_text("20000")
        with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
            (group / "cgroup.procs").write_text(str(child.pid))
            subject = Subject(pids=(child.pid,))
            armed = look(OBSERVER, Local(), subject, Edge.ARMED, 0)
            child.stdin.write(b"\n")
            child.stdin.flush()
            child.stdout.readline()
            evidence = OBSERVER.parse("h", "p", [armed, look(OBSERVER, Local(), subject, Edge.LAST, 2)], subject)
            child.communicate(b"\n")
    finally:
        group.rmdir()
    assert the_series(evidence, "nr_throttled", f"cgroup:/{group.name}").value[-1] >= 3
    assert the_series(evidence, "throttled_ns", f"cgroup:/{group.name}").value[-1] > 100e6


@pytest.mark.root
def test_a_real_throttle_rule_is_found_and_gone_when_it_is_removed(tmp_path):
    rules = in_version_1("blkio") / "blkio.throttle.write_bps_device"
    image = tmp_path / "image"
    image.write_bytes(b"\0" * (1 << 20))
    done = subprocess.run(["losetup", "--find", "--show", image], capture_output=True, text=True, check=True)
    device = Path(done.stdout.strip())
    number = Path(f"/sys/class/block/{device.name}/dev").read_text().strip()
    subject = Subject(pids=(os.getpid(),), devices=(device.name,))
    try:
        rules.write_text(f"{number} 3000000")
        armed = look(OBSERVER, Local(), subject, Edge.ARMED, 0)
        rules.write_text(f"{number} 0")
        evidence = OBSERVER.parse("h", "p", [armed, look(OBSERVER, Local(), subject, Edge.LAST, 1)], subject)
    finally:
        with contextlib.suppress(OSError):
            rules.write_text(f"{number} 0")
        subprocess.run(["losetup", "--detach", device], check=True)
    assert list(the_series(evidence, "throttle_rules", f"device:{device.name}").value) == [1, 0]
    assert list(the_series(evidence, "limit_write_bytes_per_s", f"device:{device.name}").value) == [3000000]
