import subprocess
import sys
from pathlib import Path

import pytest

from assay.errors import EvidenceError
from assay.hosts.local import Local
from assay.machine.group_mounts import GroupMount, group_mounts
from assay.observers.cgroup import OBSERVER, ROOT, bytes_by_device, inherited
from assay.records import Edge, ServerNode, Subject
from stage.observer_looks import bumped, look, recorded, replayed, the_series
from stage.real_groups import real_group
from stage.rows import each

SUBJECT = Subject(pids=(4242,), devices=("loop0", "vda"))
LOOP = Subject(pids=(4242,), devices=("loop0",))
GROUP = "cgroup:/assay/0007"
CPU_1 = "/sys/fs/cgroup/cpu/assay/0007/cpu.stat"
LINUX_6_1 = "cgroup_v2_linux_6.1"
IN_GROUP = Subject(pids=(157,), devices=("loop0", "vda"))


def test_a_throttle_of_version_1_holds_for_its_own_group_and_not_for_those_below():
    """Ruler: 934 MB/s in a group below one with a rule of 10 MB/s."""

    def of(controller, point, directory):
        return inherited(controller, GroupMount(controllers=frozenset({controller}), point=point, begins="/"), directory)

    assert of("blkio", "/b", "/b/slice/unit") == ("/b/slice/unit", "/b")
    assert of("cpu", "/c", "/c/slice/unit") == ("/c/slice/unit", "/c/slice", "/c")
    version_2 = GroupMount(controllers=frozenset(), point="/u", begins="/")
    assert inherited("blkio", version_2, "/u/slice/unit") == ("/u/slice/unit", "/u/slice", "/u")


def parsed(host, *changes, subject=SUBJECT):
    return OBSERVER.parse("h", "p", replayed(OBSERVER, recorded(host), subject, *changes), subject)


ALL = (
    ("cgroup /sys/fs/cgroup/cpu,cpuacct rw,cpu,cpuacct /", "cgroup /sys/fs/cgroup/blkio rw,blkio /"),
    "2:cpu,cpuacct:/a/b\n3:blkio:/\n0::/\n",
)
"""Mounts as `type point options root`, and the membership of a process."""
INSIDE = (
    ("cgroup /sys/fs/cgroup/cpu rw,cpu /docker/77", "cgroup2 /sys/fs/cgroup/unified rw /docker/77"),
    "2:cpu:/docker/77/x\n0::/docker/77\n",
)
NAMESPACE = (("cgroup2 /sys/fs/cgroup rw /",), "0::/\n")
OUTSIDE = (("cgroup2 /sys/fs/cgroup rw /docker/77",), "0::/docker/88\n")
ELSEWHERE = (("cgroup2 /run/groups rw /",), "0::/a/b\n")


@each(
    "host cpu blkio",
    (
        ALL,
        ["/sys/fs/cgroup/cpu,cpuacct/a/b", "/sys/fs/cgroup/cpu,cpuacct/a", "/sys/fs/cgroup/cpu,cpuacct"],
        ["/sys/fs/cgroup/blkio"],
    ),
    (INSIDE, ["/sys/fs/cgroup/cpu/x", "/sys/fs/cgroup/cpu"], ["/sys/fs/cgroup/unified"]),
    (NAMESPACE, ["/sys/fs/cgroup"], ["/sys/fs/cgroup"]),
    (OUTSIDE, None, None),
    (ELSEWHERE, ["/run/groups/a/b", "/run/groups/a", "/run/groups"], ["/run/groups/a/b", "/run/groups/a", "/run/groups"]),
)
def test_a_group_and_all_above_it_are_found_where_they_are_mounted(tmp_path, host, cpu, blkio):
    mounted, membership = host
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/7").mkdir()
    rows = (row.split() for row in mounted)
    (tmp_path / "proc/self/mountinfo").write_text(
        "".join(f"1 0 0:3 {root} {at} {how} - {kind} none {how}\n" for kind, at, how, root in rows)
    )
    (tmp_path / "proc/7/cgroup").write_text(membership)
    looked = Local(name="h", root=tmp_path)
    own = OBSERVER.read(looked, Subject(pids=(7,)))["own"]
    lines = {name: [*group_mounts(looked)[name].lineage(path)] for name, (path,) in own.items()}
    assert (lines.get("cpu"), lines.get("blkio")) == (cpu, blkio)


