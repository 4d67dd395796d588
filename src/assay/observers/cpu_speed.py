"""Measures CPU speed before and after the trial, and counts thermal throttling.

Sources: a fixed piece of integer work, run 25 times on one CPU (the fastest counts, in the thread's CPU time); the clock rates of
/sys/devices/system/cpu/cpu*/cpufreq and the counters of thermal_throttle, if the kernel has them. A virtual machine has neither,
yet its CPU slows down when a neighbour uses the other hardware thread of the core.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence

from assay.catalogue import Evidence, Host, Observer, ObserverScope, Source
from assay.evidence.snapshots import number, text_of, texts, trial_facts
from assay.records import FactClass, Snapshot, Subject

CPU = "/sys/devices/system/cpu"
PIECES = "pieces_ns"
FILES = {
    "throttled.core": "thermal_throttle/core_throttle_count",
    "throttled.package": "thermal_throttle/package_throttle_count",
    "mhz": "cpufreq/scaling_cur_freq",
    "governor": "cpufreq/scaling_governor",
}
KHZ_PER_MHZ = 1000


def available(host: Host) -> str | None:
    """Return why the CPU speed is unknown; None if it can be measured."""
    if host.syscalls is not None or host.list(f"{CPU}/cpufreq"):
        return None
    return "measuring the CPU speed needs Assay on that host. Install Assay there."


def read(host: Host, _subject: Subject) -> Mapping[str, object]:
    """Return the times of the pieces of work, and the text of each CPU's files."""
    cpus = [name for name in host.list(CPU) if name[:3] == "cpu" and name[3:].isdigit()]
    paths = [f"{CPU}/{cpu}/{file}" for cpu in cpus for file in FILES.values() if host.exists(f"{CPU}/{cpu}/{file}")]
    found = texts(host.read, paths)
    if host.syscalls is not None:
        with contextlib.suppress(OSError):  # a host without the engine: the files alone tell of its CPUs
            found[PIECES] = list(host.syscalls.spin())
    return found


def parse(host_name: str, _phase: str, snapshots: Sequence[Snapshot], _subject: Subject) -> Evidence:
    """Return facts `speed.*` before and after. Raises EvidenceError on an unknown format."""
    return Evidence(facts=trial_facts(host_name, snapshots, figures, lambda key: FactClass.NOISE))


def figures(snapshot: Snapshot) -> dict[str, str]:
    """Return the facts: fastest piece of work in ns, throttling counts of all CPUs, their mean clock rate, the governors."""
    found: dict[str, list[str]] = {}
    for path in snapshot.raw:
        text = text_of(snapshot, path)
        kind = next((key for key, file in FILES.items() if path.endswith(file)), None)
        if text is not None and kind is not None:
            found.setdefault(kind, []).append(text.strip())
    facts = {key: str(sum(number(text, key) for text in values)) for key, values in found.items() if key.startswith("throttled.")}
    if rates := [number(text, "scaling_cur_freq") for text in found.get("mhz", ())]:
        facts["mhz"] = str(round(sum(rates) / len(rates) / KHZ_PER_MHZ))
    if governors := sorted(set(found.get("governor", ()))):
        facts["governor"] = " ".join(governors)
    pieces = snapshot.raw.get(PIECES)
    if isinstance(pieces, list | tuple) and pieces:
        facts["piece_ns"] = str(min(pieces))
    return {f"speed.{key}": value for key, value in facts.items()}


OBSERVER = Observer(
    name="cpu_speed",
    gives=("fact:speed.*",),
    sources=(Source(keys="fact:speed.*", words="CPU speed", way="Assay itself on that host (observer cpu_speed)"),),
    cost="11 ms CPU per look, twice a trial",
    available=available,
    read=read,
    parse=parse,
    scope=ObserverScope.TRIAL,
)
