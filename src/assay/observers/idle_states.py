"""Counts how often processors went to sleep, and says how long each kind of sleep takes to wake from.

Source: /sys/devices/system/cpu/cpu*/cpuidle/state*/{name,latency,usage} of the first 16 processors. The time to wake is what the
driver promises at most; a virtual machine's is that of its own instruction and not of the host that has to run it again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from assay.catalogue import Evidence, Host, Observer
from assay.evidence.snapshots import Origin, counter, gauge, number, text_of, texts
from assay.records import Series, Snapshot, Subject

CPU = "/sys/devices/system/cpu"
FILES = ("name", "latency", "usage")
MOST_CPUS = 16
"""Three files for each state of each processor: more would cost more than they tell."""
NS_PER_US = 1000


def available(host: Host) -> str | None:
    """None where the kernel chooses how a processor sleeps."""
    if host.list(f"{CPU}/cpu0/cpuidle"):
        return None
    return f"no {CPU}/cpu0/cpuidle: this kernel has one way to be idle, or leaves the choice to the hypervisor"


def read(host: Host, _subject: Subject) -> Mapping[str, object]:
    """The texts of each state of each processor."""
    numbers = sorted(int(name[3:]) for name in host.list(CPU) if name[:3] == "cpu" and name[3:].isdigit())
    places = (f"{CPU}/cpu{cpu}/cpuidle" for cpu in numbers[:MOST_CPUS])
    paths = [f"{place}/{state}/{file}" for place in places for state in host.list(place) for file in FILES]
    return texts(host.read, paths)


def parse(host_name: str, phase: str, snapshots: Sequence[Snapshot], _subject: Subject) -> Evidence:
    """How often each state was entered, over all processors, and its time to wake. Raises EvidenceError on other text."""
    origin = Origin(host=host_name, phase=phase, source=f"idle_states:{CPU}/cpu*/cpuidle", layer="idle")
    seen = [(snapshot.at_ns, states(snapshot)) for snapshot in snapshots]
    names = dict.fromkeys(name for _, found in seen for name in found)
    series = tuple(item for name in names for item in state_series(origin, name, seen))
    return Evidence(series=series, missing={} if series else {"idle.entries": "no state could be read"})


def states(snapshot: Snapshot) -> dict[str, tuple[int, int]]:
    """Name -> (times that it was entered, time to wake in ns), over all processors."""
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
    """One state over time."""
    known = [(at, found[name]) for at, found in seen if name in found]
    yield counter(origin, f"state:{name}", "entries", "count", [(at, entered) for at, (entered, _) in known])
    yield gauge(origin, f"state:{name}", "wake_ns", "ns", [(at, wakes) for at, (_, wakes) in known])


OBSERVER = Observer(
    name="idle_states",
    gives=("idle.entries", "idle.wake_ns"),
    cost="164 µs of CPU a look for two processors with two states each",
    available=available,
    read=read,
    parse=parse,
)
