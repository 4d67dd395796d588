"""Records the settings of the devices below a file, and the kernel's limits of dirty pages.

A cheap subset of `environment`. It runs only if an experiment names it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.catalogue import Evidence, Host, Observer, ObserverScope, Source, Watch, needs_file
from assay.evidence.snapshots import named_texts, trial_facts
from assay.evidence.sources import DEVICE
from assay.machine.host_facts import EACH, active_value, device_files
from assay.records import FactClass, Snapshot, Subject

VM = "/proc/sys/vm"
CLOCK = "/sys/devices/system/clocksource/clocksource0/current_clocksource"


def read(host: Host, subject: Subject) -> Mapping[str, object]:
    """Return {key: text} of the files that exist."""
    files = {f"sysctl.vm.{name}": f"{VM}/{name}" for name in host.list(VM) if name.startswith("dirty")} | {"clock.source": CLOCK}
    for place, device in enumerate(subject.devices):
        files |= {key: path for key, path in device_files(host, f"device.{place}", device).items() if EACH not in key}
    return named_texts(host.read, files) | {f"device.{place}.name": device for place, device in enumerate(subject.devices)}


def parse(host_name: str, _phase: str, snapshots: Sequence[Snapshot], _subject: Subject) -> Evidence:
    """Return the facts of each snapshot, with the keys and values of `environment`."""
    return Evidence(facts=trial_facts(host_name, snapshots, settings, class_of))


def settings(snapshot: Snapshot) -> dict[str, str]:
    """Return key -> active value of each setting."""
    return {key: active_value(str(text)) for key, text in snapshot.raw.items()}


def class_of(key: str) -> FactClass:
    """Return the class of a fact; a device's name is identity only."""
    return FactClass.IDENTITY if key.endswith(".name") else FactClass.PERFORMANCE


OBSERVER = Observer(
    name="device_settings",
    gives=("fact:device.*", "fact:sysctl.vm.*", "fact:clock.source"),
    sources=(
        Source(keys="fact:device.*", words="device settings", way=f"sysfs, and {DEVICE}"),
        Source(keys="fact:sysctl.*", words="kernel settings", way="/proc/sys of the host (observer environment)"),
        Source(keys="fact:clock.*", words="clock source of the kernel", way="sysfs of the host (observer environment)"),
    ),
    watch=Watch.PASSING,
    cost="0.61 ms CPU per look (one device)",
    available=needs_file("/sys/block", "device settings are invisible"),
    read=read,
    parse=parse,
    scope=ObserverScope.TRIAL,
    on_request=True,
)