SLICE = "/system.slice/slapd.service"
SCOPE = "/system.slice/docker-7d0e.scope"
V2, V1 = (
    ("cgroup2 /sys/fs/cgroup rw /",),
    ("cgroup /sys/fs/cgroup/cpu,cpuacct rw,cpu,cpuacct /", "cgroup2 /sys/fs/cgroup/unified rw /"),
)
SEEN = "nr_throttled 61\nthrottled_usec 5600000\n"
OF_SERVERS = (
    ("a unit, version 2", V2, f"0::{SLICE}", f"/sys/fs/cgroup{SLICE}"),
    ("a slice with a quota above the unit", V2, f"0::{SLICE}", "/sys/fs/cgroup/system.slice"),
    ("a unit, version 1 beside 2", V1, f"4:cpu,cpuacct:{SLICE}\n0::{SLICE}", f"/sys/fs/cgroup/cpu,cpuacct{SLICE}"),
    ("docker, from its host", V2, f"0::{SCOPE}", f"/sys/fs/cgroup{SCOPE}"),
    ("kubernetes", V2, "0::/kubepods.slice/pod1.slice/cri-9.scope", "/sys/fs/cgroup/kubepods.slice/pod1.slice"),
    ("docker on version 1", V1, "4:cpu,cpuacct:/docker/77\n0::/docker/77", "/sys/fs/cgroup/cpu,cpuacct/docker/77"),
    ("Assay and the server in one container", V2, "0::/", "/sys/fs/cgroup"),
    ("the server in another container than Assay", V2, "0::/../docker-9.scope", None),
    ("the same where the mount begins with the container", ("cgroup2 /sys/fs/cgroup rw /docker/77",), "0::/docker/88", None),
)


def test_the_quota_of_a_server_is_found_or_said_to_be_out_of_sight(tmp_path):
    failures = []
    for number, (words, mounts, membership, stopped) in enumerate(OF_SERVERS):
        root = tmp_path / str(number)
        (root / "proc/self").mkdir(parents=True)
        for pid, text in ((7, "4:cpu,cpuacct:/\n0::/\n"), (8, f"{membership}\n")):
            (root / f"proc/{pid}").mkdir()
            (root / f"proc/{pid}/cgroup").write_text(text)
        rows = (row.split() for row in mounts)
        (root / "proc/self/mountinfo").write_text(
            "".join(f"1 0 0:3 {begins} {at} {how} - {kind} none {how}\n" for kind, at, how, begins in rows)
        )
        (root / "pid").write_text("8")
        if stopped:
            (root / stopped[1:]).mkdir(parents=True)
            (root / stopped[1:] / "cpu.stat").write_text(SEEN)
        subject = Subject(pids=(7,), server=(ServerNode(pid_file="/pid"),))
        looks = [look(OBSERVER, Local(name="h", root=root), subject, edge, at) for at, edge in enumerate((Edge.ARMED, Edge.LAST))]
        evidence = OBSERVER.parse("h", "p", looks, subject)
        found = [one for one in evidence.series if one.metric == "nr_throttled" and list(one.value) == [0, 0]]
        hidden = "server's process 8" in evidence.missing.get("cgroup.nr_throttled", "")
        failures += [words] if (bool(found), hidden) != (stopped is not None, stopped is None) else []
    assert not failures


@each("pids unknown", ((4242,), False), ((), True), ((1,), True))
def test_without_a_process_of_the_load_the_groups_of_others_say_nothing_of_its_quota(pids, unknown):
    evidence = parsed("cgroup_v1", subject=Subject(pids=pids, devices=("loop0",)))
    assert ("cgroup.nr_throttled" in evidence.missing, "cgroup.throttle_rules" in evidence.missing) == (unknown, unknown)
    assert any(one.metric == "nr_throttled" for one in evidence.series) is not unknown


