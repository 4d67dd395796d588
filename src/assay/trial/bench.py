"""What the phases of a trial share: the hosts, the target, the clients; and one phase of one workload as it is to be run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from assay.catalogue import Host, Target, Workload
from assay.records import Endpoint, PhasePlan, Place, Role, Value, WorkloadSpec
from assay.trial.deeds import Layer
from assay.trial.dialogue import Dialogue
from assay.trial.fleet import Fleet, Station, part_of, seen_from

Tell = Callable[[Mapping[str, object]], None]
SCRATCH = "{scratch}"
"""In a client's setting `journal`: the lab's own directory on its host."""


@dataclass(frozen=True, kw_only=True)
class Bench:
    """What all phases of a trial share."""

    fleet: Fleet
    everywhere: Mapping[str, Host]
    """Every host of the experiment, for events."""
    target: Target
    place: Place
    dialogue: Dialogue
    tell: Tell
    """Takes progress: a mapping with at least `event`."""
    paths: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)
    """Path of the trial -> its knobs."""
    cgroups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Host -> the control groups of its clients."""
    layers: tuple[Layer, ...] = ()
    """The target, and those that it stands on, for events."""

    @property
    def hosts(self) -> dict[str, Host]:
        """All hosts that take part, by name."""
        return {one.name: one.host for one in self.fleet.stations}

    def progress(self, job: Job, event: str, **more: object) -> None:
        """Say how far the phase is."""
        self.tell({"workload": job.spec.name, "phase": job.plan.name, "event": event, **more})

    def seen_from(self, job: Job, station: Station) -> Place:
        """The place as a host sees it."""
        clients = self.fleet.clients_on(station, len(job.endpoints))
        return seen_from(self.place, station, [job.endpoints[client] for client in clients])


@dataclass(frozen=True, kw_only=True)
class Job:
    """One phase of one workload of a trial."""

    workload: Workload
    spec: WorkloadSpec
    plan: PhasePlan
    endpoints: tuple[Endpoint, ...]
    seed: int
    cpus: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Host -> the CPUs of its clients; a host that is not there leaves them all."""
    server_cpus: tuple[int, ...] | None = None
    """Those of the servers; None leaves them all."""

    def cpus_of(self, client: int, host: str) -> list[int] | None:
        """The CPUs of a client on its host; None leaves it all."""
        wanted = self.server_cpus if self.plan.role(client) is Role.SERVER else self.cpus.get(host)
        return None if wanted is None else list(wanted)

    def part_of(self, fleet: Fleet, station: Station) -> PhasePlan:
        """The plan of the clients on one host."""
        return part_of(self.plan, fleet.clients_on(station, len(self.endpoints)))

    @property
    def name(self) -> str:
        """WORKLOAD.PHASE: unique in a run, where two workloads may both have a phase `read`."""
        return f"{self.spec.name}.{self.plan.name}"


def whole(knobs: Mapping[str, Value], name: str) -> int | None:
    """A knob that is a whole number, None where it is not set."""
    found = knobs.get(name)
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def outside(settings: Mapping[str, object], scratch: str) -> Mapping[str, object]:
    """The settings of a client with the place of what it keeps outside the target (`{scratch}`)."""
    journal = settings.get("journal")
    return {**settings, "journal": journal.replace(SCRATCH, scratch)} if isinstance(journal, str) else settings
