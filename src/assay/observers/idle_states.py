"""Counts entries into CPU idle states, and reports the exit latency of each state.

Source: /sys/devices/system/cpu/cpu*/cpuidle/state*/{name,latency,usage} of the first 16 CPUs. The exit latency is the upper bound
declared by the driver; in a virtual machine it covers the guest's own halt instruction, not the host's wake-up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from assay.catalogue import Evidence, Host, Observer, Source
from assay.evidence.snapshots import Origin, counter, gauge, number, text_of, texts
from assay.records import Series, Snapshot, Subject

CPU = "/sys/devices/system/cpu"
FILES = ("name", "latency", "usage")
MOST_CPUS = 16
"""Three files for each state of each CPU: the cost grows with the number of CPUs."""
NS_PER_US = 1000


def available(host: Host) -> str | None:
    """Return why idle states are invisible; None if they can be read."""
    if host.list(f"{CPU}/cpu0/cpuidle"):
        return None
    return f"{CPU}/cpu0/cpuidle does not exist: the kernel has a single idle state, or the hypervisor chooses"


def read(host: Host, _subject: Subject) -> Mapping[str, object]:
    """Return the texts of each state of each CPU."""
    numbers = sorted(int(name[3:]) for name in host.list(CPU) if name[:3] == "cpu" and name[3:].isdigit())
    places = (f"{CPU}/cpu{cpu}/cpuidle" for cpu in numbers[:MOST_CPUS])
    paths = [f"{place}/{state}/{file}" for place in places for state in host.list(place) for file in FILES]
    return texts(host.read, paths)


def parse(host_name: str, phase: str, snapshots: Sequence[Snapshot], _subject: Subject) -> Evidence:
    """Return the entries into each state over all CPUs, and its exit latency. Raises EvidenceError on an unknown format."""
    origin = Origin(host=host_name, phase=phase, source=f"idle_states:{CPU}/cpu*/cpuidle", layer="idle")
    seen = [(snapshot.at_ns, states(snapshot)) for snapshot in snapshots]
    names = dict.fromkeys(name for _, found in seen for name in found)
    series = tuple(item for name in names for item in state_series(origin, name, seen))
    return Evidence(series=series, missing={} if series else {"idle.entries": "no idle state is readable"})


def states(snapshot: Snapshot) -> dict[str, tuple[int, int]]:
    """Return name -> (entries, exit latency in ns) over all CPUs."""
    found: dict[str, tuple[int, int]] = {}
    for path in snapshot.raw:
        folder, _, file = path.rpartition("/")
        name, latency, usage = (text_of(snapshot, f"{folder}/{each}") for each in FILES)
        if file != "name" or name is None or latency is None or usage is None:
            continue
        entered, wakes = found.get(name.strip(), (0, 0))
        found[name.strip()] = (entered + number(usage, path), max(wakes, number(latency, path) * NS_PER_US))
    return found


def state_series(origin: Origin, name: str, seen: Sequence[tuple[int, Mapping[str, tuple[int, int]]]]) -> Iterator[Series]:
    """Yield the series of one state."""
    known = [(at, found[name]) for at, found in seen if name in found]
    yield counter(origin, f"state:{name}", "entries", "count", [(at, entered) for at, (entered, _) in known])
    yield gauge(origin, f"state:{name}", "wake_ns", "ns", [(at, wakes) for at, (_, wakes) in known])


OBSERVER = Observer(
    name="idle_states",
    gives=("idle.entries", "idle.wake_ns"),
    sources=(
        Source(
            keys="idle.*",
            words="idle states of the CPUs",
            way="a kernel with cpuidle (observer idle_states; assay stat --observe idle_states)",
        ),
    ),
    cost="64 µs CPU per look (two CPUs, two states each)",
    available=available,
    read=read,
    parse=parse,
)
