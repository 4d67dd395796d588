"""Reads the placement of the work: soft interrupts by CPU, memory by NUMA node, threads by NUMA node.

Sources: /proc/softirqs (NET_RX, BLOCK), /sys/devices/system/node/node*/{numastat,cpulist}, the hardware queues and the node of
each disk of the stack, and the last CPU of each thread of the load (/proc/PID/task/*/stat).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from assay.catalogue import Evidence, Host, Observer, Source, needs_file
from assay.errors import EvidenceError
from assay.evidence.snapshots import Origin, gauge, named_numbers, number, text_of, texts
from assay.machine.stack import disk_of
from assay.records import ABSOLUTE, Edge, Series, Snapshot, Subject

SOFTIRQS = "/proc/softirqs"
NODES = "/sys/devices/system/node"
KINDS = {"NET_RX": "net_rx", "BLOCK": "block"}
PAGES = {"local_node": "local_pages", "other_node": "remote_pages"}
LAST_CPU = 36
"""Column of the last CPU after the command's name in /proc/PID/stat (proc_pid_stat(5): field 39)."""
METRICS = (
    "nodes",
    "local_pages",
    "remote_pages",
    *(f"{pre}{kind}_softirqs" for kind in KINDS.values() for pre in ("", "busiest_")),
)
OF_DISKS = ("queues", "near_threads", "far_threads")
"""Those that a stack without a disk lacks."""
Points = list[tuple[int, float]]


def read(host: Host, subject: Subject) -> Mapping[str, object]:
    """Return the texts, and the number of queues of each disk."""
    nodes = [name for name in host.list(NODES) if name[:4] == "node" and name[4:].isdigit()]
    known = host.list("/sys/block")
    disks = {device: disk_of(device, known) for device in subject.devices}
    paths = [SOFTIRQS, *(f"{NODES}/{node}/{file}" for node in nodes for file in ("numastat", "cpulist"))]
    paths += [f"/sys/block/{disk}/device/{up}numa_node" for disk in disks.values() for up in ("", "device/")]
    if len(nodes) > 1:
        paths += [f"/proc/{pid}/task/{task}/stat" for pid in subject.pids for task in host.list(f"/proc/{pid}/task")]
    queues = {device: len(host.list(f"/sys/block/{disk}/mq")) for device, disk in disks.items()}
    return texts(host.read, paths) | {"queues": queues, "disks": disks}


def parse(host_name: str, phase: str, snapshots: Sequence[Snapshot], subject: Subject) -> Evidence:
    """Return counts over time, from arming on. Raises EvidenceError on an unknown format."""
    origin = Origin(host=host_name, phase=phase, source="placement:/proc/softirqs, /sys/devices/system/node", layer="placement")
    points: dict[tuple[str, str], Points] = {}
    looks = [snapshot for snapshot in snapshots if snapshot.edge is not Edge.QUIET]
    for snapshot in looks:
        for (who, metric), value in (*count_points(snapshot, looks[0]), *placement_points(snapshot, subject)):
            points.setdefault((who, metric), []).append((snapshot.at_ns, value))
    series = tuple(gauge_of(origin, *key, found) for key, found in points.items())
    there = {metric for _, metric in points}
    return Evidence(
        series=series,
        missing={f"placement.{name}": "the kernel has no such counter here" for name in METRICS if name not in there},
    )


def gauge_of(origin: Origin, who: str, metric: str, points: Points) -> Series:
    """Return one figure over time."""
    return gauge(origin, who, metric, "pages" if metric.endswith("_pages") else "count", points)


def count_points(snapshot: Snapshot, first: Snapshot) -> Iterator[tuple[tuple[str, str], float]]:
    """Yield soft interrupts of all CPUs and of the busiest, and local and remote pages, since the first look."""
    now, was = softirqs(snapshot), softirqs(first)
    for kind, name in KINDS.items():
        risen = [after - before for after, before in zip(now.get(kind, ()), was.get(kind, ()), strict=False)]
        if risen:
            yield (ABSOLUTE, f"{name}_softirqs"), sum(risen)
            yield (ABSOLUTE, f"busiest_{name}_softirqs"), max(risen)
    for counter, metric in PAGES.items():
        if (pages := allocated(snapshot, counter)) is not None:
            yield (ABSOLUTE, metric), pages - (allocated(first, counter) or 0)
    yield (ABSOLUTE, "nodes"), max(1, len(node_cpus(snapshot)))


def placement_points(snapshot: Snapshot, subject: Subject) -> Iterator[tuple[tuple[str, str], float]]:
    """Yield the queues of each disk, and the threads of the load last run on the lowest disk's node or on another."""
    queues, disks = snapshot.raw.get("queues"), snapshot.raw.get("disks")
    if not isinstance(queues, Mapping) or not isinstance(disks, Mapping):
        return
    for device in subject.devices:
        yield (f"device:{device}", "queues"), float(queues.get(device) or 0)
    near = home(snapshot, str(disks.get(subject.devices[-1]))) if subject.devices else None
    ran = [
        int(stat.rpartition(")")[2].split()[LAST_CPU])
        for path in snapshot.raw
        if "/task/" in path and (stat := text_of(snapshot, path))
    ]
    if near is not None and ran:
        yield (f"device:{subject.devices[-1]}", "near_threads"), sum(cpu in near for cpu in ran)
        yield (f"device:{subject.devices[-1]}", "far_threads"), sum(cpu not in near for cpu in ran)


def softirqs(snapshot: Snapshot) -> dict[str, list[int]]:
    """Return kind -> count on each CPU."""
    rows = (line.split() for line in (text_of(snapshot, SOFTIRQS) or "").splitlines()[1:])
    return {row[0].rstrip(":"): [number(word, SOFTIRQS) for word in row[1:]] for row in rows if row}


def allocated(snapshot: Snapshot, counter: str) -> int | None:
    """Return pages of one kind over all nodes; None without nodes. Raises EvidenceError if one lacks the counter."""
    found = [(path, text) for path in snapshot.raw if path.endswith("/numastat") and (text := text_of(snapshot, path))]
    try:
        return sum(named_numbers(text, path)[counter] for path, text in found) if found else None
    except KeyError:
        raise EvidenceError(f"found no {counter} in numastat; expected it there") from None


def node_cpus(snapshot: Snapshot) -> dict[str, set[int]]:
    """Return node -> its CPUs."""
    return {path.split("/")[-2]: set(ranges(text_of(snapshot, path) or "")) for path in snapshot.raw if path.endswith("/cpulist")}


def home(snapshot: Snapshot, disk: str) -> set[int] | None:
    """Return the CPUs of a disk's node; None if it has none (-1) or is unknown."""
    texts_found = (text_of(snapshot, f"/sys/block/{disk}/device/{up}numa_node") for up in ("", "device/"))
    node = next((text.strip() for text in texts_found if text), "-1")
    return node_cpus(snapshot).get(f"node{node}")


def ranges(text: str) -> Iterator[int]:
    """Yield the numbers of the kernel's list format: `0-2,5`."""
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        yield from range(number(first, "cpulist"), number(last or first, "cpulist") + 1)


OBSERVER = Observer(
    name="placement",
    gives=tuple(f"placement.{metric}" for metric in (*METRICS, *OF_DISKS)),
    sources=(
        Source(
            keys="placement.*",
            words="CPUs, memory nodes and interrupts of the load",
            way="/sys/devices/system (observer placement; assay stat --observe placement)",
        ),
    ),
    cost="38 µs CPU per look (two CPUs, one node, one disk)",
    available=needs_file(SOFTIRQS, "the placement of kernel work is invisible"),
    read=read,
    parse=parse,
)
