"""The cases that several rules are for: None where a rule applies, else why it does not.

Each of these may be the `applies` of a rule, or its first line.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.catalogue import ComparisonCase, Runs, TrialCase, find, names
from assay.evidence import served, tapes
from assay.records import Action, Claim, Direction, Durability, Tier

WITHOUT_STORAGE = ("net", "null")
"""Engines whose operations reach no file, at neither end."""


def lookups(case: TrialCase) -> Mapping[str, tuple[str, ...]]:
    """The operations of the case's workload that only read metadata, as the workload declares them."""
    kind = workload_kind(case)
    return find("workloads", kind).lookups if kind in names("workloads") else {}


def workload_kind(case: TrialCase | ComparisonCase) -> str:
    """The kind of workload that is measured; empty where the experiment has none of this name."""
    return next((spec.kind for spec in case.experiment.workloads if spec.name == case.measure.workload), "")


def reads_only(case: TrialCase) -> str | None:
    """Reads of data."""
    return None if case.direction is Direction.READ else "not a read"


def data_only(case: TrialCase) -> str | None:
    """Reads and writes of data."""
    return None if case.direction in (Direction.READ, Direction.WRITE) else "neither a read nor a write of data"


def changes_only(case: TrialCase) -> str | None:
    """Everything that writes data, or makes, changes or removes objects."""
    direction = case.direction
    reads = direction is Direction.READ or (direction is not Direction.WRITE and case.measure.operation in lookups(case))
    return "not a write" if reads else None


def kept_only(case: TrialCase) -> str | None:
    """Writes of data; what makes, changes or removes objects where stable media are claimed."""
    if why := changes_only(case):
        return why
    unclaimed = case.direction is Direction.METADATA and case.claim.durability is not Durability.STABLE_MEDIA
    return "no claim that these objects are on stable media" if unclaimed else None


def in_memory_first(case: TrialCase) -> str | None:
    """Whatever passes a page cache and a block device: a tape has neither, and D11 judges what its drive holds back."""
    return "written to a tape, which has no page cache" if tapes.takes(case.run, case.phase, case.observations) else None


def on_tape(case: TrialCase) -> str | None:
    """Data that a tape drive took or gave."""
    moved = tapes.takes(case.run, case.phase, case.observations, case.direction) if case.direction else None
    return None if moved else "no data on a tape"


def servers_only(case: TrialCase) -> str | None:
    """Whatever is asked of a server that the target names."""
    return None if served.server(case.run) else "the target names no server"


def power_cuts(case: TrialCase) -> tuple[int, ...]:
    """The times (ns after the start) at which the experiment cuts the power of the case's target in this phase."""
    return tuple(
        event.at_ns
        for spec in case.experiment.workloads
        if spec.name == case.measure.workload
        for event in spec.events
        if event.action is Action.POWER and case.phase.name == f"{spec.name}.{event.phase}"
    )


def feels_storage(case: TrialCase) -> bool:
    """Whether storage can make the load slower: bytes between two ends of the lab, and an engine that moves none, touch none."""
    kind = workload_kind(case)
    return kind not in names("workloads") or find("workloads", kind).engine not in WITHOUT_STORAGE


def rests_on_storage(claim: Claim) -> bool:
    """Whether a claim is about the way to the disk: of the device, or of stable media."""
    return claim.tier is Tier.DEVICE or claim.durability is Durability.STABLE_MEDIA


def took_part(runs: Runs) -> frozenset[str]:
    """The hosts that took part in any of the runs: a host of the file that did not may have facts, too."""
    return frozenset(name for run, _ in runs for name in run.host_names)


def is_own_setting(case: ComparisonCase) -> bool:
    """Whether the compared factor is a setting of one target: then what follows from it is what is compared."""
    owner, _, knob = case.comparison.factor.partition(".")
    return bool(knob) and owner in {target.name for target in case.experiment.targets}