def test_dirty_pages_of_the_processes_group(subtests):
    for host, writeback in [("cgroup_v1", 4096), ("cgroup_v2", 8192)]:
        with subtests.test(host=host, writeback=writeback):
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


def test_a_rule_above_the_group_is_found_and_its_file_named(subtests):
    for host, source in [("cgroup_v1", "blkio/blkio.throttle.write_bps_device"), ("cgroup_v2", "assay/io.max")]:
        with subtests.test(host=host, source=source):
            evidence = parsed(host)
            rule = the_series(evidence, "limit_write_bytes_per_s", "device:loop0")
            assert (rule.value[0], rule.source) == (52428800, f"cgroup:/sys/fs/cgroup/{source}")
            assert the_series(evidence, "throttle_rules", "device:loop0").value[0] == 1
            assert the_series(evidence, "throttle_rules", "device:vda").value[0] == 0


def test_a_rule_on_the_disk_holds_for_its_partition():
    path = "/sys/fs/cgroup/blkio/blkio.throttle.read_bps_device"
    evidence = parsed("cgroup_v1", {path: lambda _: "254:0 1000\n"}, subject=Subject(pids=(4242,), devices=("vda1",)))
    assert the_series(evidence, "limit_read_bytes_per_s", "device:vda1").value[-1] == 1000


def test_bytes_of_the_group_are_given_by_device(subtests):
    for host, subject, moved in [("cgroup_v1", "cgroup: device:loop0", 0), ("cgroup_v2", f"{GROUP} device:vda", 0)]:
        with subtests.test(host=host, subject=subject, moved=moved):
            assert the_series(parsed(host), "write_bytes", subject).value[-1] == moved


def test_only_devices_of_this_stack_count():
    evidence = parsed("cgroup_v2", subject=LOOP)
    assert not [one for one in evidence.series if one.subject.endswith("device:vda")]
    # A loop device that a container gives back takes its counters with it.
    path = "/sys/fs/cgroup/io.stat"
    gone = parsed("cgroup_v2", {}, {path: lambda text: "".join(text.splitlines(keepends=True)[1:])}, subject=LOOP)
    assert the_series(gone, "dirty_bytes", GROUP).value[0] == 134230016


def test_without_control_groups_everything_is_missing_and_a_fall_is_refused():
    assert "no control groups" in OBSERVER.available(recorded("no_psi"))
    assert "cgroup.nr_throttled" in parsed("no_psi").missing
    with pytest.raises(EvidenceError, match="falling"):
        parsed("cgroup_v1", {}, {CPU_1: bumped(r"nr_throttled (\d+)", -3)})


def test_linux_6_1():
    """A group without the controller cpu has no quota: its stops are known to be none."""
    stops = {f"{ROOT}/assay/cpu.stat": lambda text: bumped(r"throttled_usec (\d+)", 90)(bumped(r"nr_throttled (\d+)", 3)(text))}
    evidence = parsed(LINUX_6_1, {}, stops, subject=IN_GROUP)
    assert list(the_series(evidence, "nr_throttled", "cgroup:/assay").value) == [0, 0, 3, 3]
    assert list(the_series(evidence, "throttled_ns", "cgroup:/assay").value) == [0, 0, 90_000, 90_000]
    assert list(the_series(evidence, "nr_throttled", GROUP).value) == [0, 0, 0, 0]
    written = {
        f"{ROOT}/assay/0007/io.stat": bumped(r"7:0 .*wbytes=(\d+)", 4096),
        f"{ROOT}/io.stat": bumped(r"254.*wbytes=(\d+)", 512),
    }
    evidence = parsed(LINUX_6_1, written, subject=IN_GROUP)
    rules = {
        ("device:loop0", "limit_write_bytes_per_s"): (8388608, f"cgroup:{ROOT}/assay/0007/io.max"),
        ("device:loop0", "limit_read_ops_per_s"): (50, f"cgroup:{ROOT}/assay/0007/io.max"),
        ("device:vda", "limit_read_bytes_per_s"): (104857600, f"cgroup:{ROOT}/assay/io.max"),
    }
    found = {(one.subject, one.metric): (one.value[0], one.source) for one in evidence.series if "limit" in one.metric}
    assert found == rules
    assert the_series(evidence, "throttle_rules", "device:loop0").value[0] == 2
    assert the_series(evidence, "write_bytes", f"{GROUP} device:loop0").value[-1] == 4096
    assert the_series(evidence, "write_bytes", "cgroup: device:vda").value[-1] == 512


def test_a_process_in_the_root_group_of_version_2_has_no_limit():
    """The root group has no io.max: that is no gap in the evidence."""
    evidence = parsed(LINUX_6_1, subject=Subject(pids=(1,), devices=("loop0",)))
    assert list(the_series(evidence, "throttle_rules", "device:loop0").value) == [0, 0, 0, 0]
    assert evidence.missing == {}


def test_limits_that_may_not_be_read_are_missing():
    snapshots = replayed(OBSERVER, recorded(LINUX_6_1), Subject(pids=(1,), devices=("loop0",)))
    for one in snapshots:
        one.raw[f"{ROOT}/io.max"] = {"error": "Permission denied"}
    assert "cgroup.throttle_rules" in OBSERVER.parse("h", "p", snapshots, LOOP).missing


def test_linux_5_15_does_not_end_the_line_of_a_device_without_io():
    text = "7:1 7:0 254:0 rbytes=512 wbytes=4096 rios=1 wios=1 dbytes=0 dios=0\n"
    assert bytes_by_device(text) == {("254:0", "read_bytes"): 512, ("254:0", "write_bytes"): 4096}


@pytest.mark.root
def test_a_real_quota_stops_a_busy_process():
    busy = "sys.stdin.readline()\nbefore = time.process_time()\nwhile time.process_time() < before + 0.03: pass\n"
    code = f"import sys, time\n{busy}print(flush=True); sys.stdin.readline()"
    with real_group("cpu") as (group, unified):  # 2 %: less than a process gets beside many others
        (group / ("cpu.max" if unified else "cpu.cfs_quota_us")).write_text("2000")
        with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
            (group / "cgroup.procs").write_text(str(child.pid))
            subject = Subject(pids=(child.pid,))
            armed = look(OBSERVER, Local(), subject, Edge.ARMED, 0)
            child.stdin.write(b"\n")
            child.stdin.flush()
            child.stdout.readline()
            evidence = OBSERVER.parse("h", "p", [armed, look(OBSERVER, Local(), subject, Edge.LAST, 2)], subject)
            child.communicate(b"\n")
    assert the_series(evidence, "nr_throttled", f"cgroup:/{group.name}").value[-1] >= 3
    assert the_series(evidence, "throttled_ns", f"cgroup:/{group.name}").value[-1] > 100e6


@pytest.mark.root
def test_a_real_throttle_rule_is_found_and_gone_when_it_is_removed(tmp_path):
    image = tmp_path / "image"
    image.write_bytes(b"\0" * (1 << 20))
    done = subprocess.run(["losetup", "--find", "--show", image], capture_output=True, text=True, check=True)
    device = Path(done.stdout.strip())
    number = Path(f"/sys/class/block/{device.name}/dev").read_text().strip()
    try:
        with real_group("io") as (group, unified), subprocess.Popen(["cat"], stdin=subprocess.PIPE) as child:
            (group / "cgroup.procs").write_text(str(child.pid))
            subject = Subject(pids=(child.pid,), devices=(device.name,))
            rules = group / ("io.max" if unified else "blkio.throttle.write_bps_device")
            rules.write_text(f"{number} wbps=3000000" if unified else f"{number} 3000000")
            armed = look(OBSERVER, Local(), subject, Edge.ARMED, 0)
            rules.write_text(f"{number} wbps=max" if unified else f"{number} 0")
            evidence = OBSERVER.parse("h", "p", [armed, look(OBSERVER, Local(), subject, Edge.LAST, 1)], subject)
    finally:
        subprocess.run(["losetup", "--detach", device], check=True)
    assert list(the_series(evidence, "throttle_rules", f"device:{device.name}").value) == [1, 0]
    assert list(the_series(evidence, "limit_write_bytes_per_s", f"device:{device.name}").value) == [3000000]
